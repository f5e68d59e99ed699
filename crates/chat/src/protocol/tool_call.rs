//! Tool calls.

use serde_json::Value;

use super::content::content_text;
use super::diff::Diff;
use super::{elements, text};
use crate::text::boundary;

/// Of a longer output, the beginning and the end are kept, of this many bytes each.
const OUTPUT_LIMIT: usize = 32 * 1024;

/// A tool call, or what is new about one; a field that is `None` is not told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    /// What it does: `read`, `edit`, `execute`, …
    pub(crate) kind: Option<String>,
    pub(crate) status: Option<ToolStatus>,
    pub(crate) content: Option<Vec<ToolContent>>,
    pub(crate) locations: Option<Vec<Location>>,
    /// What it was called with, as JSON.
    pub(crate) input: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What a tool call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ToolContent {
    Text(String),
    Diff(Diff),
    /// The output of a terminal of the client's.
    Terminal(String),
}

/// A place that a tool call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) path: String,
    pub(crate) line: Option<u64>,
}

impl ToolCall {
    /// Reads a tool call, or an update of one; `None` if it does not say which.
    pub(super) fn read(update: &Value) -> Option<Self> {
        let list = |name: &str| update.get(name).filter(|list| list.is_array());
        let content = list("content").map(|_| elements(update, "content").map(ToolContent::read).collect());
        let locations = list("locations").map(|_| elements(update, "locations").filter_map(Location::read).collect());
        let input = update.get("rawInput").filter(|input| !input.is_null());
        Some(Self {
            id: text(update, "toolCallId")?,
            title: text(update, "title"),
            kind: text(update, "kind"),
            status: update["status"].as_str().map(ToolStatus::read),
            content,
            locations,
            input: input.map(|input| shortened(input.to_string())),
        })
    }

    /// Takes over what `newer` tells.
    pub(crate) fn merge(&mut self, newer: Self) {
        let Self { id: _, title, kind, status, content, locations, input } = newer;
        replace(&mut self.title, title);
        replace(&mut self.kind, kind);
        replace(&mut self.status, status);
        replace(&mut self.content, content);
        replace(&mut self.locations, locations);
        replace(&mut self.input, input);
    }

    /// Whether nothing more is expected of it.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status, Some(ToolStatus::Completed | ToolStatus::Failed))
    }

    /// How many bytes it takes, about.
    pub(crate) fn size(&self) -> usize {
        let content = self.content.iter().flatten().map(|content| match content {
            ToolContent::Text(text) => text.len(),
            ToolContent::Diff(diff) => diff.size(),
            ToolContent::Terminal(id) => id.len(),
        });
        content.sum::<usize>() + self.title.as_ref().map_or(0, String::len) + self.input.as_ref().map_or(0, String::len)
    }
}

fn replace<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

impl ToolStatus {
    fn read(name: &str) -> Self {
        match name {
            "in_progress" => Self::InProgress,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

impl ToolContent {
    fn read(content: &Value) -> Self {
        match content["type"].as_str().unwrap_or_default() {
            "content" => Self::Text(shortened(content_text(&content["content"]))),
            "diff" => Self::Diff(Diff::of(
                text(content, "path").unwrap_or_default(),
                content["oldText"].as_str().unwrap_or_default(),
                content["newText"].as_str().unwrap_or_default(),
            )),
            "terminal" => Self::Terminal(text(content, "terminalId").unwrap_or_default()),
            other => Self::Text(format!("[{other}]")),
        }
    }
}

impl Location {
    fn read(location: &Value) -> Option<Self> {
        Some(Self { path: text(location, "path")?, line: location["line"].as_u64() })
    }
}

/// `text` without its middle, if it is long.
fn shortened(text: String) -> String {
    if text.len() <= 2 * OUTPUT_LIMIT {
        return text;
    }
    let (head, tail) = (boundary(&text, OUTPUT_LIMIT), boundary(&text, text.len() - OUTPUT_LIMIT));
    format!("{}\n… {} bytes are left out …\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(update: &Value) -> ToolCall {
        ToolCall::read(update).unwrap()
    }

    #[test]
    fn an_update_replaces_what_it_tells() {
        let begun = json!({ "toolCallId": "a", "title": "Read", "kind": "read", "status": "pending", "content": [] });
        let content = json!({ "type": "content", "content": { "type": "text", "text": "x" } });
        let mut call = read(&begun);
        call.merge(read(&json!({ "toolCallId": "a", "status": "completed", "content": [content], "title": null })));

        let expected = ToolCall {
            id: "a".to_owned(),
            title: Some("Read".to_owned()),
            kind: Some("read".to_owned()),
            status: Some(ToolStatus::Completed),
            content: Some(vec![ToolContent::Text("x".to_owned())]),
            locations: None,
            input: None,
        };
        assert_eq!(call, expected);
        assert!(call.has_ended());
    }

    #[test]
    fn long_output_is_kept_without_its_middle() {
        let text = format!("begin{}end", "é".repeat(OUTPUT_LIMIT * 2));
        let short = shortened(text);
        assert!(short.starts_with("begin") && short.ends_with("end") && short.len() < 2 * OUTPUT_LIMIT + 64);
    }
}
