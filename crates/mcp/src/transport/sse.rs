//! HTTP with server-sent events, as servers spoke it before streamable HTTP: one stream of events comes from the server,
//! whose first names the address to which messages are posted. rmcp has no such transport any more.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Url};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;

use super::http::Target;
use super::message::Messages;
use crate::Failure;
use crate::link::Notice;

/// The stream from a server, and where messages to it go.
pub(crate) struct LegacySse {
    target: Arc<Target>,
    endpoint: Url,
    events: BoxStream<'static, Result<Sse, SseError>>,
    messages: Messages,
    queue: VecDeque<ServerJsonRpcMessage>,
    notice: Notice,
}

impl LegacySse {
    /// Opens the stream and waits for the address. What ends the connection later is put into `notice`.
    pub(crate) async fn open(target: Target, notice: Notice) -> Result<Self, Failure> {
        let mut events = target.events(target.request(Method::GET, target.url.clone())).await?;
        let address = loop {
            match events.next().await {
                Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => break event.data.unwrap_or_default(),
                Some(Err(SseError::Body(_))) | None => {
                    let problem = "its stream of events ended before it named an address".to_owned();
                    return Err(Failure::Protocol { problem });
                }
                Some(_) => {}
            }
        };
        let endpoint = endpoint(&target.url, &address)?;
        Ok(Self {
            target: Arc::new(target),
            endpoint,
            events,
            messages: Messages::default(),
            queue: VecDeque::new(),
            notice,
        })
    }
}

impl LegacySse {
    /// Takes note that the stream has ended, and why.
    fn ended(&self, failure: Option<&Failure>) -> Option<ServerJsonRpcMessage> {
        let broken = || Failure::Disconnected { problem: "its stream of events broke off".to_owned() };
        self.notice.send_replace(Some(failure.cloned().unwrap_or_else(broken)));
        None
    }
}

impl Transport<RoleClient> for LegacySse {
    type Error = Failure;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.messages.sent(&message);
        let (target, endpoint) = (Arc::clone(&self.target), self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&message)
                .map_err(|error| Failure::Protocol { problem: format!("a message can't be written: {error}") })?;
            let request = target.request(Method::POST, endpoint).header(CONTENT_TYPE, "application/json").body(body);
            target.send(request).await.map(drop)
        }
    }

    /// Can be cancelled at any time: what was read is kept.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                return Some(message);
            }
            match self.events.next().await {
                Some(Ok(Sse { event, data: Some(data), .. })) if matches!(event.as_deref(), None | Some("message")) => {
                    self.messages.read(data.as_bytes(), &mut self.queue);
                }
                Some(Err(SseError::Body(error))) => return self.ended(error.downcast_ref::<Failure>()),
                None => return self.ended(None),
                Some(_) => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.events = futures::stream::empty().boxed();
        Ok(())
    }
}

/// The address that a server names, which must be its own: headers are for nobody else.
fn endpoint(url: &Url, address: &str) -> Result<Url, Failure> {
    let mut endpoint = url
        .join(address.trim())
        .map_err(|_| Failure::Protocol { problem: "the address it names for messages is no URL".to_owned() })?;
    if endpoint.origin() != url.origin() {
        let origin = endpoint.origin().ascii_serialization();
        return Err(Failure::Protocol { problem: format!("it wants messages sent to another place, {origin}") });
    }
    // An address of the same place that names no user means the same user. Neither can fail for HTTP.
    let _ = endpoint.set_username(url.username());
    let _ = endpoint.set_password(url.password());
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_only_of_the_same_place() {
        let url = Url::parse("http://me:pw@host:8000/sse?key=1").unwrap();
        let check = |address: &str| endpoint(&url, address).map(String::from).map_err(|failure| failure.to_string());

        assert_eq!(check("/messages?session=1").unwrap(), "http://me:pw@host:8000/messages?session=1");
        assert_eq!(check("http://host:8000/m").unwrap(), "http://me:pw@host:8000/m");
        for foreign in ["http://host/m", "https://host:8000/m", "http://other:8000/m", "//other:8000/m"] {
            let refusal = check(foreign).unwrap_err();
            assert!(refusal.contains("it wants messages sent to another place"), "{refusal}");
        }
    }
}
