//! Streamable HTTP: rmcp's transport over an HTTP client of our own.
//!
//! rmcp comes with a client. Ours differs in that no error and no log line holds an address, bodies are bounded, a refusal
//! keeps its status, and one that names no request ends the request it answers, which would else wait until its limit.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::body;
use crate::link::Notice;
use crate::secrets::Secrets;
use crate::spec::shown_url;
use crate::{Failure, Options};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Headers that the transport sets itself.
const OURS: [&str; 5] = ["accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-session-id"];

/// As often a stream is opened again that broke off.
const MOST_RESUMES: usize = 3;

/// As many redirects are followed.
const MOST_REDIRECTS: usize = 10;

type Headers = HashMap<HeaderName, HeaderValue>;

/// Where a server of the network is, and what is sent there.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) limit: usize,
    /// So long the handshake may take.
    start_limit: Duration,
    client: Client,
    headers: Headers,
    secrets: Secrets,
}

/// Makes the client for all servers of a session.
pub(crate) fn client(connect_limit: Duration) -> Result<Client, Failure> {
    // The process's provider of cryptography, unless somebody has chosen one before: reqwest takes no other.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().connect_timeout(connect_limit).redirect(Policy::custom(redirect)).build();
    client.map_err(|error| Failure::Invalid { problem: format!("there can be no HTTP client: {}", innermost(&error)) })
}

/// The transport to a server at `target`. What ends it is put into `notice`.
pub(crate) fn transport(target: Target, notice: Notice) -> StreamableHttpClientTransport<HttpClient> {
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(MOST_RESUMES);
    backoff.base_duration = Duration::from_millis(200);
    let mut config = StreamableHttpClientTransportConfig::with_uri(target.url.as_str())
        .custom_headers(target.headers.clone())
        .max_sse_event_size(target.limit)
        // A lost session is a lost connection: its lists are read again too.
        .reinit_on_expired_session(false);
    config.retry_config = Arc::new(backoff);
    StreamableHttpClientTransport::with_client(HttpClient { target, notice }, config)
}

impl Target {
    /// Fails if the address or a header can't be sent.
    pub(crate) fn new(
        client: Client,
        url: &str,
        headers: &[(String, String)],
        secrets: &Secrets,
        options: &Options,
    ) -> Result<Self, Failure> {
        let invalid = |problem: String| Failure::Invalid { problem };
        let url = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = url.ok_or_else(|| invalid("its `url` is no http or https URL".to_owned()))?;
        let mut checked = HashMap::new();
        for (name, value) in headers {
            let header = HeaderName::try_from(name)
                .map_err(|_| invalid(format!("`{name}` in `headers` is no name of a header")))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| invalid(format!("the value of `{name}` in `headers` can't be sent")))?;
            value.set_sensitive(true);
            if !OURS.contains(&header.as_str()) {
                checked.insert(header, value);
            }
        }
        let Options { message_limit: limit, start_limit, .. } = *options;
        Ok(Self { url, limit, start_limit, client, headers: checked, secrets: secrets.clone() })
    }

    /// A request that carries the headers of the server.
    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        self.client.request(method, url).headers(headers)
    }

    /// Sends a request and checks the answer's status.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await.0) }
    }

    /// Asks for a stream of events.
    pub(crate) async fn events(&self, request: RequestBuilder) -> Result<Events, Failure> {
        let response = self.send(request.header(ACCEPT, EVENTS)).await?;
        if !is_kind(&response, EVENTS) {
            let problem = "what it answers is no stream of events: is its type `http`?".to_owned();
            return Err(Failure::Protocol { problem });
        }
        Ok(body::events(response, self.limit))
    }

    fn broken(&self, error: &reqwest::Error) -> Failure {
        let problem = self.secrets.hide(&innermost(error));
        if error.is_connect() {
            Failure::Unreachable { url: shown_url(self.url.as_str()), problem }
        } else {
            Failure::Disconnected { problem }
        }
    }

    /// Why the server refuses, and the beginning of what it says.
    async fn refused(&self, response: Response) -> (Failure, Vec<u8>) {
        let status = response.status();
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let advice = self.advice(response.headers().get(WWW_AUTHENTICATE));
            return (Failure::Unauthorized { status: status.as_u16(), advice }, Vec::new());
        }
        let body = body::beginning(response).await;
        let text = self.secrets.hide(&body::shown(&body));
        (Failure::Status { status: status.as_u16(), text }, body)
    }

    fn advice(&self, challenge: Option<&HeaderValue>) -> String {
        if self.headers.contains_key(&AUTHORIZATION) {
            return "it refuses the value of the header `Authorization` that it was given: check it in `headers`"
                .to_owned();
        }
        let mut names: Vec<_> = self.headers.keys().map(|name| format!("`{name}`")).collect();
        names.sort();
        let given = if names.is_empty() { String::new() } else { format!("; it was given only {}", names.join(", ")) };
        let is_bearer = challenge.is_some_and(|it| it.as_bytes().to_ascii_lowercase().starts_with(b"bearer"));
        let value = if is_bearer { " (`Bearer` and a token)" } else { ", or the one that its documentation names" };
        format!("give it the header `Authorization`{value} in `headers`{given}")
    }
}

/// What rmcp's transport sends with.
#[derive(Clone)]
pub(crate) struct HttpClient {
    target: Target,
    notice: Notice,
}

type Events = BoxStream<'static, Result<Sse, SseError>>;
type Posted = Result<StreamableHttpPostResponse, StreamableHttpError<Failure>>;

impl HttpClient {
    fn request(&self, method: Method, headers: Headers, session: Option<&str>) -> RequestBuilder {
        let request =
            self.target.client.request(method, self.target.url.clone()).headers(headers.into_iter().collect());
        if let Some(session) = session { request.header(SESSION_ID, session) } else { request }
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let body = serde_json::to_vec(&message)
            .map_err(|error| Failure::Protocol { problem: format!("a message can't be written: {error}") })?;
        let request = self.request(Method::POST, headers, session.as_deref());
        let mut request = request.header(ACCEPT, format!("{JSON}, {EVENTS}")).header(CONTENT_TYPE, JSON).body(body);
        if is_handshake(&message) {
            // rmcp waits for these two without end, also when nobody waits for it any more.
            request = request.timeout(self.target.start_limit);
        }
        let response = request.send().await.map_err(|error| self.target.broken(&error))?;
        let id = request_id(&message);
        if !response.status().is_success() {
            return self.refused(response, id).await;
        }
        if matches!(response.status(), StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if is_kind(&response, EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(body::events(response, self.target.limit), session));
        }
        // What is no request needs no answer, whatever comes.
        let Some(id) = id else { return Ok(StreamableHttpPostResponse::Accepted) };
        let body = body::whole(response, self.target.limit).await?;
        let answer = serde_json::from_slice(&body).map_err(|_| {
            let text = self.target.secrets.hide(&body::shown(&body));
            Failure::Protocol { problem: format!("what it answers is no message: {text}") }
        })?;
        Ok(StreamableHttpPostResponse::Json(with_id(answer, id), session))
    }

    /// A refusal that is the answer to the request, or else the failure it is.
    async fn refused(&self, response: Response, id: Option<RequestId>) -> Result<StreamableHttpPostResponse, Failure> {
        let (failure, body) = self.target.refused(response).await;
        if let (Some(id), Ok(ServerJsonRpcMessage::Error(error))) = (id, serde_json::from_slice(&body))
            && error.id.as_ref() == Some(&id)
        {
            return Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), None));
        }
        Err(failure)
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = Failure;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Posted {
        self.post(message, session, headers).await.map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<Failure>> {
        let request = self.request(Method::DELETE, headers, Some(&session));
        // Not every server lets its sessions be ended.
        let sent = request.send().await.map_err(|error| self.target.broken(&error));
        sent.map(drop).map_err(StreamableHttpError::Client)
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<Events, StreamableHttpError<Failure>> {
        let mut request = self.request(Method::GET, headers, session.as_deref());
        if let Some(last_event) = last_event {
            request = request.header(LAST_EVENT_ID, last_event);
        }
        self.target.events(request).await.map_err(|failure| match failure {
            Failure::Status { status: 405, .. } => StreamableHttpError::ServerDoesNotSupportSse,
            failure => {
                // Nobody waits for this stream, so nobody else would find that the server is gone.
                if matches!(failure, Failure::Unreachable { .. }) {
                    self.notice.send_replace(Some(failure.clone()));
                }
                StreamableHttpError::Client(failure)
            }
        })
    }
}

/// Follows redirects to the same place only: headers are for nobody else. A POST must stay one.
fn redirect(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let stays = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    let keeps = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    if stays && keeps && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

fn is_handshake(message: &ClientJsonRpcMessage) -> bool {
    match message {
        ClientJsonRpcMessage::Request(request) => matches!(request.request, ClientRequest::InitializeRequest(_)),
        ClientJsonRpcMessage::Notification(notification) => {
            matches!(notification.notification, ClientNotification::InitializedNotification(_))
        }
        ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => false,
    }
}

fn request_id(message: &ClientJsonRpcMessage) -> Option<RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
        ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Notification(_) | ClientJsonRpcMessage::Error(_) => {
            None
        }
    }
}

/// The answer; an error that names no request is the one to the request that was sent.
fn with_id(answer: ServerJsonRpcMessage, id: RequestId) -> ServerJsonRpcMessage {
    match answer {
        ServerJsonRpcMessage::Error(mut error) => {
            error.id.get_or_insert(id);
            ServerJsonRpcMessage::Error(error)
        }
        answer => answer,
    }
}

fn is_kind(response: &Response, kind: &str) -> bool {
    let value = response.headers().get(CONTENT_TYPE);
    value.is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(kind.as_bytes()))
}

/// The cause at the end of the chain: the others repeat the address.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
