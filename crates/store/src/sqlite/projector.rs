//! The thread that makes the replay form and the search index out of entries.
//!
//! Both can always be made again, so nobody waits for them but a search. Entries are folded outside any transaction;
//! only the result is written, and only if the log still stands where the fold began.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rejoin_transcript::{Entry, EntryNumber, Fold, Item, Replay, Replayed, States, Timestamp, View};
use rusqlite::{Row, params};
use tokio::sync::{mpsc, oneshot};

use super::content;
use super::database::{Database, Db};
use super::index::{self, PASSAGE, PassageRow, pending};
use super::read::{self, PieceRow, Stretch};
use super::rows::{Log, facts_in};
use super::writer::{Scrub, WriterHandle};
use crate::StoreError;
use crate::cut::{Address, cut, cut_strings, write_holes};
use crate::replay::push_lines;
use crate::search::index_text;

/// A stored piece of a replay grows to this many bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// When this many of the newest pieces are together not bigger than [`PACKED_BYTES`], they become one.
const JOINED_PIECES: usize = 16;

/// What pieces that are joined may take on disk.
const PACKED_BYTES: usize = 64 * 1024;

enum Job {
    Project(Log),
    CatchUp(oneshot::Sender<Result<(), StoreError>>),
    Scrub,
}

/// Ends when dropped, after what it is doing.
pub(super) struct Projector {
    /// Nothing once it ends.
    jobs: Option<mpsc::UnboundedSender<Job>>,
    is_closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Projector {
    pub(super) fn start(database: Database, writer: WriterHandle) -> Self {
        let (jobs, mut queue) = mpsc::unbounded_channel();
        let is_closing = Arc::new(AtomicBool::new(false));
        let work = Projection { writer, is_closing: Arc::clone(&is_closing) };
        let thread = std::thread::spawn(move || {
            while let Some(job) = queue.blocking_recv() {
                match job {
                    // What is left is marked as pending, and done another time.
                    _ if work.is_closing() => break,
                    Job::Project(log) => match database.read_here(|db| work.project(db, log)) {
                        Ok(()) | Err(StoreError::Closed) => {}
                        Err(error) => {
                            tracing::warn!(%error, log = log.0, "could not seal a turn; it will be tried again");
                        }
                    },
                    Job::Scrub => {
                        if let Err(error) = work.writer.scrub_here(Scrub::Quick) {
                            tracing::debug!(%error, "what was deleted could not be removed from the files yet");
                        }
                    }
                    Job::CatchUp(reply) => drop(reply.send(database.read_here(|db| work.catch_up(db)))),
                }
            }
        });
        Self { jobs: Some(jobs), is_closing, thread: Some(thread) }
    }

    /// Asks for `log` to be projected some time soon.
    pub(super) fn project(&self, log: Log) {
        if let Some(jobs) = &self.jobs {
            // Should the thread be gone, the log stays marked as pending.
            let _ = jobs.send(Job::Project(log));
        }
    }

    /// Removes what was deleted from the files when there is time; nobody waits for it.
    pub(super) fn scrub(&self) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(Job::Scrub);
        }
    }

    /// Waits until everything written so far is in the index.
    pub(super) async fn catch_up(&self) -> Result<(), StoreError> {
        let (reply, done) = oneshot::channel();
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(Job::CatchUp(reply)).map_err(|_| StoreError::Closed)?;
        done.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for Projector {
    fn drop(&mut self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to do.
            let _ = thread.join();
        }
    }
}

/// Makes projections, until the store is closed: then it stops at the next page, and what is left stays marked as pending.
struct Projection {
    writer: WriterHandle,
    is_closing: Arc<AtomicBool>,
}

impl Projection {
    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Fails with [`StoreError::Closed`] when the store is being closed.
    fn check_open(&self) -> Result<(), StoreError> {
        if self.is_closing() { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn catch_up(&self, db: &Db<'_>) -> Result<(), StoreError> {
        let logs = db.query_all("SELECT id FROM log WHERE pending", [], |row| row.get(0).map(Log))?;
        for log in logs {
            match self.project(db, log) {
                // A damaged session must not keep the others from being found.
                Err(StoreError::Damaged { what, .. }) => tracing::warn!(what, log = log.0, "could not index a session"),
                other => other?,
            }
        }
        Ok(())
    }

    /// Seals the ended turns of `log`, and indexes what comes behind them for now.
    fn project(&self, db: &Db<'_>, log: Log) -> Result<(), StoreError> {
        let Some(standing) = find_standing(db, log)?.filter(|standing| standing.pending != 0) else { return Ok(()) };
        if standing.pending == pending::WHOLE_INDEX {
            self.index_sealed(db, log, standing.after)?;
        }
        let upto = read::head(db, log)?;
        let mut segment = Segment::begin(standing.after);
        let mut after = standing.after;
        while after < upto {
            self.check_open()?;
            let page = read::page_of(db, Stretch { log, after, upto })?;
            let Some(last) = page.last() else { return Err(read::missing(db, after.next())) };
            after = last.number;
            for entry in &page {
                segment.push(entry);
                if segment.replay.is_at_end() {
                    let next = Segment::begin(entry.number);
                    let sealed = std::mem::replace(&mut segment, next).seal(db)?;
                    if !self.writer.write_here(move |db| write_segment(db, log, &sealed))? {
                        // Someone else was faster, or the log is gone.
                        return Ok(());
                    }
                }
            }
        }
        let (begin, open) = (segment.after, segment.passages());
        self.writer.write_here(move |db| write_open(db, log, begin, &open, (upto, standing.pending)))
    }

    /// Indexes the turns of `log` that are sealed already, up to `sealed`.
    fn index_sealed(&self, db: &Db<'_>, log: Log, sealed: EntryNumber) -> Result<(), StoreError> {
        let mut after = read::origin(db, log)?.upto;
        let mut segment = Segment::begin(after);
        while after < sealed {
            self.check_open()?;
            let page = read::page_of(db, Stretch { log, after, upto: sealed })?;
            let Some(last) = page.last() else { return Err(read::missing(db, after.next())) };
            after = last.number;
            for entry in &page {
                segment.push(entry);
                if segment.replay.is_at_end() || entry.number == sealed {
                    let segment = std::mem::replace(&mut segment, Segment::begin(entry.number));
                    let (begin, end, passages) = (segment.after, segment.last, segment.passages());
                    self.writer.write_here(move |db| write_passages(db, log, begin, end, &passages))?;
                }
            }
        }
        Ok(())
    }
}

/// Where a log's projections stand.
struct Standing {
    after: EntryNumber,
    /// See [`index::pending`]; 0 where nothing is to be done.
    pending: i64,
}

fn find_standing(db: &Db<'_>, log: Log) -> Result<Option<Standing>, StoreError> {
    let read = |row: &Row<'_>| Ok(Standing { after: EntryNumber::new(row.get(0)?), pending: row.get(1)? });
    db.query_one("SELECT sealed, pending FROM log WHERE id = ?1", [log.0], read)
}

/// Indexes a sealed segment, unless someone else was faster or the log is gone.
fn write_passages(
    db: &Db<'_>,
    log: Log,
    after: EntryNumber,
    last: EntryNumber,
    passages: &[Passage],
) -> Result<(), StoreError> {
    let is_there = find_standing(db, log)?.is_some_and(|standing| standing.after >= last);
    let sql = "SELECT 1 FROM passage WHERE log = ?1 AND first > ?2 AND first <= ?3 LIMIT 1";
    let is_done = db.query_one(sql, params![log.0, after.get(), last.get()], |_| Ok(()))?.is_some();
    if is_done || !is_there {
        return Ok(());
    }
    passages.iter().try_for_each(|passage| add_passage(db, log, passage))
}

/// A stretch of entries that is being folded.
struct Segment {
    /// It begins behind this entry.
    after: EntryNumber,
    last: EntryNumber,
    replay: Replay,
    replayed: Vec<Replayed>,
    view: Fold,
    times: Times,
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
#[derive(Clone)]
struct Piece {
    /// In the last piece of a segment.
    states: Option<String>,
    holes: Option<Vec<u8>>,
    packed: Vec<u8>,
}

/// When each entry of a segment happened.
struct Times {
    first: EntryNumber,
    at: Vec<Timestamp>,
}

impl Times {
    fn push(&mut self, entry: &Entry) {
        self.at.push(entry.step.at);
    }

    fn of(&self, number: EntryNumber) -> i64 {
        let index = number.get().saturating_sub(self.first.get()) as usize;
        self.at.get(index).map_or(0, |at| at.as_millis())
    }
}

/// A message, or a tool call's title, to be found by its words.
struct Passage {
    first: EntryNumber,
    last: EntryNumber,
    /// When it was last added to.
    at: i64,
    /// The text as it is indexed.
    indexed: String,
}

impl Segment {
    fn begin(after: EntryNumber) -> Self {
        Self {
            after,
            last: after,
            replay: Replay::default(),
            replayed: Vec::new(),
            view: Fold::default(),
            times: Times { first: after.next(), at: Vec::new() },
            contents: HashSet::new(),
        }
    }

    fn push(&mut self, entry: &Entry) {
        self.last = entry.number;
        if let Some(cut) = cut(entry.step.body.as_str()) {
            self.contents.extend(cut.holes.into_iter().map(|(_, address)| address));
        }
        self.replayed.extend(self.replay.push(entry));
        self.view.push(entry);
        self.times.push(entry);
    }

    fn seal(mut self, db: &Db<'_>) -> Result<Sealed, StoreError> {
        let (last, states) = self.replay.finish();
        self.replayed.extend(last);
        let states = serde_json::to_string(&states).map_err(|error| db.damaged(error.to_string()))?;
        let (mut pieces, mut lines) = (Vec::new(), String::new());
        for one in &self.replayed {
            if lines.len() > PIECE_BYTES {
                pieces.push(Piece::new(&std::mem::take(&mut lines), None, &self.contents)?);
            }
            push_lines(&mut lines, std::slice::from_ref(one));
        }
        pieces.push(Piece::new(&lines, Some(states), &self.contents)?);
        let passages = passages(self.view.finish(), &self.times);
        Ok(Sealed { after: self.after, last: self.last, pieces, passages })
    }

    fn passages(self) -> Vec<Passage> {
        passages(self.view.finish(), &self.times)
    }
}

impl Piece {
    /// A piece with these `lines`, out of which those of the big `contents` are cut that are kept anyway.
    fn new(lines: &str, states: Option<String>, contents: &HashSet<Address>) -> Result<Self, StoreError> {
        let cut = cut_strings(lines, |address| contents.contains(address));
        let holes = (!cut.holes.is_empty()).then(|| write_holes(&cut.holes));
        Ok(Self { states, holes, packed: content::pack(&cut.rest)? })
    }
}

fn passages(view: View, times: &Times) -> Vec<Passage> {
    let passage = |item: Item| {
        let indexed = index_text(&item.searchable_text()?);
        Some(Passage { first: item.first, last: item.last, at: times.of(item.last), indexed })
    };
    view.items.into_iter().filter_map(passage).collect()
}

/// Writes a sealed segment; says no if the log does not stand where the segment begins, or no longer has all of it.
fn write_segment(db: &Db<'_>, log: Log, sealed: &Sealed) -> Result<bool, StoreError> {
    if !stands_at(db, log, sealed.after, sealed.last)? {
        return Ok(false);
    }
    let (start, end) = (log.row(EntryNumber::START), log.last_row());
    let newest =
        db.query_one("SELECT max(id) FROM replay WHERE id > ?1 AND id <= ?2", [start, end], |row| row.get(0))?;
    let next = newest.flatten().unwrap_or(start) + 1;
    for (id, piece) in (next..).zip(&sealed.pieces) {
        let (first, last) = (sealed.after.next().get(), sealed.last.get());
        let Piece { states, holes, packed } = piece.clone();
        write_piece(db, &PieceRow { id, first, last, states, holes, packed })?;
    }
    join_small_pieces(db, log)?;
    forget_passages(db, log, sealed.after)?;
    sealed.passages.iter().try_for_each(|passage| add_passage(db, log, passage))?;
    db.execute("UPDATE log SET sealed = ?2 WHERE id = ?1", params![log.0, sealed.last.get()])?;
    Ok(true)
}

fn write_piece(db: &Db<'_>, row: &PieceRow) -> Result<(), StoreError> {
    db.execute(
        "INSERT INTO replay (id, first, last, states, holes, checksum, packed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![row.id, row.first, row.last, row.states, row.holes, row.checksum(), row.packed],
    )?;
    Ok(())
}

/// Makes one piece of the newest of `log` if they are many and small: few big ones are read faster than many small ones,
/// and take less room.
///
/// The joined piece has the place of the first. Whoever has read some of them finds a gap behind, and folds the rest.
fn join_small_pieces(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let range = params![log.row(EntryNumber::START), log.last_row(), JOINED_PIECES];
    let sql = "SELECT count(*), sum(octet_length(packed)) FROM
               (SELECT packed FROM replay WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3)";
    let sizes = db.query_one(sql, range, |row| Ok((row.get::<_, usize>(0)?, row.get::<_, Option<usize>>(1)?)))?;
    if sizes.is_none_or(|(count, bytes)| count < JOINED_PIECES || bytes.unwrap_or_default() > PACKED_BYTES) {
        return Ok(());
    }
    let sql = "SELECT id, first, last, states, holes, checksum, packed FROM replay
               WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT ?3";
    // One that is damaged is not joined with others.
    let rows: Option<Vec<PieceRow>> =
        db.query_all(sql, range, |row| Ok(read::read_piece(row)))?.into_iter().rev().collect();
    let Some(joined) = rows.as_deref().map(joined).transpose()?.flatten() else { return Ok(()) };
    db.execute("DELETE FROM replay WHERE id >= ?1 AND id <= ?2", params![joined.id, log.last_row()])?;
    write_piece(db, &joined)
}

/// The one piece that says what `rows` say; nothing if some can't be joined, or they are too big.
fn joined(rows: &[PieceRow]) -> Result<Option<PieceRow>, StoreError> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    let (mut lines, mut all) = (String::new(), States::default());
    for row in rows {
        let states = row.states.as_deref().and_then(|states| serde_json::from_str(states).ok());
        let text = content::unpacked_len(&row.packed).filter(|len| lines.len() + len <= PIECE_BYTES);
        let text = text.and_then(|_| content::unpack(&row.packed));
        // A segment of several pieces, and one whose content is kept elsewhere, is big anyway.
        let (Some(states), Some(text), None) = (states, text, &row.holes) else { return Ok(None) };
        lines.push_str(&text);
        all = all.then(states);
    }
    let Ok(states) = serde_json::to_string(&all) else { return Ok(None) };
    let packed = content::pack(&lines)?;
    let (id, first, last) = (first.id, first.first, last.last);
    Ok(Some(PieceRow { id, first, last, states: Some(states), holes: None, packed }))
}

/// Indexes the entries behind `after` up to `upto`, until they are sealed, and the title.
fn write_open(
    db: &Db<'_>,
    log: Log,
    after: EntryNumber,
    open: &[Passage],
    (upto, was_pending): (EntryNumber, i64),
) -> Result<(), StoreError> {
    if !stands_at(db, log, after, upto)? {
        return Ok(());
    }
    forget_passages(db, log, after)?;
    open.iter().try_for_each(|passage| add_passage(db, log, passage))?;
    index_title(db, log)?;
    if read::head(db, log)? == upto {
        // The index may have been emptied meanwhile.
        db.execute("UPDATE log SET pending = 0 WHERE id = ?1 AND pending = ?2", [log.0, was_pending])?;
    }
    Ok(())
}

/// Whether `log` is sealed up to `after`, and still has the entry `last`: what was folded may have been deleted since.
fn stands_at(db: &Db<'_>, log: Log, after: EntryNumber, last: EntryNumber) -> Result<bool, StoreError> {
    let is_there = find_standing(db, log)?.is_some_and(|standing| standing.after == after);
    Ok(is_there && read::head(db, log)? >= last)
}

fn add_passage(db: &Db<'_>, log: Log, passage: &Passage) -> Result<(), StoreError> {
    let row = PassageRow { log, first: passage.first, last: passage.last, at: passage.at, text: None };
    index::add(db, &row, &passage.indexed)
}

/// Indexes the session's title, if it is another one than before.
fn index_title(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let Some(facts) = facts_in(db, log)? else { return Ok(()) };
    let indexed = find_title(db, log)?;
    if indexed.as_ref().map(|(_, title)| title.as_deref()) == Some(facts.title()) {
        return Ok(());
    }
    forget_title(db, log)?;
    let Some(title) = facts.title() else { return Ok(()) };
    let (at, start) = (facts.updated_at.as_millis(), EntryNumber::START);
    let row = PassageRow { log, first: start, last: start, at, text: Some(title.to_owned()) };
    index::add(db, &row, &index_text(title))
}

/// The passage with the title of the session of `log`, and the title, if it is what was written.
fn find_title(db: &Db<'_>, log: Log) -> Result<Option<(i64, Option<String>)>, StoreError> {
    let sql = format!("SELECT id, {PASSAGE} FROM passage WHERE log = ?1 AND first = 0");
    db.query_one(&sql, [log.0], |row| Ok((row.get(0)?, PassageRow::read(row, 1).and_then(|passage| passage.text))))
}

/// Takes the title of the session of `log` out of the index.
pub(super) fn forget_title(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    match find_title(db, log)? {
        Some((passage, title)) => index::remove(db, passage, &index_text(&title.unwrap_or_default())),
        None => Ok(()),
    }
}

/// Takes the passages of `log` that begin behind `after` out of the index.
///
/// Their texts are folded once more, segment by segment as they were when they were indexed. Of a damaged entry the words
/// are not known any more; they stay in the index, but belong to nothing.
pub(super) fn forget_passages(db: &Db<'_>, log: Log, after: EntryNumber) -> Result<(), StoreError> {
    let sql = "SELECT id, first, last FROM passage WHERE log = ?1 AND first > ?2 ORDER BY first";
    let read = |row: &Row<'_>| Ok((row.get(0)?, EntryNumber::new(row.get(1)?), EntryNumber::new(row.get(2)?)));
    let passages: Vec<(i64, EntryNumber, EntryNumber)> = db.query_all(sql, params![log.0, after.get()], read)?;
    let Some(upto) = passages.iter().map(|(.., last)| *last).max() else { return Ok(()) };
    let mut passages = passages.into_iter().peekable();
    let mut segment = Segment::begin(after);
    let mut from = after;
    loop {
        let page = read::sound_page_of(db, Stretch { log, after: from, upto })?;
        for entry in &page.entries {
            segment.push(entry);
            if segment.replay.is_at_end() {
                let next = Segment::begin(entry.number);
                forget_segment(db, &mut passages, std::mem::replace(&mut segment, next))?;
            }
        }
        match page.last {
            Some(last) => from = last,
            None => break,
        }
    }
    forget_segment(db, &mut passages, segment)?;
    // Those whose text is not to be had.
    passages.try_for_each(|(passage, ..)| index::remove(db, passage, ""))
}

/// Takes those of `passages` that are in `segment` out of the index.
fn forget_segment(
    db: &Db<'_>,
    passages: &mut Peekable<impl Iterator<Item = (i64, EntryNumber, EntryNumber)>>,
    segment: Segment,
) -> Result<(), StoreError> {
    let end = segment.last;
    let texts: HashMap<EntryNumber, String> =
        segment.passages().into_iter().map(|passage| (passage.first, passage.indexed)).collect();
    while let Some((passage, first, _)) = passages.next_if(|(_, first, _)| *first <= end) {
        index::remove(db, passage, texts.get(&first).map_or("", String::as_str))?;
    }
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
        let Some(end) = page.last() else { return Err(read::missing(db, after.next())) };
        after = end.number;
        for entry in &page {
            view.push(entry);
        }
    }
    let item = view.finish().items.into_iter().find(|item| item.first == first);
    Ok(item.and_then(|item| item.searchable_text()))
}

#[cfg(test)]
mod tests {
    use rejoin_transcript::{AgentInfo, Cwd, Json, MessageId, Session, SessionId, Step, TurnEnd};

    use super::super::rows::{ReadyStep, insert_session};
    use super::super::writer::Writer;
    use super::super::{append, delete, fork, leases};
    use super::*;
    use crate::Owner;

    const NOW: Timestamp = Timestamp::from_millis(1);

    fn id(text: &str) -> SessionId {
        SessionId::parse(text).unwrap()
    }

    fn append(db: &Db<'_>, after: u32, steps: Vec<Step>) -> Log {
        let lease = leases::acquire(db, &id("source"), &Owner::this_process(), NOW).unwrap();
        let steps: Vec<ReadyStep> = steps.into_iter().map(|step| ReadyStep::new(step).unwrap()).collect();
        append::append(db, &lease, EntryNumber::new(after), &steps, &[]).unwrap().0
    }

    fn turn(turn: u32, words: &[&str]) -> Vec<Step> {
        let prompt = |word: &&str| {
            let blocks = Json::parse(format!(r#"[{{"type":"text","text":"{word}"}}]"#)).unwrap();
            Step::prompt(NOW, turn, MessageId::new(format!("{turn}-{word}")), blocks).unwrap()
        };
        let end = Step::turn_ended(NOW, turn, &TurnEnd::Interrupted);
        words.iter().map(prompt).chain([end]).collect()
    }

    #[test]
    fn a_store_that_is_being_closed_leaves_the_rest_for_another_time() {
        let folder = tempfile::tempdir().unwrap();
        let (database, connection) = store_with_source(folder.path());
        let log = append(&database.on(&connection), 0, turn(1, &["a"]));
        let writer = Writer::new(database.clone(), connection);
        let work = Projection { writer: writer.handle(), is_closing: Arc::new(AtomicBool::new(true)) };

        let stopped = database.read_here(|db| work.project(db, log));

        assert!(matches!(stopped, Err(StoreError::Closed)), "{stopped:?}");
        let standing = database.read_here(|db| find_standing(db, log)).unwrap().unwrap();
        assert!(standing.pending != 0 && standing.after == EntryNumber::START);
    }

    /// Runs `work` on a store with the session `source`.
    fn with_source(work: impl FnOnce(&Db<'_>)) {
        let folder = tempfile::tempdir().unwrap();
        let (database, connection) = store_with_source(folder.path());
        work(&database.on(&connection));
    }

    /// A store in `folder` with the session `source`.
    fn store_with_source(folder: &std::path::Path) -> (Database, rusqlite::Connection) {
        let (database, connection) = Database::open(&folder.join("sessions.db")).unwrap();
        let cwd = Cwd { raw: "/p".to_owned(), canonical: "/p".to_owned() };
        let session = Session::new(id("source"), cwd, AgentInfo::default(), NOW);
        insert_session(&database.on(&connection), &session).unwrap();
        (database, connection)
    }

    #[test]
    fn what_is_deleted_while_it_is_folded_is_not_written_back() {
        with_source(|db| {
            let log = append(db, 0, turn(1, &["sharedqzx", "goneqzx"]));
            fork::fork(db, &id("source"), None, EntryNumber::new(1), id("fork"), NOW, Vec::new()).unwrap();
            let mut segment = Segment::begin(EntryNumber::START);
            let stretch = Stretch { log, after: EntryNumber::START, upto: EntryNumber::new(3) };
            for entry in &read::page_of(db, stretch).unwrap() {
                segment.push(entry);
            }
            let sealed = segment.seal(db).unwrap();
            delete::delete(db, &id("source"), NOW).unwrap();

            assert!(!write_segment(db, log, &sealed).unwrap());

            let sql = "SELECT count(*) FROM passage_text WHERE passage_text MATCH 'goneqzx'";
            assert_eq!(db.query_one(sql, [], |row| row.get(0)).unwrap(), Some(0));
        });
    }

    #[test]
    fn a_fork_knows_nothing_of_what_is_appended_while_it_is_made() {
        with_source(|db| {
            append(db, 0, turn(1, &["a"]));
            let at = EntryNumber::new(2);
            let known = fork::known_at(db, &id("source"), at).unwrap();
            append(db, 2, turn(2, &["b"]));
            let forked = fork::fork(db, &id("source"), known, at, id("fork"), NOW, Vec::new()).unwrap();
            assert_eq!((forked.facts.turns, forked.facts.messages), (1, 1));
        });
    }
}
