//! Clients, agents and servers of others, as `./setup` installs them; see `peers/README.md`.

use std::env;
use std::path::{Path, PathBuf};

/// The folder that they are in.
#[derive(Debug, Clone)]
pub struct Peers(PathBuf);

impl Peers {
    /// Finds them; where they are not installed, says so, unless they must be there.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub fn find() -> Option<Self> {
        let peers = Self::folder();
        if peers.path(".installed").exists() {
            return Some(peers);
        }
        let is_required = env::var("REJOIN_PEERS").is_ok_and(|value| value == "required");
        assert!(!is_required, "REJOIN_PEERS=required, and {} has no peers", peers.0.display());
        eprintln!("skipped: the programs of others are not installed; install them with ./setup");
        None
    }

    /// The folder, whatever is installed there.
    pub fn folder() -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers").canonicalize().unwrap())
    }

    /// The path `name` in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The program `name` of those that npm installed, such as `node`.
    pub fn bin(&self, name: &str) -> PathBuf {
        self.path("node_modules/.bin").join(name)
    }
}
