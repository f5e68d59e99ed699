//! One client: its connection, what it can show, and which of its requests wait for an answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures::future::join_all;
use rejoin_transcript::SessionId;
use rejoin_transcript::json::{Members, Object};
use rejoin_wire::{Connection, Outcome, RequestId, notification_line, response_line};

use tokio::sync::watch;

use crate::Error;
use crate::agent::Link;
use crate::capabilities::{ClientProfile, Shows};
use crate::feed::{Feed, Source};
use crate::live::{Command, Mailbox};
use crate::lock::lock;
use crate::turn::AskId;

/// The clients that are connected and have sent `initialize`, in the order in which they did.
#[derive(Default)]
pub(crate) struct Clients(Mutex<Vec<Arc<Client>>>);

impl Clients {
    /// Adds `client`, unless it is there already.
    pub(crate) fn add(&self, client: &Arc<Client>) {
        let mut clients = lock(&self.0);
        if !clients.contains(client) {
            clients.push(Arc::clone(client));
        }
    }

    /// Removes `client`, whose connection has ended.
    pub(crate) fn remove(&self, client: &Client) {
        lock(&self.0).retain(|one| **one != *client);
    }

    /// The client that has been connected longest.
    pub(crate) fn first(&self) -> Option<Arc<Client>> {
        lock(&self.0).first().cloned()
    }

    /// Calls `visit` with every client.
    pub(crate) fn each(&self, visit: impl Fn(&Client)) {
        lock(&self.0).iter().for_each(|client| visit(client));
    }
}

/// What to do with a client's answer to a request of ours.
pub(crate) enum ClientReply {
    /// Give it to the session whose agent asked.
    Session { mailbox: Mailbox, ask: AskId },
    /// Give it to the agent, which asked outside of any session.
    Link { link: Weak<Link>, id: RequestId },
    /// Nobody waits for it any more, and a terminal that it brings is released, so that its command ends.
    Release(SessionId),
    /// Nobody waits for it.
    Nobody,
}

/// What a request of a client waits for.
#[derive(Clone)]
pub(crate) enum InFlight {
    /// An answer that comes by itself.
    Answer,
    /// The end of a turn of this session.
    Turn(SessionId),
    /// The agent's answer to this request.
    Agent(Weak<Link>, RequestId),
}

/// A client.
pub(crate) struct Client {
    number: u64,
    connection: Connection<ClientReply>,
    /// For what concerns no session.
    feed: Feed,
    profile: Mutex<Option<ClientProfile>>,
    in_flight: Mutex<HashMap<RequestId, InFlight>>,
    /// Told each time that a request was answered.
    waiting: watch::Sender<()>,
    /// The feeds of the sessions that it follows, or followed.
    followed: Mutex<Vec<Feed>>,
    /// The agent's open requests outside of any session, and as which of ours the client knows them.
    asked: Mutex<HashMap<RequestId, RequestId>>,
}

impl Client {
    /// The client behind `connection`.
    pub(crate) fn new(connection: Connection<ClientReply>) -> Arc<Self> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let feed = Feed::start(connection.clone(), Shows::default(), None);
        Arc::new(Self {
            number,
            connection,
            feed,
            profile: Mutex::default(),
            in_flight: Mutex::default(),
            waiting: watch::Sender::new(()),
            followed: Mutex::default(),
            asked: Mutex::default(),
        })
    }

    /// What it told at `initialize`, if it has.
    pub(crate) fn profile(&self) -> Option<ClientProfile> {
        lock(&self.profile).clone()
    }

    /// Takes what it told at `initialize`.
    pub(crate) fn introduce(&self, profile: ClientProfile) {
        *lock(&self.profile) = Some(profile);
    }

    /// What it can show.
    pub(crate) fn shows(&self) -> Shows {
        lock(&self.profile).as_ref().map(|profile| profile.shows).unwrap_or_default()
    }

    /// A way to send it what happens in a session.
    pub(crate) fn follow(&self, source: Source) -> Feed {
        let feed = Feed::start(self.connection.clone(), self.shows(), Some(source));
        let mut followed = lock(&self.followed);
        followed.retain(|feed| !feed.is_done());
        followed.push(feed.clone());
        feed
    }

    /// Waits until every request is answered, but for prompts: their turns take as long as they take.
    pub(crate) async fn settled(&self) {
        let is_settled = || lock(&self.in_flight).values().all(|what| matches!(what, InFlight::Turn(_)));
        // It can't be closed: it is in here.
        let _ = self.waiting.subscribe().wait_for(|()| is_settled()).await;
    }

    /// Sends everything that is on its way, then closes the connection.
    pub(crate) async fn finish(&self) {
        let followed = std::mem::take(&mut *lock(&self.followed));
        join_all(followed.iter().map(Feed::finish)).await;
        self.feed.finish().await;
        self.connection.finish().await;
    }

    /// The way to send it what concerns no session.
    pub(crate) fn feed(&self) -> &Feed {
        &self.feed
    }

    /// Registers a request to it, and gives the id and the line to send.
    pub(crate) fn begin(&self, method: &str, params: &str, reply: ClientReply) -> (RequestId, String) {
        self.connection.begin(method, params, reply)
    }

    /// Does not wait for its answer to `id` any more.
    pub(crate) fn forget(&self, id: &RequestId) {
        drop(self.connection.forget(id));
    }

    /// The same for a terminal of `session`: if it is made after all, it is released.
    pub(crate) fn forget_terminal(&self, id: &RequestId, session: &SessionId) {
        drop(self.connection.retag(id, ClientReply::Release(session.clone())));
    }

    /// Sends it a notification that concerns no session.
    pub(crate) fn tell(&self, method: &str, params: &str) {
        self.feed.push_lines(notification_line(method, params));
    }

    /// Passes on a request of an agent that concerns no session.
    pub(crate) fn ask_for_link(&self, link: &Arc<Link>, id: RequestId, method: &str, params: &str) {
        let reply = ClientReply::Link { link: Arc::downgrade(link), id: id.clone() };
        let (ours, request) = self.begin(method, params, reply);
        lock(&self.asked).insert(id, ours);
        self.feed.push_lines(request);
    }

    /// The agent took its request `id` back.
    pub(crate) fn withdraw(&self, id: &RequestId) {
        if let Some(ours) = lock(&self.asked).get(id) {
            self.feed.push_lines(taken_back(ours));
        }
    }

    /// Takes its answer to a request of ours to whoever waits for it.
    pub(crate) fn answered(&self, reply: ClientReply, outcome: Outcome) {
        match reply {
            // A session that is gone has no agent that waits.
            ClientReply::Session { mailbox, ask } => drop(mailbox.send(Command::Answered { ask, outcome })),
            ClientReply::Link { link, id } => {
                lock(&self.asked).remove(&id);
                if let Some(link) = link.upgrade() {
                    link.respond(&id, outcome.as_ref().map(|result| result.get()));
                }
            }
            ClientReply::Release(session) => {
                let made =
                    outcome.ok().and_then(|result| Some(Members::read(result.get())?.get("terminalId")?.to_owned()));
                if let Some(terminal) = made {
                    let params = Object::default().with_string("sessionId", session.as_str());
                    let params = params.with("terminalId", &terminal).finish();
                    let (_, line) = self.begin("terminal/release", &params, ClientReply::Nobody);
                    self.feed.push_lines(line);
                }
            }
            ClientReply::Nobody => {}
        }
    }

    /// Notes that the request `id` waits for an answer. Fails if another one with this id does.
    pub(crate) fn begin_request(self: &Arc<Self>, id: RequestId) -> Result<Responder, Error> {
        let mut in_flight = lock(&self.in_flight);
        // An id of null names nothing, so any number of requests may have it.
        if in_flight.contains_key(&id) && id.as_json() != "null" {
            return Err(Error::DuplicateId);
        }
        in_flight.insert(id.clone(), InFlight::Answer);
        Ok(Responder { client: Arc::clone(self), id: Some(id) })
    }

    /// What the request `id` waits for.
    pub(crate) fn waits_for(&self, id: &RequestId) -> Option<InFlight> {
        lock(&self.in_flight).get(id).cloned()
    }
}

impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

/// The duty to answer one request of a client.
pub(crate) struct Responder {
    client: Arc<Client>,
    id: Option<RequestId>,
}

impl Responder {
    /// Whose request it is.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// The request's id.
    pub(crate) fn id(&self) -> Option<&RequestId> {
        self.id.as_ref()
    }

    /// Says what the request waits for.
    pub(crate) fn waits_for(&self, what: InFlight) {
        if let Some(id) = &self.id {
            lock(&self.client.in_flight).insert(id.clone(), what);
        }
    }

    /// Answers.
    pub(crate) fn answer(self, outcome: Result<String, Error>) {
        let feed = self.client.feed.clone();
        self.answer_in(&feed, outcome);
    }

    /// Answers behind everything that was pushed to `feed`.
    #[expect(clippy::needless_pass_by_value, reason = "an answer is given away, once")]
    pub(crate) fn answer_in(mut self, feed: &Feed, outcome: Result<String, Error>) {
        self.send(feed, outcome.as_deref());
    }

    /// Gives the id to something that will answer.
    pub(crate) fn into_id(mut self) -> Option<RequestId> {
        self.settle()
    }

    fn send(&mut self, feed: &Feed, outcome: Result<&str, &Error>) {
        let Some(id) = self.settle() else { return };
        let line = match outcome {
            Ok(result) => response_line(&id, Ok(result)),
            Err(error) => response_line(&id, Err(&error.to_rpc())),
        };
        feed.push_lines(line);
    }

    fn settle(&mut self) -> Option<RequestId> {
        let id = self.id.take()?;
        lock(&self.client.in_flight).remove(&id);
        self.client.waiting.send_replace(());
        Some(id)
    }
}

impl Drop for Responder {
    /// Whoever drops it unanswered was ended in the middle of its work.
    fn drop(&mut self) {
        let feed = self.client.feed.clone();
        self.send(&feed, Err(&Error::Ended));
    }
}

/// The line that takes back the request `id`.
pub(crate) fn taken_back(id: &RequestId) -> String {
    notification_line("$/cancel_request", &format!("{{\"requestId\":{}}}", id.as_json()))
}
