//! A store that fails when it is told to.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rejoin_store::{
    Cursor, Hit, Lease, ListFilter, MemoryStore, Owner, Page, Pruned, ReplayPage, ReplayPlace, Retention, Run,
    SearchQuery, SessionStore, Stats, StoreError, VerifyReport,
};
use rejoin_transcript::{Entry, EntryNumber, Fact, Session, SessionId, Step, Timestamp};

use crate::sessions::owner;

/// A store around another whose appends can be made to fail, as if the disk were full, or to break down.
pub struct FaultStore {
    inner: Arc<dyn SessionStore>,
    is_full: AtomicBool,
    /// How many appends fail yet.
    failing: AtomicUsize,
    is_broken: AtomicBool,
    /// On whose behalf leases are taken; by default on that of whoever asks.
    owner: Option<Owner>,
    created: Mutex<Vec<SessionId>>,
}

impl FaultStore {
    /// A store in memory that works, for now.
    pub fn new() -> Arc<Self> {
        Self::around(Arc::new(MemoryStore::default()), None)
    }

    /// What a process on another host sees of `store`.
    pub fn elsewhere(store: Arc<dyn SessionStore>, host: &str) -> Arc<Self> {
        Self::around(store, Some(owner(host)))
    }

    fn around(inner: Arc<dyn SessionStore>, owner: Option<Owner>) -> Arc<Self> {
        let no = || AtomicBool::new(false);
        let failing = AtomicUsize::new(0);
        Arc::new(Self { inner, is_full: no(), failing, is_broken: no(), owner, created: Mutex::default() })
    }

    /// The sessions that were made, in order, also those that no list shows.
    pub fn created(&self) -> Vec<SessionId> {
        self.created.lock().unwrap().clone()
    }

    /// From now on appends fail, or work again.
    pub fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// The next `count` appends fail.
    pub fn fail_appends(&self, count: usize) {
        self.failing.store(count, Ordering::SeqCst);
    }

    /// The next append panics.
    pub fn break_down(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl SessionStore for FaultStore {
    async fn append(
        &self,
        lease: &Lease,
        after: EntryNumber,
        steps: Vec<Step>,
        facts: Vec<Fact>,
    ) -> Result<EntryNumber, StoreError> {
        assert!(!self.is_broken.swap(false, Ordering::SeqCst), "the store was told to break down");
        let is_failing = self.failing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1));
        if is_failing.is_ok() || self.is_full.load(Ordering::SeqCst) {
            return Err(full());
        }
        self.inner.append(lease, after, steps, facts).await
    }

    async fn create(&self, session: Session) -> Result<(), StoreError> {
        let id = session.facts.session_id.clone();
        self.inner.create(session).await?;
        self.created.lock().unwrap().push(id);
        Ok(())
    }

    async fn session(&self, session: &SessionId) -> Result<Session, StoreError> {
        self.inner.session(session).await
    }

    async fn head(&self, session: &SessionId) -> Result<EntryNumber, StoreError> {
        self.inner.head(session).await
    }

    async fn resolve(&self, owner: &str, prefix: &str) -> Result<SessionId, StoreError> {
        self.inner.resolve(owner, prefix).await
    }

    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        self.inner.acquire(session, self.owner.as_ref().unwrap_or(owner)).await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn tell(&self, session: &SessionId, facts: Vec<Fact>) -> Result<(), StoreError> {
        self.inner.tell(session, facts).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        self.inner.flush().await
    }

    async fn read(&self, session: &SessionId, after: EntryNumber) -> Result<Vec<Entry>, StoreError> {
        self.inner.read(session, after).await
    }

    async fn replay(&self, session: &SessionId, place: ReplayPlace) -> Result<ReplayPage, StoreError> {
        self.inner.replay(session, place).await
    }

    async fn list(&self, filter: &ListFilter, cursor: Option<&Cursor>, limit: u32) -> Result<Page, StoreError> {
        self.inner.list(filter, cursor, limit).await
    }

    async fn fork(
        &self,
        source: &SessionId,
        at: EntryNumber,
        fork: SessionId,
        now: Timestamp,
        facts: Vec<Fact>,
    ) -> Result<Session, StoreError> {
        self.inner.fork(source, at, fork, now, facts).await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(session).await
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, StoreError> {
        self.inner.search(query).await
    }

    async fn stats(&self, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
        self.inner.stats(day).await
    }

    async fn verify(&self) -> Result<VerifyReport, StoreError> {
        self.inner.verify().await
    }

    async fn prune(&self, retention: &Retention, now: Timestamp, run: Run) -> Result<Vec<Pruned>, StoreError> {
        self.inner.prune(retention, now, run).await
    }

    async fn remove_empty(&self, before: Timestamp, run: Run) -> Result<u64, StoreError> {
        self.inner.remove_empty(before, run).await
    }
}

fn full() -> StoreError {
    StoreError::Full { path: "memory".into() }
}
