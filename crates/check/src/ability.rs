//! What an agent says that it can do.

use serde_json::Value;

/// Something that an agent need not be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ability {
    Load,
    Resume,
    List,
    Fork,
    Close,
    Delete,
    Directories,
    Title,
    Archive,
    Status,
}

impl Ability {
    /// Those that have a method, with its name.
    pub(crate) const METHODS: [(Self, &'static str); 9] = [
        (Self::Load, "session/load"),
        (Self::Resume, "session/resume"),
        (Self::List, "session/list"),
        (Self::Fork, "session/fork"),
        (Self::Close, "session/close"),
        (Self::Delete, "session/delete"),
        (Self::Title, "session/set_title"),
        (Self::Archive, "session/archive"),
        (Self::Status, "session/status"),
    ];

    /// Where an agent advertises it, under `agentCapabilities`.
    pub(crate) const fn pointer(self) -> &'static str {
        match self {
            Self::Load => "/loadSession",
            Self::Resume => "/sessionCapabilities/resume",
            Self::List => "/sessionCapabilities/list",
            Self::Fork => "/sessionCapabilities/fork",
            Self::Close => "/sessionCapabilities/close",
            Self::Delete => "/sessionCapabilities/delete",
            Self::Directories => "/sessionCapabilities/additionalDirectories",
            Self::Title => "/sessionCapabilities/title",
            Self::Archive => "/sessionCapabilities/archive",
            Self::Status => "/sessionCapabilities/status",
        }
    }

    /// Whether it is advertised in the answer to `initialize`.
    pub(crate) fn is_in(self, initialized: &Value) -> bool {
        match initialized["agentCapabilities"].pointer(self.pointer()) {
            Some(Value::Bool(is_there)) => *is_there,
            Some(Value::Null) | None => false,
            Some(_) => true,
        }
    }
}
