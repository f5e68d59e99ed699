//! The pieces that updates are made of.

use rejoin_transcript::{Json, Timestamp, Told};
use serde_json::{Map, Value, json};

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The user.
    User,
    /// The agent.
    Agent,
    /// The agent, to itself.
    Thought,
}

/// `value` as an update at `at`.
pub(crate) fn told(at: Timestamp, value: &Value) -> Told {
    Told::Update { at, update: Json::from_stored(value.to_string()) }
}

/// A piece of a message with this content, and the message's id if it has one.
pub(crate) fn chunk(voice: Voice, content: Value, id: Option<&str>) -> Value {
    let kind = match voice {
        Voice::User => "user_message_chunk",
        Voice::Agent => "agent_message_chunk",
        Voice::Thought => "agent_thought_chunk",
    };
    let mut update = json!({ "sessionUpdate": kind });
    update["content"] = content;
    if let Some(id) = id {
        update["messageId"] = id.into();
    }
    update
}

/// A text.
pub(crate) fn text(text: impl Into<String>) -> Value {
    json!({ "type": "text", "text": text.into() })
}

/// A text as content of a tool call.
pub(crate) fn text_content(content: impl Into<String>) -> Value {
    json!({ "type": "content", "content": text(content) })
}

/// An image, of a `data:` address or of any other.
pub(crate) fn image(address: &str) -> Value {
    match data_address(address) {
        Some((mime, data)) => json!({ "type": "image", "mimeType": mime, "data": data }),
        None => json!({ "type": "resource_link", "name": "image", "uri": address }),
    }
}

/// Type and content of a `data:` address.
pub(crate) fn data_address(address: &str) -> Option<(&str, &str)> {
    address.strip_prefix("data:")?.split_once(";base64,")
}

/// A change of a file.
pub(crate) fn diff(path: &str, old: Option<&str>, new: &str) -> Value {
    json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
}

/// A plan of entries: content, status, priority. What is no status or priority becomes the plainest.
pub(crate) fn plan<'a>(entries: impl IntoIterator<Item = (&'a str, Option<&'a str>, Option<&'a str>)>) -> Value {
    let entry = |(content, status, priority): (&str, Option<&str>, Option<&str>)| {
        let status = status.filter(|status| matches!(*status, "in_progress" | "completed")).unwrap_or("pending");
        let priority = priority.filter(|priority| matches!(*priority, "high" | "low")).unwrap_or("medium");
        json!({ "content": content, "status": status, "priority": priority })
    };
    let mut plan = json!({ "sessionUpdate": "plan" });
    plan["entries"] = entries.into_iter().map(entry).collect();
    plan
}

/// An update about the title.
pub(crate) fn title(title: &str) -> Value {
    json!({ "sessionUpdate": "session_info_update", "title": title })
}

/// The marker of a compaction, with the summary from which the conversation went on.
pub(crate) fn compaction(id: &str, summary: Option<&str>) -> Value {
    let mut update = json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": "completed" });
    if let Some(summary) = summary {
        update["summary"] = json!([text(summary)]);
    }
    update
}

/// The text of the member `name`.
pub(crate) fn str_of<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// The text of the first of `names` that is there.
pub(crate) fn first_str<'a>(value: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| str_of(value, name))
}

/// When `value` happened, by its member `name`.
pub(crate) fn time_of(value: &Value, name: &str) -> Option<Timestamp> {
    str_of(value, name)?.parse().ok()
}

/// `path` as it is shown to somebody in `cwd`.
pub(crate) fn shown_path<'a>(path: &'a str, cwd: &str) -> &'a str {
    let inside = path.strip_prefix(cwd.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    inside.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// An object whose members are those of both; those of `more` come last.
pub(crate) fn with(mut value: Value, more: Map<String, Value>) -> Value {
    if let Value::Object(members) = &mut value {
        members.extend(more);
    }
    value
}
