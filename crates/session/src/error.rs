//! What can go wrong with a request, and how the client is told.

use std::time::Duration;

use rejoin_store::StoreError;
use rejoin_transcript::json::{Members, set_member, write_string};
use rejoin_transcript::{Cwd, SessionId};
use rejoin_wire::{RawValue, RpcError};
use serde_json::{Value, json};
use thiserror::Error;

/// Why a request was not done.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the request is not as it must be.
    #[error("{problem}")]
    InvalidParams {
        /// Where: `cwd`, `mcpServers[0].command`.
        field: String,
        /// What is wrong, and what to send; names the field.
        problem: String,
    },

    /// The session works in another folder.
    #[error(
        "session `{session}` works in `cwd` {}, not in {given}; load it there, or send `_meta.rejoin.rebind: true` to move it",
        cwd.raw
    )]
    CwdMismatch {
        /// The session.
        session: SessionId,
        /// Where it works.
        cwd: Box<Cwd>,
        /// What was sent.
        given: String,
    },

    /// No session has this id.
    #[error("there is no session `{id}`")]
    SessionNotFound {
        /// What was sent.
        id: String,
    },

    /// A request came before `initialize`.
    #[error("`{method}` came before `initialize`; send that first")]
    NotInitialized {
        /// The method.
        method: String,
    },

    /// The id of a request is that of another which is not answered yet.
    #[error("the request's id is that of another request that is not answered yet; give each request its own")]
    DuplicateId,

    /// Nobody knows this method.
    #[error("there is no method `{method}`")]
    MethodNotFound {
        /// The method.
        method: String,
    },

    /// The store did not do what was asked.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// The agent can't be started, ended, or does not speak the protocol.
    #[error("{}", agent_failed(agent, what, stderr))]
    AgentFailed {
        /// Its command, or name.
        agent: String,
        /// What happened.
        what: String,
        /// The last lines that it wrote to its standard error.
        stderr: String,
    },

    /// The agent did not answer in time.
    #[error("agent `{agent}` did not answer `{method}` within {} s", limit.as_secs_f32())]
    AgentTimeout {
        /// Its command, or name.
        agent: String,
        /// What it was asked.
        method: &'static str,
        /// How long it was given.
        limit: Duration,
    },

    /// The session can't be restored in the agent, and may not be rebuilt.
    #[error("session `{session}` can't be restored in agent `{agent}`: {reason}")]
    RestoreFailed {
        /// The session.
        session: SessionId,
        /// The agent's command, or name.
        agent: String,
        /// Why not.
        reason: String,
    },

    /// A turn is running, and no more prompts can wait.
    #[error("the session is busy: {reason}")]
    Busy {
        /// Why the prompt can't wait.
        reason: &'static str,
    },

    /// The session's folder is gone.
    #[error("the session's folder {cwd} is gone; its history can be read, but no prompt can run there")]
    CwdMissing {
        /// The folder.
        cwd: String,
    },

    /// The request was taken back.
    #[error("the request was cancelled")]
    Cancelled,

    /// The agent had no chance to answer.
    #[error("the agent let go of the session before it answered; send the request again")]
    Abandoned,

    /// The session layer was ended before the request was done.
    #[error("the session layer ended before the request was done")]
    Ended,

    /// The agent's own error, passed on as it is.
    #[error("{0}")]
    Agent(RpcError),
}

impl Error {
    /// The field `field` is not as it must be.
    pub(crate) fn invalid(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidParams { field: field.into(), problem: problem.into() }
    }

    /// Whether an agent did not answer in time.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(self, Self::AgentTimeout { .. })
    }

    /// As a client is told.
    pub fn to_rpc(&self) -> RpcError {
        let with = |code, data: &Value| RpcError::new(code, self.to_string()).with_data(data);
        match self {
            Self::Agent(error) if error.code() == AUTH_REQUIRED => with_kind(error, "auth_required"),
            Self::Agent(error) => error.clone(),
            Self::InvalidParams { field, .. } => {
                with(RpcError::INVALID_PARAMS, &json!({ "kind": "invalid_params", "field": field }))
            }
            Self::CwdMismatch { cwd, given, .. } => with(
                RpcError::INVALID_PARAMS,
                &json!({ "kind": "cwd_mismatch", "field": "cwd", "cwd": cwd.raw, "given": given }),
            ),
            Self::SessionNotFound { id } => with(-32002, &json!({ "kind": "session_not_found", "sessionId": id })),
            Self::NotInitialized { .. } | Self::DuplicateId => {
                RpcError::new(RpcError::INVALID_REQUEST, self.to_string())
            }
            Self::MethodNotFound { method } => with(RpcError::METHOD_NOT_FOUND, &json!({ "method": method })),
            Self::Store(error) => store_error(error),
            Self::AgentFailed { agent, stderr, .. } => {
                with(-32010, &json!({ "kind": "agent_failed", "agent": agent, "stderr": stderr }))
            }
            Self::AgentTimeout { agent, method, .. } => {
                let kind = if *method == "initialize" { "agent_start_timeout" } else { "agent_failed" };
                with(-32010, &json!({ "kind": kind, "agent": agent, "method": method }))
            }
            Self::RestoreFailed { agent, reason, .. } => {
                with(-32010, &json!({ "kind": "restore_failed", "agent": agent, "reason": reason }))
            }
            Self::Busy { .. } => with(-32011, &json!({ "kind": "busy" })),
            Self::CwdMissing { cwd } => with(-32013, &json!({ "kind": "cwd_missing", "cwd": cwd })),
            Self::Cancelled => RpcError::new(RpcError::CANCELLED, self.to_string()),
            Self::Abandoned => with(-32010, &json!({ "kind": "agent_failed" })),
            Self::Ended => RpcError::new(RpcError::INTERNAL, self.to_string()),
        }
    }
}

/// What agents answer that want a login first.
const AUTH_REQUIRED: i64 = -32000;

/// An agent's error with `kind` in its `data`, if there is room for it.
fn with_kind(error: &RpcError, kind: &str) -> RpcError {
    let data = Members::read(error.as_json()).and_then(|error| error.get_some("data")).unwrap_or("{}");
    if Members::read(data).is_none_or(|data| data.get("kind").is_some()) {
        return error.clone();
    }
    let data = set_member(data, "kind", &write_string(kind)).and_then(|data| RawValue::from_string(data).ok());
    data.map_or_else(|| error.clone(), |data| error.clone().with_data(&data))
}

fn agent_failed(agent: &str, what: &str, stderr: &str) -> String {
    match stderr.trim().lines().last() {
        Some(last) => format!("agent `{agent}` {what}; it last said: {last}"),
        None => format!("agent `{agent}` {what}"),
    }
}

fn store_error(error: &StoreError) -> RpcError {
    let mut data = json!({ "kind": error.kind() });
    if let StoreError::InUse { owner, since, .. } = error {
        data["owner"] = json!({ "host": owner.host, "pid": owner.pid, "since": since.to_string() });
    }
    if matches!(error, StoreError::BadCursor { .. }) {
        data["field"] = json!("cursor");
    }
    if let StoreError::SessionNotFound { id } = error {
        data["sessionId"] = json!(id);
    }
    if let Some(hint) = error.hint() {
        data["hint"] = json!(hint);
    }
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    RpcError::new(error.code().into(), message).with_data(&data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_that_wants_a_login_gets_its_kind_named() {
        let check = |error: RpcError, expected: &Value| {
            let told: Value = serde_json::from_str(Error::Agent(error).to_rpc().as_json()).unwrap();
            assert_eq!(told["data"], *expected);
        };
        let error = |code| RpcError::new(code, "no key");
        check(error(-32000), &json!({ "kind": "auth_required" }));
        check(error(-32000).with_data(&json!({ "x": 1 })), &json!({ "x": 1, "kind": "auth_required" }));
        check(error(-32000).with_data(&json!({ "kind": "quota" })), &json!({ "kind": "quota" }));
        check(error(-32000).with_data(&json!("no")), &json!("no"));
        check(error(-32001), &Value::Null);
    }
}
