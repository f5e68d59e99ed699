//! Writing: one connection, and whoever finds it free does the work of all who wait.
//!
//! Work is put in a queue, and then someone leads: takes the connection and commits what is in the queue, together. What
//! arrives while a commit runs shares the next one. Quick work, such as an append, is led by the caller itself, since
//! waking a thread takes longer than the commit; work that may take its time is led on a thread where it may. Each piece
//! of work is whole or not at all: should one fail, it is rolled back alone. Nobody is told that their work is done before
//! it is committed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::database::{Database, Db, Patience};
use crate::StoreError;

/// How much work shares a commit.
const GROUP: usize = 128;

/// After this many commits, it is looked how long the write-ahead log is.
const COMMITS_BETWEEN_LOOKS: u32 = 64;

/// A write-ahead log of so many pages is written back into the file.
const LONG_LOG: u32 = 4_000;

/// Tells someone how their work ended, once the commit has.
type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Work inside a transaction, or the reason why there is none. Gives the reply, and whether to keep what was written.
type Work = Box<dyn FnOnce(Result<&Db<'_>, StoreError>) -> (Reply, Kept) + Send>;

enum Job {
    /// Work that takes no longer than a commit does.
    Quick(Work),
    /// Work that may take its time.
    Slow(Work),
    /// Work whose commit, with all before it, must survive the loss of power.
    Flush(Work),
    /// Remove what was deleted from the files.
    Scrub(Scrub, Reply),
    /// Write the write-ahead log back into the file.
    Checkpoint,
}

/// How thoroughly to remove what was deleted from the files.
///
/// SQLite overwrites what is deleted, but when it moves rows between pages it leaves copies in the unused parts of
/// pages. Only writing the whole file anew removes those, which takes time in proportion to it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrub {
    /// As thoroughly as nobody notices: whole if the file is small.
    Quick,
    /// Whole, however long it takes.
    Whole,
}

/// A file of at most this many bytes is written anew in a moment.
const SMALL: u64 = 64 * 1024 * 1024;

/// Whether what some work wrote is to be kept.
enum Kept {
    Yes,
    No(StoreError),
}

/// How safe a commit is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Safety {
    /// Survives the death of the process.
    Process,
    /// Survives the loss of power, with everything before it.
    Power,
}

/// Where the one who leads runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leader {
    /// On a thread that others need, too: does quick work, and waits for nothing.
    Caller,
    /// On a thread of its own.
    Thread,
}

/// The store's end of the queue. Closes the connection when dropped, after the work that is being done.
pub(super) struct Writer {
    handle: WriterHandle,
}

/// Gives work to the writer.
#[derive(Clone)]
pub(super) struct WriterHandle {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    queue: Mutex<VecDeque<Job>>,
    /// Whoever holds this leads. Empty once the store is closed.
    connection: Mutex<Option<WriteConnection>>,
}

struct WriteConnection {
    connection: Connection,
    commits: u32,
}

impl Writer {
    pub(super) fn new(database: Database, connection: Connection) -> Self {
        let connection = Mutex::new(Some(WriteConnection { connection, commits: 0 }));
        let shared = Shared { database, queue: Mutex::default(), connection };
        Self { handle: WriterHandle { shared: Arc::new(shared) } }
    }

    pub(super) fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Runs `work`, which takes no longer than a commit does, in a transaction; returns once it is committed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, mut done) = pack(work);
        self.push(Job::Quick(work));
        // Those who come at the same moment share the commit.
        tokio::task::yield_now().await;
        if let Ok(done) = done.try_recv() {
            return done;
        }
        self.handle.shared.lead(Leader::Caller);
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Runs `work`, which may take its time, in a transaction; returns once it is committed.
    pub(super) async fn write_slowly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.push(Job::Slow(work));
        self.lead_on_thread();
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Makes everything written so far survive the loss of power.
    pub(super) async fn flush(&self) -> Result<(), StoreError> {
        // Only a commit that writes something is synced.
        let mark = "UPDATE meta SET value = value + 1 WHERE key = 'flushes'";
        let (work, done) = pack(move |db| db.execute(mark, []).map(|_| ()));
        self.push(Job::Flush(work));
        self.lead_on_thread();
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes what was deleted from the files.
    pub(super) async fn scrub(&self, scrub: Scrub) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.push(Job::Scrub(scrub, reply_to(sender, ())));
        self.lead_on_thread();
        done.await.map_err(|_| StoreError::Closed)?
    }

    fn push(&self, job: Job) {
        self.handle.shared.queue().push_back(job);
    }

    fn lead_on_thread(&self) {
        Shared::lead_on_thread(&self.handle.shared);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let shared = &self.handle.shared;
        let connection = shared.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The connection that writes must be the last, since only that one can tidy up.
        shared.database.close_readers();
        drop(connection);
    }
}

impl WriterHandle {
    /// As [`Writer::write_slowly`], for a thread that may wait.
    pub(super) fn write_here<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.shared.queue().push_back(Job::Slow(work));
        self.shared.lead(Leader::Thread);
        done.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// As [`Writer::scrub`], for a thread that may wait.
    pub(super) fn scrub_here(&self, scrub: Scrub) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.shared.queue().push_back(Job::Scrub(scrub, reply_to(sender, ())));
        self.shared.lead(Leader::Thread);
        done.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}

/// Packs `work` together with whoever waits for it.
fn pack<T: Send + 'static>(
    work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Work, oneshot::Receiver<Result<T, StoreError>>) {
    let (sender, done) = oneshot::channel();
    let work: Work = Box::new(move |db| match db.and_then(work) {
        Ok(value) => (reply_to(sender, value), Kept::Yes),
        Err(error) => {
            let told = error.clone();
            (Box::new(move |_| drop(sender.send(Err(told)))), Kept::No(error))
        }
    });
    (work, done)
}

/// Gives `value` to whoever waits, once it is committed. Nobody may be waiting any more; the work is done all the same.
fn reply_to<T: Send + 'static>(sender: oneshot::Sender<Result<T, StoreError>>, value: T) -> Reply {
    Box::new(move |committed| drop(sender.send(committed.map(|()| value))))
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lead_on_thread(shared: &Arc<Self>) {
        let shared = Arc::clone(shared);
        tokio::task::spawn_blocking(move || shared.lead(Leader::Thread));
    }

    /// Does the work in the queue, unless someone else is at it already.
    ///
    /// Nothing is forgotten: a caller that finds the connection taken has put its work in the queue before, and whoever
    /// gives the connection back looks into the queue after. What is slow has a leader of its own, who waits.
    fn lead(self: &Arc<Self>, leader: Leader) {
        loop {
            let connection = match leader {
                Leader::Thread => self.connection.lock().unwrap_or_else(PoisonError::into_inner),
                Leader::Caller => match self.connection.try_lock() {
                    Ok(connection) => connection,
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                    Err(TryLockError::WouldBlock) => return,
                },
            };
            let is_done = self.do_all(connection, leader);
            if !is_done {
                // Another process writes, and this is no thread to wait on.
                return Self::lead_on_thread(self);
            }
            if !self.has_work_for(leader) {
                return;
            }
        }
    }

    fn has_work_for(&self, leader: Leader) -> bool {
        let queue = self.queue();
        queue.front().is_some_and(|job| leader == Leader::Thread || matches!(job, Job::Quick(_)))
    }

    /// Takes the work from the front of the queue that goes in one commit, and what comes behind it if that is alone.
    fn take_group(&self, leader: Leader) -> (Vec<Work>, Option<Job>) {
        let (mut queue, mut group) = (self.queue(), Vec::new());
        while group.len() < GROUP {
            match queue.pop_front() {
                Some(Job::Quick(work)) => group.push(work),
                Some(Job::Slow(work)) if leader == Leader::Thread => group.push(work),
                Some(job) if leader == Leader::Thread => return (group, Some(job)),
                Some(job) => {
                    queue.push_front(job);
                    break;
                }
                None => break,
            }
        }
        (group, None)
    }

    /// Does the work that is there for `leader`; says no if there is some that it may not wait for.
    fn do_all(&self, mut connection: MutexGuard<'_, Option<WriteConnection>>, leader: Leader) -> bool {
        let Some(connection) = connection.as_mut() else {
            // Whoever waits is told by the end of their channel.
            self.queue().clear();
            return true;
        };
        let patience = if leader == Leader::Thread { Patience::Usual } else { Patience::None };
        // A connection whose patience can't be set fails at the next step, and says why.
        let _ = self.database.set_patience(&connection.connection, patience);
        loop {
            let (mut group, alone) = self.take_group(leader);
            if group.is_empty() && alone.is_none() {
                return true;
            }
            let safety = match alone {
                Some(Job::Flush(work)) => {
                    group.push(work);
                    Safety::Power
                }
                Some(Job::Scrub(scrub, reply)) => {
                    connection.commit(&self.database, group, Safety::Process, leader);
                    reply(connection.scrub(&self.database, scrub));
                    continue;
                }
                Some(Job::Checkpoint) => {
                    connection.commit(&self.database, group, Safety::Process, leader);
                    connection.checkpoint(&self.database);
                    continue;
                }
                Some(Job::Quick(work) | Job::Slow(work)) => {
                    group.push(work);
                    Safety::Process
                }
                None => Safety::Process,
            };
            if let Some(undone) = connection.commit(&self.database, group, safety, leader) {
                let mut queue = self.queue();
                undone.into_iter().rev().for_each(|work| queue.push_front(Job::Quick(work)));
                return false;
            }
            if connection.is_log_long(&self.database) {
                self.queue().push_back(Job::Checkpoint);
                return leader == Leader::Thread;
            }
        }
    }
}

impl WriteConnection {
    /// Does the work of `group` in as few transactions as possible, and tells everyone how it ended.
    ///
    /// Gives the work back if another process writes and the leader may not wait for it.
    fn commit(&mut self, database: &Database, group: Vec<Work>, safety: Safety, leader: Leader) -> Option<Vec<Work>> {
        let is_alone = group.len() == 1;
        let mut group = group.into_iter().peekable();
        while group.peek().is_some() {
            let mut replies = Vec::new();
            let committed = self.transaction(database, safety, |db| {
                for work in group.by_ref() {
                    let (reply, outcome) = if is_alone { run_alone(db, work) } else { run_among_others(db, work) };
                    replies.push(reply);
                    outcome?;
                }
                Ok(())
            });
            if replies.is_empty() {
                // There was no transaction to work in.
                let error = committed.clone().err().unwrap_or(StoreError::Closed);
                if leader == Leader::Caller && matches!(error, StoreError::Locked { .. }) {
                    return Some(group.collect());
                }
                replies.extend(group.by_ref().map(|work| work(Err(error.clone())).0));
            }
            for reply in replies {
                reply(committed.clone());
            }
        }
        None
    }

    /// Runs `work` in a transaction; what it wrote is kept if it succeeds.
    fn transaction(
        &mut self,
        database: &Database,
        safety: Safety,
        work: impl FnOnce(&Db<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.commits += 1;
        let db = database.on(&self.connection);
        if safety == Safety::Power {
            db.execute("PRAGMA synchronous = FULL", [])?;
        }
        let done = db.execute("BEGIN IMMEDIATE", []).and_then(|_| {
            let done = database.check_schema(&self.connection).and_then(|()| work(&db));
            let done = done.and_then(|()| db.execute("COMMIT", []).map(|_| ()));
            if done.is_err() && !self.connection.is_autocommit() {
                db.execute("ROLLBACK", [])?;
            }
            done
        });
        if safety == Safety::Power {
            db.execute("PRAGMA synchronous = NORMAL", [])?;
        }
        done
    }

    /// Fails with [`StoreError::Locked`], without waiting, while someone reads.
    fn scrub(&self, database: &Database, scrub: Scrub) -> Result<(), StoreError> {
        let db = database.on(&self.connection);
        let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
        let size: u64 = db.query_one(sql, [], |row| row.get(0))?.unwrap_or_default();
        let is_whole = scrub == Scrub::Whole || size <= SMALL;
        if is_whole {
            db.execute("VACUUM", [])?;
            db.execute("UPDATE meta SET value = 0 WHERE key = 'scrub_due'", [])?;
        } else {
            db.query_all("PRAGMA incremental_vacuum", [], |_| Ok(()))?;
        }
        // The write-ahead log, too, still has what was deleted. Readers are not waited for: others want to write.
        database.set_patience(&self.connection, Patience::None)?;
        let is_busy = db.query_one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        database.set_patience(&self.connection, Patience::Usual)?;
        if is_busy? == Some(false) {
            return Ok(());
        }
        db.execute("UPDATE meta SET value = 1 WHERE key = 'scrub_due'", [])?;
        Err(StoreError::Locked { path: db.path().to_owned() })
    }

    /// Whether the write-ahead log should be written back. Looks only now and then.
    fn is_log_long(&mut self, database: &Database) -> bool {
        if self.commits < COMMITS_BETWEEN_LOOKS {
            return false;
        }
        self.commits = 0;
        let db = database.on(&self.connection);
        let pages = db.query_one("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get::<_, i64>(1));
        pages.is_ok_and(|pages| pages.is_some_and(|pages| pages > i64::from(LONG_LOG)))
    }

    /// Writes as much of the write-ahead log back as nobody reads. What is left is written another time.
    fn checkpoint(&self, database: &Database) {
        let db = database.on(&self.connection);
        if let Err(error) = db.query_one("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the write-ahead log could not be written back; it grows");
        }
    }
}

/// Runs the only work of a transaction. Where it fails, the transaction does.
fn run_alone(db: &Db<'_>, work: Work) -> (Reply, Result<(), StoreError>) {
    match work(Ok(db)) {
        (reply, Kept::Yes) => (reply, Ok(())),
        (reply, Kept::No(error)) => (reply, Err(error)),
    }
}

/// Runs work beside others. Where it fails, it is rolled back alone, unless SQLite has given the whole transaction up.
fn run_among_others(db: &Db<'_>, work: Work) -> (Reply, Result<(), StoreError>) {
    let begun = db.execute("SAVEPOINT work", []);
    let (reply, kept) = work(begun.as_ref().map(|_| db).map_err(Clone::clone));
    let outcome = begun.and_then(|_| match kept {
        Kept::Yes => db.execute("RELEASE work", []),
        Kept::No(error) if db.connection.is_autocommit() => Err(error),
        Kept::No(_) => db.execute("ROLLBACK TO work", []),
    });
    (reply, outcome.map(|_| ()))
}
