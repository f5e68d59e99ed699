//! One turn, as the agent sees it.

use std::ops::Deref;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Meta, PromptRequest, SessionConfigOptionValue, SessionUpdate,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::session::Choosing;
use super::{AgentError, Chosen, Past, SessionContext};

/// One turn: what the user says, what was said before, and ways to answer.
///
/// It is a [`SessionContext`] too: the session's folders, and [`send`](SessionContext::send) for any kind of update.
pub struct Turn<S> {
    pub(super) context: SessionContext,
    pub(super) session: Arc<S>,
    pub(super) prompt: PromptRequest,
    pub(super) cancellation: CancellationToken,
    pub(super) history: Arc<Vec<Past>>,
    pub(super) choosing: Arc<dyn Choosing>,
}

impl<S> Turn<S> {
    /// What the agent has of the session.
    pub fn session(&self) -> &Arc<S> {
        &self.session
    }

    /// What the user says.
    pub fn prompt(&self) -> &[ContentBlock] {
        &self.prompt.prompt
    }

    /// The text of what the user says, without what is not text.
    pub fn prompt_text(&self) -> String {
        let text = |block: &ContentBlock| match block {
            ContentBlock::Text(text) => Some(text.text.clone()),
            _ => None,
        };
        self.prompt().iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// What the client sent along with the prompt.
    pub fn prompt_meta(&self) -> Option<&Meta> {
        self.prompt.meta.as_ref()
    }

    /// The conversation before this turn, from the record.
    pub fn history(&self) -> &[Past] {
        &self.history
    }

    /// What is chosen now. It may change during the turn.
    pub fn chosen(&self) -> Chosen {
        self.choosing.chosen()
    }

    /// Chooses a value for an option, as the user may, and tells the clients.
    pub async fn choose(
        &self,
        option: &str,
        value: impl Into<SessionConfigOptionValue> + Send,
    ) -> Result<(), AgentError> {
        self.choosing.choose(option, value.into()).await
    }

    /// Says when the turn is cancelled.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Says `text` to the user. What is said in a row is one message.
    pub async fn say(&self, text: impl Into<String> + Send) -> Result<(), AgentError> {
        self.send(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text.into())))).await
    }

    /// Thinks `text`, which the user may look at.
    pub async fn think(&self, text: impl Into<String> + Send) -> Result<(), AgentError> {
        self.send(SessionUpdate::AgentThoughtChunk(ContentChunk::new(ContentBlock::from(text.into())))).await
    }

    /// Keeps `state` in the record, for nobody but the agent: it is in the [history](Turn::history) of later turns, in its
    /// place.
    pub async fn keep(&self, state: Value) -> Result<(), AgentError> {
        let mut meta = Meta::new();
        meta.insert("rejoin".to_owned(), json!({ "private": true, "kept": state }));
        let chunk = ContentChunk::new(ContentBlock::from(String::new())).meta(meta);
        self.send(SessionUpdate::AgentThoughtChunk(chunk)).await
    }
}

impl<S> Deref for Turn<S> {
    type Target = SessionContext;

    fn deref(&self) -> &SessionContext {
        &self.context
    }
}

impl<S> std::fmt::Debug for Turn<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Turn").field("context", &self.context).finish_non_exhaustive()
    }
}
