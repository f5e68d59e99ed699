//! The thread that writes.
//!
//! What arrives while a commit runs shares the next one. Each piece of work is whole or not at all: should one fail, it
//! is rolled back alone. Nobody is told that their work is done before it is committed.

use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::database::{Database, Db, Patience};
use crate::StoreError;

/// How much work may wait.
const QUEUE: usize = 256;

/// How much work shares a commit.
const GROUP: usize = 128;

/// Tells someone how their work ended, once the commit has.
type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Work inside a transaction, or the reason why there is none. Gives the reply, and whether to keep what was written.
type Work = Box<dyn FnOnce(Result<&Db<'_>, StoreError>) -> (Reply, Kept) + Send>;

enum Job {
    /// Work inside a transaction.
    Write(Work),
    /// Work whose commit, with all before it, must survive the loss of power.
    Flush(Work),
    /// Remove what was deleted from the files.
    Scrub(Scrub, Reply),
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

/// Ends when dropped, after the work that waits.
pub(super) struct Writer {
    // Dropped first, so that the thread sees that no more work will come.
    handle: WriterHandle,
    _thread: JoinOnDrop,
}

/// Gives work to the writer.
#[derive(Clone)]
pub(super) struct WriterHandle {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    pub(super) fn start(database: Database, connection: Connection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let thread = std::thread::spawn(move || WriterThread { database, connection, queue }.run());
        Self { handle: WriterHandle { jobs }, _thread: JoinOnDrop::new(thread) }
    }

    pub(super) fn handle(&self) -> WriterHandle {
        self.handle.clone()
    }

    /// Runs `work` in a transaction, and returns once it is committed.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.send(Job::Write(work)).await?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Makes everything written so far survive the loss of power.
    pub(super) async fn flush(&self) -> Result<(), StoreError> {
        // Only a commit that writes something is synced.
        let mark = "UPDATE meta SET value = value + 1 WHERE key = 'flushes'";
        let (work, done) = pack(move |db| db.execute(mark, []).map(|_| ()));
        self.send(Job::Flush(work)).await?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes what was deleted from the files.
    pub(super) async fn scrub(&self, scrub: Scrub) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.send(Job::Scrub(scrub, reply_to(sender, ()))).await?;
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes what was deleted from the files when there is time; nobody waits for it.
    pub(super) fn scrub_soon(&self) {
        let reply: Reply = Box::new(|done| {
            if let Err(error) = done {
                tracing::debug!(%error, "what was deleted could not be removed from the files yet");
            }
        });
        // A queue that is full has more urgent work.
        let _ = self.handle.jobs.try_send(Job::Scrub(Scrub::Quick, reply));
    }

    async fn send(&self, job: Job) -> Result<(), StoreError> {
        self.handle.jobs.send(job).await.map_err(|_| StoreError::Closed)
    }
}

impl WriterHandle {
    /// As [`Writer::write`], for a thread that may wait.
    pub(super) fn write_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.jobs.blocking_send(Job::Write(work)).map_err(|_| StoreError::Closed)?;
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

struct WriterThread {
    database: Database,
    connection: Connection,
    queue: mpsc::Receiver<Job>,
}

/// How safe a commit is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Safety {
    /// Survives the death of the process.
    Process,
    /// Survives the loss of power, with everything before it.
    Power,
}

impl WriterThread {
    fn run(mut self) {
        let mut jobs = Vec::with_capacity(GROUP);
        while self.queue.blocking_recv_many(&mut jobs, GROUP) > 0 {
            let mut group = Vec::new();
            for job in jobs.drain(..) {
                match job {
                    Job::Write(work) => group.push(work),
                    Job::Flush(work) => {
                        group.push(work);
                        self.commit(std::mem::take(&mut group), Safety::Power);
                    }
                    Job::Scrub(scrub, reply) => {
                        self.commit(std::mem::take(&mut group), Safety::Process);
                        reply(self.scrub(scrub));
                    }
                }
            }
            self.commit(group, Safety::Process);
        }
        self.database.close_readers();
    }

    /// Does the work of `group` in as few transactions as possible, and tells everyone how it ended.
    fn commit(&self, group: Vec<Work>, safety: Safety) {
        let is_alone = group.len() == 1;
        let mut group = group.into_iter().peekable();
        while group.peek().is_some() {
            let mut replies = Vec::new();
            let committed = self.transaction(safety, |db| {
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
                replies.extend(group.by_ref().map(|work| work(Err(error.clone())).0));
            }
            for reply in replies {
                reply(committed.clone());
            }
        }
    }

    /// Runs `work` in a transaction; what it wrote is kept if it succeeds.
    fn transaction(
        &self,
        safety: Safety,
        work: impl FnOnce(&Db<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let db = self.database.on(&self.connection);
        if safety == Safety::Power {
            db.execute("PRAGMA synchronous = FULL", [])?;
        }
        let done = db.execute("BEGIN IMMEDIATE", []).and_then(|_| {
            let done = self.database.check_schema(&self.connection).and_then(|()| work(&db));
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
    fn scrub(&self, scrub: Scrub) -> Result<(), StoreError> {
        let db = self.database.on(&self.connection);
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
        self.database.set_patience(&self.connection, Patience::None)?;
        let is_busy = db.query_one("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
        self.database.set_patience(&self.connection, Patience::Usual)?;
        if is_busy? == Some(false) {
            return Ok(());
        }
        db.execute("UPDATE meta SET value = 1 WHERE key = 'scrub_due'", [])?;
        Err(StoreError::Locked { path: db.path().to_owned() })
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

/// Waits for a thread to end.
pub(super) struct JoinOnDrop(Option<JoinHandle<()>>);

impl JoinOnDrop {
    pub(super) fn new(thread: JoinHandle<()>) -> Self {
        Self(Some(thread))
    }
}

impl Drop for JoinOnDrop {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A thread that panicked has nothing more to do.
            let _ = thread.join();
        }
    }
}
