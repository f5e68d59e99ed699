//! How long things may take, what servers inherit, and where a session works.

use std::path::PathBuf;
use std::time::Duration;

use rejoin_wire::{Inherited, Requested};

/// How servers are treated.
#[derive(Debug, Clone)]
pub struct Options {
    /// So long a server may take until it is connected and its tools are known.
    pub start_limit: Duration,
    /// So long a call may take without progress.
    pub call_limit: Duration,
    /// So long a call may take, whatever progress it makes.
    pub call_total_limit: Duration,
    /// The longest message that is taken from a server, in bytes.
    pub message_limit: usize,
    /// Which of our environment variables a server that we start gets, besides those of its spec.
    pub inherited: Inherited,
    /// What we call ourselves: name and version.
    pub client: (String, String),
}

impl Default for Options {
    fn default() -> Self {
        Self {
            start_limit: Duration::from_secs(10),
            call_limit: Duration::from_secs(5 * 60),
            call_total_limit: Duration::from_secs(60 * 60),
            message_limit: 16 * 1024 * 1024,
            inherited: Inherited::Few(Requested::default()),
            client: ("rejoin".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        }
    }
}

/// Where a session works: what its servers are told as roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// The session's folder, in which its servers start.
    pub cwd: PathBuf,
    /// Others that belong to it.
    pub additional: Vec<PathBuf>,
}

impl From<PathBuf> for Folders {
    fn from(cwd: PathBuf) -> Self {
        Self { cwd, additional: Vec::new() }
    }
}
