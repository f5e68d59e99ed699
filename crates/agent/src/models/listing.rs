//! The models that a provider lists: asked for once in a process, and never waited for long.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use reqwest::RequestBuilder;
use serde_json::Value;

use super::body::{Body, BodyError};
use super::failure::cause_of;
use super::limits::{self, MAX_LIST_BYTES, MAX_MODEL_NAME_BYTES, MAX_MODELS};
use super::{ModelId, ModelInfo, Price, ProviderKind};
use crate::shorten::beginning;

/// So long a session waits for a list. It may still come for the next one.
const WAIT: Duration = Duration::from_secs(3);

/// So long a list may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A provider that could not say its list is asked again after this.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// Where providers say how many tokens a model takes; the last is llama.cpp's.
const WINDOWS: [&str; 7] = [
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/max_input_tokens",
    "/inputTokenLimit",
    "/meta/n_ctx",
];

type Fetch = Shared<BoxFuture<'static, Result<Arc<[ModelInfo]>, Arc<str>>>>;

/// The list of one provider.
#[derive(Default)]
pub(super) struct Listing(Mutex<Option<(Instant, Fetch)>>);

impl Listing {
    /// The list, got by `fetch` unless it is there already.
    pub(super) async fn get<F>(&self, fetch: impl FnOnce() -> F) -> Result<Arc<[ModelInfo]>, Arc<str>>
    where
        F: Future<Output = Result<Vec<ModelInfo>, String>> + Send + 'static,
    {
        let listed = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let has_failed =
                |at: &Instant, fetch: &Fetch| matches!(fetch.peek(), Some(Err(_))) && at.elapsed() > RETRY_AFTER;
            match &*state {
                Some((at, listed)) if !has_failed(at, listed) => listed.clone(),
                _ => {
                    let fetching = tokio::spawn(fetch());
                    let listed: Fetch = async move {
                        let outcome = fetching.await.unwrap_or_else(|error| Err(error.to_string()));
                        outcome.map(Arc::from).map_err(Arc::from)
                    }
                    .boxed()
                    .shared();
                    *state = Some((Instant::now(), listed.clone()));
                    listed
                }
            }
        };
        tokio::time::timeout(WAIT, listed).await.unwrap_or_else(|_| Err("it takes too long".into()))
    }
}

/// Reads the list of `provider`, which `request` asks for. An error says what is wrong, without the address.
pub(super) async fn fetch(
    request: RequestBuilder,
    kind: ProviderKind,
    provider: String,
) -> Result<Vec<ModelInfo>, String> {
    let response = request.timeout(LIMIT).send().await.map_err(|error| cause_of(&error))?;
    if !response.status().is_success() {
        return Err(format!("HTTP status {}", response.status()));
    }
    let problem = |error| match error {
        BodyError::Network(error) => cause_of(&error),
        BodyError::Silent => "it takes too long".to_owned(),
        BodyError::TooLong(limit) => format!("it is longer than {} MiB", limit >> 20),
        BodyError::Compressed(encoding) => format!("it is compressed with {encoding:?}, which was not asked for"),
    };
    let body = Body::new(response, MAX_LIST_BYTES).map_err(problem)?.read_all().await.map_err(problem)?;
    let read = tokio::task::spawn_blocking(move || {
        let body: Value = serde_json::from_slice(&body).map_err(|_| "it is no JSON".to_owned())?;
        Ok(models_in(&body, kind, &provider))
    });
    read.await.map_err(|error| error.to_string())?
}

/// The models in a list, as `provider` has them.
fn models_in(body: &Value, kind: ProviderKind, provider: &str) -> Vec<ModelInfo> {
    let listed = body["data"].as_array().or_else(|| body["models"].as_array()).or_else(|| body.as_array());
    let model = |listed: &Value| {
        let name = listed["id"].as_str().or_else(|| listed["name"].as_str())?;
        let name = name.strip_prefix("models/").filter(|_| kind == ProviderKind::Gemini).unwrap_or(name);
        let can_answer = match listed["supportedGenerationMethods"].as_array() {
            Some(methods) => methods.iter().any(|method| method == "generateContent"),
            None => true,
        };
        if name.is_empty() || name.len() > MAX_MODEL_NAME_BYTES || !can_answer {
            return None;
        }
        let title = listed["display_name"].as_str().or_else(|| listed["displayName"].as_str()).unwrap_or(name);
        let title = beginning(title, MAX_MODEL_NAME_BYTES);
        let known = ModelInfo::of(ModelId { provider: provider.to_owned(), name: name.to_owned() });
        let window = WINDOWS.iter().find_map(|place| limits::tokens(listed.pointer(place)?.as_u64()));
        let window = window.filter(|window| *window > 0);
        let (window, price) = (window.unwrap_or(known.window), Price::read(&listed["pricing"]));
        Some(ModelInfo { window, price, title: title.to_owned(), ..known })
    };
    let mut seen = HashSet::new();
    let is_first = |model: &ModelInfo| seen.insert(model.id.clone());
    listed.into_iter().flatten().filter_map(model).filter(is_first).take(MAX_MODELS).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(kind: ProviderKind, body: &Value, expected: &[(&str, &str, u64)]) {
        let models = models_in(body, kind, "p");
        let found: Vec<_> = models.iter().map(|one| (one.id.name.as_str(), one.title.as_str(), one.window)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_kind_of_list_is_read_and_what_is_no_model_is_left_out() {
        let body =
            json!({ "data": [{ "id": "a", "max_model_len": 32768 }, { "id": "" }, 7, { "id": "b" }, { "id": "a" }] });
        check(ProviderKind::OpenAi, &body, &[("a", "a", 32768), ("b", "b", 128_000)]);
        let body = json!({ "data": [{ "id": "c", "meta": { "n_ctx": 4096, "n_ctx_train": 131_072 } }] });
        check(ProviderKind::OpenAi, &body, &[("c", "c", 4096)]);
        let body = json!({ "data": [{ "id": "claude-x", "display_name": "Claude X", "type": "model" }] });
        check(ProviderKind::Anthropic, &body, &[("claude-x", "Claude X", 200_000)]);
        let models = json!([
            { "name": "models/g", "displayName": "G", "inputTokenLimit": 9, "supportedGenerationMethods": ["generateContent"] },
            { "name": "models/e", "supportedGenerationMethods": ["embedContent"] },
        ]);
        check(ProviderKind::Gemini, &json!({ "models": models }), &[("g", "G", 9)]);
        check(ProviderKind::OpenAi, &json!("nonsense"), &[]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_fetched_once_and_not_waited_for_long() {
        let listing = Listing::default();
        let slow = || async {
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok(Vec::new())
        };
        assert_eq!(listing.get(slow).await.unwrap_err().as_ref(), "it takes too long");
        tokio::time::sleep(Duration::from_secs(20)).await;
        let never = || async { Err("asked twice".to_owned()) };
        assert_eq!(listing.get(never).await.unwrap().len(), 0);
    }
}
