//! The user's folders, by the rules of the XDG base directories.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::env_vars;

/// The user's folders; without a home, only those that the environment names.
#[derive(Debug)]
pub(super) struct Folders {
    pub(super) home: Option<PathBuf>,
    /// For sessions.
    pub(super) data: Option<PathBuf>,
    /// For settings.
    pub(super) config: Option<PathBuf>,
    /// For what the program remembers.
    pub(super) state: Option<PathBuf>,
}

impl Folders {
    /// Finds them with `env`, which looks up environment variables.
    pub(super) fn find(env: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let home = env(env_vars::HOME).map(PathBuf::from);
        let ours = |variable: &str, in_home: &str| {
            // A relative path is to be ignored, says the specification.
            let named = env(variable).map(PathBuf::from).filter(|folder| folder.is_absolute());
            let folder = named.or_else(|| Some(home.as_ref()?.join(in_home)));
            Some(folder?.join("rejoin"))
        };
        let data = ours(env_vars::XDG_DATA_HOME, ".local/share");
        let config = ours(env_vars::XDG_CONFIG_HOME, ".config");
        let state = ours(env_vars::XDG_STATE_HOME, ".local/state");
        Self { home, data, config, state }
    }
}
