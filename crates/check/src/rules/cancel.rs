//! `session/cancel`.

use std::time::Duration;

use crate::rule::{Judged, Level, Part, Rule, Skipped, Verdict, fail_with, judge, skip};
use crate::rules::load::recalls;
use crate::rules::new::came;
use crate::run::{Exchange, Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "cancel.stop-reason",
        level: Level::Must,
        title: "answers the prompt of a cancelled turn with `cancelled`",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: stop_reason,
    },
    Rule {
        id: "cancel.in-time",
        level: Level::Quality,
        title: "obeys a cancel at once",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: in_time,
    },
    Rule {
        id: "cancel.updates-before-response",
        level: Level::Must,
        title: "sends all of a cancelled turn before its answer",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: updates_before_response,
    },
    Rule {
        id: "cancel.next-prompt",
        level: Level::Quality,
        title: "goes on with the session after a cancel",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: next_prompt,
    },
    Rule {
        id: "cancel.remembers",
        level: Level::Quality,
        title: "remembers what was said before a cancel",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: remembers,
    },
    Rule {
        id: "cancel.idle",
        level: Level::Quality,
        title: "ignores a cancel while no turn runs",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: idle,
    },
    Rule {
        id: "cancel.early",
        level: Level::Quality,
        title: "obeys a cancel that comes right behind the prompt",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: early,
    },
    Rule {
        id: "cancel.permission",
        level: Level::Quality,
        title: "obeys a cancel while it waits for permission",
        page: "prompt-turn#cancellation",
        part: Part::First,
        judge: permission,
    },
];

fn stop_reason(run: &Run) -> Judged {
    let (exchange, waited) = interrupted(run, Step::Cancelled)?;
    if waited.is_none() && exchange.is_answered() {
        return skip("the turn went on to its end: see cancel.in-time");
    }
    judge(exchange.stop_reason() == Some("cancelled"), exchange, "a result with the stop reason `cancelled`")
}

fn in_time(run: &Run) -> Judged {
    obeyed(run, Step::Cancelled, "the turn ran and had sent something")
}

fn early(run: &Run) -> Judged {
    obeyed(run, Step::EarlyCancel, "the turn had just begun")
}

fn permission(run: &Run) -> Judged {
    obeyed(run, Step::HeldPermission, "the agent waited for the answer to session/request_permission")
}

fn obeyed(run: &Run, step: Step, when: &str) -> Judged {
    let (exchange, waited) = interrupted(run, step)?;
    if waited.is_some() {
        return Ok(Verdict::Pass);
    }
    let limit = run.limits.cancel.as_secs_f32();
    let came = format!("no answer within {limit} s of the cancel; in the end: {}", exchange.came());
    let sent = format!("{}, then session/cancel while {when}", exchange.sent());
    fail_with(sent, came, "an end of the turn soon after the cancel")
}

fn updates_before_response(run: &Run) -> Judged {
    let (exchange, _) = interrupted(run, Step::Cancelled)?;
    if !exchange.is_answered() {
        return skip("the cancelled turn was never answered");
    }
    let after = run.updates_after(exchange, &run.session(Who::Cancel)?.id);
    match after.iter().find(|update| update.is_conversation()) {
        Some(late) => {
            let sent = format!("session/cancel, answered with {}", exchange.came());
            fail_with(sent, came(late), "all updates before the answer to the prompt")
        }
        None => Ok(Verdict::Pass),
    }
}

fn next_prompt(run: &Run) -> Judged {
    let exchange = run.one(Step::AfterCancel)?;
    let is_turn = exchange.stop_reason().is_some_and(|reason| reason != "cancelled");
    judge(is_turn, exchange, "a turn like any other: the one before was cancelled, the session was not")
}

fn remembers(run: &Run) -> Judged {
    let exchange = run.one(Step::AfterCancel)?;
    if exchange.stop_reason().is_none_or(|reason| reason == "cancelled") {
        return skip("the session did not go on: see cancel.next-prompt");
    }
    recalls(run, Step::AfterCancel, Who::Cancel)
}

fn idle(run: &Run) -> Judged {
    let exchange = run.one(Step::AfterIdleCancel)?;
    let is_turn = exchange.stop_reason().is_some_and(|reason| reason != "cancelled");
    judge(is_turn, exchange, "a turn like any other: the cancel came before it, and was for nothing")
}

/// The turn of `step` that was cancelled while it ran, and how long it took to end.
fn interrupted(run: &Run, step: Step) -> Result<(&Exchange, Option<Duration>), Skipped> {
    let exchange = run.one(step)?;
    match &exchange.interrupted {
        Some(interrupted) => Ok((exchange, interrupted.waited)),
        None => skip("the agent had answered before it could be cancelled: give it something longer with `--prompts`"),
    }
}
