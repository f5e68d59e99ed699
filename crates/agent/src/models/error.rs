//! Why a model does not answer, as far as it matters what is done about it.

use std::time::Duration;

use rejoin::AgentError;

/// Why a model does not answer. No text holds a key or an address beyond its host.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ModelError {
    /// A key is missing, or was refused.
    #[error("{0}")]
    Auth(String),
    /// There is too much to do there; it may go better later.
    #[error("{text}")]
    Busy {
        text: String,
        /// When the provider wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// There was no connection, or it broke off.
    #[error("{0}")]
    Lost(String),
    /// The conversation is longer than the model can take.
    #[error("{0}")]
    TooLong(String),
    /// Anything else: asked again, it would be the same.
    #[error("{0}")]
    Failed(String),
    /// The turn itself can't go on.
    #[error(transparent)]
    Turn(#[from] AgentError),
}

impl From<ModelError> for AgentError {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Auth(text) => Self::AuthRequired(text),
            ModelError::Busy { text, .. }
            | ModelError::Lost(text)
            | ModelError::TooLong(text)
            | ModelError::Failed(text) => Self::Failed(text),
            ModelError::Turn(error) => error,
        }
    }
}
