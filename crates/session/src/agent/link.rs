//! One connection to one agent process, shared by the sessions that run there.
//!
//! Everything that the agent says is passed on in the order in which it came: one task reads, and hands each message to
//! the session it is for. An answer is handed on like any other message, so what was said before it arrives before it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rejoin_transcript::json::{Members, Object};
use rejoin_transcript::{AgentInfo, Json};
use rejoin_wire::{
    Connection, InvalidUtf8, Options, RawValue, RequestId, RpcError, Tap, notification_line, response_line,
};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::reading::session_of;
use super::routes::{AgentEvent, Events, Expected, Position, Restored, Routes, SESSION_ROOM};
use super::seat::end_if_done;
use super::secrets::{HidingTap, Secrets};
use super::source::{AgentSource, Body};
use super::strangers::Stranger;
use crate::Error;
use crate::capabilities::{AgentCapabilities, PROTOCOL_VERSION};
use crate::client::Clients;
use crate::lock::lock;

/// How many bytes of updates are taken in before they are recorded.
pub(super) const ROOM: u32 = 4 * 1024 * 1024;

pub(super) type Answer<T> = oneshot::Sender<Result<T, Error>>;

/// What to do with the answer to a request of ours.
pub(super) enum Reply {
    /// Give it to whoever waits.
    Caller(Answer<Box<RawValue>>),
    /// The same, and its `sessionId` is the session of `events`.
    Opener { events: mpsc::Sender<AgentEvent>, caller: Answer<Box<RawValue>> },
    /// Give it to the session that passed the request on.
    Passed { events: mpsc::Sender<AgentEvent>, ticket: u64 },
    /// It ends this turn.
    Turn { events: mpsc::Sender<AgentEvent>, turn: u32 },
}

/// A connection to an agent process.
pub(crate) struct Link {
    pub(super) source: AgentSource,
    pub(super) connection: Connection<Reply>,
    pub(super) body: Body,
    /// Lines on their way to the agent. It never fills up, so that nobody waits for an agent that does not read; what is
    /// in it came from clients, which wait for answers.
    outbox: mpsc::UnboundedSender<String>,
    pub(super) routes: Mutex<Routes>,
    told: Mutex<Told>,
    pub(super) gone: watch::Sender<Option<Error>>,
    /// Whether it ever answered a prompt.
    pub(super) has_answered: AtomicBool,
    /// Whether it is being ended.
    is_ending: AtomicBool,
    /// Who is asked and told what concerns no session.
    pub(super) clients: Arc<Clients>,
    /// Where updates go of sessions that nobody knows.
    pub(super) strangers: mpsc::Sender<Stranger>,
    /// What it was given that is not to be logged or recorded.
    pub(super) secrets: Arc<Secrets>,
    /// For the bytes of updates that are not recorded yet; the agent has to wait for it.
    pub(super) room: Arc<Semaphore>,
}

/// What an agent process is started for.
pub(crate) struct Purpose {
    /// Who is asked and told what concerns no session.
    pub(crate) clients: Arc<Clients>,
    /// Where updates go of sessions that nobody knows.
    pub(crate) strangers: mpsc::Sender<Stranger>,
    /// Sees every line from and to the agent.
    pub(crate) tap: Option<Arc<dyn Tap>>,
}

/// A session that the agent has opened again.
pub(crate) struct Reopened {
    pub(crate) result: Box<RawValue>,
    /// The agent's id of it, which may be another than before.
    pub(crate) id: String,
    pub(crate) events: Events,
    /// What the agent sent of it meanwhile.
    pub(crate) restored: Restored,
}

/// What the agent told at `initialize`.
#[derive(Default)]
struct Told {
    result: String,
    capabilities: AgentCapabilities,
}

impl Link {
    /// Starts the agent and introduces it to a client whose `initialize` had the params `initialize`.
    pub(crate) async fn start(
        source: &AgentSource,
        initialize: &Json,
        purpose: Purpose,
        limit: Duration,
    ) -> Result<Arc<Self>, Error> {
        let Purpose { clients, strangers, tap } = purpose;
        let secrets = Arc::<Secrets>::default();
        let (body, input, output) = source.start(&secrets)?;
        let tap = tap.map(|tap| HidingTap::over(tap, &secrets));
        let options = Options { invalid_utf8: InvalidUtf8::Repair, tap, ..Options::default() };
        let (connection, incoming) = Connection::open(output, input, options);
        let (outbox, lines) = mpsc::unbounded_channel();
        tokio::spawn(forward(connection.clone(), lines));
        let link = Arc::new(Self {
            source: source.clone(),
            connection,
            body,
            outbox,
            routes: Mutex::default(),
            told: Mutex::default(),
            gone: watch::Sender::new(None),
            has_answered: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            clients,
            strangers,
            secrets,
            room: Arc::new(Semaphore::new(ROOM as usize)),
        });
        tokio::spawn(Arc::clone(&link).run(incoming));
        match link.introduce(initialize, limit).await {
            Ok(()) => Ok(link),
            Err(error) => {
                link.end().await;
                Err(error)
            }
        }
    }

    async fn introduce(&self, initialize: &Json, limit: Duration) -> Result<(), Error> {
        let result = self.call("initialize", initialize.as_str(), limit).await?;
        let version = Members::read(result.get()).and_then(|members| members.get_some("protocolVersion"));
        if let Some(version) = version
            && version != PROTOCOL_VERSION.to_string()
        {
            let what = format!("speaks version {version} of the protocol, and we speak version {PROTOCOL_VERSION}");
            return Err(self.source.failed(what, String::new()));
        }
        let capabilities = AgentCapabilities::read(result.get());
        *lock(&self.told) = Told { result: result.get().to_owned(), capabilities };
        Ok(())
    }

    /// What the agent answered to `initialize`.
    pub(crate) fn initialize_result(&self) -> String {
        lock(&self.told).result.clone()
    }

    /// What the agent can do.
    pub(crate) fn capabilities(&self) -> AgentCapabilities {
        lock(&self.told).capabilities.clone()
    }

    /// The agent as its sessions name it: by the configured name, else its own, else its program's.
    pub(crate) fn info(&self) -> AgentInfo {
        let told = lock(&self.told);
        let info = Members::read(&told.result).and_then(|members| members.get_some("agentInfo"));
        let text = |name| Some(Members::read(info?)?.get_string(name)?.into_owned());
        let program = self.program();
        let base = || program.rsplit('/').next().unwrap_or(program).to_owned();
        AgentInfo {
            name: self.source.name().map(str::to_owned).or_else(|| text("name")).unwrap_or_else(base),
            // Its arguments may hold secrets, and are not kept.
            command: vec![self.program().to_owned()],
            version: text("version"),
        }
    }

    /// All names of the agent: the one in [`Self::info`] first, then its own, then its program's.
    pub(crate) fn names(&self) -> Vec<String> {
        let result = self.initialize_result();
        let info = Members::read(&result).and_then(|members| members.get_some("agentInfo"));
        let own = info.and_then(Members::read).and_then(|info| Some(info.get_string("name")?.into_owned()));
        let program = self.program().rsplit('/').next().unwrap_or_default().to_owned();
        let mut names = vec![self.info().name];
        names.extend(own.into_iter().chain([program]));
        names.dedup();
        names
    }

    /// The program, as errors name it.
    pub(crate) fn program(&self) -> &str {
        self.source.program()
    }

    /// Asks the agent, and waits for its answer at most `limit`.
    pub(crate) async fn call(
        &self,
        method: &'static str,
        params: &str,
        limit: Duration,
    ) -> Result<Box<RawValue>, Error> {
        let (caller, answer) = oneshot::channel();
        let id = self.send(method, params, Reply::Caller(caller));
        self.wait(method, &id, answer, limit).await
    }

    /// Asks the agent for something that nobody here knows, however long it takes. `note` is told the id at once, so
    /// that the request can be [taken back](Self::take_back).
    pub(crate) async fn pass(
        &self,
        method: &str,
        params: &str,
        note: impl FnOnce(RequestId),
    ) -> Result<Box<RawValue>, Error> {
        let (caller, answer) = oneshot::channel();
        note(self.send(method, params, Reply::Caller(caller)));
        answer.await.unwrap_or_else(|_| Err(self.why_gone()))
    }

    /// Tells the agent that nobody waits for the answer to `id` any more.
    pub(crate) fn take_back(&self, id: &RequestId) {
        self.notify("$/cancel_request", &format!("{{\"requestId\":{}}}", id.as_json()));
    }

    /// The agent is about to be given `secrets`.
    pub(super) fn learn(&self, secrets: Vec<String>) {
        self.secrets.learn(secrets);
    }

    /// Asks the agent for a new session (`session/new`, `session/fork`), whose id is in its answer.
    pub(crate) async fn open(
        &self,
        method: &'static str,
        params: &str,
        limit: Duration,
    ) -> Result<(Box<RawValue>, Events), Error> {
        let (events, receiver) = mpsc::channel(SESSION_ROOM);
        let (caller, answer) = oneshot::channel();
        let _opening = OpeningGuard::new(self);
        let id = self.send(method, params, Reply::Opener { events, caller });
        let result = self.wait(method, &id, answer, limit).await?;
        Ok((result, receiver))
    }

    /// Asks the agent to open its session `id` again (`session/resume`, `session/load`), and to replay what is `expected`;
    /// also gives the id that it has from now on, and what the agent sent meanwhile, and behind its answer.
    pub(crate) async fn reopen(
        &self,
        method: &'static str,
        (id, expected): (&str, Expected),
        params: &str,
        limit: Duration,
    ) -> Result<Reopened, Error> {
        // The agent may be about to give it another id.
        let _opening = OpeningGuard::new(self);
        let mut restoring = RestoringGuard::new(self, id);
        let result = self.call(method, params, limit).await.inspect_err(|error| {
            if matches!(error, Error::Agent(_)) {
                self.leave(id);
                self.lock().was_closed(id);
            }
        })?;
        if let Some(own) = session_of(&result).filter(|own| own != id) {
            if !self.lock().rename(id, &own) {
                return Err(self.source.failed("gave the id of a running session to another", String::new()));
            }
            restoring.id = own;
        }
        let id = &restoring.id;
        let end = Instant::now() + limit;
        while let Some(left) = self.unsettled_for(id, expected).filter(|_| Instant::now() < end) {
            tokio::time::sleep(left).await;
        }
        let (events, receiver) = mpsc::channel(SESSION_ROOM);
        let mut restored = self.lock().end_restoring(id, events.clone());
        // Nobody tells the session that it is gone if it was before, and one that dies of it may not be noticed yet.
        if self.is_gone() || self.body.has_ended() {
            let _ = self.gone.subscribe().wait_for(Option::is_some).await;
            return Err(self.why_gone());
        }
        if let Some(commands) = restored.commands.take() {
            // There is room: the session has not been told anything yet.
            let _ = events.try_send(AgentEvent::Update(commands));
        }
        Ok(Reopened { result, id: id.clone(), events: receiver, restored })
    }

    /// Has all that the agent says of its session `id` come to the caller, what it retells while it opens it among it.
    /// Nothing, if somebody has it open.
    pub(crate) fn follow(&self, id: &str) -> Option<Events> {
        let (events, receiver) = mpsc::channel(SESSION_ROOM);
        self.lock().go_live(id, events).map(|_| receiver)
    }

    fn unsettled_for(&self, id: &str, expected: Expected) -> Option<Duration> {
        self.lock().unsettled_for(id, expected)
    }

    /// Sends a prompt, and says where it begins; its answer comes among the events of the agent's session `id`.
    pub(crate) fn prompt(&self, id: &str, turn: u32, params: &str) -> Result<Position, Error> {
        let events = self.lock().events(id);
        let events = events.ok_or_else(|| self.why_gone())?;
        Ok(self.send_at("session/prompt", params, Reply::Turn { events, turn }).1)
    }

    /// Whether the agent has read, or may have, anything of what begins at `position`. When it is gone, this does not change
    /// any more.
    pub(crate) fn has_read(&self, position: Position) -> bool {
        self.body.n_read() > position.0
    }

    /// Passes a request on; its answer comes among the events of the agent's session `id`.
    pub(crate) fn pass_for(&self, id: &str, method: &str, params: &str, ticket: u64) -> Option<RequestId> {
        let events = self.lock().events(id)?;
        Some(self.send(method, params, Reply::Passed { events, ticket }))
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str, params: &str) {
        self.post(notification_line(method, params));
    }

    /// Answers a request of the agent.
    pub(crate) fn respond(&self, id: &RequestId, outcome: Result<&str, &RpcError>) {
        self.lock().settle(id);
        self.post(response_line(id, outcome));
    }

    /// Has nothing more to do with the agent's session `id`.
    pub(crate) fn leave(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Whether its session `id` is in use here.
    pub(super) fn has(&self, id: &str) -> bool {
        self.lock().events(id).is_some()
    }

    /// Whether it ends, or has ended, because we wanted it to.
    pub(crate) fn is_ended_by_us(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Whether the agent may still have its session `id` open, although nobody here has.
    pub(crate) fn still_has(&self, id: &str) -> bool {
        self.lock().is_still_open(id)
    }

    /// Has the agent close its session `id`.
    pub(crate) async fn close(&self, id: &str, limit: Duration) {
        let params = Object::default().with_string("sessionId", id).finish();
        if let Err(error) = self.call("session/close", &params, limit).await {
            tracing::debug!(agent = self.program(), %error, "the agent did not close a session");
        }
        self.lock().was_closed(id);
    }

    /// Takes no new sessions; ends when the last one has left.
    pub(crate) fn retire(self: &Arc<Self>) {
        self.lock().is_retired = true;
        end_if_done(self);
    }

    /// Whether a new session may come here; if so, it is not idle.
    pub(super) fn takes_sessions(&self) -> bool {
        self.is_ready() && !self.lock().is_retired
    }

    /// Whether it can be asked for something now; if so, it is not idle.
    pub(crate) fn is_ready(&self) -> bool {
        let mut routes = self.lock();
        routes.last_used = Instant::now();
        self.is_usable()
    }

    /// Whether the process is gone, and everyone was told.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.borrow().is_some()
    }

    fn is_usable(&self) -> bool {
        !self.is_gone() && !self.is_ending.load(Ordering::Relaxed) && !self.body.has_ended()
    }

    /// Whether it ever answered a prompt: it did its work before it was gone.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// How much is left of `limit` until nothing was said either way for so long. When it is nothing, nobody is to ask
    /// it for anything any more. While an answer is waited for, no time passes.
    pub(crate) fn idle_after(&self, limit: Duration) -> Duration {
        let routes = self.lock();
        if self.connection.has_open_requests() {
            return limit;
        }
        let left = limit.saturating_sub(routes.last_used.elapsed());
        if left.is_zero() {
            self.is_ending.store(true, Ordering::Relaxed);
        }
        left
    }

    /// Ends the process and all that it started.
    pub(crate) async fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        // Its input ends first, which is what a well-behaved agent goes by.
        let finished = self.connection.finish();
        let _ = tokio::time::timeout(Duration::from_millis(200), finished).await;
        self.body.end().await;
    }

    fn send(&self, method: &str, params: &str, reply: Reply) -> RequestId {
        self.send_at(method, params, reply).0
    }

    /// Sends a request, and says where it begins.
    fn send_at(&self, method: &str, params: &str, reply: Reply) -> (RequestId, Position) {
        let (id, line) = self.connection.begin(method, params, reply);
        if self.is_gone() {
            // Nobody would ever answer; to drop the reply tells whoever waits.
            drop(self.connection.forget(&id));
        }
        (id, self.post(line))
    }

    /// Has `line` sent behind all others, and says where it begins.
    fn post(&self, line: String) -> Position {
        let mut routes = self.lock();
        routes.last_used = Instant::now();
        let begin = routes.end;
        routes.end = Position(begin.0 + line.len() as u64);
        // Nobody takes it when the process is gone, and then everyone who waits is told so.
        let _ = self.outbox.send(line);
        begin
    }

    async fn wait<T>(
        &self,
        method: &'static str,
        id: &RequestId,
        answer: oneshot::Receiver<Result<T, Error>>,
        limit: Duration,
    ) -> Result<T, Error> {
        if let Ok(answer) = tokio::time::timeout(limit, answer).await {
            return answer.unwrap_or_else(|_| Err(self.why_gone()));
        }
        drop(self.connection.forget(id));
        self.take_back(id);
        Err(Error::AgentTimeout { agent: self.program().to_owned(), method, limit })
    }

    fn why_gone(&self) -> Error {
        let told = self.gone.borrow().clone();
        told.unwrap_or_else(|| self.source.failed("is not there any more", self.stderr_tail()))
    }

    /// The last of what it wrote for people.
    pub(super) fn stderr_tail(&self) -> String {
        self.secrets.hide(&self.body.stderr_tail()).into_owned()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Routes> {
        lock(&self.routes)
    }
}

/// A session is being made, until this is dropped.
struct OpeningGuard<'a>(&'a Link);

impl<'a> OpeningGuard<'a> {
    fn new(link: &'a Link) -> Self {
        link.lock().begin_opening();
        Self(link)
    }
}

impl Drop for OpeningGuard<'_> {
    fn drop(&mut self) {
        let unclaimed = self.0.lock().end_opening();
        for (session, event) in unclaimed {
            self.0.undelivered(&session, event);
        }
    }
}

/// A session is being restored, until this is dropped or the session runs.
struct RestoringGuard<'a> {
    link: &'a Link,
    /// The agent's id of it.
    id: String,
}

impl<'a> RestoringGuard<'a> {
    fn new(link: &'a Link, id: &str) -> Self {
        link.lock().begin_restoring(id);
        Self { link, id: id.to_owned() }
    }
}

impl Drop for RestoringGuard<'_> {
    fn drop(&mut self) {
        self.link.lock().give_up_restoring(&self.id);
    }
}

/// Sends lines one after the other, as fast as the agent takes them.
async fn forward(connection: Connection<Reply>, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if connection.send_lines(line).await.is_err() {
            return;
        }
    }
}
