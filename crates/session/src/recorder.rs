//! Writes each entry to the store before anyone sees it.
//!
//! The recorder holds the session's write lease, and knows what is known of the session. If an append fails, what was to
//! be recorded is not shown, so a client never sees what a reload would not show.

use std::pin::pin;
use std::sync::Arc;

use futures::TryStreamExt;
use rejoin_store::{Lease, Owner, SessionStore, StoreError, entries, now};
use rejoin_transcript::{EntryNumber, Fact, Session, SessionId, Step, UnfinishedTurn};

/// The record of one session.
pub(crate) struct Recorder {
    store: Arc<dyn SessionStore>,
    owner: Owner,
    session: Session,
    head: EntryNumber,
    lease: Option<Lease>,
}

impl Recorder {
    /// The record of a session that exists.
    pub(crate) async fn open(store: Arc<dyn SessionStore>, owner: Owner, id: &SessionId) -> Result<Self, StoreError> {
        let (session, head) = (store.session(id).await?, store.head(id).await?);
        Ok(Self { store, owner, session, head, lease: None })
    }

    /// Makes a session that begins with `first`, and sees to it that it survives the loss of power.
    pub(crate) async fn create(
        store: Arc<dyn SessionStore>,
        owner: Owner,
        session: Session,
        first: Step,
    ) -> Result<Self, StoreError> {
        store.create(session.clone()).await?;
        let mut recorder = Self { store, owner, session, head: EntryNumber::START, lease: None };
        recorder.record(vec![first], Vec::new()).await?;
        recorder.flush().await?;
        Ok(recorder)
    }

    /// What is known of the session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Its last entry.
    pub(crate) fn head(&self) -> EntryNumber {
        self.head
    }

    /// Looks what others have done meanwhile, and says whether they recorded anything.
    pub(crate) async fn refresh(&mut self) -> Result<bool, StoreError> {
        let id = self.session.facts.session_id.clone();
        self.session = self.store.session(&id).await?;
        let head = self.store.head(&id).await?;
        let has_moved = std::mem::replace(&mut self.head, head) != head;
        Ok(has_moved)
    }

    /// Whether others have recorded anything meanwhile.
    pub(crate) async fn is_behind(&self) -> Result<bool, StoreError> {
        Ok(self.store.head(&self.session.facts.session_id).await? != self.head)
    }

    /// Takes the right to write, closes a turn that someone left unfinished, and says whether others recorded anything.
    ///
    /// Fails with [`StoreError::InUse`] while someone else runs a turn.
    pub(crate) async fn take(&mut self) -> Result<bool, StoreError> {
        let lease = self.store.acquire(&self.session.facts.session_id, &self.owner).await?;
        let (unfinished_since, is_behind) = (lease.unfinished_since, lease.head != self.head);
        let is_orphaned = lease.is_orphaned;
        self.lease = Some(lease);
        if is_behind || is_orphaned || unfinished_since.is_some() {
            self.refresh().await?;
        }
        let Some(since) = unfinished_since else {
            // Its agent ended with it, or soon after.
            if is_orphaned && self.session.facts.agent_memory.at_risk_from.is_some() {
                self.tell(vec![Fact::AgentLost]).await?;
            }
            return Ok(is_behind);
        };
        let before = EntryNumber::new(since.get().saturating_sub(1));
        let id = self.session.facts.session_id.clone();
        let mut turn = UnfinishedTurn::default();
        let store = Arc::clone(&self.store);
        let mut entries = pin!(entries(&*store, &id, before));
        while let Some(entry) = entries.try_next().await? {
            turn.observe(&entry.step);
        }
        self.append(turn.interrupt(now()), vec![Fact::AgentLost]).await?;
        Ok(true)
    }

    /// Records `steps` with `facts` in one commit, and gives the number of the first.
    ///
    /// An idle session may have been used by someone else meanwhile; then the right to write is taken again. In a turn
    /// nobody can have done that, unless this process was given up for dead.
    pub(crate) async fn record(&mut self, steps: Vec<Step>, facts: Vec<Fact>) -> Result<EntryNumber, StoreError> {
        if self.lease.is_none() {
            self.take().await?;
        }
        if self.session.facts.running_since.is_some() {
            return self.append(steps, facts).await;
        }
        match self.append(steps.clone(), facts.clone()).await {
            Err(StoreError::LeaseLost { .. } | StoreError::Conflict { .. }) => {
                self.take().await?;
                self.append(steps, facts).await
            }
            recorded => recorded,
        }
    }

    /// Changes facts that no entry tells.
    pub(crate) async fn tell(&mut self, facts: Vec<Fact>) -> Result<(), StoreError> {
        self.store.tell(&self.session.facts.session_id, facts.clone()).await?;
        for fact in facts {
            self.session.apply(fact);
        }
        Ok(())
    }

    /// Makes everything recorded so far survive the loss of power.
    pub(crate) async fn flush(&self) -> Result<(), StoreError> {
        self.store.flush().await
    }

    /// Shows that the running turn's owner lives.
    pub(crate) async fn renew(&self) -> Result<(), StoreError> {
        match &self.lease {
            Some(lease) => self.store.renew(lease).await,
            None => Ok(()),
        }
    }

    /// Gives the right to write back.
    pub(crate) async fn release(&mut self) {
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.store.release(&lease).await
        {
            tracing::warn!(session = %lease.session, %error, "the right to write could not be given back");
        }
    }

    async fn append(&mut self, steps: Vec<Step>, facts: Vec<Fact>) -> Result<EntryNumber, StoreError> {
        let Some(lease) = &self.lease else { return Err(self.lost()) };
        let first = self.head.next();
        let is_recent = |id: &str| self.session.facts.recent_messages.iter().any(|recent| recent.as_str() == id);
        // Most steps tell nothing new, and then need not be kept for afterwards.
        let numbered = (first.get()..).map(EntryNumber::new).zip(&steps);
        let telling: Vec<(EntryNumber, Step)> = numbered
            .filter(|(_, step)| step.tells_facts(is_recent))
            .map(|(number, step)| (number, step.clone()))
            .collect();
        self.head = self.store.append(lease, self.head, steps, facts.clone()).await?;
        for (number, step) in &telling {
            self.session.observe(*number, step);
        }
        for fact in facts {
            self.session.apply(fact);
        }
        Ok(first)
    }

    fn lost(&self) -> StoreError {
        StoreError::LeaseLost { session: self.session.facts.session_id.clone() }
    }
}
