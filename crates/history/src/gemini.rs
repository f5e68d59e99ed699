//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, and one JSON value in `….json` in older versions.
//!
//! A header, then one message a line. A message that is there again has grown; `$set.messages` begins anew, `$rewindTo`
//! takes back a message and what followed it. The folder is not in the file, but beside it.

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;

use rejoin_transcript::json::{Members, read_string};
use rejoin_transcript::{Timestamp, Told};
use serde_json::{Value, json};

use crate::blocks::{self, Voice, chunk, diff, first_str, str_of, text, text_content, time_of, told};
use crate::conversation::LeftOut;
use crate::lines::Lines;
use crate::{About, Conversation, HistoryError, Tool, input};

/// The biggest file that is read as one value.
const LARGEST: u64 = 64 * 1024 * 1024;

/// What the tool writes first in the user's name.
const CONTEXT: &str = "<session_context>";

/// The conversation in `file`.
pub(crate) fn read(file: &Path) -> Result<Conversation, HistoryError> {
    let outline = Outline::read(Lines::new(input::open(file)?))?;
    match outline.header {
        Some(_) => read_lines(file, outline),
        None => read_value(file),
    }
}

fn read_lines(file: &Path, outline: Outline) -> Result<Conversation, HistoryError> {
    let about = about(outline.header.as_ref().unwrap_or(&Value::Null), || {
        folder_beside(file).or_else(|| outline.folder.clone())
    })?;
    let left_out = LeftOut::default();
    left_out.set(outline.damaged);
    let (mut speaker, counter) = (Speaker::new(about.created_at), left_out.clone());
    let mut lines = Lines::new(input::open(file)?);
    let read_on = move || {
        let Some((number, text)) = lines.next()? else { return Ok(None) };
        if !outline.counts(number) {
            return Ok(Some(Vec::new()));
        }
        let Ok(line) = serde_json::from_str::<Value>(text) else {
            counter.add_one();
            return Ok(Some(Vec::new()));
        };
        let messages = line["$set"]["messages"].as_array().map_or_else(|| vec![&line], |all| all.iter().collect());
        Ok(Some(messages.into_iter().flat_map(|message| speaker.speak(message)).collect()))
    };
    Conversation::new(about, Box::new(read_on), left_out)
}

/// The older form: one value.
fn read_value(file: &Path) -> Result<Conversation, HistoryError> {
    let mut content = String::new();
    if input::open(file)?.take(LARGEST).read_to_string(&mut content)? as u64 == LARGEST {
        return Err(HistoryError::TooBig { limit: LARGEST });
    }
    let mut value: Value = serde_json::from_str(&content).map_err(HistoryError::Damaged)?;
    let messages = std::mem::take(&mut value["messages"]);
    let Value::Array(messages) = messages else { return Err(HistoryError::NoConversation) };
    let about = about(&value, || folder_beside(file).or_else(|| messages.iter().find_map(folder_in)))?;
    let mut speaker = Speaker::new(about.created_at);
    let mut messages = messages.into_iter();
    let read_on = move || Ok(messages.next().map(|message| speaker.speak(&message)));
    Conversation::new(about, Box::new(read_on), LeftOut::default())
}

fn about(header: &Value, folder: impl FnOnce() -> Option<String>) -> Result<About, HistoryError> {
    if str_of(header, "kind") == Some("subagent") {
        return Err(HistoryError::Subagent);
    }
    let lacks = |what| HistoryError::Lacks { what };
    Ok(About {
        tool: Tool::Gemini,
        id: str_of(header, "sessionId").ok_or(lacks("which session it is"))?.to_owned(),
        cwd: folder().ok_or(lacks("in which folder it was"))?,
        created_at: time_of(header, "startTime").ok_or(lacks("when it was"))?,
        updated_at: time_of(header, "lastUpdated"),
        version: None,
        title: None,
    })
}

/// The folder that the tool notes for all conversations about it: beside them, or in a list of all folders.
fn folder_beside(file: &Path) -> Option<String> {
    let project = file.parent()?.parent()?;
    let note = input::note(&project.join(".project_root")).and_then(|note| String::from_utf8(note).ok());
    let note = note.map(|note| note.trim().to_owned());
    note.or_else(|| folder_listed(project)).filter(|folder| folder.starts_with('/'))
}

/// The folder whose conversations are in `project`, as the tool's `projects.json` has it.
fn folder_listed(project: &Path) -> Option<String> {
    let list = input::note(&project.parent()?.parent()?.join("projects.json"))?;
    let list: Value = serde_json::from_slice(&list).ok()?;
    let name = project.file_name()?.to_str()?;
    let mut folders = list["projects"].as_object()?.iter();
    folders.find(|(_, known)| known.as_str() == Some(name)).map(|(folder, _)| folder.clone())
}

/// The folder that the tool tells the model first.
fn folder_in(message: &Value) -> Option<String> {
    let parts = parts(&message["content"]);
    let told = parts.iter().filter_map(|part| str_of(part, "text")).find_map(|text| {
        let (_, rest) = text.strip_prefix(CONTEXT)?.split_once("Workspace Directories:")?;
        rest.lines().find_map(|line| line.trim().strip_prefix("- "))
    });
    told.filter(|folder| folder.starts_with('/')).map(str::to_owned)
}

/// What a file says of itself, and which of its lines count: read before anything is told.
#[derive(Debug, Default)]
struct Outline {
    header: Option<Value>,
    folder: Option<String>,
    damaged: u64,
    lines: HashSet<u64>,
}

impl Outline {
    fn read(mut lines: Lines) -> Result<Self, HistoryError> {
        let (mut outline, mut counting): (Self, Vec<(u64, Box<str>)>) = (Self::default(), Vec::new());
        while let Some((number, text)) = lines.next()? {
            let Some(line) = Members::read(text) else {
                if !text.is_empty() {
                    lines.note_damaged();
                }
                continue;
            };
            let text_of = |name: &str| line.get_some(name).and_then(read_string);
            if let Some(id) = text_of("$rewindTo") {
                let kept = counting.iter().position(|(_, known)| **known == *id).unwrap_or(0);
                let taken_back: HashSet<Box<str>> = counting.drain(kept..).map(|(_, id)| id).collect();
                counting.retain(|(_, id)| !taken_back.contains(id));
            } else if line.get("projectHash").is_some() && line.get("messages").is_none() {
                outline.header = outline.header.or_else(|| serde_json::from_str(text).ok());
            } else if let Some(set) = line.get("$set").and_then(Members::read) {
                if let (Some(at), Some(header)) = (set.get_string("lastUpdated"), &mut outline.header) {
                    header["lastUpdated"] = at.into();
                }
                if let Some(messages) = set.get("messages") {
                    counting = vec![(number, "".into())];
                    let messages: Vec<Value> = serde_json::from_str(messages).unwrap_or_default();
                    outline.folder = outline.folder.or_else(|| messages.iter().find_map(folder_in));
                }
            } else if let Some(id) = text_of("id") {
                counting.push((number, id.into()));
            }
        }
        outline.damaged = lines.damaged();
        outline.lines = counting.into_iter().map(|(number, _)| number).collect();
        Ok(outline)
    }

    fn counts(&self, number: u64) -> bool {
        self.lines.contains(&number)
    }
}

/// Tells the messages of one conversation, one after the other.
struct Speaker {
    last_at: Timestamp,
    /// The messages and tool calls that were told.
    known: HashSet<String>,
}

impl Speaker {
    fn new(begin: Timestamp) -> Self {
        Self { last_at: begin, known: HashSet::new() }
    }

    /// What is new in `message`.
    fn speak(&mut self, message: &Value) -> Vec<Told> {
        let at = time_of(message, "timestamp").unwrap_or(self.last_at).max(self.last_at);
        let id = str_of(message, "id");
        let is_new = id.is_none_or(|id| self.known.insert(id.to_owned()));
        let updates = match str_of(message, "type") {
            Some("user") if is_new => user(message, id),
            Some("gemini") => self.answer(message, id, is_new),
            _ => Vec::new(),
        };
        if updates.is_empty() {
            return Vec::new();
        }
        self.last_at = at;
        updates.iter().map(|update| told(at, update)).collect()
    }

    fn answer(&mut self, message: &Value, id: Option<&str>, is_new: bool) -> Vec<Value> {
        let mut updates = Vec::new();
        if is_new {
            for thought in array(&message["thoughts"]) {
                let words = [
                    str_of(thought, "subject").map(|subject| format!("**{subject}**")),
                    str_of(thought, "description").map(str::to_owned),
                ];
                let words: Vec<String> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
                updates.push(chunk(Voice::Thought, text(words.join("\n")), id));
            }
            let said = parts(&message["content"]);
            let said = said.iter().filter_map(|part| str_of(part, "text")).filter(|said| !said.is_empty());
            updates.extend(said.map(|said| chunk(Voice::Agent, text(said), id)));
        }
        for call in array(&message["toolCalls"]) {
            if str_of(call, "id").is_some_and(|id| self.known.insert(id.to_owned())) {
                updates.push(tool_call(call));
                updates.extend(plan(call));
            }
        }
        updates
    }
}

fn user(message: &Value, id: Option<&str>) -> Vec<Value> {
    let block = |part: &Value| {
        if let Some(said) = str_of(part, "text") {
            return (!said.starts_with(CONTEXT) && !said.is_empty()).then(|| text(said));
        }
        let (data, mime) = (str_of(&part["inlineData"], "data")?, str_of(&part["inlineData"], "mimeType")?);
        let kind = if mime.starts_with("audio/") { "audio" } else { "image" };
        Some(json!({ "type": kind, "mimeType": mime, "data": data }))
    };
    parts(&message["content"]).iter().filter_map(block).map(|block| chunk(Voice::User, block, id)).collect()
}

fn tool_call(call: &Value) -> Value {
    let name = str_of(call, "name").unwrap_or("tool");
    let kind = match name {
        "read_file" | "read_many_files" => "read",
        "replace" | "write_file" => "edit",
        "grep_search" | "search_file_content" | "glob" | "list_directory" | "google_web_search" => "search",
        "run_shell_command" => "execute",
        "web_fetch" => "fetch",
        _ => "other",
    };
    let status = if str_of(call, "status") == Some("success") { "completed" } else { "failed" };
    let shown = &call["resultDisplay"];
    let content = match shown {
        Value::String(shown) if !shown.is_empty() => vec![text_content(shown.as_str())],
        Value::Object(_) => {
            let path = first_str(shown, &["filePath", "fileName"]);
            let new = str_of(shown, "newContent");
            path.zip(new).map(|(path, new)| diff(path, str_of(shown, "originalContent"), new)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    let mut update = json!({
        "sessionUpdate": "tool_call",
        "toolCallId": call["id"],
        "status": status,
        "title": str_of(call, "displayName").unwrap_or(name),
        "content": content,
        "kind": kind,
        "rawInput": call["args"],
    });
    if let Some(path) = first_str(&call["args"], &["file_path", "absolute_path", "dir_path"]) {
        update["locations"] = json!([{ "path": path }]);
    }
    if !call["result"].is_null() {
        update["rawOutput"] = call["result"].clone();
    }
    update
}

fn plan(call: &Value) -> Option<Value> {
    let todos = call["args"]["todos"].as_array().filter(|_| str_of(call, "name") == Some("write_todos"))?;
    let entry = |todo| (str_of(todo, "description").unwrap_or_default(), str_of(todo, "status"), None);
    Some(blocks::plan(todos.iter().map(entry)))
}

/// The parts of a content, which may be a mere text.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::String(said) => vec![json!({ "text": said })],
        Value::Array(parts) => parts.clone(),
        Value::Object(_) => vec![content.clone()],
        _ => Vec::new(),
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
