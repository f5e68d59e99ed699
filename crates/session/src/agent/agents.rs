//! The agent's processes: started when needed, shared by all sessions.
//!
//! Every process is told the same at `initialize`, whichever client needs it: clients attach to sessions, and an agent does
//! not notice who comes and goes.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use futures::future::join_all;
use rejoin_store::SessionStore;
use rejoin_transcript::Json;
use rejoin_wire::Tap;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::link::{Link, Purpose};
use super::seat::Seat;
use super::source::AgentSource;
use super::strangers::{Stranger, keep_strangers};
use crate::Error;
use crate::client::Clients;
use crate::lock::lock;

/// How long to wait before the next start, by how often it failed in a row.
const BACK_OFF: [Duration; 5] =
    [Duration::ZERO, Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(5)];

/// The processes of one agent.
pub(crate) struct Agents {
    source: AgentSource,
    start_limit: Duration,
    idle_limit: Duration,
    tap: Option<Arc<dyn Tap>>,
    /// The params of `initialize` for every process: those of the first client.
    initialize: OnceLock<Json>,
    current: tokio::sync::Mutex<Current>,
    /// Every process that may still run.
    all: Mutex<Vec<Weak<Link>>>,
    store: Arc<dyn SessionStore>,
    /// Where updates go of sessions that nobody knows.
    strangers: OnceLock<mpsc::Sender<Stranger>>,
    /// Who is asked and told what concerns no session.
    clients: Arc<Clients>,
}

/// The process that takes new sessions, and how its starts went.
#[derive(Default)]
struct Current {
    link: Option<Arc<Link>>,
    /// How often in a row the agent failed to start, or ended soon after.
    failures: usize,
    started: Option<Instant>,
}

/// An agent that ran this long has not failed to start.
const GOOD_RUN: Duration = Duration::from_secs(10);

impl Agents {
    /// The agent of `source`, which is given `start_limit` for that and stopped after `idle_limit` without a
    /// word.
    pub(crate) fn new(
        source: AgentSource,
        (start_limit, idle_limit): (Duration, Duration),
        tap: Option<Arc<dyn Tap>>,
        store: Arc<dyn SessionStore>,
        clients: Arc<Clients>,
    ) -> Self {
        Self {
            source,
            start_limit,
            idle_limit,
            tap,
            initialize: OnceLock::new(),
            current: tokio::sync::Mutex::default(),
            all: Mutex::default(),
            store,
            strangers: OnceLock::new(),
            clients,
        }
    }

    /// Decides what processes are told at `initialize`, if nothing did before.
    pub(crate) fn introduce(&self, initialize: &Json) {
        self.initialize.get_or_init(|| initialize.clone());
    }

    /// A process that takes sessions; it is started if there is none.
    pub(crate) async fn link(&self) -> Result<Arc<Link>, Error> {
        // No client has asked for anything before its `initialize`.
        let initialize = self.initialize.get().ok_or(Error::Ended)?;
        // Everyone else who needs a process waits for the same start.
        let mut current = self.current.lock().await;
        if let Some(link) = current.link.as_ref().filter(|link| link.takes_sessions()) {
            return Ok(Arc::clone(link));
        }
        if current.link.take().is_some_and(|link| link.has_answered())
            || current.started.is_some_and(|started| started.elapsed() > GOOD_RUN)
        {
            current.failures = 0;
        }
        if let Some(started) = current.started {
            let pause = BACK_OFF[current.failures.min(BACK_OFF.len() - 1)];
            tokio::time::sleep_until(started + pause).await;
        }
        current.started = Some(Instant::now());
        current.failures += 1;
        let strangers = self.strangers.get_or_init(|| keep_strangers(Arc::clone(&self.store))).clone();
        let purpose = Purpose { clients: Arc::clone(&self.clients), strangers, tap: self.tap.clone() };
        let link = Link::start(&self.source, initialize, purpose, self.start_limit).await?;
        let mut all = lock(&self.all);
        all.retain(|link| link.strong_count() > 0);
        all.push(Arc::downgrade(&link));
        drop(all);
        current.link = Some(Arc::clone(&link));
        tokio::spawn(stop_when_idle(Arc::downgrade(&link), self.idle_limit));
        Ok(link)
    }

    /// A process that serves no client, which is told `initialize`.
    pub(crate) async fn start_alone(&self, initialize: &Json) -> Result<Arc<Link>, Error> {
        let strangers = self.strangers.get_or_init(|| keep_strangers(Arc::clone(&self.store))).clone();
        let purpose = Purpose { clients: Arc::default(), strangers, tap: self.tap.clone() };
        let link = Link::start(&self.source, initialize, purpose, self.start_limit).await?;
        lock(&self.all).push(Arc::downgrade(&link));
        Ok(link)
    }

    /// A seat in such a process, for a session. An agent that can't isolate sessions has one process for each.
    pub(crate) async fn seat(&self) -> Result<Seat, Error> {
        loop {
            let link = self.link().await?;
            // Somebody else may have been faster.
            if let Some(seat) = Seat::take(&link, self.source.sharing()) {
                return Ok(seat);
            }
        }
    }

    /// Ends every process.
    pub(crate) async fn end(&self) {
        let links: Vec<Arc<Link>> = lock(&self.all).iter().filter_map(Weak::upgrade).collect();
        join_all(links.iter().map(|link| link.end())).await;
    }
}

/// Ends the agent when it was idle for `limit`. Its sessions are told, and open it again when they need it.
async fn stop_when_idle(link: Weak<Link>, limit: Duration) {
    loop {
        let Some(left) = link.upgrade().filter(|link| !link.is_gone()).map(|link| link.idle_after(limit)) else {
            return;
        };
        if left.is_zero()
            && let Some(link) = link.upgrade()
        {
            tracing::info!(agent = link.program(), "the agent was idle, and is stopped until it is needed");
            return link.end().await;
        }
        tokio::time::sleep(left).await;
    }
}
