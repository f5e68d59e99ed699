//! What the user's configuration says of those who provide models.

use std::fmt;

use super::keys::KeySource;

/// The API that a provider has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProviderKind {
    /// Chat completions, as `OpenAI` and many others have them.
    OpenAi,
    /// Messages, as Anthropic has them.
    Anthropic,
    /// Generated content, as Gemini has it.
    Gemini,
}

impl ProviderKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];

    /// Its name in a configuration, which is also that of the provider which everybody has of it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One who provides models.
#[derive(Clone)]
pub struct ProviderConfig {
    /// The first part of its models' ids.
    pub name: String,
    /// The API that it has.
    pub kind: ProviderKind,
    /// Where it is; without one, where the kind's own vendor is.
    pub base_url: Option<String>,
    /// Where its key comes from.
    pub key: KeySource,
    /// What the user is told to set if there is no key, such as `OPENAI_API_KEY`.
    pub key_name: String,
    /// Models that it has, besides those that it lists itself.
    pub models: Vec<String>,
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An address may hold a password.
        let Self { name, kind, models, .. } = self;
        let mut shown = f.debug_struct("ProviderConfig");
        shown.field("name", name).field("kind", kind).field("models", models).finish_non_exhaustive()
    }
}
