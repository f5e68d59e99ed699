//! What a file is, by what it holds; its name and its place do not matter.

use std::io::{self, Read};
use std::path::Path;

use rejoin_transcript::json::Members;

use crate::lines::Lines;
use crate::{Tool, input, opencode};

/// How much of a file's beginning is looked at, where no line of it can be read.
const HEAD: u64 = 4096;

/// How many lines are looked at, and how many bytes of them: the first one may hold a picture.
const LINES: usize = 50;
const LINES_BYTES: u64 = 64 * 1024 * 1024;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A session of our own, as `rejoin export` writes it.
    Export,
    /// Conversations of a tool.
    History(Tool),
}

/// What `file` holds; `None`, if nobody here knows.
pub fn recognise(file: &Path) -> io::Result<Option<Content>> {
    let head = input::head(file, HEAD)?;
    if head.starts_with(b"SQLite format 3\0") {
        return Ok(opencode::is_database(file).then_some(Content::History(Tool::OpenCode)));
    }
    let mut lines = Lines::new(Box::new(input::open(file)?.take(LINES_BYTES)));
    for _ in 0..LINES {
        let Some((_, text)) = lines.next()? else { break };
        if let Some(content) = Members::read(text).and_then(|line| content_of(&line)) {
            return Ok(Some(content));
        }
    }
    Ok(content_of_beginning(String::from_utf8_lossy(&head).trim_start()))
}

/// What has such a line.
fn content_of(line: &Members<'_>) -> Option<Content> {
    let has = |name: &str| line.get(name).is_some();
    if line.get_string("rejoin").as_deref() == Some("transcript") {
        return Some(Content::Export);
    }
    if has("projectHash") && has("sessionId") {
        return Some(Content::History(Tool::Gemini));
    }
    let kind = line.get_string("type");
    // The oldest rollouts begin with a line that has no type.
    let is_old_rollout = kind.is_none() && has("id") && has("timestamp") && (has("instructions") || has("git"));
    let is_rollout =
        has("payload") && has("timestamp") && matches!(kind.as_deref(), Some("session_meta" | "response_item"));
    if is_rollout || is_old_rollout {
        return Some(Content::History(Tool::Codex));
    }
    let says = |message: &str| Members::read(message).is_some_and(|message| message.get("content").is_some());
    let is_claude_code = match kind.as_deref()? {
        "user" | "assistant" => has("sessionId") && line.get("message").is_some_and(says),
        "file-history-snapshot" => has("snapshot"),
        "summary" => has("summary") && has("leafUuid"),
        "queue-operation" => has("operation") && has("sessionId"),
        "custom-title" | "ai-title" | "last-prompt" => has("sessionId"),
        _ => false,
    };
    is_claude_code.then_some(Content::History(Tool::ClaudeCode))
}

/// What begins so, where not even a first line is whole: one value over many lines, or a line that is very long.
fn content_of_beginning(text: &str) -> Option<Content> {
    let end = text.char_indices().nth(500).map_or(text.len(), |(end, _)| end);
    let beginning: String = text[..end].chars().filter(|c| !c.is_whitespace()).collect();
    if !beginning.starts_with('{') {
        return None;
    }
    let has = |piece: &str| beginning.contains(piece);
    if has("\"sessionId\":") && has("\"projectHash\":") {
        return Some(Content::History(Tool::Gemini));
    }
    (has("\"type\":\"session_meta\"") && has("\"payload\":")).then_some(Content::History(Tool::Codex))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Option<Content> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        recognise(file.path()).unwrap()
    }

    #[test]
    fn a_file_is_known_by_what_it_holds() {
        let tool = |tool| Some(Content::History(tool));
        for (text, expected) in [
            ("{\"rejoin\":\"transcript\",\"version\":1}\n", Some(Content::Export)),
            ("{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n", tool(Tool::ClaudeCode)),
            (
                "{\"type\":\"new-thing\"}\n{\"type\":\"user\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{\"content\":\"x\"}}",
                tool(Tool::ClaudeCode),
            ),
            ("{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{}}\n", tool(Tool::Codex)),
            ("{\"id\":\"a\",\"timestamp\":\"t\",\"instructions\":null}\n", tool(Tool::Codex)),
            ("{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n", tool(Tool::Gemini)),
            ("{\n  \"sessionId\": \"s\",\n  \"projectHash\": \"h\",\n  \"messages\": [", tool(Tool::Gemini)),
            ("", None),
            ("hello\n", None),
            ("[1,2,3]\n", None),
            ("{\"type\":\"user\"}\n", None),
            // Another tool with lines of a like form.
            (
                "{\"uuid\":\"u\",\"parentUuid\":null,\"sessionId\":\"s\",\"type\":\"user\",\"message\":{\"parts\":[]}}\n",
                None,
            ),
            ("SQLite format 3\0 but not really", None),
        ] {
            assert_eq!(content(text), expected, "{text}");
        }
    }

    #[test]
    fn a_packed_file_is_known_by_what_is_in_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let packed =
            zstd::encode_all(&b"{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{}}\n"[..], 0).unwrap();
        std::fs::write(file.path(), packed).unwrap();
        assert_eq!(recognise(file.path()).unwrap(), Some(Content::History(Tool::Codex)));
    }
}
