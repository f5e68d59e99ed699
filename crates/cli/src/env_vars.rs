//! The environment variables that the program reads.

use rejoin_agent::ProviderKind;

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

/// The folders in which programs are looked for.
pub(crate) const PATH: &str = "PATH";
/// The kind of the terminal.
pub(crate) const TERM: &str = "TERM";
/// The command with which the user's programs show long texts.
pub(crate) const PAGER: &str = "PAGER";

/// What `less` is told.
pub(crate) const LESS: &str = "LESS";

/// The variable of the setting `key`.
pub(crate) fn of_setting(key: &str) -> String {
    format!("REJOIN_{}", key.to_uppercase())
}

/// The variables that hold the key and the address of the provider that everybody knows of `kind`.
pub(crate) fn of_provider(kind: ProviderKind) -> (&'static str, &'static str) {
    match kind {
        ProviderKind::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        ProviderKind::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        ProviderKind::Gemini => ("GEMINI_API_KEY", "GEMINI_BASE_URL"),
    }
}
