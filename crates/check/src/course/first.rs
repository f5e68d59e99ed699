//! The first process: everything that needs no restart, and `kill -9` in the end.

use futures::future::join_all;
use serde_json::json;
use tokio::sync::oneshot;

use super::stage::{Stage, Stop, UNKNOWN, Went, text_block};
use super::{Folders, LINK};
use crate::ability::Ability;
use crate::answers::ClientAbilities;
use crate::prompts::TOOL_FILE;
use crate::run::{Exchange, Proc, Reply, Run, Step, Turn, Who};
use crate::settings::{mode_choice, option_choice};
use crate::subject::Subject;
use crate::{Check, CheckError, Prompts};

/// How many sessions with a single turn there are.
const SPARES: u8 = 7;

/// How many pages of a list that may be long are read.
const PAGES: usize = 20;

/// Takes a first process over its part; fails if it does not even say hello, which is told by `greeted`.
pub(super) async fn run(check: &Check, folders: &Folders, greeted: oneshot::Sender<()>) -> Result<Run, CheckError> {
    let mut stage = Stage::start(check, folders, Proc::First, ClientAbilities::Files, Run::default())?;
    stage.say("starting the agent");
    let went = stage.initialize(Step::Initialize, ClientAbilities::Files).await;
    let reason = match &went {
        Ok(exchange) if exchange.result().is_some() => None,
        Ok(exchange) => Some(stage.subject.with_last_words(format!("initialize: {}", exchange.came()))),
        Err(Stop(reason)) => Some(reason.clone()),
    };
    if let Some(reason) = reason {
        return Err(CheckError::NoAgent { program: check.command.program.clone(), reason });
    }
    // Nobody may wait for it.
    let _ = greeted.send(());
    let went = walk(&mut stage).await;
    stage.conclude(went);
    let Stage { subject, run, .. } = stage;
    subject.kill().await;
    Ok(run)
}

async fn walk(stage: &mut Stage<'_>) -> Went {
    stage.say("asking for what it can't do");
    refusals(stage).await?;
    stage.say("opening sessions");
    let here = stage.folders.path("here");
    stage.open(Who::Main, &here).await?;
    stage.open(Who::Never, &here).await?;
    stage.say("talking");
    talk(stage).await?;
    several_at_once(stage).await?;
    use_a_tool(stage).await?;
    stage.say("cancelling");
    cancel(stage).await?;
    stage.say("changing settings");
    settings(stage).await?;
    if stage.can(Ability::List) {
        stage.say("listing");
        list(stage).await?;
    }
    stage.say("forking, deleting, closing");
    fork(stage).await?;
    delete(stage).await?;
    close(stage).await?;
    name_and_archive(stage).await?;
    stage.say("killing it in the middle of an answer");
    be_cut_off(stage).await
}

/// Asks for what there is not.
async fn refusals(stage: &mut Stage<'_>) -> Went {
    stage.provoke(Step::UnknownMethod, "rejoin_check/unknown", json!({})).await?;
    stage.provoke(Step::BadParams, "session/new", json!({ "mcpServers": [] })).await?;
    for (ability, method) in Ability::METHODS {
        if stage.can(ability) {
            continue;
        }
        let params = json!({ "sessionId": UNKNOWN, "cwd": stage.folders.path("here"), "mcpServers": [] });
        stage.provoke(Step::Unadvertised, method, params).await?;
    }
    if stage.can(Ability::Directories) {
        let (here, more) = (stage.folders.path("here"), stage.folders.path("more"));
        let params = json!({ "cwd": here, "mcpServers": [], "additionalDirectories": [more] });
        stage.ask(Step::NewWithDirectories, "session/new", params).await?;
    }
    Ok(())
}

/// Several turns in one session, each right behind the other.
async fn talk(stage: &mut Stage<'_>) -> Went {
    let main = stage.session(Who::Main)?;
    let remember = stage.remember(Who::Main);
    let told = stage.prompt(Step::Remember(Who::Main), Who::Main, &remember).await?;
    if let Reply::Error { error, .. } = &told.reply {
        return Err(Stop(format!("the first prompt failed: {error}")));
    }
    let recall = Prompts::about(&stage.check.prompts.recall, &main.word);
    stage.prompt(Step::Recall, Who::Main, &recall).await?;
    stage.listen().await;

    let text = stage.remember(Who::Main);
    let uri = format!("file://{}", main.cwd.join("notes.txt").display());
    let link = json!({ "type": "resource_link", "name": "notes.txt", "uri": uri, "mimeType": "text/plain" });
    let params = json!({ "sessionId": main.id, "prompt": [text_block(&text), link] });
    // Agents read what is linked to.
    if let Err(error) = std::fs::write(main.cwd.join("notes.txt"), LINKED_TEXT) {
        tracing::debug!(%error, "the linked file was not written");
    }
    let exchange = stage.subject.ask("session/prompt", params, stage.check.limits.answer).await;
    stage.run.turns.push(Turn { who: Who::Main, text, is_plain: false, exchange: exchange.clone() });
    stage.note(Step::Link, exchange)?;

    let params = json!({ "sessionId": UNKNOWN, "prompt": [text_block(&recall)] });
    stage.provoke(Step::PromptUnknown, "session/prompt", params).await?;
    Ok(())
}

/// Sessions with one turn each, all at the same time.
async fn several_at_once(stage: &mut Stage<'_>) -> Went {
    for number in 0..SPARES {
        let folder = match number {
            3 => "there",
            6 => "gone",
            _ => "here",
        };
        stage.open(Who::Spare(number), &stage.folders.path(folder)).await?;
    }
    let mut open = Vec::new();
    for number in 0..SPARES {
        let who = Who::Spare(number);
        let text = stage.remember(who);
        open.push((who, text.clone(), stage.begin_prompt(who, &text).await?));
    }
    let (subject, limit) = (&stage.subject, stage.check.limits.answer);
    let ended = join_all(
        open.into_iter().map(|(who, text, open)| async move { (who, text, subject.finish(open, limit).await) }),
    );
    for (who, text, exchange) in ended.await {
        stage.note_turn(Step::Remember(who), who, &text, exchange)?;
    }
    if stage.can(Ability::List) {
        stage.open(Who::Linked, &stage.folders.path(LINK)).await?;
        let text = stage.remember(Who::Linked);
        stage.prompt(Step::Remember(Who::Linked), Who::Linked, &text).await?;
    }
    Ok(())
}

/// Has a tool write a file; if that needs permission, once more without giving it.
async fn use_a_tool(stage: &mut Stage<'_>) -> Went {
    let opened = stage.open(Who::Tool, &stage.folders.path("here")).await?;
    let text = stage.check.prompts.tool.clone();
    let exchange = stage.prompt(Step::Tool, Who::Tool, &text).await?;
    stage.run.tool_file = std::fs::read_to_string(opened.cwd.join(TOOL_FILE)).ok();

    let asks = |range| !stage.subject.log().asked(range, "session/request_permission").is_empty();
    if !asks(exchange.range()) {
        for step in [Step::HeldPermission, Step::BesidePermission] {
            stage.run.leave_out(step, NO_PERMISSION);
        }
        return Ok(());
    }
    let from = stage.subject.log().end();
    stage.subject.hold_permissions();
    let open = stage.begin_prompt(Who::Tool, &text).await?;
    let has_asked = stage.subject.until(stage.check.limits.cancel, |log| {
        !Subject::is_open(&open) || !log.asked(from..usize::MAX, "session/request_permission").is_empty()
    });
    has_asked.await;
    if Subject::is_open(&open) && asks(from..usize::MAX) {
        let (beside, limit) = (Who::Spare(4), stage.check.limits.cancel);
        let text = stage.remember(beside);
        let other = stage.begin_prompt(beside, &text).await?;
        let exchange = stage.subject.finish(other, limit).await;
        stage.note_turn(Step::BesidePermission, beside, &text, exchange)?;
    } else {
        stage.run.leave_out(Step::BesidePermission, NO_PERMISSION);
    }
    let exchange = interrupt(stage, Who::Tool, open).await?;
    stage.note_turn(Step::HeldPermission, Who::Tool, &text, exchange)?;
    Ok(())
}

const NO_PERMISSION: &str = "the agent asked for no permission";

/// Cancels the turn of `open`, and waits for its end.
async fn interrupt(stage: &Stage<'_>, who: Who, open: crate::subject::Open) -> Went<Exchange> {
    let (limits, id) = (&stage.check.limits, stage.session(who)?.id);
    if !Subject::is_open(&open) {
        stage.subject.cancel_permissions().await;
        return Ok(stage.subject.finish(open, limits.cancel).await);
    }
    stage.subject.tell("session/cancel", &json!({ "sessionId": id })).await;
    stage.subject.cancel_permissions().await;
    Ok(stage.subject.finish_interrupted(open, limits.cancel, limits.answer).await)
}

/// Cancels in the middle of an answer, when nothing runs, right behind a prompt, and with another prompt waiting.
async fn cancel(stage: &mut Stage<'_>) -> Went {
    let cancelled = stage.open(Who::Cancel, &stage.folders.path("here")).await?;
    let remember = stage.remember(Who::Cancel);
    stage.prompt(Step::Remember(Who::Cancel), Who::Cancel, &remember).await?;
    let long = stage.check.prompts.long.clone();
    let open = stage.begin_prompt(Who::Cancel, &long).await?;
    stage.until_it_speaks(&open, Who::Cancel, 1).await?;
    let exchange = interrupt(stage, Who::Cancel, open).await?;
    let is_obeyed = exchange.interrupted.as_ref().is_some_and(|interrupted| interrupted.waited.is_some());
    let is_too_short = exchange.interrupted.is_none();
    stage.note_turn(Step::Cancelled, Who::Cancel, &long, exchange)?;
    stage.listen().await;
    if !is_obeyed {
        let reason = if is_too_short { TOO_SHORT } else { "the agent did not obey the first cancel" };
        for step in
            [Step::AfterCancel, Step::AfterIdleCancel, Step::EarlyCancel, Step::Busy, Step::SecondPrompt, Step::Beside]
        {
            stage.run.leave_out(step, reason);
        }
        return Ok(());
    }
    let recall = Prompts::about(&stage.check.prompts.recall, &cancelled.word);
    stage.prompt(Step::AfterCancel, Who::Cancel, &recall).await?;
    stage.subject.tell("session/cancel", &json!({ "sessionId": cancelled.id })).await;
    stage.prompt(Step::AfterIdleCancel, Who::Cancel, &remember).await?;

    let open = stage.begin_prompt(Who::Cancel, &long).await?;
    // Long enough for any agent to have read the prompt, and shorter than it takes a model to say something.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let exchange = interrupt(stage, Who::Cancel, open).await?;
    stage.note_turn(Step::EarlyCancel, Who::Cancel, &long, exchange)?;
    stage.listen().await;
    keep_it_busy(stage).await
}

/// Says something else during a turn: in the same session, and in another one.
async fn keep_it_busy(stage: &mut Stage<'_>) -> Went {
    let (long, remember) = (stage.check.prompts.long.clone(), stage.remember(Who::Cancel));
    let beside = Who::Spare(0);
    let (limits, text) = (stage.check.limits.clone(), stage.remember(beside));
    let open = stage.begin_prompt(Who::Cancel, &long).await?;
    stage.until_it_speaks(&open, Who::Cancel, 1).await?;
    let other = stage.begin_prompt(beside, &text).await?;
    let exchange = stage.subject.finish(other, limits.cancel).await;
    let was_busy = Subject::is_open(&open);
    if was_busy || !exchange.is_answered() {
        stage.note_turn(Step::Beside, beside, &text, exchange)?;
    } else {
        stage.run.leave_out(Step::Beside, TOO_SHORT);
        stage.run.turns.push(Turn { who: beside, text, is_plain: true, exchange });
    }
    let second = stage.begin_prompt(Who::Cancel, &remember).await?;
    let exchange = interrupt(stage, Who::Cancel, open).await?;
    stage.note_turn(Step::Busy, Who::Cancel, &long, exchange)?;
    let exchange = stage.subject.finish(second, limits.answer).await;
    stage.note_turn(Step::SecondPrompt, Who::Cancel, &remember, exchange)?;
    Ok(())
}

const TOO_SHORT: &str =
    "the agent had answered before it could be cancelled: give it something longer with `--prompts`";

/// Sets another mode and another value, and ones that there are none of.
async fn settings(stage: &mut Stage<'_>) -> Went {
    let id = stage.session(Who::Main)?.id;
    let setup = stage.run.done(Step::New(Who::Main)).map(|(_, result)| result.clone()).unwrap_or_default();
    match mode_choice(&setup) {
        Some(mode) => {
            stage.ask(Step::SetMode, "session/set_mode", json!({ "sessionId": id, "modeId": mode })).await?;
            let unknown = json!({ "sessionId": id, "modeId": "rejoin-check-no-such-mode" });
            stage.provoke(Step::SetUnknownMode, "session/set_mode", unknown).await?;
            if stage.can(Ability::Resume) {
                let other = json!({ "sessionId": stage.session(Who::Spare(5))?.id, "modeId": mode });
                stage.ask(Step::SetModeToResume, "session/set_mode", other).await?;
            }
        }
        None => {
            for step in [Step::SetMode, Step::SetUnknownMode, Step::SetModeToResume] {
                stage.run.leave_out(step, "the agent offers no second mode");
            }
        }
    }
    match option_choice(&setup) {
        Some((option, value)) => {
            let params = json!({ "sessionId": id, "configId": option, "value": value });
            stage.ask(Step::SetOption, "session/set_config_option", params).await?;
            let unknown = json!({ "sessionId": id, "configId": option, "value": "rejoin-check-no-such-value" });
            stage.provoke(Step::SetUnknownValue, "session/set_config_option", unknown).await?;
        }
        None => {
            for step in [Step::SetOption, Step::SetUnknownValue] {
                stage.run.leave_out(step, "the agent offers no option, beside mode and model, with a second value");
            }
        }
    }
    Ok(())
}

async fn list(stage: &mut Stage<'_>) -> Went {
    let folder = |name: &str| stage.folders.path(name).display().to_string();
    let (here, there, nowhere) = (folder("here"), folder("there"), folder("nowhere"));
    stage.list(Step::ListHere, json!({ "cwd": here }), PAGES).await?;
    stage.list(Step::ListThere, json!({ "cwd": there }), PAGES).await?;
    stage.list(Step::ListNowhere, json!({ "cwd": nowhere }), 1).await?;
    stage.list(Step::ListAll, json!({}), PAGES).await?;
    stage.list(Step::ListSpelled, json!({ "cwd": format!("{there}/") }), 1).await?;
    stage.list(Step::ListLinked, json!({ "cwd": folder(LINK) }), PAGES).await?;
    stage.provoke(Step::ListBadCursor, "session/list", json!({ "cursor": "rejoin-check, no cursor" })).await?;
    Ok(())
}

async fn fork(stage: &mut Stage<'_>) -> Went {
    if !stage.can(Ability::Fork) {
        return Ok(());
    }
    let main = stage.session(Who::Main)?;
    let params = json!({ "sessionId": main.id, "cwd": main.cwd, "mcpServers": [] });
    let fork = stage.ask(Step::Fork, "session/fork", params).await?;
    if stage.can(Ability::List) {
        stage.list(Step::ListAfterFork, json!({ "cwd": main.cwd }), PAGES).await?;
    }
    let id = fork.result().and_then(|result| result["sessionId"].as_str()).unwrap_or_default();
    if id.is_empty() || stage.run.sessions.values().any(|opened| opened.id == id) {
        stage.run.leave_out(Step::RecallForked, "the fork has no id of its own");
        return Ok(());
    }
    let recall = Prompts::about(&stage.check.prompts.recall, &main.word);
    let params = json!({ "sessionId": id, "prompt": [text_block(&recall)] });
    stage.ask(Step::RecallForked, "session/prompt", params).await?;
    Ok(())
}

async fn delete(stage: &mut Stage<'_>) -> Went {
    if !stage.can(Ability::Delete) {
        return Ok(());
    }
    let doomed = stage.session(Who::Spare(1))?;
    let id = json!({ "sessionId": doomed.id });
    stage.ask(Step::Delete, "session/delete", id).await?;
    if stage.can(Ability::List) {
        stage.list(Step::ListAfterDelete, json!({ "cwd": doomed.cwd }), PAGES).await?;
    }
    if stage.can(Ability::Load) {
        let params = json!({ "sessionId": doomed.id, "cwd": doomed.cwd, "mcpServers": [] });
        stage.provoke(Step::LoadDeleted, "session/load", params).await?;
    }
    stage.provoke(Step::DeleteUnknown, "session/delete", json!({ "sessionId": UNKNOWN })).await?;
    Ok(())
}

/// Closes a session during a turn, and opens it again.
async fn close(stage: &mut Stage<'_>) -> Went {
    if !stage.can(Ability::Close) {
        return Ok(());
    }
    let (who, long) = (Who::Spare(2), stage.check.prompts.long.clone());
    let closed = stage.session(who)?;
    let open = stage.begin_prompt(who, &long).await?;
    stage.until_it_speaks(&open, who, 1).await?;
    let was_running = Subject::is_open(&open);
    stage.ask(Step::Close, "session/close", json!({ "sessionId": closed.id })).await?;
    let limits = stage.check.limits.clone();
    if was_running {
        let exchange = stage.subject.finish_interrupted(open, limits.cancel, limits.answer).await;
        stage.note_turn(Step::ClosedTurn, who, &long, exchange)?;
    } else {
        stage.run.leave_out(Step::ClosedTurn, TOO_SHORT);
        let exchange = stage.subject.finish(open, limits.cancel).await;
        stage.run.turns.push(Turn { who, text: long, is_plain: true, exchange });
    }
    if stage.can(Ability::List) {
        stage.list(Step::ListAfterClose, json!({ "cwd": closed.cwd }), PAGES).await?;
    }
    if stage.can(Ability::Load) {
        let params = json!({ "sessionId": closed.id, "cwd": closed.cwd, "mcpServers": [] });
        stage.ask(Step::LoadClosed, "session/load", params).await?;
    }
    Ok(())
}

async fn name_and_archive(stage: &mut Stage<'_>) -> Went {
    let named = stage.session(Who::Spare(3))?;
    let in_folder = json!({ "cwd": named.cwd });
    if stage.can(Ability::Title) {
        let params = json!({ "sessionId": named.id, "title": TITLE });
        stage.ask(Step::SetTitle, "session/set_title", params).await?;
        if stage.can(Ability::List) {
            stage.list(Step::ListAfterTitle, in_folder.clone(), PAGES).await?;
        }
    }
    if stage.can(Ability::Status) {
        stage.ask(Step::Status, "session/status", json!({ "sessionId": named.id })).await?;
    }
    if stage.can(Ability::Archive) {
        stage.ask(Step::Archive, "session/archive", json!({ "sessionId": named.id })).await?;
        if stage.can(Ability::List) {
            stage.list(Step::ListAfterArchive, in_folder, PAGES).await?;
        }
    }
    Ok(())
}

/// What is in the file that a prompt links to.
pub(crate) const LINKED_TEXT: &str = "Nobody said this: it is in a file.\n";

/// The title that a session is given.
pub(crate) const TITLE: &str = "Named by rejoin check";

/// Begins a turn that does not come to its end, because the process is killed behind this; in another session one ends
/// right before.
async fn be_cut_off(stage: &mut Stage<'_>) -> Went {
    stage.open(Who::Last, &stage.folders.path("last")).await?;
    stage.open(Who::Killed, &stage.folders.path("here")).await?;
    let long = stage.check.prompts.long.clone();
    let open = stage.begin_prompt(Who::Killed, &long).await?;
    stage.until_it_speaks(&open, Who::Killed, 3).await?;
    let text = stage.remember(Who::Last);
    let last = stage.begin_prompt(Who::Last, &text).await?;
    let exchange = stage.subject.finish(last, stage.check.limits.cancel).await;
    if exchange.result().is_some() {
        stage.note_turn(Step::Remember(Who::Last), Who::Last, &text, exchange)?;
    } else {
        stage.run.leave_out(Step::Remember(Who::Last), "the agent did not answer beside a turn: see prompt.beside");
    }
    if Subject::is_open(&open) {
        // What the client has seen by now must not be lost.
        let exchange = stage.subject.finish(open, std::time::Duration::ZERO).await;
        stage.run.add(Step::KilledTurn, exchange.clone());
        stage.run.turns.push(Turn { who: Who::Killed, text: long, is_plain: true, exchange });
    } else {
        stage.run.leave_out(Step::KilledTurn, TOO_SHORT);
    }
    Ok(())
}

impl Stage<'_> {
    /// Whether the agent says that it can do this.
    pub(super) fn can(&self, ability: Ability) -> bool {
        self.run.can(ability).unwrap_or(false)
    }
}
