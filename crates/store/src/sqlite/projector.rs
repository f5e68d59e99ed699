//! The thread that makes the replay form and the search index out of entries.
//!
//! Both can always be made again, so nobody waits for them but a search. Entries are folded outside any transaction;
//! only the result is written, and only if the log still stands where the fold began.

use std::collections::HashSet;

use rejoin_transcript::{Entry, EntryNumber, Fold, Item, Replay, Replayed, StepKind, View};
use rusqlite::{Row, params};
use tokio::sync::{mpsc, oneshot};

use super::content;
use super::database::{Database, Db};
use super::read::{self, Stretch};
use super::rows::{Log, find_session};
use super::writer::{JoinOnDrop, WriterHandle};
use crate::StoreError;
use crate::cut::{Address, LONGEST_INLINE, cut_strings, write_holes};
use crate::replay::push_lines;
use crate::search::index_text;

/// A stored piece of a replay grows to this many bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// A segment, which is held in memory, to this many.
const SEGMENT_BYTES: usize = 8 * 1024 * 1024;

enum Job {
    Project(Log),
    CatchUp(oneshot::Sender<Result<(), StoreError>>),
}

/// Ends when dropped, after what it is doing.
pub(super) struct Projector {
    // Dropped first, so that the thread sees that no more work will come.
    jobs: mpsc::UnboundedSender<Job>,
    _thread: JoinOnDrop,
}

impl Projector {
    pub(super) fn start(database: Database, writer: WriterHandle) -> Self {
        let (jobs, mut queue) = mpsc::unbounded_channel();
        let thread = std::thread::spawn(move || {
            while let Some(job) = queue.blocking_recv() {
                match job {
                    Job::Project(log) => {
                        if let Err(error) = database.read_here(|db| project(db, &writer, log)) {
                            tracing::warn!(%error, log = log.0, "could not seal a turn; it will be tried again");
                        }
                    }
                    Job::CatchUp(reply) => drop(reply.send(database.read_here(|db| catch_up(db, &writer)))),
                }
            }
        });
        Self { jobs, _thread: JoinOnDrop::new(thread) }
    }

    /// Asks for `log` to be projected some time soon.
    pub(super) fn project(&self, log: Log) {
        // Should the thread be gone, the log stays marked as pending.
        let _ = self.jobs.send(Job::Project(log));
    }

    /// Waits until everything written so far is in the index.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        let (reply, done) = oneshot::channel();
        self.jobs.send(Job::CatchUp(reply)).map_err(|_| StoreError::Closed)?;
        done.await.map_err(|_| StoreError::Closed)?
    }
}

fn catch_up(db: &Db<'_>, writer: &WriterHandle) -> Result<(), StoreError> {
    let logs = db.query_all("SELECT id FROM log WHERE pending", [], |row| row.get(0).map(Log))?;
    for log in logs {
        match project(db, writer, log) {
            // A damaged session must not keep the others from being found.
            Err(StoreError::Damaged { what, .. }) => tracing::warn!(what, log = log.0, "could not index a session"),
            other => other?,
        }
    }
    Ok(())
}

/// Where a log's projections stand.
struct Standing {
    after: EntryNumber,
    is_pending: bool,
}

fn find_standing(db: &Db<'_>, log: Log) -> Result<Option<Standing>, StoreError> {
    let read = |row: &Row<'_>| Ok(Standing { after: EntryNumber::new(row.get(0)?), is_pending: row.get(1)? });
    db.query_one("SELECT sealed, pending FROM log WHERE id = ?1", [log.0], read)
}

/// Seals the ended turns of `log`, and indexes what comes behind them for now.
fn project(db: &Db<'_>, writer: &WriterHandle, log: Log) -> Result<(), StoreError> {
    let Some(standing) = find_standing(db, log)?.filter(|standing| standing.is_pending) else { return Ok(()) };
    let upto = read::head(db, log)?;
    let mut segment = Segment::begin(standing.after);
    let mut after = standing.after;
    while after < upto {
        let page = read::page_of(db, Stretch { log, after, upto })?;
        let Some(last) = page.last() else { break };
        after = last.number;
        for entry in &page {
            segment.push(entry);
            if entry.step.kind == StepKind::TurnEnded || segment.bytes > SEGMENT_BYTES {
                let next = Segment::begin(entry.number);
                let sealed = std::mem::replace(&mut segment, next).seal(db)?;
                if !writer.write_blocking(move |db| write_segment(db, log, &sealed))? {
                    // Someone else was faster, or the log is gone.
                    return Ok(());
                }
            }
        }
    }
    let (begin, open) = (segment.after, segment.passages());
    writer.write_blocking(move |db| write_open(db, log, begin, &open, upto))
}

/// A stretch of entries that is being folded.
struct Segment {
    /// It begins behind this entry.
    after: EntryNumber,
    last: EntryNumber,
    bytes: usize,
    replay: Replay,
    replayed: Vec<Replayed>,
    view: Fold,
    /// The big content in it.
    contents: HashSet<Address>,
}

/// A segment that is finished.
struct Sealed {
    after: EntryNumber,
    last: EntryNumber,
    pieces: Vec<Piece>,
    passages: Vec<Passage>,
}

/// A piece of the replay form, as it is stored.
struct Piece {
    /// In the last piece of a segment.
    states: Option<String>,
    holes: Option<Vec<u8>>,
    packed: Vec<u8>,
}

/// A message, or a tool call's title, to be found by its words.
struct Passage {
    first: EntryNumber,
    last: EntryNumber,
    /// The text as it is indexed.
    indexed: String,
}

impl Segment {
    fn begin(after: EntryNumber) -> Self {
        Self {
            after,
            last: after,
            bytes: 0,
            replay: Replay::default(),
            replayed: Vec::new(),
            view: Fold::default(),
            contents: HashSet::new(),
        }
    }

    fn push(&mut self, entry: &Entry) {
        let body = entry.step.body.as_str();
        self.bytes += body.len();
        self.last = entry.number;
        if body.len() > LONGEST_INLINE {
            self.contents.extend(cut_strings(body, |_| true).holes.into_iter().map(|(_, address)| address));
        }
        self.replayed.extend(self.replay.push(entry));
        self.view.push(entry);
    }

    fn seal(mut self, db: &Db<'_>) -> Result<Sealed, StoreError> {
        let (last, states) = self.replay.finish();
        self.replayed.extend(last);
        let states = serde_json::to_string(&states).map_err(|error| db.damaged(error.to_string()))?;
        let (mut pieces, mut lines) = (Vec::new(), String::new());
        for one in &self.replayed {
            if lines.len() > PIECE_BYTES {
                pieces.push(Piece::new(db, &std::mem::take(&mut lines), None, &self.contents)?);
            }
            push_lines(&mut lines, std::slice::from_ref(one));
        }
        pieces.push(Piece::new(db, &lines, Some(states), &self.contents)?);
        let passages = passages(self.view.finish());
        Ok(Sealed { after: self.after, last: self.last, pieces, passages })
    }

    fn passages(self) -> Vec<Passage> {
        passages(self.view.finish())
    }
}

impl Piece {
    /// A piece with these `lines`, out of which those of the big `contents` are cut that are kept anyway.
    fn new(db: &Db<'_>, lines: &str, states: Option<String>, contents: &HashSet<Address>) -> Result<Self, StoreError> {
        let cut = cut_strings(lines, |address| contents.contains(address));
        let holes = (!cut.holes.is_empty()).then(|| write_holes(&cut.holes));
        Ok(Self { states, holes, packed: content::pack(db, &cut.rest)? })
    }

    fn checksum(&self) -> u32 {
        read::piece_checksum(self.states.as_deref(), self.holes.as_deref(), &self.packed)
    }
}

fn passages(view: View) -> Vec<Passage> {
    let passage = |item: Item| {
        let indexed = index_text(&item.searchable_text()?);
        Some(Passage { first: item.first, last: item.last, indexed })
    };
    view.items.into_iter().filter_map(passage).collect()
}

/// Writes a sealed segment; says no if the log does not stand where the segment begins.
fn write_segment(db: &Db<'_>, log: Log, sealed: &Sealed) -> Result<bool, StoreError> {
    if !stands_at(db, log, sealed.after)? {
        return Ok(false);
    }
    let (start, end) = (log.row(EntryNumber::START), log.last_row());
    let newest =
        db.query_one("SELECT max(id) FROM replay WHERE id > ?1 AND id <= ?2", [start, end], |row| row.get(0))?;
    let mut id = newest.flatten().unwrap_or(start);
    for piece in &sealed.pieces {
        id += 1;
        db.execute(
            "INSERT INTO replay (id, first, last, states, holes, checksum, packed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                id,
                sealed.after.next().get(),
                sealed.last.get(),
                piece.states,
                piece.holes,
                piece.checksum(),
                piece.packed
            ],
        )?;
    }
    forget_passages(db, log, sealed.after)?;
    sealed.passages.iter().try_for_each(|passage| add_passage(db, log, passage))?;
    db.execute("UPDATE log SET sealed = ?2 WHERE id = ?1", params![log.0, sealed.last.get()])?;
    Ok(true)
}

/// Indexes the entries behind `after` up to `upto`, until they are sealed, and the title.
fn write_open(
    db: &Db<'_>,
    log: Log,
    after: EntryNumber,
    open: &[Passage],
    upto: EntryNumber,
) -> Result<(), StoreError> {
    if !stands_at(db, log, after)? {
        return Ok(());
    }
    forget_passages(db, log, after)?;
    open.iter().try_for_each(|passage| add_passage(db, log, passage))?;
    index_title(db, log)?;
    if read::head(db, log)? == upto {
        db.execute("UPDATE log SET pending = 0 WHERE id = ?1", [log.0])?;
    }
    Ok(())
}

fn stands_at(db: &Db<'_>, log: Log, after: EntryNumber) -> Result<bool, StoreError> {
    Ok(find_standing(db, log)?.is_some_and(|standing| standing.after == after))
}

fn add_passage(db: &Db<'_>, log: Log, passage: &Passage) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO passage (log, first, last) VALUES (?1, ?2, ?3)",
        params![log.0, passage.first.get(), passage.last.get()],
    )?;
    index(db, db.connection.last_insert_rowid(), &passage.indexed)
}

/// Indexes the session's title, if it is another one than before.
fn index_title(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let session: Option<String> = db.query_one("SELECT id FROM session WHERE log = ?1", [log.0], |row| row.get(0))?;
    let Some(session) = session.and_then(|id| rejoin_transcript::SessionId::parse(id).ok()) else { return Ok(()) };
    let (_, session) = find_session(db, &session)?;
    let indexed: Option<String> =
        db.query_one("SELECT text FROM passage WHERE log = ?1 AND first = 0", [log.0], |row| row.get(0))?;
    if indexed.as_deref() == session.facts.title() {
        return Ok(());
    }
    forget_title(db, log)?;
    let Some(title) = session.facts.title() else { return Ok(()) };
    db.execute("INSERT INTO passage (log, first, last, text) VALUES (?1, 0, 0, ?2)", params![log.0, title])?;
    index(db, db.connection.last_insert_rowid(), &index_text(title))
}

fn index(db: &Db<'_>, passage: i64, indexed: &str) -> Result<(), StoreError> {
    db.execute("INSERT INTO passage_text (rowid, text) VALUES (?1, ?2)", params![passage, indexed])?;
    Ok(())
}

/// Takes the title of the session of `log` out of the index.
pub(super) fn forget_title(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, String>(1)?));
    let found = db.query_one("SELECT id, text FROM passage WHERE log = ?1 AND first = 0", [log.0], read)?;
    match found {
        Some((passage, title)) => forget(db, passage, &title),
        None => Ok(()),
    }
}

/// Takes the passages of `log` that begin behind `after` out of the index.
pub(super) fn forget_passages(db: &Db<'_>, log: Log, after: EntryNumber) -> Result<(), StoreError> {
    let sql = "SELECT id, first, last FROM passage WHERE log = ?1 AND first > ?2";
    let read = |row: &Row<'_>| Ok((row.get(0)?, EntryNumber::new(row.get(1)?), EntryNumber::new(row.get(2)?)));
    for (passage, first, last) in db.query_all(sql, params![log.0, after.get()], read)? {
        let text = passage_text(db, log, first, last)?.unwrap_or_default();
        forget(db, passage, &text)?;
    }
    Ok(())
}

fn forget(db: &Db<'_>, passage: i64, text: &str) -> Result<(), StoreError> {
    // The index holds no text: to take words out, it must be told which.
    db.execute(
        "INSERT INTO passage_text (passage_text, rowid, text) VALUES ('delete', ?1, ?2)",
        params![passage, index_text(text)],
    )?;
    db.execute("DELETE FROM passage WHERE id = ?1", [passage])?;
    Ok(())
}

/// The text of the passage in the entries from `first` to `last`.
pub(super) fn passage_text(
    db: &Db<'_>,
    log: Log,
    first: EntryNumber,
    last: EntryNumber,
) -> Result<Option<String>, StoreError> {
    let mut view = Fold::default();
    let mut after = EntryNumber::new(first.get().saturating_sub(1));
    while after < last {
        let page = read::page_of(db, Stretch { log, after, upto: last })?;
        let Some(end) = page.last() else { break };
        after = end.number;
        for entry in &page {
            view.push(entry);
        }
    }
    let item = view.finish().items.into_iter().find(|item| item.first == first);
    Ok(item.and_then(|item| item.searchable_text()))
}
