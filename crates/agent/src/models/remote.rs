//! A provider over the network, asked through genai.
//!
//! genai writes requests and reads answers. Addresses, headers and keys are ours, so that a key is optional where the user
//! says where the provider is, and no key follows a redirect.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint as GenaiEndpoint};
use genai::{Client, Headers, ModelIden, ServiceTarget};
use reqwest::redirect::Policy;

use super::answer::Answer;
use super::endpoint::Endpoint;
use super::failure::Failures;
use super::frames::Frames;
use super::keys::{Key, Secret};
use super::listing::{self, Listing};
use super::{Event, ModelError, ModelId, ModelInfo, Provider, ProviderConfig, ProviderKind, Request, known, request};

/// So long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// So long a provider may be silent: models think.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// A provider over the network.
pub(super) struct Remote {
    config: ProviderConfig,
    key: Arc<Key>,
    listing: Listing,
    http: Http,
    /// Models that refused a temperature.
    without_temperature: Mutex<HashSet<String>>,
}

/// The one HTTP client of all providers, and genai around it.
#[derive(Clone)]
pub(super) struct Http {
    web: reqwest::Client,
    genai: Client,
}

impl Http {
    pub(super) fn new() -> Result<Self, String> {
        // The process's provider of cryptography, unless somebody has chosen one before: reqwest takes no other.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let web = reqwest::Client::builder().connect_timeout(CONNECT_LIMIT).redirect(Policy::none()).build();
        let web = web.map_err(|error| format!("there can be no HTTP client: {}", error.without_url()))?;
        let genai = Client::builder().with_reqwest(web.clone()).build().map_err(|error| error.to_string())?;
        Ok(Self { web, genai })
    }
}

impl Remote {
    pub(super) fn new(config: ProviderConfig, http: Http) -> Self {
        let key = Arc::new(Key::new(config.key.clone()));
        Self { config, key, listing: Listing::default(), http, without_temperature: Mutex::default() }
    }

    /// Whether the user has said enough for it to be asked.
    fn is_configured(&self) -> bool {
        self.key.is_there() || self.config.base_url.is_some()
    }

    fn failures(&self, endpoint: &Endpoint, key: Option<Secret>) -> Failures {
        let (provider, key_name) = (self.config.name.clone(), self.config.key_name.clone());
        Failures { provider, host: endpoint.host(), key_name, key }
    }

    /// The models that it lists now. The error says why it does not.
    pub(super) async fn list(&self) -> Result<Vec<ModelInfo>, String> {
        let endpoint = Endpoint::of(&self.config).map_err(|error| error.to_string())?;
        self.fetch(&endpoint).await.map_err(|problem| format!("{}: {problem}", endpoint.host()))
    }

    /// Asks it for its models.
    fn fetch(&self, endpoint: &Endpoint) -> impl Future<Output = Result<Vec<ModelInfo>, String>> + Send + use<> {
        let (key, web, endpoint) = (Arc::clone(&self.key), self.http.web.clone(), endpoint.clone());
        let (kind, provider) = (self.config.kind, self.config.name.clone());
        async move {
            let key = key.get().await.map_err(|error| error.to_string())?;
            listing::fetch(web, endpoint.models(), endpoint.headers(key.as_ref()), kind, &provider).await
        }
    }

    /// Whether the model `name` is told a temperature.
    fn has_temperature(&self, name: &str) -> bool {
        let refused = self.without_temperature.lock().unwrap_or_else(PoisonError::into_inner);
        known::has_temperature(self.config.kind, name) && !refused.contains(name)
    }

    fn refuses_temperature(&self, name: &str) {
        self.without_temperature.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    /// Sends the request with `key`, without a temperature if the model refuses that.
    async fn begin_with(
        &self,
        asked: &Request,
        endpoint: &Endpoint,
        key: Option<Secret>,
    ) -> Result<(Event, Answer), ModelError> {
        let failures = self.failures(endpoint, key);
        match &failures.key {
            Some(key) if !key.is_sendable() => return Err(failures.broken_key()),
            None if self.config.base_url.is_none() => return Err(failures.no_key()),
            Some(_) | None => {}
        }
        let begun = self.begin(asked, endpoint, &failures).await;
        match &begun {
            Err(ModelError::Failed(text))
                if text.contains("temperature") && self.has_temperature(&asked.model.name) =>
            {
                self.refuses_temperature(&asked.model.name);
                self.begin(asked, endpoint, &failures).await
            }
            _ => begun,
        }
    }

    /// Sends the request, and waits for the first event of its answer.
    async fn begin(
        &self,
        asked: &Request,
        endpoint: &Endpoint,
        failures: &Failures,
    ) -> Result<(Event, Answer), ModelError> {
        let kind = self.config.kind;
        let options = request::chat_options(asked, kind, self.has_temperature(&asked.model.name));
        let options = options.with_stream_header_timeout(SILENCE_LIMIT).with_stream_read_timeout(SILENCE_LIMIT);
        let (frames, options) = Frames::watch(kind, options);
        let headers = Headers::from(endpoint.headers(failures.key.as_ref()));
        let auth = AuthData::RequestOverride { url: endpoint.answers(&asked.model.name), headers };
        let model = ModelIden::new(adapter_of(kind), format!("{}::{}", kind.name(), asked.model.name));
        // The override says where, but genai looks at this first.
        let target = ServiceTarget { endpoint: GenaiEndpoint::from_static("http://localhost/"), auth, model };
        let chat = request::chat_request(asked, kind);
        let response = self.http.genai.exec_chat_stream(target, chat, Some(&options)).await;
        let stream = response.map_err(|error| failures.read(&error))?.stream;
        let mut answer = Answer::new(stream, kind, asked.model.clone(), failures.clone(), frames);
        match answer.next().await? {
            Some(first) => Ok((first, answer)),
            None => Err(failures.cut()),
        }
    }
}

#[async_trait]
impl Provider for Remote {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn thinks(&self, name: &str) -> bool {
        known::thinks(self.config.kind, name)
    }

    async fn models(&self) -> Result<Vec<ModelInfo>, ModelError> {
        if !self.is_configured() {
            return Ok(Vec::new());
        }
        let own = |name: &String| ModelInfo::of(ModelId { provider: self.config.name.clone(), name: name.clone() });
        let mut models: Vec<ModelInfo> = self.config.models.iter().map(own).collect();
        let listed = async {
            let endpoint = Endpoint::of(&self.config)?;
            let listed = self.listing.get(|| self.fetch(&endpoint)).await;
            let is_wanted = |model: &&ModelInfo| !endpoint.is_vendors || known::is_for_talk(&model.id.name);
            let listed = listed.map_err(|problem| ModelError::Failed(format!("{}: {problem}", endpoint.host())))?;
            Ok::<Vec<ModelInfo>, ModelError>(listed.iter().filter(is_wanted).cloned().collect())
        };
        match listed.await {
            Ok(listed) => {
                models.retain(|model| !listed.iter().any(|listed| listed.id == model.id));
                models.extend(listed);
            }
            Err(error) => tracing::warn!(provider = self.config.name, %error, "the models could not be listed"),
        }
        Ok(models)
    }

    async fn ask(&self, request: &Request) -> Result<BoxStream<'static, Result<Event, ModelError>>, ModelError> {
        let endpoint = Endpoint::of(&self.config)?;
        let key = self.key.get().await?;
        let mut begun = self.begin_with(request, &endpoint, key.clone()).await;
        let refused = key.filter(|_| matches!(begun, Err(ModelError::Auth(_))));
        if let Some(refused) = refused
            && let Some(newer) = self.key.newer(&refused).await?
        {
            begun = self.begin_with(request, &endpoint, Some(newer)).await;
        }
        let (first, answer) = begun?;
        Ok(answer.events(first))
    }
}

fn adapter_of(kind: ProviderKind) -> AdapterKind {
    match kind {
        ProviderKind::OpenAi => AdapterKind::OpenAI,
        ProviderKind::Anthropic => AdapterKind::Anthropic,
        ProviderKind::Gemini => AdapterKind::Gemini,
    }
}
