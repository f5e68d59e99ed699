//! `session/close`.

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge, skip};
use crate::rules::list::{is_there, rows};
use crate::run::{Run, Step, Who};

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
        id: "close.listed",
        level: Level::Quality,
        title: "lists a session that was closed",
        page: "session-setup#closing-active-sessions",
        part: Part::First,
        judge: listed,
    },
    Rule {
        id: "close.loads-again",
        level: Level::Quality,
        title: "loads a session that was closed",
        page: "session-setup#closing-active-sessions",
        part: Part::First,
        judge: loads_again,
    },
    Rule {
        id: "close.ends-servers",
        level: Level::Quality,
        title: "ends the MCP servers of a session that is closed",
        page: "session-setup#closing-a-session",
        part: Part::Servers,
        judge: ends_servers,
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

fn listed(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    run.done(Step::Close)?;
    let (exchange, rows) = rows(run, Step::ListAfterClose)?;
    is_there(exchange, &rows, run.session(Who::Spare(2))?)
}

fn loads_again(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    run.need(Ability::Load)?;
    let exchange = run.one(Step::LoadClosed)?;
    judge(exchange.result().is_some(), exchange, "the session: closed is not deleted")
}

fn ends_servers(run: &Run) -> Judged {
    run.need(Ability::Close)?;
    let (close, _) = run.done(Step::CloseWithServer)?;
    match run.is_server_left {
        Some(true) => {
            let came = format!("the server still ran after {} s", run.limits.exit.as_secs_f32());
            fail_with(close.sent(), came, "the end of the session's MCP server")
        }
        Some(false) => Ok(Verdict::Pass),
        None => skip("no MCP server was started, or this system does not show whether it runs"),
    }
}
