//! `session/prompt`.

use std::collections::BTreeMap;

use rejoin_transcript::UpdateKind;

use crate::conversation::{answer, plain};
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail, fail_with, judge, report, skip};
use crate::rules::new::came;
use crate::run::{Exchange, Reply, Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "prompt.answers",
        level: Level::Must,
        title: "ends a turn with a stop reason",
        page: "prompt-turn#4-check-for-completion",
        part: Part::First,
        judge: answers,
    },
    Rule {
        id: "prompt.updates-before-response",
        level: Level::Quality,
        title: "sends all of a turn before its answer",
        page: "prompt-turn#the-prompt-turn-lifecycle",
        part: Part::First,
        judge: updates_before_response,
    },
    Rule {
        id: "prompt.again",
        level: Level::Quality,
        title: "takes a prompt right behind the end of a turn",
        page: "prompt-turn#6-continue-conversation",
        part: Part::First,
        judge: again,
    },
    Rule {
        id: "prompt.resource-link",
        level: Level::Must,
        title: "takes text and resource links",
        page: "initialization#prompt-capabilities",
        part: Part::First,
        judge: resource_link,
    },
    Rule {
        id: "prompt.unknown-session",
        level: Level::Quality,
        title: "refuses a prompt for a session that does not exist",
        page: "prompt-turn#1-user-message",
        part: Part::First,
        judge: unknown_session,
    },
    Rule {
        id: "prompt.no-echo",
        level: Level::Quality,
        title: "does not repeat the user's words more than once",
        page: "prompt-turn#3-agent-reports-output",
        part: Part::First,
        judge: no_echo,
    },
    Rule {
        id: "prompt.message-ids",
        level: Level::Must,
        title: "gives messages of different turns different ids, if it gives any",
        page: "prompt-turn#message-ids",
        part: Part::First,
        judge: message_ids,
    },
    Rule {
        id: "prompt.several-sessions",
        level: Level::Quality,
        title: "runs turns of several sessions",
        page: "session-setup",
        part: Part::First,
        judge: several_sessions,
    },
    Rule {
        id: "prompt.beside",
        level: Level::Quality,
        title: "answers in one session while a turn runs in another",
        page: "session-setup",
        part: Part::First,
        judge: beside,
    },
    Rule {
        id: "prompt.beside-permission",
        level: Level::Quality,
        title: "answers in one session while another one waits for permission",
        page: "tool-calls#requesting-permission",
        part: Part::First,
        judge: beside_permission,
    },
    Rule {
        id: "prompt.while-busy",
        level: Level::Quality,
        title: "answers a second prompt during a turn, one way or another",
        page: "prompt-turn#the-prompt-turn-lifecycle",
        part: Part::First,
        judge: while_busy,
    },
    Rule {
        id: "prompt.while-busy-how",
        level: Level::Report,
        title: "what becomes of a second prompt during a turn that is then cancelled",
        page: "prompt-turn#the-prompt-turn-lifecycle",
        part: Part::First,
        judge: while_busy_how,
    },
    Rule {
        id: "prompt.outside-turns",
        level: Level::Report,
        title: "what is said in a session while no turn runs",
        page: "prompt-turn#the-prompt-turn-lifecycle",
        part: Part::First,
        judge: outside_turns,
    },
];

fn answers(run: &Run) -> Judged {
    let exchange = run.one(Step::Remember(Who::Main))?;
    judge(exchange.stop_reason().is_some(), exchange, "a result with a `stopReason`")
}

fn updates_before_response(run: &Run) -> Judged {
    let id = &run.session(Who::Main)?.id;
    for step in [Step::Remember(Who::Main), Step::Recall] {
        let exchange = run.one(step)?;
        let after = run.updates_after(exchange, id);
        if let Some(late) = after.iter().find(|update| update.is_conversation()) {
            let sent = format!("{}, answered with {}", exchange.sent(), exchange.came());
            return fail_with(
                sent,
                came(late),
                "all messages and tool calls of a turn before the answer to its prompt",
            );
        }
    }
    Ok(Verdict::Pass)
}

fn again(run: &Run) -> Judged {
    let exchange = run.one(Step::Recall)?;
    judge(exchange.stop_reason().is_some(), exchange, "a turn like the one before, which had just ended")
}

fn resource_link(run: &Run) -> Judged {
    let exchange = run.one(Step::Link)?;
    judge(exchange.stop_reason().is_some(), exchange, "a turn: every agent supports text and resource links")
}

fn unknown_session(run: &Run) -> Judged {
    let exchange = run.one(Step::PromptUnknown)?;
    judge(exchange.error().is_some(), exchange, "an error, such as -32002 (not found)")
}

fn no_echo(run: &Run) -> Judged {
    run.one(Step::Remember(Who::Main))?;
    let id = &run.session(Who::Main)?.id;
    for turn in run.turns(Who::Main) {
        let updates = run.updates_during(&turn.exchange, id);
        let users = updates.iter().filter(|update| update.kind() == UpdateKind::UserMessageChunk);
        let said: String = users.filter_map(|update| update.body["content"]["text"].as_str()).collect();
        if plain(&said).matches(&plain(&turn.text)).count() > 1 {
            return fail_with(turn.exchange.sent(), said, "the user's own words at most once");
        }
    }
    Ok(Verdict::Pass)
}

fn message_ids(run: &Run) -> Judged {
    run.one(Step::Recall)?;
    let id = &run.session(Who::Main)?.id;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (number, turn) in run.turns(Who::Main).enumerate() {
        let updates = run.updates_during(&turn.exchange, id);
        for update in updates.iter().filter(|update| update.kind() == UpdateKind::AgentMessageChunk) {
            let Some(message) = update.body["messageId"].as_str() else { continue };
            let first = *seen.entry(message.to_owned()).or_insert(number);
            if first != number {
                return fail_with(turn.exchange.sent(), came(update), "another `messageId` than in an earlier turn");
            }
        }
    }
    if seen.is_empty() { skip("the agent gives no message ids") } else { Ok(Verdict::Pass) }
}

fn several_sessions(run: &Run) -> Judged {
    let spares: Vec<&Exchange> = run
        .sessions
        .keys()
        .filter(|who| matches!(who, Who::Spare(_)))
        .filter_map(|who| run.one(Step::Remember(*who)).ok())
        .collect();
    if spares.is_empty() {
        run.one(Step::Remember(Who::Spare(0)))?;
    }
    match spares.into_iter().find(|exchange| exchange.stop_reason().is_none()) {
        Some(failed) => fail(failed, "a turn in each of several sessions of one process"),
        None => Ok(Verdict::Pass),
    }
}

fn beside(run: &Run) -> Judged {
    let exchange = run.one(Step::Beside)?;
    judge(exchange.stop_reason().is_some(), exchange, "an answer while the turn of the other session still runs")
}

fn beside_permission(run: &Run) -> Judged {
    let exchange = run.one(Step::BesidePermission)?;
    judge(exchange.stop_reason().is_some(), exchange, "an answer while the other session waits for its user")
}

fn while_busy(run: &Run) -> Judged {
    let exchange = run.one(Step::SecondPrompt)?;
    judge(exchange.is_answered(), exchange, "an answer: a turn, `cancelled`, or an error; never silence")
}

fn while_busy_how(run: &Run) -> Judged {
    let exchange = run.one(Step::SecondPrompt)?;
    let said = answer(&run.updates_during(exchange, &run.session(Who::Cancel)?.id));
    report(match &exchange.reply {
        Reply::Error { error, .. } => format!("refused: {error}"),
        Reply::Result { value, .. } if value["stopReason"] == "cancelled" => {
            "cancelled with the turn before it".to_owned()
        }
        Reply::Result { .. } if said.is_empty() => "answered without words".to_owned(),
        Reply::Result { .. } => "its turn came after the one before it".to_owned(),
        Reply::Silence { .. } | Reply::Gone { .. } => exchange.came(),
    })
}

fn outside_turns(run: &Run) -> Judged {
    let main = run.session(Who::Main)?;
    let exchange = run.one(Step::Recall)?;
    let log = run.log(exchange.process)?;
    let all = log.updates(0..usize::MAX, Some(&main.id));
    let is_in_turn = |at: usize| run.turns(Who::Main).any(|turn| turn.exchange.range().contains(&at));
    let outside: Vec<&str> = all
        .iter()
        .filter(|update| !is_in_turn(update.at))
        .filter_map(|update| update.body["sessionUpdate"].as_str())
        .collect();
    report(if outside.is_empty() { "nothing".to_owned() } else { outside.join(", ") })
}
