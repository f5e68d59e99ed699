//! What the draft of the protocol has beyond it: titles, archives, status.

use rejoin_transcript::UpdateKind;

use crate::ability::Ability;
use crate::course::TITLE;
use crate::log::Update;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge};
use crate::rules::list::rows;
use crate::run::{Run, Step, Who, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "title.listed",
        level: Level::Quality,
        title: "lists a session by the title that it was given",
        page: "draft/schema",
        part: Part::First,
        judge: title_listed,
    },
    Rule {
        id: "title.pushed",
        level: Level::Quality,
        title: "tells clients a title that a session was given",
        page: "session-list",
        part: Part::First,
        judge: title_pushed,
    },
    Rule {
        id: "archive.hides",
        level: Level::Quality,
        title: "takes an archived session out of the list",
        page: "draft/schema",
        part: Part::First,
        judge: archive_hides,
    },
    Rule {
        id: "status.answers",
        level: Level::Quality,
        title: "says that an open session is open",
        page: "draft/schema",
        part: Part::First,
        judge: status_answers,
    },
];

fn title_listed(run: &Run) -> Judged {
    run.need(Ability::Title)?;
    let exchange = run.one(Step::SetTitle)?;
    if exchange.result().is_none() {
        return judge(false, exchange, "a result");
    }
    let (list, rows) = rows(run, Step::ListAfterTitle)?;
    let named = run.session(Who::Spare(3))?;
    let row = rows.iter().find(|row| row["sessionId"] == named.id.as_str());
    let is_called = row.is_some_and(|row| row["title"] == TITLE);
    if is_called {
        return Ok(Verdict::Pass);
    }
    let came = row.map_or("no such session".to_owned(), |row| shown(&row.to_string()));
    fail_with(format!("{}, then {}", exchange.sent(), list.sent()), came, "the session with its new title")
}

fn title_pushed(run: &Run) -> Judged {
    run.need(Ability::Title)?;
    let (exchange, _) = run.done(Step::SetTitle)?;
    let updates = run.log(exchange.process)?.updates(exchange.from..usize::MAX, Some(&run.session(Who::Spare(3))?.id));
    let is_told = |update: &Update| update.kind() == UpdateKind::SessionInfo && update.body["title"] == TITLE;
    if updates.iter().any(is_told) {
        return Ok(Verdict::Pass);
    }
    fail_with(exchange.sent(), "no `session_info_update` with it", "a `session_info_update` with the new title")
}

fn archive_hides(run: &Run) -> Judged {
    run.need(Ability::Archive)?;
    let exchange = run.one(Step::Archive)?;
    if exchange.result().is_none() {
        return judge(false, exchange, "a result");
    }
    let (list, rows) = rows(run, Step::ListAfterArchive)?;
    let archived = run.session(Who::Spare(3))?;
    match rows.iter().find(|row| row["sessionId"] == archived.id.as_str()) {
        Some(row) => {
            let sent = format!("{}, then {}", exchange.sent(), list.sent());
            fail_with(sent, shown(&row.to_string()), "a list without the session that was archived")
        }
        None => Ok(Verdict::Pass),
    }
}

fn status_answers(run: &Run) -> Judged {
    run.need(Ability::Status)?;
    let exchange = run.one(Step::Status)?;
    let is_open = exchange.result().is_some_and(|result| result["status"] == "open");
    judge(is_open, exchange, "the status `open`")
}
