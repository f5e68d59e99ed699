//! Why an agent can't be checked at all.

use std::io;

use rejoin_wire::ProcessError;

/// Why an agent can't be checked at all.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The program does not start.
    #[error(transparent)]
    Process(#[from] ProcessError),

    /// The agent did not get through `initialize`.
    #[error("the agent `{program}` can't be checked: {reason}")]
    NoAgent {
        /// The program.
        program: String,
        /// What happened instead, with the last lines that it wrote to stderr.
        reason: String,
    },

    /// There is no place for the folders that the agent works in.
    #[error("no folder can be made for the agent to work in")]
    NoFolder(#[source] io::Error),
}
