//! The model that is none: it says what it hears, so that everything around it can be tried without a key.

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};

use super::{End, Event, Message, ModelError, ModelId, ModelInfo, Part, Provider, Request};

pub(super) const PROVIDER: &str = "offline";
pub(super) const MODEL: &str = "echo";

pub(super) struct Offline;

#[async_trait]
impl Provider for Offline {
    fn name(&self) -> &str {
        PROVIDER
    }

    fn thinks(&self, _: &str) -> bool {
        false
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        Ok(vec![ModelInfo { title: "Echo (no model)".to_owned(), ..ModelInfo::of(ModelId::offline()) }])
    }

    async fn ask(&self, request: &Request) -> Result<BoxStream<'static, Result<Event, ModelError>>, ModelError> {
        let heard = match request.messages.last() {
            Some(Message::User(parts)) => parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n"),
            Some(Message::Assistant(_) | Message::ToolResult { .. }) | None => String::new(),
        };
        Ok(stream::iter([Ok(Event::Text(heard)), Ok(Event::End(End::Complete))]).boxed())
    }
}
