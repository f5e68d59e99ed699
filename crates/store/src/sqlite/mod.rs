//! The SQLite backend: one file, written through one connection of each process.
//!
//! Reads take a connection from a small pool and run beside the writer; SQLite's write-ahead log keeps both apart, and
//! several processes too. What is made of entries (replay form, search index) is made by the [`projector`], behind
//! the writer's back, and is never waited for except by a search.

mod access;
mod append;
mod clock;
mod content;
mod database;
mod delete;
mod files;
mod fork;
mod index;
mod leases;
mod lists;
mod projector;
mod read;
mod rows;
mod searches;
mod stats;
mod threads;
mod verify;
mod writer;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use rejoin_transcript::{Entry, EntryNumber, Fact, Session, SessionId, Step, Timestamp};
use rusqlite::Connection;

use crate::{
    Cursor, Hit, Lease, ListFilter, Owner, Page, Pruned, ReplayPage, ReplayPlace, Retention, Run, SearchQuery,
    SessionStore, Stats, StoreError, VerifyReport,
};
use access::Access;
use database::Database;
use projector::Projector;
use rows::ReadyStep;
use writer::{Scrub, Writer};

/// Sessions in a SQLite file.
pub struct SqliteStore {
    // In the order in which they must end: the projector writes through the writer.
    projector: Projector,
    writer: Writer,
    database: Database,
}

impl SqliteStore {
    /// Opens the store at `path`, and makes it, with the folders above it, if it is not there.
    ///
    /// The file can be read and written by its owner alone.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let (database, connection) = Database::open(path.as_ref())?;
        let is_scrub_due = database.is_scrub_due(&connection)?;
        let store = Self::over(database, connection);
        if is_scrub_due {
            store.projector.scrub();
        }
        Ok(store)
    }

    /// Opens the store at `path` only if it is there. One that can't be written can still be read.
    pub fn open_existing(path: impl AsRef<Path>) -> Result<Option<Self>, StoreError> {
        let path = path.as_ref();
        match path.try_exists() {
            Ok(true) => match Self::open(path) {
                Err(
                    error @ (StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. } | StoreError::Full { .. }),
                ) => Self::open_to_read(path, error).map(Some),
                opened => opened.map(Some),
            },
            Ok(false) => Ok(None),
            Err(source) => Err(StoreError::CannotOpen { path: path.to_owned(), source: std::sync::Arc::new(source) }),
        }
    }

    /// Opens the store at `path`, which can't be written, because of `error`.
    fn open_to_read(path: &Path, error: StoreError) -> Result<Self, StoreError> {
        for access in Access::to_read(path) {
            match Database::open_to_read(path, *access) {
                Ok((database, connection)) => return Ok(Self::over(database, connection)),
                // Why it can't be written says more.
                Err(StoreError::ReadOnly { .. } | StoreError::CannotOpen { .. } | StoreError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(error)
    }

    fn over(database: Database, connection: Connection) -> Self {
        let writer = Writer::new(database.clone(), connection);
        let projector = Projector::start(database.clone(), writer.handle());
        Self { projector, writer, database }
    }

    /// The version of the tables in the file.
    pub async fn schema(&self) -> Result<u32, StoreError> {
        self.database.read(database::schema).await
    }

    /// Writes something that changes nothing; fails if nothing can be written.
    pub async fn try_to_write(&self) -> Result<(), StoreError> {
        let sql = "UPDATE meta SET value = value WHERE key = 'id'";
        self.writer.write(move |db| db.execute(sql, []).map(|_| ())).await
    }

    /// Removes what was deleted from the files, as soon as nobody reads.
    ///
    /// The sessions are gone by then. Should the files not be scrubbed now, they will be at the next delete or opening.
    async fn scrub(&self, scrub: Scrub) {
        const TRIES: u32 = 100;
        const PAUSE: Duration = Duration::from_millis(50);
        for _ in 0..TRIES {
            match self.writer.scrub(scrub).await {
                Ok(()) => return,
                Err(StoreError::Locked { .. }) => {}
                Err(error) => return tracing::warn!(%error, "what was deleted could not be removed from the files yet"),
            }
            if tokio::task::spawn_blocking(|| std::thread::sleep(PAUSE)).await.is_err() {
                return;
            }
        }
        tracing::warn!("what was deleted could not be removed from the files yet: someone reads them");
    }

    /// Searches what was written until now.
    async fn search_index(&self, query: &SearchQuery) -> Result<Vec<Hit>, StoreError> {
        match self.projector.catch_up().await {
            // What is in the index can be found all the same.
            Err(error @ (StoreError::Full { .. } | StoreError::Locked { .. } | StoreError::ReadOnly { .. })) => {
                tracing::warn!(%error, "the search index does not know what was written last");
            }
            done => done?,
        }
        let query = query.clone();
        self.database.read(move |db| searches::search(db, &query)).await
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.database.path()
    }
}

/// Makes steps ready to be written. What is big is compressed on a thread where that may take its time.
async fn make_ready(steps: Vec<Step>) -> Result<Vec<ReadyStep>, StoreError> {
    let make = |steps: Vec<Step>| steps.into_iter().map(ReadyStep::new).collect();
    if steps.iter().any(ReadyStep::is_big) {
        tokio::task::spawn_blocking(move || make(steps)).await.map_err(|_| StoreError::Closed)?
    } else {
        make(steps)
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create(&self, session: Session) -> Result<(), StoreError> {
        self.writer.write(move |db| rows::insert_session(db, &session)).await
    }

    async fn session(&self, session: &SessionId) -> Result<Session, StoreError> {
        let session = session.clone();
        self.database.read(move |db| Ok(rows::find_session(db, &session)?.1)).await
    }

    async fn head(&self, session: &SessionId) -> Result<EntryNumber, StoreError> {
        let session = session.clone();
        self.database.read(move |db| Ok(read::end_of(db, &session)?.1)).await
    }

    async fn resolve(&self, owner: &str, prefix: &str) -> Result<SessionId, StoreError> {
        let (owner, prefix) = (owner.to_owned(), prefix.to_owned());
        self.database.read(move |db| lists::resolve(db, &owner, &prefix)).await
    }

    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        let (session, owner) = (session.clone(), owner.clone());
        self.writer.write(move |db| leases::acquire(db, &session, &owner, crate::now())).await
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.write(move |db| leases::renew(db, &lease, crate::now())).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.write(move |db| leases::release(db, &lease)).await
    }

    async fn append(
        &self,
        lease: &Lease,
        after: EntryNumber,
        steps: Vec<Step>,
        facts: Vec<Fact>,
    ) -> Result<EntryNumber, StoreError> {
        let lease = lease.clone();
        let ends_turn = append::ends_turn(&steps);
        let steps = make_ready(steps).await?;
        let (log, last) = self.writer.write(move |db| append::append(db, &lease, after, &steps, &facts)).await?;
        if ends_turn {
            self.projector.project(log);
        }
        Ok(last)
    }

    async fn tell(&self, session: &SessionId, facts: Vec<Fact>) -> Result<(), StoreError> {
        let session = session.clone();
        self.writer.write(move |db| append::tell(db, &session, &facts)).await
    }

    async fn flush(&self) -> Result<(), StoreError> {
        self.database.flush().await
    }

    async fn read(&self, session: &SessionId, after: EntryNumber) -> Result<Vec<Entry>, StoreError> {
        let session = session.clone();
        self.database.read(move |db| read::page(db, &session, after)).await
    }

    async fn replay(&self, session: &SessionId, place: ReplayPlace) -> Result<ReplayPage, StoreError> {
        let session = session.clone();
        self.database.read(move |db| read::replay_page(db, &session, place)).await
    }

    async fn list(&self, filter: &ListFilter, cursor: Option<&Cursor>, limit: u32) -> Result<Page, StoreError> {
        let (filter, cursor) = (filter.clone(), cursor.cloned());
        self.database.read(move |db| lists::list(db, &filter, cursor.as_ref(), limit, crate::now())).await
    }

    async fn fork(
        &self,
        source: &SessionId,
        at: EntryNumber,
        fork: SessionId,
        now: Timestamp,
        facts: Vec<Fact>,
    ) -> Result<Session, StoreError> {
        let source = source.clone();
        let known = {
            let source = source.clone();
            self.database.read(move |db| fork::known_at(db, &source, at)).await?
        };
        self.writer
            .write_slowly(move |db| fork::fork(db, &source, known.clone(), at, fork.clone(), now, facts.clone()))
            .await
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        let session = session.clone();
        self.writer.write_slowly(move |db| delete::delete(db, &session, crate::now())).await?;
        self.scrub(Scrub::Quick).await;
        Ok(())
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, StoreError> {
        match self.search_index(query).await {
            Err(error @ StoreError::IndexDamaged { .. }) => {
                tracing::warn!(%error, "it is made again");
                match self.writer.write_slowly(index::reset).await {
                    // That it is damaged says more than that nothing can be done about it here.
                    Err(StoreError::ReadOnly { .. }) => Err(error),
                    done => done.map(|()| self.search_index(query))?.await,
                }
            }
            done => done,
        }
    }

    async fn stats(&self, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
        self.database.read(move |db| stats::stats(db, day)).await
    }

    async fn verify(&self) -> Result<VerifyReport, StoreError> {
        self.database.read(|db| Ok(verify::verify(db))).await
    }

    async fn prune(&self, retention: &Retention, now: Timestamp, run: Run) -> Result<Vec<Pruned>, StoreError> {
        let retention = retention.clone();
        let pruned = self.database.read(move |db| delete::to_prune(db, &retention, now)).await?;
        if run == Run::Dry || pruned.is_empty() {
            return Ok(pruned);
        }
        let mut done = Vec::new();
        // One by one, so that writers wait for one session only.
        for one in pruned {
            let session = one.session.clone();
            match self.writer.write_slowly(move |db| delete::delete(db, &session, now)).await {
                // Someone else was faster, or has begun a turn since.
                Err(StoreError::SessionNotFound { .. } | StoreError::InUse { .. }) => {}
                deleted => deleted.map(|()| done.push(one))?,
            }
        }
        self.scrub(Scrub::Whole).await;
        Ok(done)
    }

    async fn remove_empty(&self, before: Timestamp, run: Run) -> Result<u64, StoreError> {
        let found = self.database.read(move |db| delete::find_empty(db, before, crate::now())).await?;
        if run == Run::Dry || found.is_empty() {
            return Ok(found.len() as u64);
        }
        self.writer.write_slowly(move |db| delete::remove_empty(db, before, crate::now())).await
    }
}
