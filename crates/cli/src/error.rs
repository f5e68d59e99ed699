//! What can go wrong with a command, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rejoin_store::StoreError;
use rejoin_transcript::TranscriptError;

use crate::env_vars;

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The store did not do what was asked.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// Nothing says where sessions are kept.
    #[error("there is no place for the store: neither {} nor {} is set", env_vars::STORE, env_vars::HOME)]
    NoStorePath,

    /// The environment asks for a log level that there is none of.
    #[error("`{value}` in {} is no log level", env_vars::LOG)]
    BadLogLevel {
        /// What was there instead.
        value: String,
    },

    /// The log file can't be written.
    #[error("the log file {} can't be opened", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The folder in which the program runs is gone, or can't be named.
    #[error("the current folder can't be found")]
    NoCurrentFolder(#[source] io::Error),

    /// A file to import can't be read.
    #[error("{file} can't be read")]
    CannotRead {
        /// The file, as typed.
        file: String,
        /// Why.
        source: io::Error,
    },

    /// A file to import does not hold a transcript.
    #[error("{file} is not a transcript that can be imported")]
    NotATranscript {
        /// The file, as typed.
        file: String,
        /// What is wrong with it.
        source: TranscriptError,
    },

    /// What was asked for can't be written. The only bare [`io::Error`] there is: the others are named above.
    #[error("the output can't be written")]
    Output(#[from] io::Error),

    /// The program's own machinery does not start.
    #[error("the program can't start")]
    CannotStart(#[source] io::Error),
}

impl Error {
    /// The code to end with: 0 for a reader that has had enough, 1 for what a user can change, 255 for a bug of ours.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Output(error) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::Store(StoreError::Closed) => crate::BUG,
            Self::Store(_)
            | Self::NoStorePath
            | Self::BadLogLevel { .. }
            | Self::LogFile { .. }
            | Self::NoCurrentFolder(_)
            | Self::CannotRead { .. }
            | Self::NotATranscript { .. }
            | Self::Output(_)
            | Self::CannotStart(_) => 1,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::NoStorePath => Some("name a file with `--store PATH`".to_owned()),
            Self::BadLogLevel { .. } => Some("use off, error, warn, info, debug or trace".to_owned()),
            Self::NotATranscript { .. } => Some("import takes what `rejoin export ID` writes".to_owned()),
            Self::LogFile { .. }
            | Self::NoCurrentFolder(_)
            | Self::CannotRead { .. }
            | Self::Output(_)
            | Self::CannotStart(_) => None,
        }
    }
}
