//! `session/new`.

use serde_json::Value;

use crate::ability::Ability;
use crate::log::Update;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail, fail_with, judge, skip};
use crate::run::{Run, Step, Who, shown};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "new.answers",
        level: Level::Must,
        title: "opens a session and gives its id",
        page: "session-setup#creating-a-session",
        part: Part::First,
        judge: answers,
    },
    Rule {
        id: "new.unique-id",
        level: Level::Must,
        title: "gives each session an id of its own",
        page: "session-setup#session-id",
        part: Part::First,
        judge: unique_id,
    },
    Rule {
        id: "new.no-early-updates",
        level: Level::Quality,
        title: "sends nothing of a session before the client knows its id",
        page: "session-setup#creating-a-session",
        part: Part::First,
        judge: no_early_updates,
    },
    Rule {
        id: "new.additional-directories",
        level: Level::Must,
        title: "takes additional directories, if it advertises them",
        page: "session-setup#additional-workspace-roots",
        part: Part::First,
        judge: additional_directories,
    },
];

/// The error of an agent that wants a login first.
const AUTH_REQUIRED: i64 = -32000;

fn answers(run: &Run) -> Judged {
    let exchange = run.one(Step::New(Who::Main))?;
    let id = exchange.result().and_then(|result| result["sessionId"].as_str());
    if exchange.error().is_some_and(|error| error["code"] == AUTH_REQUIRED) {
        return fail(exchange, "a session: log in to the agent, and check it again");
    }
    judge(id.is_some_and(|id| !id.is_empty()), exchange, "a result with a `sessionId`")
}

fn unique_id(run: &Run) -> Judged {
    let (first, second) = (run.session(Who::Main)?, run.session(Who::Never)?);
    let exchange = run.one(Step::New(Who::Never))?;
    judge(first.id != second.id, exchange, "another `sessionId` than that of the session before")
}

fn no_early_updates(run: &Run) -> Judged {
    let mut seen_any = false;
    for (who, opened) in &run.sessions {
        let Ok(exchange) = run.one(Step::New(*who)) else { continue };
        seen_any = true;
        let early = run.updates_during(exchange, &opened.id);
        if let Some(update) = early.first() {
            return fail_with(exchange.sent(), came(update), "no `session/update` before the answer that tells the id");
        }
    }
    if seen_any { Ok(Verdict::Pass) } else { skip("no session was opened") }
}

fn additional_directories(run: &Run) -> Judged {
    run.need(Ability::Directories)?;
    run.session(Who::Main)?;
    let exchange = run.one(Step::NewWithDirectories)?;
    judge(exchange.result().is_some(), exchange, "a session whose roots are `cwd` and the additional directories")
}

/// An update, to be shown.
pub(super) fn came(update: &Update) -> String {
    let Update { session, body, .. } = update;
    shown(&format!(r#"session/update {{"sessionId":{},"update":{body}}}"#, Value::from(session.as_str())))
}
