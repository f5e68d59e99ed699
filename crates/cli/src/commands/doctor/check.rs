//! One thing that was looked at.

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// It works.
    Good,
    /// It works, and there is something to know about it.
    Note,
    /// It does not work, and the user has asked for it.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) detail: String,
    /// What to do about it.
    pub(super) hint: Option<String>,
}

impl Check {
    pub(super) fn good(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Good, detail: detail.into(), hint: None }
    }

    pub(super) fn note(name: impl Into<String>, detail: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name: name.into(), state: State::Note, detail: detail.into(), hint: Some(hint.into()) }
    }

    pub(super) fn bad(name: impl Into<String>, detail: impl Into<String>, hint: Option<String>) -> Self {
        Self { name: name.into(), state: State::Bad, detail: detail.into(), hint }
    }
}
