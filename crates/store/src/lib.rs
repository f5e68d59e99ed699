//! Where transcripts are kept: one port, [`SessionStore`], and its backends.
//!
//! A store keeps sessions: for each its [`Session`] facts and its entries, numbered from 1 without a gap, never changed
//! once stored. What an [`append`](SessionStore::append) returned survives the death of this process; what a later
//! [`flush`](SessionStore::flush) returned survives the loss of power.

mod advance;
mod agent_sessions;
mod ahead;
mod begun;
mod cut;
mod error;
mod fork;
mod lease;
mod list;
mod memory;
mod pages;
mod paths;
mod replay;
mod report;
mod search;
mod sqlite;
mod take_in;

use async_trait::async_trait;
use futures::{Stream, stream};
use rejoin_transcript::{Entry, EntryNumber, Fact, Session, SessionId, Step, Timestamp};

pub use agent_sessions::{OwnedAgentSession, agent_sessions};
use begun::Begun;
pub use error::StoreError;
pub use fork::fork_point;
pub use lease::{Lease, Owner};
pub use list::{ArchivedFilter, Cursor, ListFilter, PAGE_SIZE, Page};
pub use memory::MemoryStore;
pub use pages::entries;
pub use paths::resolve_cwd;
pub use replay::{ReplayPage, ReplayPlace};
pub use report::{Damage, Pruned, Retention, Share, Stats, VerifyReport};
pub use search::{Hit, MATCHES, SearchOrder, SearchQuery};
pub use sqlite::SqliteStore;
pub use take_in::{Likeness, Taken, take_in};

/// Whether to do a thing or only say what would be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// Do it.
    Real,
    /// Only say.
    Dry,
}

/// A place where sessions are kept.
///
/// Every operation is whole or not at all: when it fails, nothing of it was written.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Makes a session without entries.
    ///
    /// Fails with [`StoreError::SessionExists`] when the id is taken.
    async fn create(&self, session: Session) -> Result<(), StoreError>;

    /// What is known of a session beside its entries.
    async fn session(&self, session: &SessionId) -> Result<Session, StoreError>;

    /// The last entry of a session.
    async fn head(&self, session: &SessionId) -> Result<EntryNumber, StoreError>;

    /// The one session of `owner` whose id begins with `prefix`; a whole id always means itself.
    async fn resolve(&self, owner: &str, prefix: &str) -> Result<SessionId, StoreError>;

    /// Takes the right to write a session.
    ///
    /// Sessions of the same owner that were stamped by a clock that was ahead are stamped with the time that it is, so
    /// that what is used from now on is listed before them.
    ///
    /// Fails with [`StoreError::InUse`] while another, living owner runs a turn of it.
    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError>;

    /// Shows that the holder is alive; needed more often than every [`Owner::lease_millis`].
    async fn renew(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Gives the right to write back. Nothing happens if it was lost already.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Appends `steps` in one commit after the entry `after`, together with `facts`, and returns the last number.
    ///
    /// Fails with [`StoreError::Conflict`] when the session has moved past `after`, and with
    /// [`StoreError::LeaseLost`] when the lease was taken over.
    async fn append(
        &self,
        lease: &Lease,
        after: EntryNumber,
        steps: Vec<Step>,
        facts: Vec<Fact>,
    ) -> Result<EntryNumber, StoreError>;

    /// Changes facts that no entry tells; needs no lease, since anyone may name or archive a session at any time.
    async fn tell(&self, session: &SessionId, facts: Vec<Fact>) -> Result<(), StoreError>;

    /// Makes everything that was appended so far survive the loss of power.
    async fn flush(&self) -> Result<(), StoreError>;

    /// A page of the entries behind `after`; none at the end. See [`entries`] for all of them.
    async fn read(&self, session: &SessionId, after: EntryNumber) -> Result<Vec<Entry>, StoreError>;

    /// A page of the replay of a session. See [`replay_pages`] for all of it.
    async fn replay(&self, session: &SessionId, place: ReplayPlace) -> Result<ReplayPage, StoreError>;

    /// A page of sessions, the most recently used first.
    ///
    /// A session that is used while someone pages moves to the front: later pages may miss it, never repeat it.
    async fn list(&self, filter: &ListFilter, cursor: Option<&Cursor>, limit: u32) -> Result<Page, StoreError>;

    /// Makes the session `fork` out of the entries of `source` up to `at`, in constant time when that is its last.
    ///
    /// The fork has the facts of its source, a parent, and [`StepKind::ForkedFrom`](rejoin_transcript::StepKind) as
    /// its first entry of its own. `facts` are changed in it at once.
    async fn fork(
        &self,
        source: &SessionId,
        at: EntryNumber,
        fork: SessionId,
        now: Timestamp,
        facts: Vec<Fact>,
    ) -> Result<Session, StoreError>;

    /// Removes a session for good: nothing that only it held is left in the store's files.
    ///
    /// What its forks need stays with them. Fails with [`StoreError::InUse`] while a living owner runs a turn of it.
    async fn delete(&self, session: &SessionId) -> Result<(), StoreError>;

    /// The sessions that hold some words, each with its best match, in what was written until now.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, StoreError>;

    /// How much there is. `day` says on which day a time is, since that depends on where one lives.
    async fn stats(&self, day: fn(Timestamp) -> String) -> Result<Stats, StoreError>;

    /// Checks every byte that can be checked, and names what is damaged.
    async fn verify(&self) -> Result<VerifyReport, StoreError>;

    /// Removes the sessions that `retention` does not keep, the least recently used first, and says which.
    ///
    /// A session whose turn is running is always kept.
    async fn prune(&self, retention: &Retention, now: Timestamp, run: Run) -> Result<Vec<Pruned>, StoreError>;

    /// Removes sessions that were made before `before` and never prompted, and says how many.
    ///
    /// One that somebody has open is kept.
    async fn remove_empty(&self, before: Timestamp, run: Run) -> Result<u64, StoreError>;
}

/// The replay of `session` from `place`, in bounded memory: pages of lines, each the params of a `session/update`
/// without the session id. The next page is read while this one is used.
pub fn replay_pages<'a, S: SessionStore + ?Sized>(
    store: &'a S,
    session: &'a SessionId,
    place: ReplayPlace,
) -> impl Stream<Item = Result<String, StoreError>> + 'a {
    let read = move |place: ReplayPlace| (place.progress(), Begun::later(store.replay(session, place)));
    stream::try_unfold(Some(read(place)), move |reading| async move {
        let Some((from, mut page)) = reading else { return Ok(None) };
        let Some(page) = page.end().await else { return Ok(None) };
        let page = page?.moved_on(session, from)?;
        let next = match page.next.map(read) {
            Some((from, page)) => Some((from, page.begin().await)),
            None => None,
        };
        Ok(Some((page.lines, next)))
    })
}

/// A new session's id: 128 random bits.
///
/// # Panics
///
/// When the operating system has no randomness to give.
pub fn new_session_id() -> SessionId {
    SessionId::from_random_bits(random_bits())
}

/// 128 random bits.
#[expect(clippy::expect_used, reason = "without randomness no id is safe to use, and there is nothing to fall back to")]
fn random_bits() -> u128 {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    u128::from_le_bytes(bytes)
}

/// The time now, by this machine's clock.
pub fn now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}
