//! Where a setting's value came from.

use std::path::PathBuf;

use super::value::Raw;
use crate::env_vars;
use crate::error::Error;

/// Where a setting's value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nothing set it.
    Default,
    /// It was typed, as the option of this setting.
    Flag {
        /// The setting.
        key: &'static str,
    },
    /// The environment has it, as the variable of this setting.
    Environment {
        /// The setting.
        key: &'static str,
    },
    /// A file has it.
    File {
        /// Whose file.
        role: Role,
        /// The file.
        path: PathBuf,
        /// The line in it, counted from 1.
        line: usize,
    },
}

/// Whose settings a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Those of the project in whose folder the program runs.
    Project,
    /// Those of the user.
    User,
}

impl Source {
    /// The error that `key` is `found` here, where one should write as `wanted` says.
    pub(super) fn bad(&self, key: &str, found: impl Into<String>, wanted: impl Into<String>) -> Error {
        let setting = match self {
            Self::Default => format!("`{key}`"),
            Self::Flag { key } => flag(key),
            Self::Environment { key } => env_vars::of_setting(key),
            Self::File { path, line, .. } => format!("`{key}` in {}, line {line},", path.display()),
        };
        Error::BadSetting { setting, found: found.into(), wanted: wanted.into() }
    }

    /// The error that the value `raw` of `key` can't be read.
    pub(super) fn unreadable(&self, key: &str, raw: &Raw, wanted: impl Into<String>) -> Error {
        self.bad(key, raw.found(), wanted)
    }
}

/// The option for the setting `key`.
pub(crate) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}
