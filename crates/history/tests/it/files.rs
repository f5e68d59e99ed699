//! Files for tests, and what is read of them.

use std::path::{Path, PathBuf};

use rejoin_history::{Content, Conversation, HistoryError, Tool, conversations, recognise};
use rejoin_transcript::{Step, StepKind, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The file `name` of the fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A folder with `text` in the file `name`.
pub(crate) fn written(name: &str, text: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

/// The conversations in `file`, whatever tool they are of.
pub(crate) fn read(file: &Path) -> Vec<Result<Conversation, HistoryError>> {
    match recognise(file).unwrap() {
        Some(Content::History(tool)) => read_as(tool, file),
        Some(Content::Export) | None => Vec::new(),
    }
}

pub(crate) fn read_as(tool: Tool, file: &Path) -> Vec<Result<Conversation, HistoryError>> {
    conversations(tool, file).map_or_else(|error| vec![Err(error)], Iterator::collect)
}

/// The only conversation in `file`.
pub(crate) fn read_one(file: &Path) -> Conversation {
    let mut all = read(file);
    assert_eq!(all.len(), 1, "{}", file.display());
    all.remove(0).unwrap()
}

/// The steps of the only conversation in `file`.
pub(crate) fn steps(file: &Path) -> Vec<Step> {
    read_one(file).collect::<Result<_, _>>().unwrap()
}

/// The updates that a load of `steps` sends.
pub(crate) fn updates(steps: &[Step]) -> Vec<Value> {
    let mut updates = Vec::new();
    for step in steps {
        let body: Value = serde_json::from_str(step.body.as_str()).unwrap();
        let id = step.message_id.as_ref().map(rejoin_transcript::MessageId::as_str);
        match step.kind {
            StepKind::Prompt => {
                let chunk =
                    |block: &Value| json!({ "sessionUpdate": "user_message_chunk", "content": block, "messageId": id });
                updates.extend(body.as_array().unwrap().iter().map(chunk));
            }
            StepKind::Update(_) => updates.push(body),
            _ => {}
        }
    }
    updates
}

/// What is said in `steps`, one thing a line.
pub(crate) fn lines(steps: &[Step]) -> String {
    essence(&updates(steps)).join("\n")
}

/// Each update in a line, tool calls as they are in the end.
pub(crate) fn essence(updates: &[Value]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut calls: Vec<(String, usize, Value)> = Vec::new();
    for update in updates {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap() {
            "user_message_chunk" => lines.push(format!("user: {}", shown(&update["content"]))),
            "agent_message_chunk" => lines.push(format!("agent: {}", shown(&update["content"]))),
            "agent_thought_chunk" => lines.push(format!("thought: {}", shown(&update["content"]))),
            "session_info_update" => lines.push(format!("title: {}", update["title"].as_str().unwrap_or("-"))),
            "plan" => {
                let entry = |entry: &Value| {
                    format!("{} {}", entry["status"].as_str().unwrap(), entry["content"].as_str().unwrap())
                };
                let entries: Vec<String> = update["entries"].as_array().unwrap().iter().map(entry).collect();
                lines.push(format!("plan: {}", entries.join(", ")));
            }
            "tool_call" => {
                calls.push((id.to_owned(), lines.len(), update.clone()));
                lines.push(String::new());
            }
            "tool_call_update" => {
                let call = calls.iter_mut().find(|(known, ..)| known == id);
                let call = &mut call.unwrap().2;
                call.as_object_mut().unwrap().extend(update.as_object().unwrap().clone());
            }
            other => lines.push(format!("{other}: {update}")),
        }
    }
    for (_, line, call) in calls {
        lines[line] = call_line(&call);
    }
    lines
}

fn call_line(call: &Value) -> String {
    let text = |name: &str| call[name].as_str().unwrap_or("-").to_owned();
    let mut words = vec![format!("tool: {} [{}] {}", text("title"), text("kind"), text("status"))];
    let locations = call["locations"].as_array().into_iter().flatten();
    words.extend(locations.map(|location| format!("@{}", location["path"].as_str().unwrap())));
    words.extend(call["content"].as_array().into_iter().flatten().map(content_words));
    words.join(" ")
}

fn content_words(content: &Value) -> String {
    match content["type"].as_str().unwrap() {
        "diff" => {
            let (path, new) = (content["path"].as_str().unwrap(), content["newText"].as_str().unwrap());
            format!("diff({path}: {:?} -> {new:?})", content["oldText"].as_str())
        }
        _ => format!("{:?}", shown(&content["content"])),
    }
}

fn shown(content: &Value) -> String {
    match content["type"].as_str().unwrap() {
        "text" => content["text"].as_str().unwrap().replace('\n', "⏎"),
        kind => format!(
            "[{kind} {} {}]",
            content["mimeType"].as_str().unwrap_or("-"),
            content["data"].as_str().unwrap_or_default().len()
        ),
    }
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}
