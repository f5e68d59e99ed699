//! OpenCode: all sessions in one SQLite database, `opencode/opencode.db`.
//!
//! The database is opened to read only, beside the tool that may be writing it. Tables: `session`, `message` and `part`,
//! the latter two with their content as JSON. A session with a parent is a subagent's, and not a conversation.

use std::path::Path;
use std::rc::Rc;

use rejoin_transcript::{Timestamp, Told};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row};
use serde_json::{Value, json};

use crate::blocks::{self, Voice, chunk, data_address, diff, first_str, str_of, text, text_content, told};
use crate::conversation::{Conversations, LeftOut};
use crate::{About, Conversation, HistoryError, Tool};

/// Whether `file` is such a database.
pub(crate) fn is_database(file: &Path) -> bool {
    let has_tables = |database: Connection| {
        let names =
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('session', 'message', 'part')";
        database.query_row(names, [], |row| row.get::<_, i64>(0)).is_ok_and(|count| count == 3)
    };
    open(file).is_ok_and(has_tables)
}

/// The conversations in `file`.
pub(crate) fn read(file: &Path) -> Result<Conversations, HistoryError> {
    let database = Rc::new(open(file)?);
    let mut statement = database.prepare(
        "SELECT id, directory, title, version, time_created, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_created",
    )?;
    let rows = statement.query_map([], |row| {
        let about = About {
            tool: Tool::OpenCode,
            id: row.get(0)?,
            cwd: row.get(1)?,
            created_at: Timestamp::from_millis(row.get(4)?),
            updated_at: Some(Timestamp::from_millis(row.get(5)?)),
            version: row.get(3)?,
            title: None,
        };
        Ok((about, row.get::<_, Option<String>>(2)?))
    })?;
    // One that can't be read keeps no other back.
    let sessions: Vec<Result<(About, Option<String>), rusqlite::Error>> = rows.collect();
    drop(statement);
    Ok(Box::new(sessions.into_iter().map(move |row| {
        let (about, title) = row?;
        conversation(&database, about, title)
    })))
}

fn open(file: &Path) -> Result<Connection, rusqlite::Error> {
    let database =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    database.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(database)
}

fn conversation(database: &Rc<Connection>, about: About, title: Option<String>) -> Result<Conversation, HistoryError> {
    let mut statement =
        database.prepare_cached("SELECT id FROM message WHERE session_id = ?1 ORDER BY time_created, id")?;
    let left_out = LeftOut::default();
    let mut ids = Vec::new();
    for row in statement.query_map([&about.id], |row| row.get::<_, String>(0))? {
        ids.extend(readable(row, &left_out)?);
    }
    let mut teller = Teller {
        database: Rc::clone(database),
        messages: ids.into_iter(),
        cwd: about.cwd.clone(),
        last_at: about.created_at,
        // A session without a better one has its time as title.
        title: title.filter(|title| !title.is_empty() && !title.starts_with("New session - ")),
        left_out: left_out.clone(),
    };
    Conversation::new(about, Box::new(move || teller.read_on()), left_out)
}

/// Tells the messages of one session.
struct Teller {
    database: Rc<Connection>,
    messages: std::vec::IntoIter<String>,
    cwd: String,
    last_at: Timestamp,
    /// The title to tell at the end.
    title: Option<String>,
    left_out: LeftOut,
}

impl Teller {
    /// What the next message tells.
    fn read_on(&mut self) -> Result<Option<Vec<Told>>, HistoryError> {
        let Some(id) = self.messages.next() else {
            let title = self.title.take();
            return Ok(title.map(|title| vec![told(self.last_at, &blocks::title(&title))]));
        };
        let mut statement = self.database.prepare_cached("SELECT time_created, data FROM message WHERE id = ?1")?;
        let row = statement.query_row([&id], |row| Ok((row.get(0)?, json_of(row, 1)?))).optional();
        drop(statement);
        let Some((created, message)) = readable(row, &self.left_out)?.flatten() else { return Ok(Some(Vec::new())) };
        let Some(message) = message else {
            self.left_out.add_one();
            return Ok(Some(Vec::new()));
        };
        let mut updates = Vec::new();
        for (part_id, at, part) in self.parts(&id, Timestamp::from_millis(created))? {
            self.last_at = self.last_at.max(at);
            let said = match str_of(&message, "role") {
                Some("user") => user(&part, &id),
                Some("assistant") => self.answer(&part, (&id, &part_id)),
                _ => Vec::new(),
            };
            updates.extend(said.iter().map(|update| told(self.last_at, update)));
        }
        Ok(Some(updates))
    }

    /// The parts of the message `id`, which was made at `created`, with their ids and times.
    fn parts(&self, id: &str, created: Timestamp) -> Result<Vec<(String, Timestamp, Value)>, HistoryError> {
        let mut statement = self
            .database
            .prepare_cached("SELECT id, time_created, data FROM part WHERE message_id = ?1 ORDER BY id")?;
        let rows = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, json_of(row, 2)?)))?;
        let mut parts = Vec::new();
        for row in rows {
            let Some((id, at, part)) = readable(row, &self.left_out)? else { continue };
            match part {
                Some(part) => parts.push((id, Timestamp::from_millis(at).max(created), part)),
                None => self.left_out.add_one(),
            }
        }
        Ok(parts)
    }

    /// What `part` says; each thought is a message of its own.
    fn answer(&self, part: &Value, (id, part_id): (&str, &str)) -> Vec<Value> {
        match str_of(part, "type") {
            Some("text") => said(part).map(|content| chunk(Voice::Agent, content, Some(id))).into_iter().collect(),
            Some("reasoning") => {
                said(part).map(|content| chunk(Voice::Thought, content, Some(part_id))).into_iter().collect()
            }
            Some("tool") => self.tool(part),
            _ => Vec::new(),
        }
    }

    fn tool(&self, part: &Value) -> Vec<Value> {
        let (name, state) = (str_of(part, "tool").unwrap_or("tool"), &part["state"]);
        let (id, input) = (&part["callID"], &state["input"]);
        let kind = match name {
            "bash" => "execute",
            "read" => "read",
            "edit" | "write" | "patch" | "multiedit" | "apply_patch" => "edit",
            "grep" | "glob" | "list" | "codesearch" => "search",
            "webfetch" | "websearch" => "fetch",
            "task" => "think",
            _ => "other",
        };
        let title = str_of(state, "title").filter(|title| !title.is_empty()).unwrap_or(name);
        let path = first_str(input, &["filePath", "path"]).or((name == "bash").then_some(self.cwd.as_str()));
        let locations: Vec<Value> = path.map(|path| json!({ "path": path })).into_iter().collect();
        let call = json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": kind, "status": "pending",
            "locations": locations, "rawInput": input,
        });
        let end = match str_of(state, "status") {
            Some("completed") => Some(json!({
                "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "title": title,
                "content": content(name, state), "rawOutput": { "output": state["output"], "metadata": state["metadata"] },
            })),
            Some("error") => Some(json!({
                "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed", "title": title,
                "content": [text_content(str_of(state, "error").unwrap_or_default())],
                "rawOutput": { "error": state["error"] },
            })),
            _ => None,
        };
        [Some(call), end, plan(name, input)].into_iter().flatten().collect()
    }
}

/// What was read of a row; `None`, and counted as left out, if a value in it is not of its column's type.
fn readable<T>(row: Result<T, rusqlite::Error>, left_out: &LeftOut) -> Result<Option<T>, rusqlite::Error> {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    match row {
        Ok(row) => Ok(Some(row)),
        Err(FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)) => {
            left_out.add_one();
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The JSON in a column; `None`, if it is none.
fn json_of(row: &Row<'_>, column: usize) -> Result<Option<Value>, rusqlite::Error> {
    Ok(row.get_ref(column)?.as_bytes().ok().and_then(|data| serde_json::from_slice(data).ok()))
}

/// What a tool that came to its end shows.
fn content(name: &str, state: &Value) -> Vec<Value> {
    let (input, metadata) = (&state["input"], &state["metadata"]);
    let shown = str_of(&metadata["display"], "text").or_else(|| str_of(state, "output")).unwrap_or_default();
    let mut content = vec![text_content(shown)];
    let (old, new) = (str_of(input, "oldString"), str_of(input, "newString"));
    if let (Some(path), Some(old), Some(new)) = (str_of(input, "filePath"), old, new) {
        content.push(diff(path, Some(old), new));
    } else if let (Some(path), Some(new), "write") = (str_of(input, "filePath"), str_of(input, "content"), name) {
        content.push(diff(path, None, new));
    }
    let files = state["attachments"].as_array().map(Vec::as_slice).unwrap_or_default();
    let images = files.iter().filter_map(|file| str_of(file, "url")).filter(|url| data_address(url).is_some());
    content.extend(images.map(|url| json!({ "type": "content", "content": blocks::image(url) })));
    content
}

fn plan(name: &str, input: &Value) -> Option<Value> {
    let todos = input["todos"].as_array().filter(|_| name == "todowrite")?;
    let entry = |todo| (str_of(todo, "content").unwrap_or_default(), str_of(todo, "status"), str_of(todo, "priority"));
    Some(blocks::plan(todos.iter().map(entry)))
}

fn user(part: &Value, id: &str) -> Vec<Value> {
    // What the tool says in the user's name.
    if part["synthetic"] == true || part["ignored"] == true {
        return Vec::new();
    }
    let content = match str_of(part, "type") {
        Some("text") => said(part),
        Some("file") => str_of(part, "url").map(|url| file(part, url)),
        _ => None,
    };
    content.map(|content| chunk(Voice::User, content, Some(id))).into_iter().collect()
}

fn file(part: &Value, url: &str) -> Value {
    match data_address(url) {
        Some((mime, _)) if mime.starts_with("image/") => blocks::image(url),
        Some((mime, data)) => {
            let name = str_of(part, "filename").unwrap_or("file");
            json!({ "type": "resource", "resource": { "uri": format!("file:///{name}"), "mimeType": mime, "blob": data } })
        }
        None => json!({ "type": "resource_link", "name": str_of(part, "filename").unwrap_or("file"), "uri": url }),
    }
}

fn said(part: &Value) -> Option<Value> {
    str_of(part, "text").filter(|said| !said.is_empty()).map(text)
}
