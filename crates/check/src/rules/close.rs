//! `session/close`.

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge};
use crate::run::{Run, Step};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "close.answers",
        level: Level::Must,
        title: "closes a session",
        page: "session-setup#closing-a-session",
        part: Part::First,
        judge: answers,
    },
    Rule {
        id: "close.cancels",
        level: Level::Must,
        title: "ends the turn of a session that is closed",
        page: "session-setup#closing-a-session",
        part: Part::First,
        judge: cancels,
    },
    Rule {
        id: "close.loads-again",
        level: Level::Quality,
        title: "loads a session that was closed",
        page: "session-setup#closing-active-sessions",
        part: Part::First,
        judge: loads_again,
    },
];

fn answers(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    let exchange = run.one(Step::Close)?;
    judge(exchange.result().is_some(), exchange, "an empty result")
}

fn cancels(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    run.done(Step::Close)?;
    let turn = run.one(Step::ClosedTurn)?;
    let is_in_time = turn.interrupted.as_ref().is_some_and(|interrupted| interrupted.waited.is_some());
    if is_in_time {
        return Ok(Verdict::Pass);
    }
    let came =
        format!("no answer to the prompt within {} s; in the end: {}", run.limits.cancel.as_secs_f32(), turn.came());
    fail_with(format!("{}, then session/close", turn.sent()), came, "the end of the turn, as if it were cancelled")
}

fn loads_again(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    run.need(Ability::Load)?;
    let exchange = run.one(Step::LoadClosed)?;
    judge(exchange.result().is_some(), exchange, "the session: closed is not deleted")
}
