//! A provider over the network.
//!
//! Addresses, headers and keys are the user's: a key is optional where the user says where the provider is, and no key
//! follows a redirect.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use reqwest::header::{ACCEPT_ENCODING, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder, Url};
use tokio::time::timeout;

use super::answer::Answer;
use super::body::{self, Body, SILENCE_LIMIT};
use super::endpoint::Endpoint;
use super::failure::Failures;
use super::keys::{Key, Secret};
use super::limits::MAX_RECEIVED_BYTES;
use super::listing::{self, Listing};
use super::{Event, ModelError, ModelId, ModelInfo, Provider, ProviderConfig, Request, api, known};

/// So long a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(15);

/// A provider over the network.
pub(super) struct Remote {
    config: ProviderConfig,
    key: Arc<Key>,
    listing: Listing,
    http: Http,
    /// Models that refused a temperature.
    without_temperature: Mutex<HashSet<String>>,
}

/// The one HTTP client of all providers.
#[derive(Clone)]
pub(super) struct Http(reqwest::Client);

impl Http {
    pub(super) fn new() -> Result<Self, String> {
        // The process's provider of cryptography, unless somebody has chosen one before: reqwest takes no other.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_LIMIT)
            .redirect(Policy::none())
            // Whatever another crate has compiled into reqwest: what is decompressed has no limit.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd();
        let client = client.build();
        let client = client.map_err(|error| format!("there can be no HTTP client: {}", error.without_url()))?;
        Ok(Self(client))
    }

    /// A request with these headers.
    pub(super) fn request(&self, method: Method, url: Url, headers: Vec<(String, String)>) -> RequestBuilder {
        let request = self.0.request(method, url).header(ACCEPT_ENCODING, "identity");
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
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
        let (key, http, endpoint) = (Arc::clone(&self.key), self.http.clone(), endpoint.clone());
        let (kind, provider) = (self.config.kind, self.config.name.clone());
        async move {
            let key = key.get().await.map_err(|error| error.to_string())?;
            let request = http.request(Method::GET, endpoint.models(), endpoint.headers(key.as_ref()));
            listing::fetch(request, kind, provider).await
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
        let (kind, model) = (self.config.kind, &asked.model);
        let body = api::body_of(asked, kind, self.has_temperature(&model.name)).to_string();
        let request =
            self.http.request(Method::POST, endpoint.answers(&model.name), endpoint.headers(failures.key.as_ref()));
        let sending = request.header(CONTENT_TYPE, "application/json").body(body).send();
        let sent = timeout(SILENCE_LIMIT, sending).await.map_err(|_| failures.silent())?;
        let response = sent.map_err(|error| failures.of_network(&error))?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            return Err(failures.of_status(status, &headers, &body::error_text(response).await));
        }
        let body = Body::new(response, MAX_RECEIVED_BYTES).map_err(|error| failures.of_body(&error))?;
        let mut answer = Answer::new(body, api::reader_of(kind), model.clone(), failures.clone());
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
