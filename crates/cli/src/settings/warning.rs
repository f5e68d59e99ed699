//! What is wrong with a file of settings, but stops nothing.

use std::fmt;
use std::path::PathBuf;

use crate::output::one_line;

/// What is wrong with a file of settings, but stops nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Warning {
    /// There is no such setting.
    UnknownKey {
        /// The file.
        file: PathBuf,
        /// The line in it.
        line: usize,
        /// What is there.
        key: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// A project's file sets what only a trusted one may set.
    NotTrusted {
        /// The file.
        file: PathBuf,
        /// What is ignored.
        keys: Vec<String>,
        /// Whether the file was trusted before it changed.
        has_changed: bool,
    },
}

impl Warning {
    /// What to do about it.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::UnknownKey { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::UnknownKey { nearest: None, .. } => "see the settings with `rejoin config show`".to_owned(),
            Self::NotTrusted { .. } => "look at the file, then take them with `rejoin config trust`".to_owned(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { file, line, key, .. } => {
                write!(f, "{}, line {line}: there is no setting `{}`", file.display(), one_line(key))
            }
            Self::NotTrusted { file, keys, has_changed } => {
                let state = if *has_changed { "has changed since it was trusted" } else { "is not trusted" };
                write!(f, "{} {state}; ignored in it: {}", file.display(), one_line(&keys.join(", ")))
            }
        }
    }
}
