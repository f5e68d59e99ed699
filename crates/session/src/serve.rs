//! Reads what a client sends, in its order, and hands it on.
//!
//! Nothing is done here that takes time, so that a cancel is never late. Only `initialize` holds up what comes behind it,
//! because that depends on its answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rejoin_transcript::Json;
use rejoin_wire::{Incoming, RawValue, Received, RequestId, response_line};
use tokio::io::AsyncRead;
use tokio::task::JoinHandle;

use crate::Error;
use crate::client::{Client, ClientReply, InFlight, Responder};
use crate::layer::Shared;
use crate::live::Command;
use crate::methods;
use crate::params::Params;

/// How many messages may wait for `initialize`.
const HELD_LIMIT: usize = 1024;

/// How long a client whose input has ended is still answered what it asked, turns aside.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves `client` until its input ends, or everything does.
pub(crate) async fn serve<R: AsyncRead + Unpin>(
    layer: &Arc<Shared>,
    client: &Arc<Client>,
    mut incoming: Incoming<R, ClientReply>,
) {
    let mut desk = Desk { layer, client, initializing: None, held: VecDeque::new() };
    loop {
        tokio::select! {
            received = incoming.next(), if desk.held.len() < HELD_LIMIT => match received {
                Some(received) => desk.take(received),
                None => break,
            },
            () = desk.initialized() => {}
            () = layer.ended() => break,
        }
    }
    // What came in is still answered: a client may end its input and read on.
    let last = async {
        while desk.initializing.is_some() {
            desk.initialized().await;
        }
        client.settled().await;
    };
    tokio::select! {
        _ = tokio::time::timeout(LAST_ANSWERS, last) => {}
        () = layer.ended() => {}
    }
    if let Some(task) = desk.initializing {
        task.abort();
    }
}

struct Desk<'a> {
    layer: &'a Arc<Shared>,
    client: &'a Arc<Client>,
    initializing: Option<JoinHandle<()>>,
    /// What came behind `initialize`.
    held: VecDeque<Received<ClientReply>>,
}

impl Desk<'_> {
    /// Waits until `initialize` is answered, and takes up what came behind it.
    async fn initialized(&mut self) {
        match &mut self.initializing {
            Some(task) => drop(task.await),
            None => std::future::pending().await,
        }
        self.initializing = None;
        while self.initializing.is_none()
            && let Some(received) = self.held.pop_front()
        {
            self.take(received);
        }
    }

    fn take(&mut self, received: Received<ClientReply>) {
        if self.initializing.is_some() {
            return self.held.push_back(received);
        }
        match received {
            Received::Request { id, method, params } => self.request(&id, &method, params.as_deref()),
            Received::Notification { method, params } => self.notification(method, params.as_deref()),
            Received::Response { tag, outcome } => self.client.answered(tag, outcome),
            // Nobody is there to answer any more; whoever asked finds out by itself.
            Received::Abandoned { .. } => {}
            Received::Unreadable { id, error, .. } => {
                let line = match id.or_else(|| RequestId::parse("null")) {
                    Some(id) => response_line(&id, Err(&error)),
                    None => return,
                };
                self.client.feed().push_lines(line);
            }
        }
    }

    fn request(&mut self, id: &RequestId, method: &str, params: Option<&RawValue>) {
        let responder = match self.client.begin_request(id.clone()) {
            Ok(responder) => responder,
            Err(error) => return self.client.feed().push_lines(response_line(id, Err(&error.to_rpc()))),
        };
        let text = params.map(RawValue::get);
        if method == "initialize" {
            self.initializing = Some(self.initialize(text, responder));
            return;
        }
        if self.client.profile().is_none() {
            return responder.answer(Err(Error::NotInitialized { method: method.to_owned() }));
        }
        methods::dispatch(self.layer, method, text, responder);
    }

    fn initialize(&self, params: Option<&str>, responder: Responder) -> JoinHandle<()> {
        let (layer, params) = (Arc::clone(self.layer), params.map(str::to_owned));
        tokio::spawn(async move {
            let result = methods::initialize(&layer, responder.client(), params.as_deref()).await;
            responder.answer(result);
        })
    }

    fn notification(&self, method: String, params: Option<&RawValue>) {
        let text = params.map(RawValue::get);
        let Ok(read) = Params::read(text) else { return };
        match method.as_str() {
            "session/cancel" => {
                if let Ok(session) = read.session_id() {
                    self.layer.tell_running(&session, Command::Cancel);
                }
            }
            "$/cancel_request" => {
                if let Some(id) = read.get("requestId").and_then(RequestId::parse) {
                    self.take_back(&id);
                }
            }
            // What wants an answer is no notification, and nobody is to run a prompt by one.
            "initialize" | "authenticate" | "logout" => {}
            _ if method.starts_with("session/") || self.client.profile().is_none() => {}
            _ => {
                let params = Json::from_stored(text.unwrap_or("{}").to_owned());
                match read.session_id() {
                    Ok(session) => self.layer.tell_running(&session, Command::Notify { method, params }),
                    Err(_) => methods::notify_agent(self.layer, method, params),
                }
            }
        }
    }

    /// The client does not want the answer to its request `id` any more.
    fn take_back(&self, id: &RequestId) {
        match self.client.waits_for(id) {
            Some(InFlight::Turn(session)) => {
                self.layer.tell_running(&session, Command::TakeBack(Arc::clone(self.client), id.clone()));
            }
            Some(InFlight::Agent(link, agents_id)) => {
                if let Some(link) = link.upgrade() {
                    link.take_back(&agents_id);
                }
            }
            // It is answered in a moment.
            Some(InFlight::Answer) | None => {}
        }
    }
}
