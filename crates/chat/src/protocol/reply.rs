//! How a request of ours ended.

use rejoin_wire::RpcError;
use serde_json::Value;

use super::text;

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopReason {
    EndTurn,
    Cancelled,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    /// One that nobody knows yet.
    Other(String),
}

impl StopReason {
    /// Reads the result of `session/prompt`.
    pub(crate) fn read(result: &Value) -> Self {
        match result["stopReason"].as_str().unwrap_or_default() {
            "end_turn" => Self::EndTurn,
            "cancelled" => Self::Cancelled,
            "max_tokens" => Self::MaxTokens,
            "max_turn_requests" => Self::MaxTurnRequests,
            "refusal" => Self::Refusal,
            other => Self::Other(other.to_owned()),
        }
    }

    /// What is to be said of it; nothing of an agent that has said all it wanted.
    pub(crate) fn remark(&self) -> Option<String> {
        Some(match self {
            Self::EndTurn => return None,
            Self::Cancelled => "cancelled".to_owned(),
            Self::MaxTokens => "stopped: the model reached its token limit".to_owned(),
            Self::MaxTurnRequests => "stopped: the agent reached its limit of requests per turn".to_owned(),
            Self::Refusal => "the agent refused to go on".to_owned(),
            Self::Other(reason) => format!("stopped: {reason}"),
        })
    }
}

/// An error that a request was answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    pub(crate) kind: FailureKind,
}

/// Whose an error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The agent wants a login first.
    Login,
    /// The agent failed, or refused.
    Agent,
    /// The layer refused, for a reason that the user can change.
    Layer,
}

impl Failure {
    pub(crate) fn of(error: &RpcError) -> Self {
        let told: Value = serde_json::from_str(error.as_json()).unwrap_or_default();
        let data = &told["data"];
        let kind = match data["kind"].as_str() {
            Some("auth_required") => FailureKind::Login,
            None | Some("agent_failed" | "agent_start_timeout" | "restore_failed") => FailureKind::Agent,
            Some(_) => FailureKind::Layer,
        };
        Self { message: error.message().to_owned(), hint: text(data, "hint"), kind }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_the_agents_unless_the_layer_says_otherwise() {
        let kind = |data: Value| Failure::of(&RpcError::new(-1, "no").with_data(&data)).kind;
        assert_eq!(kind(json!({ "kind": "auth_required" })), FailureKind::Login);
        assert_eq!(kind(json!({ "kind": "agent_failed" })), FailureKind::Agent);
        assert_eq!(kind(json!({ "x": 1 })), FailureKind::Agent);
        assert_eq!(kind(json!({ "kind": "session_in_use" })), FailureKind::Layer);
    }
}
