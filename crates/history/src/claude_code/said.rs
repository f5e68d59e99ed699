//! What the records of a conversation say, as the updates that the agent's own replay has.

use std::collections::HashMap;

use rejoin_transcript::{Timestamp, Told, TurnEnd};
use serde_json::{Value, json};

use super::chain::Place;
use super::plan::Tasks;
use super::tools;
use crate::blocks::{Voice, chunk, compaction, str_of, text, time_of, told};

/// Tells the records of one conversation, one after the other.
pub(super) struct Speaker {
    cwd: String,
    last_at: Timestamp,
    /// The tool calls without a result.
    calls: HashMap<String, Value>,
    tasks: Tasks,
}

impl Speaker {
    /// A speaker for a conversation in `cwd`, which began at `begin`.
    pub(super) fn new(cwd: &str, begin: Timestamp) -> Self {
        Self { cwd: cwd.to_owned(), last_at: begin, calls: HashMap::new(), tasks: Tasks::default() }
    }

    /// When the last thing was said.
    pub(super) fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// What `record` says.
    pub(super) fn speak(&mut self, record: &Value, place: Place) -> Vec<Told> {
        let message = &record["message"];
        let at = time_of(record, "timestamp").unwrap_or(self.last_at);
        let mut told = match (str_of(record, "type"), place) {
            (Some("user"), Place::Inside) => self.hear(at, record, &message["content"]),
            (Some("user"), Place::Beside | Place::Outside) => self.results(at, &message["content"]),
            (Some("assistant"), _) => self.answer(at, record, message),
            (Some("attachment"), Place::Inside) => queued(at, record),
            _ => Vec::new(),
        };
        if told.is_empty() {
            return told;
        }
        self.last_at = self.last_at.max(at);
        told.shrink_to_fit();
        told
    }

    fn hear(&mut self, at: Timestamp, record: &Value, content: &Value) -> Vec<Told> {
        let id = str_of(record, "uuid");
        if record["isCompactSummary"] == true {
            return vec![told(at, &compaction(id.unwrap_or("compaction"), plain_text(content).as_deref()))];
        }
        // What the tool itself tells the model, in the user's name.
        let origin = &record["origin"];
        let is_notification = str_of(origin, "kind") == Some("task-notification") && origin["subkind"].is_null();
        if record["isMeta"] == true || is_notification {
            return self.results(at, content);
        }
        if plain_text(content).is_some_and(|text| text.starts_with("[Request interrupted by user")) {
            let end = TurnEnd::Stopped { reason: "cancelled".to_owned() };
            let mut told = self.results(at, content);
            told.push(Told::Ended { at, end });
            return told;
        }
        let mut told_all = self.results(at, content);
        told_all.extend(said_by_user(at, content, id));
        told_all
    }

    /// The results of tools in `content`.
    fn results(&mut self, at: Timestamp, content: &Value) -> Vec<Told> {
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_result = |block: &&Value| str_of(block, "type").is_some_and(|kind| kind.ends_with("tool_result"));
        let updates = blocks.iter().filter(is_result).filter_map(|block| self.result(block));
        updates.map(|update| told(at, &update)).collect()
    }

    fn result(&mut self, block: &Value) -> Option<Value> {
        let call = self.calls.remove(str_of(block, "tool_use_id")?)?;
        if Tasks::has(&call) {
            return self.tasks.result(&call, block);
        }
        (str_of(&call, "name") != Some("TodoWrite")).then(|| tools::result(&call, block))
    }

    fn answer(&mut self, at: Timestamp, record: &Value, message: &Value) -> Vec<Told> {
        let id = str_of(message, "id").filter(|id| !id.is_empty()).or_else(|| str_of(record, "uuid"));
        let mut told_all = Vec::new();
        let content = match &message["content"] {
            Value::String(said) => vec![text(said.as_str())],
            Value::Array(blocks) => blocks.clone(),
            _ => Vec::new(),
        };
        for block in content {
            let update = match str_of(&block, "type") {
                Some("text") => said(&block, "text").map(|content| chunk(Voice::Agent, content, id)),
                Some("thinking") => said(&block, "thinking").map(|content| chunk(Voice::Thought, content, id)),
                Some("image") => Some(chunk(Voice::Agent, image(&block["source"]), id)),
                Some("tool_use" | "server_tool_use" | "mcp_tool_use") => self.call(block),
                Some(kind) if kind.ends_with("tool_result") => self.result(&block),
                _ => None,
            };
            told_all.extend(update.map(|update| told(at, &update)));
        }
        told_all
    }

    fn call(&mut self, call: Value) -> Option<Value> {
        let id = str_of(&call, "id")?.to_owned();
        let update = match str_of(&call, "name") {
            Some("TodoWrite") => super::plan::todos(&call["input"]),
            _ if Tasks::has(&call) => None,
            _ => Some(tools::call(&call, &self.cwd)),
        };
        self.calls.insert(id, call);
        update
    }
}

/// What the user said while the agent was at work: it is kept apart from other messages.
fn queued(at: Timestamp, record: &Value) -> Vec<Told> {
    let attachment = &record["attachment"];
    if str_of(attachment, "type") != Some("queued_command") || record["isMeta"] == true || attachment["isMeta"] == true
    {
        return Vec::new();
    }
    let id = str_of(attachment, "source_uuid").or_else(|| str_of(record, "uuid"));
    said_by_user(at, &attachment["prompt"], id)
}

fn said_by_user(at: Timestamp, content: &Value, id: Option<&str>) -> Vec<Told> {
    let block = |block: &Value| match str_of(block, "type")? {
        "text" => str_of(block, "text").and_then(typed).map(text),
        "image" => Some(image(&block["source"])),
        _ => None,
    };
    let blocks: Vec<Value> = match content {
        Value::String(said) => typed(said).map(text).into_iter().collect(),
        Value::Array(blocks) => blocks.iter().filter_map(block).collect(),
        _ => Vec::new(),
    };
    blocks.into_iter().map(|block| told(at, &chunk(Voice::User, block, id))).collect()
}

/// The text member `name` of `block`, unless it is empty.
fn said(block: &Value, name: &str) -> Option<Value> {
    str_of(block, name).filter(|said| !said.is_empty()).map(text)
}

/// An image of Anthropic's form.
pub(super) fn image(source: &Value) -> Value {
    match str_of(source, "url") {
        Some(address) => crate::blocks::image(address),
        None => json!({
            "type": "image",
            "mimeType": str_of(source, "media_type").unwrap_or("image/png"),
            "data": str_of(source, "data").unwrap_or_default(),
        }),
    }
}

/// The text of `content`, if it is nothing but text.
fn plain_text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| str_of(block, "text")).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}

/// What the tool wraps its own words in when it says them in the user's name.
const MARKS: [&str; 7] = [
    "command-name",
    "command-message",
    "command-args",
    "local-command-stdout",
    "local-command-stderr",
    "system-reminder",
    "task-notification",
];

/// Commands that only concern the tool's own window.
const HIDDEN: [&str; 8] = ["/context", "/heapdump", "/extra-usage", "/compact", "/model", "/mcp", "/status", "/usage"];

/// What the user typed of `text`; `None`, if it is all the tool's.
fn typed(text: &str) -> Option<String> {
    let rest = without_marks(text);
    if !rest.trim().is_empty() {
        return Some(rest);
    }
    if marked(text, "local-command-stdout").or_else(|| marked(text, "local-command-stderr")).is_some() {
        return None;
    }
    let command = marked(text, "command-name")?.trim();
    if !command.starts_with('/') || HIDDEN.contains(&command.split(' ').next().unwrap_or_default()) {
        return None;
    }
    match marked(text, "command-args").map(str::trim) {
        Some(args) if !args.is_empty() => Some(format!("{command} {args}")),
        _ => Some(command.to_owned()),
    }
}

fn marked<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{mark}>"))?;
    Some(rest.split_once(&format!("</{mark}>"))?.0)
}

fn without_marks(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        kept.push_str(before);
        let behind = MARKS.iter().find_map(|mark| {
            let inside = from.strip_prefix(&format!("<{mark}>"))?;
            Some(inside.split_once(&format!("</{mark}>"))?.1)
        });
        rest = behind.unwrap_or_else(|| {
            kept.push('<');
            &from[1..]
        });
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tool_says_in_the_users_name_is_not_the_users() {
        for (text, expected) in [
            ("hello <b>there</b>", Some("hello <b>there</b>")),
            ("hi<system-reminder>x</system-reminder>", Some("hi")),
            ("<system-reminder>open", Some("<system-reminder>open")),
            ("<command-name>/model</command-name><command-args></command-args>", None),
            ("<command-name>/review</command-name>\n<command-args>the door</command-args>", Some("/review the door")),
            ("<local-command-stdout>done</local-command-stdout>", None),
        ] {
            assert_eq!(typed(text).as_deref(), expected, "{text}");
        }
    }
}
