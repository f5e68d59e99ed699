//! What can be wrong with a transcript.

use thiserror::Error;

/// A step, update or file that is not what a transcript is made of.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The text is not one JSON value.
    #[error("not valid JSON")]
    NotJson(#[source] serde_json::Error),

    /// An update is not an object with a string `sessionUpdate`.
    #[error("an update must be an object with a string `sessionUpdate`")]
    NotAnUpdate,

    /// A prompt is not an array of content blocks.
    #[error("a prompt must be an array of content blocks")]
    NotAPrompt,

    /// A prompt for turn 0.
    #[error("turns are counted from 1")]
    TurnZero,

    /// A time is not written as RFC 3339 says.
    #[error("`{text}` is not an RFC 3339 time such as 2026-01-31T09:00:00Z")]
    NotATime {
        /// What was there instead.
        text: String,
    },

    /// A session id is empty, too long, or has characters that would break a line or a listing.
    #[error("`{}` is not a session id (1 to 200 characters, no blanks or control characters)", id.escape_debug())]
    NotASessionId {
        /// What was there instead.
        id: String,
    },

    /// A file does not begin with the header of an exported transcript.
    #[error("line 1 is not the header of an exported transcript")]
    NotAnExport,

    /// An exported transcript is of a version that this program does not know.
    #[error("the transcript is of version {found}; this program reads version {known}")]
    UnknownVersion {
        /// The version in the file.
        found: u64,
        /// The newest version known here.
        known: u64,
    },

    /// A line of an exported transcript can't be read.
    #[error("line {line} is not an entry of a transcript")]
    BadLine {
        /// Its number, from 1.
        line: u64,
        /// Why.
        #[source]
        source: serde_json::Error,
    },

    /// The entries of an exported transcript are not numbered 1, 2, 3, ….
    #[error("line {line} holds entry {found} where entry {expected} belongs")]
    OutOfOrder {
        /// The line's number, from 1.
        line: u64,
        /// The number that should come next.
        expected: u64,
        /// The number that is there.
        found: u64,
    },
}
