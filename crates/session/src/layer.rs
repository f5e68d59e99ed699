//! The session layer: all sessions of this process, and the clients that come and go.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rejoin_store::{Owner, Run, SessionStore, now};
use rejoin_transcript::SessionId;
use rejoin_wire::{Connection, Options, Tap};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::agent::{AgentSource, Agents, Restore};
use crate::client::{Client, Clients};
use crate::deny::DenyRules;
use crate::live::{Command, Live, Mailbox};
use crate::lock::lock;
use crate::serve::serve;
use crate::transport::Transport;
use crate::turn::WhileBusy;

/// How the session layer behaves where people disagree.
#[derive(Debug, Clone)]
pub struct LayerOptions {
    /// What is done with a session that the agent can't restore.
    pub restore: Restore,
    /// What becomes of a prompt that comes during a turn.
    pub while_busy: WhileBusy,
    /// How long an agent is given to obey a cancel.
    pub cancel_deadline: Duration,
    /// How long an agent is given to start.
    pub agent_start_limit: Duration,
    /// How long an agent is given to open a session.
    pub restore_limit: Duration,
    /// How many bytes a briefing has at most.
    pub briefing_limit: usize,
    /// After this time without a word, an agent is stopped until it is needed again.
    pub idle_agent_limit: Duration,
    /// How long the owner of a turn on another host may be silent before the session is taken over.
    pub lease: Duration,
    /// After this time a session that was never prompted is removed.
    pub empty_session_limit: Duration,
    /// The names of agents that keep their sessions in the same place: each list is of one such place.
    pub kin: Vec<Vec<String>>,
    /// What agents are refused, whatever clients would answer.
    pub deny: DenyRules,
}

impl LayerOptions {
    /// Whether an agent with these names has the sessions of the agent `agent`.
    pub(crate) fn are_kin(&self, agent: &str, names: &[String]) -> bool {
        let has = |kin: &[String], wanted: &str| kin.iter().any(|name| name == wanted);
        self.kin.iter().any(|kin| has(kin, agent) && names.iter().any(|name| has(kin, name)))
    }
}

impl Default for LayerOptions {
    fn default() -> Self {
        Self {
            restore: Restore::default(),
            while_busy: WhileBusy::default(),
            cancel_deadline: Duration::from_secs(5),
            agent_start_limit: Duration::from_secs(60),
            restore_limit: Duration::from_secs(30),
            briefing_limit: 32 * 1024,
            idle_agent_limit: Duration::from_secs(15 * 60),
            lease: Duration::from_secs(15),
            empty_session_limit: Duration::from_secs(24 * 60 * 60),
            kin: Vec::new(),
            deny: DenyRules::default(),
        }
    }
}

/// Who sees the traffic with clients and with agents.
#[derive(Clone, Default)]
pub struct Taps {
    /// Sees every line from and to clients.
    pub clients: Option<Arc<dyn Tap>>,
    /// Sees every line from and to agents.
    pub agents: Option<Arc<dyn Tap>>,
}

/// The session layer: an agent to its clients, a client to its agent, and in between everything is kept.
pub struct SessionLayer {
    shared: Arc<Shared>,
    taps: Taps,
}

/// What all sessions share.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) agents: Agents,
    pub(crate) clients: Arc<Clients>,
    pub(crate) options: LayerOptions,
    pub(crate) owner: Owner,
    sessions: Mutex<HashMap<SessionId, Mailbox>>,
    /// How many sessions run.
    count: watch::Sender<usize>,
    /// How many errands run that the end waits for.
    errands: watch::Sender<usize>,
    /// Whether everything ends.
    ending: watch::Sender<bool>,
}

/// A layer that lacks its agent.
pub struct LayerSetup {
    store: Arc<dyn SessionStore>,
    options: LayerOptions,
    taps: Taps,
}

impl LayerSetup {
    /// The layer behaves as `options` say.
    #[must_use]
    pub fn options(self, options: LayerOptions) -> Self {
        Self { options, ..self }
    }

    /// The layer's traffic is shown to `taps`.
    #[must_use]
    pub fn taps(self, taps: Taps) -> Self {
        Self { taps, ..self }
    }

    /// The layer, which runs its sessions with `agent`.
    pub fn agent(self, agent: impl Into<AgentSource>) -> SessionLayer {
        let Self { store, options, taps } = self;
        let limits = (options.agent_start_limit, options.idle_agent_limit);
        let clients = Arc::<Clients>::default();
        let agents = Agents::new(agent.into(), limits, taps.agents.clone(), Arc::clone(&store), Arc::clone(&clients));
        let lease_millis = i64::try_from(options.lease.as_millis()).unwrap_or(i64::MAX);
        let owner = Owner { lease_millis, ..Owner::this_process() };
        let shared = Shared {
            store,
            agents,
            clients,
            options,
            owner,
            sessions: Mutex::default(),
            count: watch::Sender::new(0),
            errands: watch::Sender::new(0),
            ending: watch::Sender::new(false),
        };
        SessionLayer { shared: Arc::new(shared), taps }
    }
}

impl SessionLayer {
    /// Begins a layer that keeps sessions in `store`; naming its agent finishes it.
    #[expect(clippy::new_ret_no_self, reason = "a layer is nothing without an agent")]
    pub fn new(store: Arc<dyn SessionStore>) -> LayerSetup {
        LayerSetup { store, options: LayerOptions::default(), taps: Taps::default() }
    }

    /// Serves the only client, until its input ends; then everything [ends](SessionLayer::end).
    ///
    /// Must be called inside a Tokio runtime.
    pub async fn serve(&self, transport: Transport) {
        self.serve_until(transport, std::future::pending()).await;
    }

    /// Serves the only client, until its input ends or `stop` comes; then everything [ends](SessionLayer::end).
    pub async fn serve_until(&self, transport: Transport, stop: impl Future<Output = ()>) {
        let stopped = async {
            stop.await;
            self.shared.ending.send_replace(true);
            std::future::pending().await
        };
        let client = tokio::select! {
            client = self.listen(transport) => client,
            never = stopped => never,
        };
        self.end().await;
        finish(&client).await;
    }

    /// Serves one of several clients, until its input ends or [`SessionLayer::end`] is called. Its sessions go on.
    pub async fn attach(&self, transport: Transport) {
        let client = self.listen(transport).await;
        self.shared.tell_all(|| Command::Detach(Arc::clone(&client)));
        finish(&client).await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    async fn listen(&self, Transport { reader, writer }: Transport) -> Arc<Client> {
        let options = Options { tap: self.taps.clients.clone(), ..Options::default() };
        let (connection, incoming) = Connection::open(reader, writer, options);
        let client = Client::new(connection);
        serve(&self.shared, &client, incoming).await;
        self.shared.clients.remove(&client);
        client
    }

    /// Removes the sessions that were never prompted and are too old.
    pub async fn tidy(&self) {
        let limit = i64::try_from(self.shared.options.empty_session_limit.as_millis()).unwrap_or(i64::MAX);
        match self.shared.store.remove_empty(now().plus_millis(limit.saturating_neg()), Run::Real).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "sessions that were never prompted are removed"),
            Err(error) => tracing::warn!(%error, "sessions that were never prompted could not be removed"),
        }
    }

    /// Ends everything: running turns are cancelled and their ends recorded, agents are given a moment for what they were
    /// told last, then they end.
    pub async fn end(&self) {
        let begin = Instant::now();
        self.shared.ending.send_replace(true);
        self.shared.tell_all(|| Command::End);
        let mut count = self.shared.count.subscribe();
        // A session that does not come to an end is closed by whoever opens it next.
        let _ = tokio::time::timeout(Duration::from_secs(3), count.wait_for(|count| *count == 0)).await;
        let mut errands = self.shared.errands.subscribe();
        let _ = tokio::time::timeout_at(begin + LAST_ERRANDS, errands.wait_for(|count| *count == 0)).await;
        self.shared.agents.end().await;
    }
}

/// Sends what is on its way to `client`, as far as it still reads.
async fn finish(client: &Client) {
    let _ = tokio::time::timeout(LAST_WORDS, client.finish()).await;
}

/// How long agents are given for what they were told last, such as to delete a session.
const LAST_ERRANDS: Duration = Duration::from_secs(2);

/// How long a client is given to read what it was sent last.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Shared {
    /// Tells `command` to the session `id`, which is started if it does not run; whether it exists, it finds out itself.
    pub(crate) fn tell(self: &Arc<Self>, id: &SessionId, command: Command) {
        let mut sessions = self.lock();
        let mailbox = sessions.entry(id.clone()).or_insert_with(|| {
            self.count.send_modify(|count| *count += 1);
            Live::start(Arc::clone(self), id.clone())
        });
        // It takes itself out of the map, under this lock, before it stops listening.
        let _ = mailbox.send(command);
    }

    /// Tells `command` to the session `id`, if it runs.
    pub(crate) fn tell_running(&self, id: &SessionId, command: Command) {
        if let Some(mailbox) = self.lock().get(id) {
            let _ = mailbox.send(command);
        }
    }

    fn tell_all(&self, command: impl Fn() -> Command) {
        for mailbox in self.lock().values() {
            let _ = mailbox.send(command());
        }
    }

    /// The session `id` stops, unless somebody has just told it something.
    pub(crate) fn forget(&self, id: &SessionId, commands: &mpsc::UnboundedReceiver<Command>) -> bool {
        let mut sessions = self.lock();
        if !commands.is_empty() {
            return false;
        }
        sessions.remove(id);
        self.count.send_modify(|count| *count -= 1);
        true
    }

    /// The task of the session `id` broke down: another one takes its place, and ends what it left.
    pub(crate) fn recover(self: &Arc<Self>, id: &SessionId) {
        self.lock().remove(id);
        self.count.send_modify(|count| *count -= 1);
        self.tell(id, Command::Recover);
    }

    /// Sees to an errand beside everything else; the end waits for it, but not for long.
    pub(crate) fn see_to(self: &Arc<Self>, errand: impl Future<Output = ()> + Send + 'static) {
        self.errands.send_modify(|count| *count += 1);
        let shared = Arc::clone(self);
        tokio::spawn(async move {
            errand.await;
            shared.errands.send_modify(|count| *count -= 1);
        });
    }

    /// Comes when everything ends.
    pub(crate) async fn ended(&self) {
        // It can't be closed: it is in here.
        let _ = self.ending.subscribe().wait_for(|is_ending| *is_ending).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Mailbox>> {
        lock(&self.sessions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_kin_if_they_keep_their_sessions_in_the_same_place() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let options = LayerOptions { kin: vec![names(&["a", "b"]), names(&["c"])], ..LayerOptions::default() };
        assert!(options.are_kin("a", &names(&["x", "b"])));
        assert!(!options.are_kin("a", &names(&["c"])));
        // Nobody is said to keep sessions anywhere.
        assert!(!options.are_kin("x", &names(&["x"])));
    }
}
