//! Language models: one port, and who is behind it.

mod answer;
mod anthropic;
mod api;
mod body;
mod chat_calls;
mod choices;
mod claude;
mod config;
mod endpoint;
mod error;
mod failure;
mod gemini;
mod heard;
mod keys;
mod known;
mod limits;
mod listing;
mod offline;
mod openai;
mod price;
mod remote;
mod request;
pub(crate) mod retry;
mod sse;
mod thoughts;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::join_all;
use futures::stream::BoxStream;
use rejoin::AgentError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::tools::ToolSpec;

pub(crate) use choices::{TEMPERATURE, THINKING, Temperature, Thinking};
pub use config::{ProviderConfig, ProviderKind};
pub(crate) use error::ModelError;
pub(crate) use keys::variables as key_variables;
pub use keys::{KeySource, Secret};
pub(crate) use price::Price;

/// A model: who provides it, and its name there. Written `provider/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelId {
    /// Who provides it, such as `openai`.
    pub provider: String,
    /// Its name there, such as `gpt-5`; may hold slashes.
    pub name: String,
}

/// A text that names no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no model: write provider/name, such as openai/gpt-5 or offline/echo")]
pub struct NotAModel(String);

impl ModelId {
    /// The model that answers without one.
    pub fn offline() -> Self {
        Self { provider: offline::PROVIDER.to_owned(), name: offline::MODEL.to_owned() }
    }
}

impl FromStr for ModelId {
    type Err = NotAModel;

    fn from_str(text: &str) -> Result<Self, NotAModel> {
        match text.trim().split_once('/') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                Ok(Self { provider: provider.to_owned(), name: name.to_owned() })
            }
            _ => Err(NotAModel(text.to_owned())),
        }
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.name)
    }
}

/// A model that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelInfo {
    pub(crate) id: ModelId,
    /// What people read.
    pub(crate) title: String,
    /// How many tokens it takes.
    pub(crate) window: u64,
    pub(crate) price: Option<Price>,
}

impl ModelInfo {
    /// What is known of `id` by its name.
    pub(crate) fn of(id: ModelId) -> Self {
        Self { title: id.name.clone(), window: known::window(&id.name), price: None, id }
    }
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) model: ModelId,
    /// What it is told before all else.
    pub(crate) system: String,
    /// The conversation, the newest last.
    pub(crate) messages: Vec<Message>,
    /// What it may call.
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) temperature: Temperature,
    pub(crate) thinking: Thinking,
}

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    User(Vec<Part>),
    Assistant(Vec<Said>),
    /// What came of a call that the assistant made before.
    ToolResult {
        call: String,
        name: String,
        parts: Vec<Part>,
        is_error: bool,
    },
}

/// What a user's message or a tool's result holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Part {
    Text(String),
    /// Data is in base64.
    Image {
        mime_type: String,
        data: String,
    },
}

impl Part {
    /// Its text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// What an assistant's message holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Text(String),
    Call(ToolUse),
    /// What the provider wants back as it came, such as signed thoughts.
    Kept(Value),
}

/// A call that a model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ToolUse {
    /// Its id, which the result carries too.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
}

/// What a model answers, piece by piece.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Event {
    /// More of what it says.
    Text(String),
    /// More of what it thinks.
    Thought(String),
    /// A call, whole.
    Call(ToolUse),
    /// A call whose arguments can't be read; the call has none.
    BrokenCall {
        call: ToolUse,
        /// What the model is told.
        problem: String,
    },
    /// What the provider wants back with the next request, as it is.
    Kept(Value),
    /// How many tokens were used.
    Usage(Usage),
    /// The answer is over; always last.
    End(End),
}

/// How many tokens a request and its answer had.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    /// How many of these the provider remembered.
    pub(crate) cached: u64,
    pub(crate) output: u64,
    /// What it cost, in US dollars, where the provider says that itself.
    pub(crate) cost: Option<f64>,
}

/// Why an answer is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is complete, or waits for the results of its calls.
    Complete,
    /// It may not be longer.
    MaxTokens,
    /// The model refuses to answer.
    Refused,
}

/// Who provides models.
#[async_trait]
pub(crate) trait Provider: Send + Sync {
    /// Its name, the first part of its models' ids.
    fn name(&self) -> &str;

    /// Whether one can choose how much its model `name` thinks.
    fn thinks(&self, name: &str) -> bool;

    /// The models that it has.
    async fn models(&self) -> Result<Vec<ModelInfo>, ModelError>;

    /// Asks a model. Dropping the stream ends the request.
    async fn ask(&self, request: &Request) -> Result<BoxStream<'static, Result<Event, ModelError>>, ModelError>;
}

/// Asks a provider which models it has, for a person who wants to know whether it can be used. The error says why not, and
/// holds no key.
pub async fn ask_for_models(config: ProviderConfig) -> Result<Vec<ModelId>, String> {
    let provider = remote::Remote::new(config, remote::Http::new()?);
    Ok(provider.list().await?.into_iter().map(|model| model.id).collect())
}

/// All who provide models.
pub(crate) struct Providers(Vec<Arc<dyn Provider>>);

impl Providers {
    /// The offline one, and those of `configs`.
    pub(crate) fn new(configs: Vec<ProviderConfig>) -> Self {
        let mut providers: Vec<Arc<dyn Provider>> = vec![Arc::new(offline::Offline)];
        match remote::Http::new() {
            Ok(http) => providers.extend(
                configs
                    .into_iter()
                    .map(|config| -> Arc<dyn Provider> { Arc::new(remote::Remote::new(config, http.clone())) }),
            ),
            Err(problem) => tracing::error!(problem, "there are no models but the offline one"),
        }
        Self(providers)
    }

    /// Who provides `model`.
    pub(crate) fn of(&self, model: &ModelId) -> Result<&Arc<dyn Provider>, AgentError> {
        let found = self.0.iter().find(|provider| provider.name() == model.provider);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.0.iter().map(|provider| provider.name()).collect();
            let what = format!("there is no provider {:?} for {model}; known: {}", model.provider, known.join(", "));
            AgentError::invalid("model", what)
        })
    }

    /// Whether one can choose how much `model` thinks.
    pub(crate) fn thinks(&self, model: &ModelId) -> bool {
        self.of(model).is_ok_and(|provider| provider.thinks(&model.name))
    }

    /// The models that can be chosen. All providers are asked at once.
    pub(crate) async fn models(&self) -> Vec<ModelInfo> {
        let listed = join_all(self.0.iter().map(|provider| provider.models())).await;
        let mut models = Vec::new();
        for (provider, listed) in self.0.iter().zip(listed) {
            match listed {
                Ok(found) => models.extend(found),
                Err(error) => tracing::warn!(provider = provider.name(), %error, "the models could not be listed"),
            }
        }
        models
    }
}

/// What is known of `model`, given those that are `listed`.
pub(crate) fn info_of(model: &ModelId, listed: &[ModelInfo]) -> ModelInfo {
    let found = listed.iter().find(|listed| listed.id == *model);
    found.cloned().unwrap_or_else(|| ModelInfo::of(model.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_provider_and_a_name() {
        let id: ModelId = "openrouter/meta/llama".parse().unwrap();
        assert_eq!((id.provider.as_str(), id.name.as_str()), ("openrouter", "meta/llama"));
        assert_eq!(id.to_string(), "openrouter/meta/llama");
        for bad in ["", "gpt", "/gpt", "openai/"] {
            assert!(bad.parse::<ModelId>().is_err(), "{bad}");
        }
    }
}
