//! The environment variables that the program reads.

/// The file to read instead of the user's settings, like `--config`.
pub(crate) const CONFIG: &str = "REJOIN_CONFIG";

/// The folder for data of a user's programs.
pub(crate) const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

/// The folder for settings of a user's programs.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// The folder for what a user's programs remember.
pub(crate) const XDG_STATE_HOME: &str = "XDG_STATE_HOME";

/// The user's own folder.
pub(crate) const HOME: &str = "HOME";

/// The variable of the setting `key`.
pub(crate) fn of_setting(key: &str) -> String {
    format!("REJOIN_{}", key.to_uppercase())
}
