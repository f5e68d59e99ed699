//! `session/load`.

use std::collections::BTreeSet;

use rejoin_transcript::{ToolCall, UpdateKind};
use serde_json::Value;

use crate::ability::Ability;
use crate::conversation::{Round, answer, plain, rounds, tool_calls};
use crate::course::LINKED_TEXT;
use crate::log::Update;
use crate::rule::{Judged, Level, Part, Rule, Skipped, Verdict, fail_with, judge, report, skip};
use crate::rules::list::updated_at_of;
use crate::rules::new::came;
use crate::run::{Exchange, Run, Step, Turn, Who, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "load.survives-kill",
        level: Level::Quality,
        title: "loads a session after `kill -9`",
        page: "session-setup#loading-sessions",
        part: Part::Second,
        judge: survives_kill,
    },
    Rule {
        id: "load.complete",
        level: Level::Must,
        title: "replays the whole conversation, in its order, and nothing else",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: complete,
    },
    Rule {
        id: "load.before-response",
        level: Level::Must,
        title: "answers when all was replayed, and not before",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: before_response,
    },
    Rule {
        id: "load.only-users-words",
        level: Level::Quality,
        title: "shows nothing as the user's that the user did not say",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: only_users_words,
    },
    Rule {
        id: "load.message-ids",
        level: Level::Quality,
        title: "gives replayed messages the ids that they had",
        page: "prompt-turn#message-ids",
        part: Part::Second,
        judge: message_ids,
    },
    Rule {
        id: "load.tool-calls",
        level: Level::Quality,
        title: "replays tool calls as they were",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: same_tool_calls,
    },
    Rule {
        id: "load.commands",
        level: Level::Quality,
        title: "tells its commands again",
        page: "slash-commands#advertising-commands",
        part: Part::Second,
        judge: commands,
    },
    Rule {
        id: "load.unknown-session",
        level: Level::Quality,
        title: "refuses to load a session that does not exist",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: unknown_session,
    },
    Rule {
        id: "load.keeps-updated-at",
        level: Level::Quality,
        title: "does not count loading as using",
        page: "session-list#listing-sessions",
        part: Part::Second,
        judge: keeps_updated_at,
    },
    Rule {
        id: "load.again",
        level: Level::Quality,
        title: "loads a session that is open, or says why not",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: again,
    },
    Rule {
        id: "load.remembers",
        level: Level::Quality,
        title: "remembers what was said after a restart",
        page: "session-setup#loading-sessions",
        part: Part::Second,
        judge: remembers,
    },
    Rule {
        id: "load.keeps-prompt",
        level: Level::Quality,
        title: "has the prompt of a turn that was cut off by `kill -9`",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: keeps_prompt,
    },
    Rule {
        id: "load.keeps-partial-answer",
        level: Level::Quality,
        title: "has what was said in a turn that was cut off by `kill -9`",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: keeps_partial_answer,
    },
    Rule {
        id: "load.keeps-last-turn",
        level: Level::Quality,
        title: "has a turn that ended right before `kill -9`",
        page: "session-setup#loading-a-session",
        part: Part::Second,
        judge: keeps_last_turn,
    },
    Rule {
        id: "load.other-folder",
        level: Level::Quality,
        title: "answers when a session is loaded in another folder",
        page: "session-setup#working-directory",
        part: Part::Second,
        judge: other_folder,
    },
    Rule {
        id: "load.missing-folder",
        level: Level::Quality,
        title: "answers when a session's folder is gone",
        page: "session-setup#working-directory",
        part: Part::Second,
        judge: missing_folder,
    },
    Rule {
        id: "load.mcp-servers",
        level: Level::Quality,
        title: "loads a session with other MCP servers than before",
        page: "session-setup#mcp-servers",
        part: Part::Second,
        judge: mcp_servers,
    },
    Rule {
        id: "load.folders",
        level: Level::Report,
        title: "what becomes of a session in another folder, and of one whose folder is gone",
        page: "session-setup#working-directory",
        part: Part::Second,
        judge: folders,
    },
    Rule {
        id: "load.two-processes",
        level: Level::Report,
        title: "what becomes of a session that two processes open",
        page: "session-setup#loading-sessions",
        part: Part::Second,
        judge: two_processes,
    },
    Rule {
        id: "load.usage",
        level: Level::Report,
        title: "whether usage is told again",
        page: "prompt-turn#session-usage-updates",
        part: Part::Second,
        judge: usage,
    },
];

fn survives_kill(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::Remember(Who::Main))?;
    let exchange = run.one(Step::LoadMain)?;
    judge(
        exchange.result().is_some(),
        exchange,
        "the session: the process before was killed, and had answered its prompts",
    )
}

fn complete(run: &Run) -> Judged {
    let (load, replayed) = replay(run, Step::LoadMain, Who::Main)?;
    let mut replayed = rounds(&replayed).into_iter();
    let id = &run.session(Who::Main)?.id;
    // What was refused was not said.
    let is_said = |turn: &&Turn| turn.exchange.process != load.process && turn.exchange.result().is_some();
    for turn in run.turns(Who::Main).filter(is_said) {
        let said = answer(&run.updates_during(&turn.exchange, id));
        let with_later = answer(&run.updates_until_next_turn(turn));
        let is_prompt = |round: &Round| plain(&round.user).contains(&plain(&turn.text));
        let Some(round) = replayed.find(is_prompt) else {
            return fail_with(
                load.sent(),
                told(run, load),
                &format!("the user's message {:?}, in its place", turn.text),
            );
        };
        // What was said between two turns may be a part of the conversation, or not.
        if ![plain(&said), plain(&with_later)].contains(&plain(&round.agent)) {
            let came = format!("after {:?} the agent said, as replayed: {:?}", shown(&turn.text), shown(&round.agent));
            return fail_with(load.sent(), came, &format!("what it said then: {:?}", shown(&said)));
        }
    }
    match replayed.next() {
        Some(round) if !round.agent.is_empty() => {
            fail_with(load.sent(), format!("{round:?}"), "nothing that was not said before")
        }
        _ => Ok(Verdict::Pass),
    }
}

fn before_response(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let loads = [
        (Step::LoadMain, Who::Main),
        (Step::LoadTool, Who::Tool),
        (Step::LoadCancelled, Who::Cancel),
        (Step::LoadKilled, Who::Killed),
    ];
    let loaded: Vec<_> = loads.iter().filter_map(|(step, who)| Some((run.done(*step).ok()?.0, who))).collect();
    if loaded.is_empty() {
        run.done(Step::LoadMain)?;
    }
    for (load, who) in loaded {
        let after = run.updates_after(load, &run.session(*who)?.id);
        if let Some(late) = after.iter().find(|update| update.is_conversation()) {
            let sent = format!("{}, answered with {}", load.sent(), load.came());
            return fail_with(sent, came(late), "all of the conversation before the answer, and nothing of it behind");
        }
    }
    Ok(Verdict::Pass)
}

fn only_users_words(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let loads = [(Step::LoadMain, Who::Main), (Step::LoadCancelled, Who::Cancel)];
    let mut looked = run.done(Step::LoadMain).map(|_| Verdict::Pass);
    for (step, who) in loads {
        let Ok((load, replayed)) = replay(run, step, who) else { continue };
        let prompts: Vec<&Turn> = run.turns(who).collect();
        let strange = rounds(&replayed).into_iter().find(|round| !is_of_user(&round.user, &prompts));
        if let Some(round) = strange {
            let came = format!("as the user's: {:?}", shown(&round.user));
            looked = fail_with(load.sent(), came, "only what the client had sent as a prompt");
            break;
        }
    }
    looked
}

/// Whether `text` is nothing but what `prompts` said: several in a row, where the agent does not tell them apart.
fn is_of_user(text: &str, prompts: &[&Turn]) -> bool {
    let text = plain(text);
    // How a link is written in a replay is the agent's business; what is in the file was not said.
    let is_linked = |turn: &&Turn| !turn.is_plain && text.starts_with(&plain(&turn.text));
    if prompts.iter().any(is_linked) {
        return !text.contains(&plain(LINKED_TEXT));
    }
    let rest = prompts.iter().fold(text, |rest, turn| rest.replace(&plain(&turn.text), ""));
    rest.is_empty()
}

fn message_ids(run: &Run) -> Judged {
    let (load, replayed) = replay(run, Step::LoadMain, Who::Main)?;
    let id = &run.session(Who::Main)?.id;
    let before: Vec<&Turn> = run.turns(Who::Main).filter(|turn| turn.exchange.process != load.process).collect();
    let ids = |updates: Vec<Update>| agent_ids(&updates);
    let live: BTreeSet<String> = before.iter().flat_map(|turn| ids(run.updates_during(&turn.exchange, id))).collect();
    let all: BTreeSet<String> = before.iter().flat_map(|turn| ids(run.updates_until_next_turn(turn))).collect();
    if live.is_empty() {
        return skip("the agent gives no message ids");
    }
    let replayed: BTreeSet<String> = agent_ids(&replayed).into_iter().collect();
    if live.is_subset(&replayed) && replayed.is_subset(&all) {
        return Ok(Verdict::Pass);
    }
    let expected = format!("the ids of the agent's messages that came before: {live:?}");
    fail_with(load.sent(), format!("ids {replayed:?}"), &expected)
}

fn agent_ids(updates: &[Update]) -> Vec<String> {
    let of_agent = updates.iter().filter(|update| update.kind() == UpdateKind::AgentMessageChunk);
    of_agent.filter_map(|update| update.body["messageId"].as_str().map(str::to_owned)).collect()
}

fn same_tool_calls(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let id = &run.session(Who::Tool)?.id;
    let live: Vec<ToolCall> =
        run.turns(Who::Tool).flat_map(|turn| tool_calls(&run.updates_during(&turn.exchange, id))).collect();
    if live.is_empty() {
        return skip("the agent used no tool: give it a prompt that needs one with `--prompts`");
    }
    let ids: BTreeSet<&str> = live.iter().map(|call| call.id.as_str()).collect();
    if ids.len() < live.len() {
        return skip("several tool calls have the same id: see tools.own-ids");
    }
    let (load, replayed) = replay(run, Step::LoadTool, Who::Tool)?;
    let replayed = tool_calls(&replayed);
    for call in &live {
        let expected = format!("the tool call {}, as it was: {}", call.id, line(call));
        match replayed.iter().find(|other| other.id == call.id) {
            Some(other) if line(other) == line(call) => {}
            Some(other) => return fail_with(load.sent(), line(other), &expected),
            None => return fail_with(load.sent(), format!("{} tool calls, without it", replayed.len()), &expected),
        }
    }
    Ok(Verdict::Pass)
}

/// What people see of a tool call.
fn line(call: &ToolCall) -> String {
    let seen = ["title", "kind", "status", "content", "locations"];
    let members = seen.iter().filter_map(|name| Some((*name, call.members.get(*name)?.as_str())));
    // A kind or a list that says nothing may be left out.
    let members = members.filter(|(_, value)| !matches!(*value, "[]" | "\"other\""));
    shown(&members.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "))
}

fn commands(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let main = run.session(Who::Main)?;
    let (new, _) = run.done(Step::New(Who::Main))?;
    let is_commands = |update: &Update| update.kind() == UpdateKind::AvailableCommands;
    let all = |exchange: &Exchange| {
        let log = run.log(exchange.process)?;
        Ok::<_, Skipped>(log.updates(exchange.from..usize::MAX, Some(&main.id)).into_iter().find(is_commands))
    };
    let Some(told) = all(new)? else { return skip("the agent tells no commands") };
    let (load, _) = run.done(Step::LoadMain)?;
    match all(load)? {
        Some(_) => Ok(Verdict::Pass),
        None => fail_with(
            load.sent(),
            "no `available_commands_update`",
            &format!("the commands again, as in a new session: {}", came(&told)),
        ),
    }
}

fn unknown_session(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let exchange = run.one(Step::LoadUnknown)?;
    judge(exchange.error().is_some(), exchange, "an error, such as -32002 (not found); not an empty session")
}

fn keeps_updated_at(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let (load, _) = run.done(Step::LoadMain)?;
    let id = &run.session(Who::Main)?.id;
    let before = updated_at_of(run, Step::ListAfterKill, id)?;
    let after = updated_at_of(run, Step::ListAfterLoad, id)?;
    if before == after {
        return Ok(Verdict::Pass);
    }
    let sent = format!("session/list, {}, session/list", load.sent());
    fail_with(sent, format!("`updatedAt` {before} before, {after} after"), "the same: nothing was said in the session")
}

fn again(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    let exchange = run.one(Step::LoadAgain)?;
    judge(exchange.is_answered(), exchange, "the session once more, or an error")
}

fn remembers(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    recalls(run, Step::RecallLoaded, Who::Main)
}

/// Whether the agent knows the word that it was told in the session before, if it can tell words at all.
pub(super) fn recalls(run: &Run, step: Step, who: Who) -> Judged {
    recalls_in(run, step, who, &run.session(who)?.id)
}

/// The same, where the word of `who` is asked for in the session `id`.
pub(super) fn recalls_in(run: &Run, step: Step, who: Who, id: &str) -> Judged {
    let (main, asked) = (run.session(Who::Main)?, run.one(Step::Recall)?);
    if !answer(&run.updates_during(asked, &main.id)).contains(&main.word) {
        return skip("the model did not tell the word even when it had just been told");
    }
    let session = run.session(who)?;
    let exchange = run.one(step)?;
    let said = answer(&run.updates_during(exchange, id));
    let expected = format!("an answer with the word {}, which it was told before", session.word);
    if said.contains(&session.word) { Ok(Verdict::Pass) } else { fail_with(exchange.sent(), shown(&said), &expected) }
}

fn keeps_prompt(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    let turn = run.one(Step::KilledTurn)?;
    let text = plain(turn.params["prompt"][0]["text"].as_str().unwrap_or_default());
    let load = run.one(Step::LoadKilled)?;
    let expected = "the session with the prompt of the turn that ran when the process was killed";
    if load.result().is_none() {
        return judge(false, load, expected);
    }
    let (load, replayed) = replay(run, Step::LoadKilled, Who::Killed)?;
    if rounds(&replayed).iter().any(|round| plain(&round.user).contains(&text)) {
        return Ok(Verdict::Pass);
    }
    fail_with(load.sent(), told(run, load), expected)
}

fn keeps_partial_answer(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    let turn = run.one(Step::KilledTurn)?;
    let seen = plain(&answer(&run.updates_during(turn, &run.session(Who::Killed)?.id)));
    if seen.is_empty() {
        return skip("nothing was said before the process was killed");
    }
    let load = run.one(Step::LoadKilled)?;
    let expected = format!("what the client had seen of the answer: {:?}", shown(&seen));
    if load.result().is_none() {
        return judge(false, load, &expected);
    }
    let (load, replayed) = replay(run, Step::LoadKilled, Who::Killed)?;
    if plain(&answer(&replayed)).starts_with(&seen) {
        return Ok(Verdict::Pass);
    }
    fail_with(load.sent(), told(run, load), &expected)
}

fn keeps_last_turn(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    let (turn, _) = run.done(Step::Remember(Who::Last))?;
    let last = run.session(Who::Last)?;
    let seen = plain(&answer(&run.updates_during(turn, &last.id)));
    let load = run.one(Step::LoadLast)?;
    let expected = format!("the turn that had ended when the process was killed, with the answer {:?}", shown(&seen));
    if load.result().is_none() {
        return judge(false, load, &expected);
    }
    let (load, replayed) = replay(run, Step::LoadLast, Who::Last)?;
    let is_turn = |round: &Round| round.user.contains(&last.word) && plain(&round.agent).starts_with(&seen);
    if rounds(&replayed).iter().any(is_turn) {
        return Ok(Verdict::Pass);
    }
    fail_with(load.sent(), told(run, load), &expected)
}

fn other_folder(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let exchange = run.one(Step::LoadElsewhere)?;
    judge(exchange.is_answered(), exchange, "the session, or an error that says that it belongs to another folder")
}

fn missing_folder(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let exchange = run.one(Step::LoadGone)?;
    judge(exchange.is_answered(), exchange, "the session, or an error that says that its folder is gone")
}

fn folders(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let (elsewhere, gone) = (run.one(Step::LoadElsewhere)?, run.one(Step::LoadGone)?);
    report(format!("in another folder: {}; folder gone: {}", outcome(elsewhere), outcome(gone)))
}

fn mcp_servers(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    if run.one(Step::NewWithFailingServer).is_ok_and(|new| new.result().is_none()) {
        return skip("the agent does not open new sessions with such a server either: see mcp.failing-server");
    }
    let exchange = run.one(Step::LoadWithServer)?;
    judge(exchange.result().is_some(), exchange, "the session, also with other MCP servers than it was opened with")
}

fn two_processes(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    run.done(Step::LoadMain)?;
    report(format!("the second one: {}", outcome(run.one(Step::LoadBeside)?)))
}

fn usage(run: &Run) -> Judged {
    let (load, replayed) = replay(run, Step::LoadMain, Who::Main)?;
    let is_usage = |update: &Update| update.kind() == UpdateKind::Usage;
    let id = &run.session(Who::Main)?.id;
    let before = run.turns(Who::Main).filter(|turn| turn.exchange.process != load.process);
    if !before.flat_map(|turn| run.updates_during(&turn.exchange, id)).any(|update| is_usage(&update)) {
        return skip("the agent tells no usage");
    }
    report(if replayed.iter().any(is_usage) { "it is" } else { "it is not" })
}

/// Whether it went well, or why not.
fn outcome(exchange: &Exchange) -> String {
    match exchange.error() {
        Some(error) => shown(&format!("refused: {}", error.get("message").unwrap_or(&Value::Null))),
        None if exchange.result().is_some() => "loaded".to_owned(),
        None => exchange.came(),
    }
}

/// The session `who`, loaded at `step`, and what was replayed; what came late is a part of it.
fn replay(run: &Run, step: Step, who: Who) -> Result<(&Exchange, Vec<Update>), Skipped> {
    run.need(Ability::Load)?;
    let (load, _) = run.done(step)?;
    let id = &run.session(who)?.id;
    let mut updates = run.updates_during(load, id);
    updates.extend(run.updates_after(load, id));
    Ok((load, updates))
}

/// What was replayed, to be shown.
fn told(run: &Run, load: &Exchange) -> String {
    let id = load.params["sessionId"].as_str().unwrap_or_default();
    let mut updates = run.updates_during(load, id);
    updates.extend(run.updates_after(load, id));
    let said: Vec<String> =
        rounds(&updates).iter().map(|round| format!("user: {:?}, agent: {:?}", round.user, round.agent)).collect();
    let said = if said.is_empty() { "no message".to_owned() } else { said.join("; ") };
    shown(&format!("{} updates: {said}", updates.len()))
}
