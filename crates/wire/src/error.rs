//! What can go wrong with a connection and with the process at its end.

use std::io;

use thiserror::Error;

/// Nothing more can be sent: the other side does not read any more, or the connection was finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the connection is closed")]
pub struct Closed;

/// Why a process did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// There is no such program.
    #[error("there is no program `{program}`")]
    NotFound {
        /// What was to be started.
        program: String,
    },

    /// The program is there, but could not be started.
    #[error("cannot start `{program}`")]
    CannotStart {
        /// What was to be started.
        program: String,
        /// Why not.
        source: io::Error,
    },
}
