//! What an agent can fail with.

use rejoin_wire::{Closed, RpcError};
use serde_json::json;

/// Why a hosted agent can't do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AgentError {
    /// Something went wrong; the text is for the user.
    #[error("{0}")]
    Failed(String),
    /// A login or a key is missing; the text names it, and what to do.
    #[error("{0}")]
    AuthRequired(String),
    /// What was asked for can't be.
    #[error("`{field}`: {what}")]
    Invalid {
        /// The field that is wrong.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The turn was cancelled.
    #[error("the turn was cancelled")]
    Cancelled,
    /// The client refused, or failed to do, what it was asked.
    #[error("the client: {}", .0.message())]
    Client(RpcError),
    /// There is nobody left to talk to.
    #[error("the connection is closed")]
    Closed,
}

impl AgentError {
    /// Something went wrong, as `what` says.
    pub fn failed(what: impl std::fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }

    /// `field` is not as it should be.
    pub fn invalid(field: &'static str, what: impl Into<String>) -> Self {
        Self::Invalid { field, what: what.into() }
    }

    pub(super) fn to_rpc(&self) -> RpcError {
        match self {
            Self::Failed(_) | Self::Closed => RpcError::new(RpcError::INTERNAL, self.to_string()),
            Self::AuthRequired(_) => {
                RpcError::new(AUTH_REQUIRED, self.to_string()).with_data(&json!({ "kind": "auth_required" }))
            }
            Self::Invalid { field, .. } => {
                let data = json!({ "kind": "invalid_params", "field": field });
                RpcError::new(RpcError::INVALID_PARAMS, self.to_string()).with_data(&data)
            }
            Self::Cancelled => RpcError::new(RpcError::CANCELLED, self.to_string()),
            Self::Client(error) => error.clone(),
        }
    }
}

/// The code that ACP has for a missing login.
const AUTH_REQUIRED: i64 = -32000;

impl From<Closed> for AgentError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}
