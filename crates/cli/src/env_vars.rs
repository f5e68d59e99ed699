//! The environment variables that the program reads.

/// Where sessions are kept, like `--store`.
pub(crate) const STORE: &str = "REJOIN_STORE";

/// How much is logged, like `--log`.
pub(crate) const LOG: &str = "REJOIN_LOG";

/// The folder for data of a user's programs.
pub(crate) const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// The user's own folder.
pub(crate) const HOME: &str = "HOME";
