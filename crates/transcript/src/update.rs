//! What an update is, as far as we must know.
//!
//! Updates are kept and forwarded whole, whatever they hold. To fold them, we look at a few members of the kinds that
//! ACP v1 defines; an update that has any other member is never folded away, because we can't tell what would be lost.

use std::borrow::Cow;

use crate::json::{Members, offset_in, read_string, write_string};
use crate::{Json, MessageId};

/// The kinds of `session/update` that mean something to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpdateKind {
    /// `user_message_chunk`
    UserMessageChunk,
    /// `agent_message_chunk`
    AgentMessageChunk,
    /// `agent_thought_chunk`
    AgentThoughtChunk,
    /// `tool_call`
    ToolCall,
    /// `tool_call_update`
    ToolCallUpdate,
    /// `plan`
    Plan,
    /// `available_commands_update`
    AvailableCommands,
    /// `current_mode_update`
    CurrentMode,
    /// `config_option_update`
    ConfigOption,
    /// `session_info_update`
    SessionInfo,
    /// `usage_update`
    Usage,
    /// `notice`: by its definition not part of a session's history.
    Notice,
    /// Any other: kept and replayed in its place, whole.
    Other,
}

impl UpdateKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::UserMessageChunk,
        Self::AgentMessageChunk,
        Self::AgentThoughtChunk,
        Self::ToolCall,
        Self::ToolCallUpdate,
        Self::Plan,
        Self::AvailableCommands,
        Self::CurrentMode,
        Self::ConfigOption,
        Self::SessionInfo,
        Self::Usage,
        Self::Notice,
        Self::Other,
    ];

    /// The kind of `update`; `None` if it is not an object with a string `sessionUpdate`.
    pub fn of(update: &Json) -> Option<Self> {
        let name = update.members()?.get_string("sessionUpdate")?;
        Some(Self::from_name(&name))
    }

    /// The kind that ACP calls `name`.
    pub fn from_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.name() == Some(name)).unwrap_or(Self::Other)
    }

    /// What ACP calls it.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::UserMessageChunk => "user_message_chunk",
            Self::AgentMessageChunk => "agent_message_chunk",
            Self::AgentThoughtChunk => "agent_thought_chunk",
            Self::ToolCall => "tool_call",
            Self::ToolCallUpdate => "tool_call_update",
            Self::Plan => "plan",
            Self::AvailableCommands => "available_commands_update",
            Self::CurrentMode => "current_mode_update",
            Self::ConfigOption => "config_option_update",
            Self::SessionInfo => "session_info_update",
            Self::Usage => "usage_update",
            Self::Notice => "notice",
            Self::Other => return None,
        })
    }

    /// The members that we understand, `sessionUpdate` among them. `_meta` is not one: nobody but its author knows
    /// what it means.
    pub const fn known_members(self) -> &'static [&'static str] {
        match self {
            Self::UserMessageChunk | Self::AgentMessageChunk | Self::AgentThoughtChunk => {
                &["sessionUpdate", "content", "messageId"]
            }
            Self::ToolCall | Self::ToolCallUpdate => &[
                "sessionUpdate",
                "toolCallId",
                "title",
                "name",
                "kind",
                "status",
                "content",
                "locations",
                "rawInput",
                "rawOutput",
            ],
            Self::Plan => &["sessionUpdate", "entries"],
            Self::AvailableCommands => &["sessionUpdate", "availableCommands"],
            Self::CurrentMode => &["sessionUpdate", "currentModeId"],
            Self::ConfigOption => &["sessionUpdate", "configOptions"],
            Self::SessionInfo => &["sessionUpdate", "title", "updatedAt"],
            Self::Usage => &["sessionUpdate", "used", "size", "cost"],
            Self::Notice => &["sessionUpdate", "severity", "title", "description"],
            Self::Other => &["sessionUpdate"],
        }
    }

    /// Whether it is a piece of a message.
    pub const fn is_chunk(self) -> bool {
        matches!(self, Self::UserMessageChunk | Self::AgentMessageChunk | Self::AgentThoughtChunk)
    }

    /// Whether it tells a value in force now, so that only the latest of its kind counts.
    pub const fn is_state(self) -> bool {
        matches!(
            self,
            Self::AvailableCommands | Self::CurrentMode | Self::ConfigOption | Self::SessionInfo | Self::Usage
        )
    }

    /// As a number.
    pub const fn code(self) -> u8 {
        match self {
            Self::UserMessageChunk => 32,
            Self::AgentMessageChunk => 33,
            Self::AgentThoughtChunk => 34,
            Self::ToolCall => 35,
            Self::ToolCallUpdate => 36,
            Self::Plan => 37,
            Self::AvailableCommands => 38,
            Self::CurrentMode => 39,
            Self::ConfigOption => 40,
            Self::SessionInfo => 41,
            Self::Usage => 42,
            Self::Notice => 43,
            Self::Other => 63,
        }
    }

    /// The kind with that [`UpdateKind::code`].
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// What we look at in a chunk of a message.
pub(crate) struct Chunk<'a> {
    /// The agent's own message id.
    pub(crate) message_id: Option<Cow<'a, str>>,
    content: &'a str,
    /// Whether it has no members beside those we know.
    is_plain: bool,
}

impl<'a> Chunk<'a> {
    /// Reads a chunk; `None` if it lacks content or its id is of another type than the protocol's.
    pub(crate) fn read(kind: UpdateKind, update: &'a str) -> Option<Self> {
        let members = Members::read(update)?;
        let content = members.get_some("content")?;
        let message_id = match members.get_some("messageId") {
            Some(id) => Some(read_string(id)?),
            None => None,
        };
        Some(Self { message_id, content, is_plain: members.are_all_among(kind.known_members()) })
    }

    /// The text inside the quotes of a plain text block, still escaped; `None` for any other content, or if the chunk
    /// has members beside those we know.
    pub(crate) fn plain_text(&self) -> Option<&'a str> {
        if self.is_plain { plain_text(self.content) } else { None }
    }
}

/// The escaped text of a content block that is just `{"type":"text","text":…}`.
fn plain_text(content: &str) -> Option<&str> {
    let members = Members::read(content)?;
    if !members.are_all_among(&["type", "text"]) || members.get("type") != Some("\"text\"") {
        return None;
    }
    members.get("text")?.strip_prefix('"')?.strip_suffix('"')
}

/// The text of a content block, for people: of text and embedded text, itself; of links, where they lead.
pub fn content_text(content: &str) -> Option<Cow<'_, str>> {
    let members = Members::read(content)?;
    match members.get_string("type")?.as_ref() {
        "text" => members.get_string("text"),
        "resource_link" => members.get_string("uri"),
        "resource" => Members::read(members.get("resource")?)?.get_string("text"),
        _ => None,
    }
}

/// Whether the text of an update holds the name `messageId`, as a member's or otherwise, or could spell it differently.
pub(crate) fn may_have_message_id(update: &str) -> bool {
    update.contains("messageId") || update.contains("\\u00")
}

/// `update` with `id` as its `messageId`, in place of `null` or behind its other members. One that has its own keeps it.
pub fn with_message_id(update: &Json, id: &MessageId) -> Json {
    let text = update.as_str();
    let id = write_string(id.as_str());
    let members = may_have_message_id(text).then(|| update.members()).flatten();
    let spliced = match members.and_then(|members| members.get("messageId")) {
        // An update has at least its `sessionUpdate`, so a comma is always right.
        None => format!("{},\"messageId\":{id}}}", &text[..text.len() - 1]),
        Some(null) if null == "null" => {
            let at = offset_in(text, null);
            format!("{}{id}{}", &text[..at], &text[at + null.len()..])
        }
        Some(_) => return update.clone(),
    };
    Json::from_stored(spliced)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use agent_client_protocol_schema::v1::SessionUpdate;
    use serde_json::Value;

    use super::*;

    /// Puts the properties of `schema`, and of what it refers to, into `into`.
    fn collect(schema: &Value, defs: &Value, into: &mut BTreeMap<String, Value>) {
        if let Some(name) = schema["$ref"].as_str() {
            collect(&defs[name.rsplit('/').next().unwrap()], defs, into);
        }
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            into.insert(name.clone(), property.clone());
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            collect(part, defs, into);
        }
    }

    /// The members of each variant in the published schema, by name; `_meta` left out.
    fn members_in_schema() -> BTreeMap<String, BTreeSet<String>> {
        let schema = serde_json::to_value(schemars::schema_for!(SessionUpdate)).unwrap();
        let defs = schema["$defs"].clone();
        let variants = schema["oneOf"].as_array().or(schema["anyOf"].as_array()).unwrap();
        variants
            .iter()
            .map(|variant| {
                let mut members = BTreeMap::new();
                collect(variant, &defs, &mut members);
                let name = members["sessionUpdate"]["const"].as_str().unwrap().to_owned();
                (name, members.into_keys().filter(|name| name != "_meta").collect())
            })
            .collect()
    }

    #[test]
    fn known_members_are_those_of_the_published_schema() {
        let schema = members_in_schema();
        for kind in UpdateKind::ALL {
            let Some(name) = kind.name() else { continue };
            let known: BTreeSet<String> = kind.known_members().iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(known, schema[name], "{name}");
        }
    }

    #[test]
    fn a_message_id_is_put_in_without_touching_the_rest() {
        let id = MessageId::new("m\"1");
        let put = |text: &str| with_message_id(&Json::parse(text).unwrap(), &id).as_str().to_owned();
        assert_eq!(
            put(r#"{"sessionUpdate":"x","n":1.50,"content":{"a":{}}}"#),
            r#"{"sessionUpdate":"x","n":1.50,"content":{"a":{}},"messageId":"m\"1"}"#
        );
        assert_eq!(put(r#"{"messageId": null, "sessionUpdate":"x"}"#), r#"{"messageId": "m\"1", "sessionUpdate":"x"}"#);
    }

    #[test]
    fn only_bare_text_counts_as_plain() {
        let plain = |text: &str| Chunk::read(UpdateKind::AgentMessageChunk, text).unwrap().plain_text().is_some();
        assert!(plain(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}"#));
        assert!(!plain(
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","annotations":{}}}"#
        ));
        assert!(!plain(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"_meta":null}"#));
        assert!(!plain(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","text":"a"}}"#));
        assert!(Chunk::read(UpdateKind::AgentMessageChunk, r#"{"content":{},"messageId":7}"#).is_none());
    }
}
