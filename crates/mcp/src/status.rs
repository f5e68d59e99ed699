//! How a session's servers are, as people are told.

use std::fmt;

use crate::Failure;

/// One server and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// Its name in this session, unique: the second `files` is `files-2`.
    pub server: String,
    /// Its transport: `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// How it is.
    pub state: State,
    /// What it offers and can't be used.
    pub left_out: Vec<LeftOut>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is being connected to for the first time.
    Connecting,
    /// It can be used.
    Connected {
        /// What it calls itself; empty if it does not tell.
        name: String,
        /// Its version; empty if it does not tell.
        version: String,
        /// How many tools of it can be called.
        n_tools: usize,
        /// How many resources and resource templates it lists.
        n_resources: usize,
        /// How many prompts it lists.
        n_prompts: usize,
    },
    /// It was lost, and is being connected to again. A call waits for that.
    Reconnecting {
        /// Why it was lost, or why the last attempt failed.
        reason: Failure,
    },
    /// It can't be used. A call, or [`crate::Servers::retry`], tries once more.
    Failed {
        /// Why.
        reason: Failure,
    },
}

/// Something that a server lists and that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// What it is, for example "tool `draw`".
    pub what: String,
    /// Why it is left out.
    pub why: String,
}

impl fmt::Display for ServerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.server, self.transport, self.state)?;
        self.left_out.iter().try_for_each(|LeftOut { what, why }| write!(f, "; without {what}: {why}"))
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connecting => f.write_str("connecting"),
            Self::Connected { name, version, n_tools, n_resources, n_prompts } => {
                f.write_str("connected")?;
                if !name.is_empty() {
                    write!(f, " to {name} {version}")?;
                }
                let count = |n: &usize, one: &str| format!("{n} {one}{}", if *n == 1 { "" } else { "s" });
                let counts = [count(n_tools, "tool"), count(n_resources, "resource"), count(n_prompts, "prompt")];
                write!(f, ", {}", counts.join(", "))
            }
            Self::Reconnecting { reason } => write!(f, "reconnecting: {reason}"),
            Self::Failed { reason } => write!(f, "failed: {reason}"),
        }
    }
}
