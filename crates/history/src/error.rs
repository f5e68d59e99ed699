//! Why a history can't be read.

use std::io;

/// Why a history can't be read.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// Reading itself failed.
    #[error(transparent)]
    Io(#[from] io::Error),

    /// A database can't be read.
    #[error("its database can't be read")]
    Database(#[from] rusqlite::Error),

    /// There is no conversation in it.
    #[error("nothing was said in it")]
    NoConversation,

    /// It is a part of another conversation.
    #[error("a subagent said it; it belongs to another conversation")]
    Subagent,

    /// What must be known of a conversation is not in it.
    #[error("it does not say {what}")]
    Lacks {
        /// What is not there.
        what: &'static str,
    },

    /// It is one value, and too big to be looked at.
    #[error("it is one piece of more than {limit} bytes")]
    TooBig {
        /// How much is looked at.
        limit: u64,
    },

    /// It is not what it looked like.
    #[error("it is damaged")]
    Damaged(#[source] serde_json::Error),
}
