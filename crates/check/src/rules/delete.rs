//! `session/delete`.

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge};
use crate::rules::list::rows;
use crate::run::{Run, Step, Who, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "delete.removes",
        level: Level::Must,
        title: "takes a deleted session out of the list",
        page: "session-delete#semantics",
        part: Part::First,
        judge: removes,
    },
    Rule {
        id: "delete.load-fails",
        level: Level::Quality,
        title: "does not load a deleted session",
        page: "session-delete#semantics",
        part: Part::First,
        judge: load_fails,
    },
    Rule {
        id: "delete.unknown-session",
        level: Level::Should,
        title: "deletes silently what does not exist",
        page: "session-delete#semantics",
        part: Part::First,
        judge: unknown_session,
    },
];

fn removes(run: &Run) -> Judged {
    run.need(Ability::Delete)?;
    let exchange = run.one(Step::Delete)?;
    if exchange.result().is_none() {
        return judge(false, exchange, "an empty result");
    }
    let doomed = run.session(Who::Spare(1))?;
    let (list, rows) = rows(run, Step::ListAfterDelete)?;
    match rows.iter().find(|row| row["sessionId"] == doomed.id.as_str()) {
        Some(row) => {
            let sent = format!("{}, then {}", exchange.sent(), list.sent());
            fail_with(sent, shown(&row.to_string()), "a list without the session that was deleted")
        }
        None => Ok(Verdict::Pass),
    }
}

fn load_fails(run: &Run) -> Judged {
    run.need(Ability::Delete)?;
    run.need(Ability::Load)?;
    run.done(Step::Delete)?;
    let exchange = run.one(Step::LoadDeleted)?;
    judge(exchange.error().is_some(), exchange, "an error: the session was deleted")
}

fn unknown_session(run: &Run) -> Judged {
    run.need(Ability::Delete)?;
    let exchange = run.one(Step::DeleteUnknown)?;
    judge(exchange.result().is_some(), exchange, "an empty result: there is nothing left to do")
}
