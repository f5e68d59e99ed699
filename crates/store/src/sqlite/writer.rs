//! Writing: one connection, and whoever finds it free does the work of all who wait.
//!
//! Work is put in a queue, and then someone leads: takes the connection and commits what is in the queue, together. What
//! arrives while a commit runs shares the next one. Quick work, such as an append, is led by the caller itself, since
//! waking a thread takes longer than the commit; work that may take its time is led on a thread where it may. Each piece
//! of work is whole or not at all: one that is refused has written nothing, and should one fail, all that shared its
//! transaction are done again, each alone. Nobody is told that their work is done before it is committed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::database::{Database, Db, Patience};
use super::index;
use crate::StoreError;

/// How much work shares a commit.
const GROUP: usize = 128;

/// After this many commits, it is looked how long the write-ahead log is.
const COMMITS_BETWEEN_LOOKS: u32 = 16;

/// A write-ahead log of so many pages is written back into the file.
const LONG_LOG: u32 = 4_000;

/// Tells someone how something ended.
type Reply = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Work inside a transaction, and whoever waits for it.
trait Work: Send {
    /// Does the work; may be called again after the transaction was rolled back.
    fn attempt(&mut self, db: &Db<'_>) -> Result<(), StoreError>;

    /// Tells whoever waits how the last attempt ended, or why it could not be committed.
    fn reply(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<T, F> {
    work: F,
    outcome: Option<Result<T, StoreError>>,
    sender: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Db<'_>) -> Result<T, StoreError> + Send> Work for Waiting<T, F> {
    fn attempt(&mut self, db: &Db<'_>) -> Result<(), StoreError> {
        // Whoever asked for it has given it up before it began.
        if self.sender.is_closed() {
            return Ok(());
        }
        let outcome = self.outcome.insert((self.work)(db));
        outcome.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn reply(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // Nobody may be waiting any more; the work is done all the same.
        let _ = self.sender.send(outcome);
    }
}

enum Job {
    /// Work that takes no longer than a commit does.
    Quick(Box<dyn Work>),
    /// Work that may take its time.
    Slow(Box<dyn Work>),
    /// What can't be done inside a transaction.
    Alone(Alone),
}

enum Alone {
    /// Remove what was deleted from the files, once for all who wait for it.
    Scrub(Scrub, Vec<Reply>),
    /// Write the write-ahead log back into the file.
    Checkpoint,
}

/// How thoroughly to remove what was deleted from the files.
///
/// SQLite overwrites what is deleted, but when it moves rows between pages it leaves copies in the unused parts of
/// pages. Only writing the whole file anew removes those, which takes time in proportion to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Scrub {
    /// As thoroughly as nobody notices: whole if the file is small.
    Quick,
    /// Whole, however long it takes.
    Whole,
}

/// A file of at most this many bytes is written anew in a moment.
const SMALL: u64 = 64 * 1024 * 1024;

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
        work: impl FnMut(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
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
        work: impl FnMut(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.push(Job::Slow(work));
        self.lead_on_thread();
        done.await.map_err(|_| StoreError::Closed)?
    }

    /// Removes what was deleted from the files.
    pub(super) async fn scrub(&self, scrub: Scrub) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.handle.shared.push_scrub(scrub, reply_to(sender));
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
        if let Some(WriteConnection { connection, .. }) = connection {
            shared.database.before_close(&connection);
        }
    }
}

impl WriterHandle {
    /// As [`Writer::write_slowly`], for a thread that may wait.
    pub(super) fn write_here<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (work, done) = pack(work);
        self.shared.queue().push_back(Job::Slow(work));
        self.shared.lead(Leader::Thread);
        done.blocking_recv().map_err(|_| StoreError::Closed)?
    }

    /// As [`Writer::scrub`], for a thread that may wait.
    pub(super) fn scrub_here(&self, scrub: Scrub) -> Result<(), StoreError> {
        let (sender, done) = oneshot::channel();
        self.shared.push_scrub(scrub, reply_to(sender));
        self.shared.lead(Leader::Thread);
        done.blocking_recv().map_err(|_| StoreError::Closed)?
    }
}

/// Packs `work` together with whoever waits for it.
fn pack<T: Send + 'static>(
    work: impl FnMut(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Box<dyn Work>, oneshot::Receiver<Result<T, StoreError>>) {
    let (sender, done) = oneshot::channel();
    (Box::new(Waiting { work, outcome: None, sender }), done)
}

/// Tells whoever waits. Nobody may be waiting any more.
fn reply_to(sender: oneshot::Sender<Result<(), StoreError>>) -> Reply {
    Box::new(move |done| drop(sender.send(done)))
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Job>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for a scrub. One that has not begun will do: what is to be removed was deleted before.
    fn push_scrub(&self, scrub: Scrub, reply: Reply) {
        let mut queue = self.queue();
        let waiting = queue.iter_mut().find_map(|job| match job {
            Job::Alone(Alone::Scrub(scrub, replies)) => Some((scrub, replies)),
            Job::Alone(Alone::Checkpoint) | Job::Quick(_) | Job::Slow(_) => None,
        });
        match waiting {
            Some((waiting, replies)) => {
                *waiting = scrub.max(*waiting);
                replies.push(reply);
            }
            None => queue.push_back(Job::Alone(Alone::Scrub(scrub, vec![reply]))),
        }
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
    fn take_group(&self, leader: Leader) -> (Vec<Box<dyn Work>>, Option<Alone>) {
        let (mut queue, mut group) = (self.queue(), Vec::new());
        while group.len() < GROUP {
            match queue.pop_front() {
                Some(Job::Quick(work)) => group.push(work),
                Some(Job::Slow(work)) if leader == Leader::Thread => group.push(work),
                Some(Job::Alone(alone)) if leader == Leader::Thread => return (group, Some(alone)),
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
            let (group, alone) = self.take_group(leader);
            if group.is_empty() && alone.is_none() {
                return true;
            }
            if let Some(undone) = connection.commit(&self.database, group, leader) {
                let mut queue = self.queue();
                undone.into_iter().rev().for_each(|work| queue.push_front(Job::Quick(work)));
                return false;
            }
            match alone {
                Some(Alone::Scrub(scrub, replies)) => {
                    let done = connection.scrub(&self.database, scrub);
                    for reply in replies {
                        reply(done.clone());
                    }
                }
                Some(Alone::Checkpoint) => connection.checkpoint(&self.database),
                None => {}
            }
            if connection.is_log_long(&self.database) {
                self.queue().push_back(Job::Alone(Alone::Checkpoint));
                return leader == Leader::Thread;
            }
        }
    }
}

impl WriteConnection {
    /// Does the work of `group` in one transaction if it can be, and tells everyone how it ended.
    ///
    /// Gives the work back if another process writes and the leader may not wait for it.
    fn commit(
        &mut self,
        database: &Database,
        mut group: Vec<Box<dyn Work>>,
        leader: Leader,
    ) -> Option<Vec<Box<dyn Work>>> {
        if group.is_empty() {
            return None;
        }
        let mut has_begun = false;
        let committed = self.transaction(database, |db| {
            has_begun = true;
            group.iter_mut().try_for_each(|work| attempt(db, work.as_mut()))
        });
        match committed {
            Err(StoreError::Locked { .. }) if !has_begun && leader == Leader::Caller => return Some(group),
            Err(ref error) if has_begun && (group.len() > 1 || is_index_damaged(error)) => {
                for mut work in group {
                    let committed = self.commit_alone(database, work.as_mut());
                    work.reply(committed);
                }
            }
            committed => group.into_iter().for_each(|work| work.reply(committed.clone())),
        }
        None
    }

    /// Does some work in a transaction of its own. Should the search index be damaged, it is emptied, to be made again
    /// behind the writer's back, and the work is done again.
    fn commit_alone(&mut self, database: &Database, work: &mut dyn Work) -> Result<(), StoreError> {
        match self.transaction(database, |db| attempt(db, work)) {
            Err(error) if is_index_damaged(&error) => {
                tracing::warn!(%error, "it is made again");
                self.transaction(database, index::reset)?;
                self.transaction(database, |db| attempt(db, work))
            }
            done => done,
        }
    }

    /// Runs `work` in a transaction; what it wrote is kept if it succeeds.
    fn transaction(
        &mut self,
        database: &Database,
        work: impl FnOnce(&Db<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.commits += 1;
        let db = database.on(&self.connection);
        db.execute("BEGIN IMMEDIATE", [])?;
        let done = database.check_writable(&self.connection).and_then(|()| work(&db));
        let done = done.and_then(|()| db.execute("COMMIT", []).map(|_| ()));
        if done.is_err() && !self.connection.is_autocommit() {
            db.execute("ROLLBACK", [])?;
        }
        done
    }

    /// Fails with [`StoreError::Locked`], without waiting, while someone reads.
    fn scrub(&self, database: &Database, scrub: Scrub) -> Result<(), StoreError> {
        database.check_files()?;
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
        let written =
            database.check_files().and_then(|()| db.query_one("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
        if let Err(error) = written {
            tracing::warn!(%error, "the write-ahead log could not be written back; it grows");
        }
    }
}

fn is_index_damaged(error: &StoreError) -> bool {
    matches!(error, StoreError::IndexDamaged { .. })
}

/// Does some work. What is refused has written nothing, so that the transaction can go on.
fn attempt(db: &Db<'_>, work: &mut dyn Work) -> Result<(), StoreError> {
    match work.attempt(db) {
        Err(error) if !error.is_refusal() => Err(error),
        _ => Ok(()),
    }
}
