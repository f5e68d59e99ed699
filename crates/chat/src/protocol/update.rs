//! The updates of a session.

use serde_json::Value;

use super::content::content_text;
use super::plan::PlanEntry;
use super::tool_call::ToolCall;
use super::{elements, text};

/// One `session/update`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
    /// A piece of a message.
    Chunk {
        role: Role,
        message_id: Option<String>,
        text: String,
    },
    /// A tool call begins, or something about it changes.
    ToolCall(ToolCall),
    Plan(Vec<PlanEntry>),
    Commands(Vec<Command>),
    Mode(String),
    /// The config options, as they came.
    Options(Value),
    /// The session has another title, or none.
    Title(Option<String>),
    Usage(Usage),
    Notice {
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    /// The conversation is summarised; how far that is.
    Compaction {
        status: String,
    },
    /// What nobody knows, by its name.
    Unknown(String),
}

/// Whose words a chunk is a piece of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Agent,
    Thought,
    /// The layer's own, in the agent's place.
    Layer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Info,
    Warning,
    Error,
}

/// A slash command of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: String,
    /// What is to be written behind it.
    pub(crate) input: Option<String>,
}

/// How full the model's window is, and what the session has cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Usage {
    pub(crate) used: u64,
    pub(crate) size: u64,
    /// The amount and the currency.
    pub(crate) cost: Option<(f64, String)>,
}

impl Update {
    /// Reads the object `update`; `None` for what the chat has no use for.
    pub(crate) fn read(update: &Value) -> Option<Self> {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        Some(match kind {
            "user_message_chunk" => chunk(Role::User, update),
            "agent_thought_chunk" => chunk(Role::Thought, update),
            "agent_message_chunk" => {
                let is_layers = update["_meta"]["rejoin"]["notice"] == true;
                chunk(if is_layers { Role::Layer } else { Role::Agent }, update)
            }
            "tool_call" | "tool_call_update" => Self::ToolCall(ToolCall::read(update)?),
            "plan" => Self::Plan(PlanEntry::read_all(update)),
            "plan_update" => Self::Plan(PlanEntry::read_all(&update["plan"])),
            "plan_removed" => Self::Plan(Vec::new()),
            "available_commands_update" => {
                Self::Commands(elements(update, "availableCommands").filter_map(Command::read).collect())
            }
            "current_mode_update" => Self::Mode(text(update, "currentModeId")?),
            "config_option_update" => Self::Options(update["configOptions"].clone()),
            "session_info_update" => Self::Title(update.get("title")?.as_str().map(str::to_owned)),
            "usage_update" => Self::Usage(Usage::read(update)?),
            "notice" => Self::Notice {
                severity: Severity::read(update),
                title: text(update, "title").unwrap_or_default(),
                description: text(update, "description"),
            },
            "compaction_update" => Self::Compaction { status: text(update, "status")? },
            "compaction_summary_chunk" => return None,
            other => Self::Unknown(other.to_owned()),
        })
    }
}

fn chunk(role: Role, update: &Value) -> Update {
    Update::Chunk { role, message_id: text(update, "messageId"), text: content_text(&update["content"]) }
}

impl Severity {
    fn read(notice: &Value) -> Self {
        match notice["severity"].as_str() {
            Some("warning") => Self::Warning,
            Some("error") => Self::Error,
            _ => Self::Info,
        }
    }
}

impl Command {
    fn read(command: &Value) -> Option<Self> {
        Some(Self {
            name: text(command, "name")?,
            description: text(command, "description").unwrap_or_default(),
            input: text(&command["input"], "hint"),
        })
    }
}

impl Usage {
    fn read(update: &Value) -> Option<Self> {
        let cost = &update["cost"];
        let cost = cost["amount"].as_f64().map(|amount| (amount, text(cost, "currency").unwrap_or_default()));
        Some(Self { used: update["used"].as_u64()?, size: update["size"].as_u64()?, cost })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_update_that_nobody_knows_keeps_its_name() {
        assert_eq!(Update::read(&json!({ "sessionUpdate": "weather" })), Some(Update::Unknown("weather".to_owned())));
        assert_eq!(Update::read(&json!(7)), Some(Update::Unknown(String::new())));
    }

    #[test]
    fn a_title_that_is_not_told_is_not_cleared() {
        let title = |update: Value| Update::read(&update);
        assert_eq!(title(json!({ "sessionUpdate": "session_info_update" })), None);
        let cleared = json!({ "sessionUpdate": "session_info_update", "title": null });
        assert_eq!(title(cleared), Some(Update::Title(None)));
    }

    #[test]
    fn what_the_layer_says_is_not_the_agents() {
        let content = json!({ "type": "text", "text": "restored" });
        let meta = json!({ "rejoin": { "notice": true } });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content, "_meta": meta });
        let expected = Update::Chunk { role: Role::Layer, message_id: None, text: "restored".to_owned() };
        assert_eq!(Update::read(&update), Some(expected));
    }
}
