//! `session/list`.

use std::collections::BTreeMap;
use std::path::Path;

use rejoin_transcript::Timestamp;
use serde_json::Value;

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Skipped, Verdict, fail, fail_with, judge, report, skip};
use crate::run::{Exchange, Opened, Run, Step, Who, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "list.finds",
        level: Level::Must,
        title: "lists a session that was prompted",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: finds,
    },
    Rule {
        id: "list.cwd-filter",
        level: Level::Must,
        title: "lists only sessions of the folder that was asked for",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: cwd_filter,
    },
    Rule {
        id: "list.none",
        level: Level::Must,
        title: "answers with an empty list where there is none",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: none,
    },
    Rule {
        id: "list.each-once",
        level: Level::Quality,
        title: "lists each session once, over all pages",
        page: "session-list#pagination",
        part: Part::First,
        judge: each_once,
    },
    Rule {
        id: "list.bad-cursor",
        level: Level::Quality,
        title: "refuses a cursor that it did not give",
        page: "session-list#pagination",
        part: Part::First,
        judge: bad_cursor,
    },
    Rule {
        id: "list.no-empty",
        level: Level::Quality,
        title: "does not list a session that was never prompted",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: no_empty,
    },
    Rule {
        id: "list.updated-at",
        level: Level::Quality,
        title: "says when each session was used, as RFC 3339 has it",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: updated_at,
    },
    Rule {
        id: "list.same-folder",
        level: Level::Quality,
        title: "finds a session by the folder as it was told, also by a link",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: same_folder,
    },
    Rule {
        id: "list.title",
        level: Level::Report,
        title: "how sessions are called",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: title,
    },
    Rule {
        id: "list.spelling",
        level: Level::Report,
        title: "whether a folder with a slash behind it is the same folder",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: spelling,
    },
    Rule {
        id: "list.survives-kill",
        level: Level::Quality,
        title: "lists the same sessions after `kill -9`",
        page: "session-list#listing-sessions",
        part: Part::Second,
        judge: survives_kill,
    },
];

fn finds(run: &Run) -> Judged {
    let main = run.session(Who::Main)?;
    let (exchange, rows) = rows(run, Step::ListHere)?;
    is_there(exchange, &rows, main)
}

fn cwd_filter(run: &Run) -> Judged {
    for (step, who) in [(Step::ListHere, Who::Main), (Step::ListThere, Who::Spare(3))] {
        let folder = &run.session(who)?.cwd;
        let (exchange, rows) = rows(run, step)?;
        let elsewhere = run.sessions.values().filter(|opened| opened.cwd != *folder);
        let elsewhere: Vec<&str> = elsewhere.map(|opened| opened.id.as_str()).collect();
        let is_elsewhere = |row: &&Value| {
            !is_folder(row, folder) || row["sessionId"].as_str().is_some_and(|id| elsewhere.contains(&id))
        };
        if let Some(row) = rows.iter().find(is_elsewhere) {
            return fail_with(
                exchange.sent(),
                shown(&row.to_string()),
                "only sessions whose `cwd` is the one asked for",
            );
        }
    }
    Ok(Verdict::Pass)
}

fn none(run: &Run) -> Judged {
    run.need(Ability::List)?;
    let exchange = run.one(Step::ListNowhere)?;
    let is_list = exchange.result().is_some_and(|result| result["sessions"].is_array());
    judge(is_list, exchange, "a result with an empty array `sessions`")
}

fn each_once(run: &Run) -> Judged {
    run.need(Ability::List)?;
    for step in [Step::ListHere, Step::ListAll] {
        let (exchange, rows) = rows(run, step)?;
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for id in rows.iter().filter_map(|row| row["sessionId"].as_str()) {
            *seen.entry(id).or_default() += 1;
        }
        if let Some((id, times)) = seen.into_iter().find(|(_, times)| *times > 1) {
            let pages = run.all(step)?.len();
            let sent = format!("{}, and {} more pages", exchange.sent(), pages - 1);
            return fail_with(sent, format!("the session {id} {times} times"), "each session once");
        }
    }
    // Those that this check has made must all be there.
    let (exchange, rows) = rows(run, Step::ListHere)?;
    let prompted = (0..3).filter_map(|number| run.sessions.get(&Who::Spare(number)));
    for opened in prompted {
        if rows.iter().all(|row| row["sessionId"] != opened.id.as_str()) {
            let came = format!("{} sessions, none of which is {}", rows.len(), opened.id);
            return fail_with(exchange.sent(), came, "every session of that folder that was prompted");
        }
    }
    Ok(Verdict::Pass)
}

fn bad_cursor(run: &Run) -> Judged {
    run.need(Ability::List)?;
    let exchange = run.one(Step::ListBadCursor)?;
    judge(exchange.error().is_some(), exchange, "the error -32602 (invalid params)")
}

fn no_empty(run: &Run) -> Judged {
    let never = run.session(Who::Never)?;
    if never.id == run.session(Who::Main)?.id {
        return skip("it has the id of another session");
    }
    let (exchange, rows) = rows(run, Step::ListHere)?;
    match rows.iter().find(|row| row["sessionId"] == never.id.as_str()) {
        Some(row) => {
            fail_with(exchange.sent(), shown(&row.to_string()), "no session that was opened and never prompted")
        }
        None => Ok(Verdict::Pass),
    }
}

fn updated_at(run: &Run) -> Judged {
    let (exchange, rows) = rows(run, Step::ListHere)?;
    let is_bad = |row: &&Value| row["updatedAt"].as_str().and_then(|text| text.parse::<Timestamp>().ok()).is_none();
    match rows.iter().find(is_bad) {
        Some(row) => fail_with(exchange.sent(), shown(&row.to_string()), "an `updatedAt` such as 2026-01-31T12:00:00Z"),
        None => Ok(Verdict::Pass),
    }
}

fn same_folder(run: &Run) -> Judged {
    run.need(Ability::List)?;
    let linked = run.session(Who::Linked)?;
    let (exchange, rows) = rows(run, Step::ListLinked)?;
    is_there(exchange, &rows, linked)
}

fn title(run: &Run) -> Judged {
    let main = run.session(Who::Main)?;
    let (_, rows) = rows(run, Step::ListHere)?;
    let row = rows.iter().find(|row| row["sessionId"] == main.id.as_str());
    match row.and_then(|row| row["title"].as_str()) {
        Some(title) => report(format!("a session that was prompted is called {title:?}")),
        None => report("a session that was prompted has no title"),
    }
}

fn spelling(run: &Run) -> Judged {
    let there = run.session(Who::Spare(3))?;
    let (_, rows) = rows(run, Step::ListSpelled)?;
    let is_found = rows.iter().any(|row| row["sessionId"] == there.id.as_str());
    report(if is_found { "it is the same" } else { "it is another: its sessions are not found" })
}

fn survives_kill(run: &Run) -> Judged {
    let main = run.session(Who::Main)?;
    run.done(Step::Remember(Who::Main))?;
    let (exchange, rows) = rows(run, Step::ListAfterKill)?;
    is_there(exchange, &rows, main)
}

/// The rows of all pages of the list at `step`, and its first page.
pub(super) fn rows(run: &Run, step: Step) -> Result<(&Exchange, Vec<Value>), Skipped> {
    run.need(Ability::List)?;
    let pages = run.all(step)?;
    let (first, _) = run.done(step)?;
    let of = |page: &Exchange| page.result().and_then(|result| result["sessions"].as_array().cloned());
    Ok((first, pages.iter().filter_map(of).flatten().collect()))
}

pub(super) fn is_there(exchange: &Exchange, rows: &[Value], opened: &Opened) -> Judged {
    if rows.iter().any(|row| row["sessionId"] == opened.id.as_str()) {
        return Ok(Verdict::Pass);
    }
    if rows.is_empty() {
        return fail(exchange, &format!("the session {}", opened.id));
    }
    let came = format!("{} sessions, none of which is {}", rows.len(), opened.id);
    fail_with(exchange.sent(), came, "that session too: it was prompted")
}

fn is_folder(row: &Value, folder: &Path) -> bool {
    row["cwd"].as_str().is_some_and(|cwd| Path::new(cwd) == folder)
}

/// When the session was used, as the list at `step` tells it.
pub(super) fn updated_at_of(run: &Run, step: Step, id: &str) -> Result<String, Skipped> {
    let (_, rows) = rows(run, step)?;
    let row = rows.iter().find(|row| row["sessionId"] == id);
    match row.and_then(|row| row["updatedAt"].as_str()) {
        Some(text) => Ok(text.to_owned()),
        None => skip("the list does not say when the session was used"),
    }
}
