//! What can go wrong with a store, and what to do about it.

use std::path::PathBuf;
use std::sync::Arc;

use rejoin_transcript::{EntryNumber, SessionId, Timestamp};
use thiserror::Error;

use crate::Owner;

/// Why a store did not do what was asked. Nothing of it was written.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No session has this id.
    #[error("there is no session `{id}`")]
    SessionNotFound {
        /// What was asked for.
        id: String,
    },

    /// Several sessions begin with this prefix.
    #[error("`{prefix}` fits {count} sessions")]
    AmbiguousPrefix {
        /// What was asked for.
        prefix: String,
        /// How many it fits.
        count: u64,
    },

    /// A session with this id is there already.
    #[error("session `{id}` exists already")]
    SessionExists {
        /// The id.
        id: SessionId,
    },

    /// Someone else wrote, and the caller's view is stale.
    #[error("session `{session}` stands at entry {actual}, not at entry {expected}")]
    Conflict {
        /// The session.
        session: SessionId,
        /// Where the caller thought it stood.
        expected: EntryNumber,
        /// Where it stands.
        actual: EntryNumber,
    },

    /// The lease was taken over by someone else.
    #[error("session `{session}` was taken over by another process")]
    LeaseLost {
        /// The session.
        session: SessionId,
    },

    /// Someone else runs a turn of this session.
    #[error("session `{session}` runs a turn in process {} on {}", owner.pid, owner.host)]
    InUse {
        /// The session.
        session: SessionId,
        /// Who.
        owner: Box<Owner>,
        /// Since when.
        since: Timestamp,
    },

    /// A fork point that is not in the session.
    #[error("session `{session}` has no entry {at}; its last is {last}")]
    NoSuchEntry {
        /// The session.
        session: SessionId,
        /// What was asked for.
        at: EntryNumber,
        /// The session's last entry.
        last: EntryNumber,
    },

    /// A list cursor that this store did not give for this filter, or gave too long ago.
    #[error("the cursor {reason}")]
    BadCursor {
        /// What is wrong with it.
        reason: &'static str,
    },

    /// A search without a word in it.
    #[error("`{query}` holds no word to search for")]
    EmptyQuery {
        /// What was asked for.
        query: String,
    },

    /// The disk, or the room that the store may take on it, is full.
    #[error("no room left on disk for the store {}", path.display())]
    Full {
        /// The store's file.
        path: PathBuf,
    },

    /// The store's file can't be written.
    #[error("the store {} can't be written", path.display())]
    ReadOnly {
        /// The store's file.
        path: PathBuf,
    },

    /// The store's file can't be opened.
    #[error("the store {} can't be opened", path.display())]
    CannotOpen {
        /// The store's file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },

    /// A file of the store was removed, renamed or replaced while the store was open.
    #[error("{} was removed, renamed or replaced while the store was open", path.display())]
    Replaced {
        /// The file that is not the one that was opened.
        path: PathBuf,
    },

    /// Another process kept the store locked for too long.
    #[error("the store {} is locked by another process", path.display())]
    Locked {
        /// The store's file.
        path: PathBuf,
    },

    /// A newer version of this program has changed the store in a way that this one can't follow.
    #[error("the store {} has schema {found}; this program knows schemas up to {known}", path.display())]
    NewerSchema {
        /// The store's file.
        path: PathBuf,
        /// The store's schema.
        found: u32,
        /// The newest schema known here.
        known: u32,
    },

    /// The file is something else.
    #[error("{} is not a store of sessions", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },

    /// Something in the store is damaged.
    #[error("the store {} is damaged: {what}", path.display())]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What, and where.
        what: String,
    },

    /// The search index is damaged; sessions are not touched by that.
    #[error("the search index of the store {} is damaged", path.display())]
    IndexDamaged {
        /// The store's file.
        path: PathBuf,
    },

    /// The pages of a session's entries, or of its replay, do not go on, and would never end.
    #[error("reading session `{session}` does not get past entry {after}")]
    Stuck {
        /// The session.
        session: SessionId,
        /// How far it comes.
        after: EntryNumber,
    },

    /// Something could not be compressed.
    #[error("a big content could not be compressed")]
    Compression {
        /// Why.
        #[source]
        source: Arc<std::io::Error>,
    },

    /// The store was shut down, or its thread ended.
    #[error("the store is closed")]
    Closed,

    /// Anything else that the database reports.
    #[error("the store {} failed", path.display())]
    Database {
        /// The store's file.
        path: PathBuf,
        /// What the database said.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
}

impl StoreError {
    /// A stable word for the kind of error, as clients get it in `data.kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionNotFound { .. } => "session_not_found",
            Self::AmbiguousPrefix { .. }
            | Self::SessionExists { .. }
            | Self::NoSuchEntry { .. }
            | Self::EmptyQuery { .. } => "invalid_params",
            Self::BadCursor { .. } => "bad_cursor",
            Self::Conflict { .. } | Self::LeaseLost { .. } | Self::InUse { .. } => "session_in_use",
            Self::Full { .. }
            | Self::ReadOnly { .. }
            | Self::CannotOpen { .. }
            | Self::Replaced { .. }
            | Self::Locked { .. }
            | Self::NewerSchema { .. }
            | Self::NotAStore { .. }
            | Self::Damaged { .. }
            | Self::IndexDamaged { .. }
            | Self::Stuck { .. }
            | Self::Compression { .. }
            | Self::Closed
            | Self::Database { .. } => "store_failed",
        }
    }

    /// Whether it says no to what was asked, before anything was written; else the store itself failed.
    pub(crate) fn is_refusal(&self) -> bool {
        self.kind() != "store_failed"
    }

    /// The JSON-RPC error code that belongs to [`StoreError::kind`].
    pub fn code(&self) -> i32 {
        match self.kind() {
            "session_not_found" => -32002,
            "session_in_use" => -32011,
            "store_failed" => -32012,
            _ => -32602,
        }
    }

    /// What to do about it, as a sentence or a command.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::SessionNotFound { .. } | Self::AmbiguousPrefix { .. } => "find ids with `rejoin list`".to_owned(),
            Self::EmptyQuery { .. } => "give at least one word with a letter or digit in it".to_owned(),
            Self::InUse { .. } => "wait until the turn ends, or cancel it there".to_owned(),
            Self::BadCursor { .. } => "begin the list again without a cursor".to_owned(),
            Self::Full { .. } => "free some room on the disk, or raise the limit on the size of files (`ulimit -f`); nothing stored so far is lost".to_owned(),
            Self::ReadOnly { path } | Self::CannotOpen { path, .. } => {
                format!(
                    "check who may read and write {} and its folder, or choose another store with `--store`",
                    path.display()
                )
            }
            Self::Replaced { .. } => {
                "put the file back if it was moved; else end every process that uses the store, and \
                                      start again. Nothing is written until then"
                    .to_owned()
            }
            Self::Locked { .. } => "try again; if it goes on, look for a process that holds the file".to_owned(),
            Self::NewerSchema { .. } => "update rejoin".to_owned(),
            Self::NotAStore { .. } => "choose another file with `--store`".to_owned(),
            Self::Damaged { .. } => {
                "run `rejoin verify` to see which sessions are touched; the others stay usable".to_owned()
            }
            Self::IndexDamaged { .. } => {
                "a search makes the index again, if the store can be written; everything else works without it"
                    .to_owned()
            }
            _ => return None,
        })
    }
}
