//! Why a server can't be used, and why a call failed: in words for people, without secrets.

use std::time::Duration;

use thiserror::Error;

/// Why a server can't be used. Its text is a sentence about the server, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// What the client gave can't be right.
    #[error("{problem}")]
    Invalid {
        /// Which field, and what is wrong with it.
        problem: String,
    },

    /// There is no such program.
    #[error("there is no program `{program}`: install it, or give its full path as `command`")]
    NotFound {
        /// What was to be started.
        program: String,
    },

    /// The program is there, but could not be started.
    #[error("`{program}` can't be started: {problem}")]
    CannotStart {
        /// What was to be started.
        program: String,
        /// Why not.
        problem: String,
    },

    /// Its process has exited.
    #[error("it exited {how}{}", said(stderr))]
    Exited {
        /// How, for example "with status 1".
        how: String,
        /// The last lines it wrote to stderr; empty if there are none.
        stderr: String,
    },

    /// It did not answer in time. A program that did not was ended.
    #[error("it did not answer `{method}` within {} s, so it is not used{}", limit.as_secs_f32(), stderr.as_deref().map(said).unwrap_or_default())]
    TooSlow {
        /// What it was asked.
        method: &'static str,
        /// How long it was waited for.
        limit: Duration,
        /// The last lines it wrote to stderr; `None` if it is no program.
        stderr: Option<String>,
    },

    /// There is no connection to its address.
    #[error("{url} can't be reached: {problem}; is it running?")]
    Unreachable {
        /// Its address, without secrets.
        url: String,
        /// Why not.
        problem: String,
    },

    /// It wants to know who asks.
    #[error("it needs authorization (HTTP {status}): {advice}")]
    Unauthorized {
        /// 401 or 403.
        status: u16,
        /// Which header to give, or which to check.
        advice: String,
    },

    /// It refuses with a status of HTTP.
    #[error("it answers HTTP {status}{}{}", detail(text), status_advice(*status))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of what it says; empty if nothing.
        text: String,
    },

    /// It refuses a request that it must answer.
    #[error("it refuses `{method}`: {message}")]
    Refused {
        /// What it was asked.
        method: &'static str,
        /// What it says.
        message: String,
    },

    /// What it says is not MCP.
    #[error("it does not speak MCP as it should: {problem}")]
    Protocol {
        /// What is wrong.
        problem: String,
    },

    /// Its connection ended.
    #[error("its connection ended{}", detail(problem))]
    Disconnected {
        /// How, if that is known.
        problem: String,
    },

    /// The session is closed, and its servers with it.
    #[error("the session is closed")]
    Closed,
}

impl Failure {
    /// Whether another attempt would fail in the same way: something must be changed first.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Invalid { .. } | Self::NotFound { .. } | Self::Unauthorized { .. } | Self::Closed => true,
            Self::CannotStart { .. }
            | Self::Exited { .. }
            | Self::TooSlow { .. }
            | Self::Unreachable { .. }
            | Self::Status { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::Disconnected { .. } => false,
        }
    }
}

/// Why a request to a server has no answer. A tool that ran and failed is an answer: see `is_error` of the result.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// No server of the session has such a tool.
    #[error("there is no MCP tool `{tool}`")]
    UnknownTool {
        /// What was called.
        tool: String,
    },

    /// The session has no such server.
    #[error("there is no MCP server `{server}`")]
    UnknownServer {
        /// What was asked.
        server: String,
    },

    /// The server can't be used; nothing was sent to it.
    #[error("MCP server `{server}` is not connected: {reason}")]
    NotConnected {
        /// The server.
        server: String,
        /// Why.
        reason: Failure,
    },

    /// The server was lost before it answered. Whether it did what it was asked is not known.
    #[error("MCP server `{server}` was lost before it answered: {reason}")]
    Lost {
        /// The server.
        server: String,
        /// How.
        reason: Failure,
    },

    /// The server took too long, and was told that nobody waits any more.
    #[error("MCP server `{server}` did not answer within {} s", limit.as_secs_f32())]
    TooSlow {
        /// The server.
        server: String,
        /// How long was waited since it last showed progress, or in all.
        limit: Duration,
    },

    /// The server answered with an error.
    #[error("MCP server `{server}` says: {message} ({code})")]
    Refused {
        /// The server.
        server: String,
        /// The code of JSON-RPC.
        code: i32,
        /// What it says.
        message: String,
    },

    /// The server's answer can't be used.
    #[error("MCP server `{server}` answered what is not understood: {problem}")]
    Unusable {
        /// The server.
        server: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn said(stderr: &str) -> String {
    if stderr.trim().is_empty() {
        "; it wrote nothing to stderr".to_owned()
    } else {
        format!("; its stderr ends with:\n{}", stderr.trim_end())
    }
}

fn status_advice(status: u16) -> &'static str {
    match status {
        300..=399 => "; give the address it moved to as `url`",
        404 | 405 => "; check its `url`, and whether its type is `http` or `sse`",
        500.. => "; its own log may say why",
        _ => "",
    }
}

fn detail(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
