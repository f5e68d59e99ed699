//! Tool calls, where the agent's model makes any.

use std::collections::BTreeSet;

use rejoin_transcript::UpdateKind;

use crate::conversation::tool_calls;
use crate::log::Update;
use crate::rule::{Judged, Level, Part, Rule, Skipped, Verdict, fail_with, skip};
use crate::rules::new::came;
use crate::run::{Exchange, Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "tools.begin-first",
        level: Level::Quality,
        title: "sends a tool call before what updates it",
        page: "tool-calls#updating",
        part: Part::First,
        judge: begin_first,
    },
    Rule {
        id: "tools.own-ids",
        level: Level::Must,
        title: "gives each tool call of a session an id of its own",
        page: "tool-calls#creating",
        part: Part::First,
        judge: own_ids,
    },
    Rule {
        id: "tools.ended",
        level: Level::Quality,
        title: "leaves no tool call open at the end of a turn",
        page: "tool-calls#status",
        part: Part::First,
        judge: ended,
    },
    Rule {
        id: "tools.cwd",
        level: Level::Must,
        title: "works in the session's folder, wherever its process was started",
        page: "session-setup#working-directory",
        part: Part::First,
        judge: cwd,
    },
];

fn begin_first(run: &Run) -> Judged {
    let (exchange, updates) = turn_with_tools(run)?;
    let mut known = BTreeSet::new();
    for update in &updates {
        let id = update.body["toolCallId"].as_str().unwrap_or_default().to_owned();
        match update.kind() {
            UpdateKind::ToolCall => drop(known.insert(id)),
            UpdateKind::ToolCallUpdate if !known.contains(&id) => {
                return fail_with(exchange.sent(), came(update), "a `tool_call` with this `toolCallId` before it");
            }
            _ => {}
        }
    }
    Ok(Verdict::Pass)
}

fn own_ids(run: &Run) -> Judged {
    turn_with_tools(run)?;
    let id = &run.session(Who::Tool)?.id;
    let mut known = BTreeSet::new();
    for turn in run.turns(Who::Tool) {
        let updates = run.updates_during(&turn.exchange, id);
        for update in updates.iter().filter(|update| update.kind() == UpdateKind::ToolCall) {
            if !known.insert(update.body["toolCallId"].to_string()) {
                return fail_with(
                    turn.exchange.sent(),
                    came(update),
                    "a `toolCallId` that no other tool call of the session has",
                );
            }
        }
    }
    Ok(Verdict::Pass)
}

fn ended(run: &Run) -> Judged {
    let (exchange, updates) = turn_with_tools(run)?;
    let is_open = |status: Option<String>| !matches!(status.as_deref(), Some("completed" | "failed"));
    match tool_calls(&updates).into_iter().find(|call| is_open(call.status())) {
        Some(call) => {
            let status = call.status().unwrap_or_else(|| "no status".to_owned());
            let came = format!("the turn ended, and the tool call {} was left as `{status}`", call.id);
            fail_with(exchange.sent(), came, "`completed` or `failed` before the end of the turn")
        }
        None => Ok(Verdict::Pass),
    }
}

fn cwd(run: &Run) -> Judged {
    let (exchange, updates) = turn_with_tools(run)?;
    if run.tool_file.is_some() {
        return Ok(Verdict::Pass);
    }
    if !tool_calls(&updates).iter().any(|call| call.status().as_deref() == Some("completed")) {
        return skip("the tool did not do what it was asked to");
    }
    let expected = "the file in the session's `cwd`, which is another folder than that of the process";
    fail_with(exchange.sent(), "a tool call, but no such file in the session's folder", expected)
}

/// The turn in which a tool was to be used, if one was.
fn turn_with_tools(run: &Run) -> Result<(&Exchange, Vec<Update>), Skipped> {
    let exchange = run.one(Step::Tool)?;
    let updates = run.updates_during(exchange, &run.session(Who::Tool)?.id);
    let is_tool = |update: &Update| matches!(update.kind(), UpdateKind::ToolCall | UpdateKind::ToolCallUpdate);
    if updates.iter().any(is_tool) {
        return Ok((exchange, updates));
    }
    skip("the agent used no tool: give it a prompt that needs one with `--prompts`")
}
