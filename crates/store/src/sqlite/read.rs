//! Reading entries and replays, page by page.

use rejoin_transcript::{Entry, EntryNumber, Json, SessionId, States};
use rusqlite::{Row, params};

use super::content;
use super::database::Db;
use super::rows::{Log, ORIGIN, Origin, SELECT_ENTRIES, find_end, find_log, number_in, read_entry};
use crate::advance::Advance;
use crate::cut::read_holes;
use crate::{ReplayPage, ReplayPlace, StoreError};

/// A page ends after this many entries …
const PAGE_ENTRIES: usize = 512;

/// … or this many bytes of them.
const PAGE_BYTES: usize = 512 * 1024;

/// A page of a replay ends sooner, so that a long stored piece is a page by itself, and need not be copied …
const REPLAY_BYTES: usize = 128 * 1024;

/// … and the first sooner still, so that something is there to be sent while the next is read.
const FIRST_REPLAY_BYTES: usize = 32 * 1024;

/// A page that is longer than this is likely to get full, and is given the room at once.
const SHORT_BYTES: usize = 32 * 1024;

/// Where the last stretch of a session ends: with its last entry, whichever that is.
pub(super) const OPEN: EntryNumber = EntryNumber::new(u32::MAX);

/// A stretch of a session's entries that lies in one log: those behind `after`, up to `upto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) log: Log,
    pub(super) after: EntryNumber,
    pub(super) upto: EntryNumber,
}

/// The log of `session`, and its last entry. Fails if the session is known to have had more.
pub(super) fn end_of(db: &Db<'_>, session: &SessionId) -> Result<(Log, EntryNumber), StoreError> {
    let (log, known) = find_end(db, session)?;
    let head = head(db, log)?;
    match known.filter(|known| head < *known) {
        Some(known) => Err(db.damaged(format!("session `{session}` ends at entry {head}, not at {known}"))),
        None => Ok((log, head)),
    }
}

/// The last entry of a log, its parents' included.
pub(super) fn head(db: &Db<'_>, log: Log) -> Result<EntryNumber, StoreError> {
    let sql = "SELECT id FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT 1";
    let range = params![log.row(EntryNumber::START), log.last_row()];
    match db.query_one(sql, range, |row| row.get(0))? {
        Some(row) if log.has_row(row) => Ok(number_in(row)),
        Some(_) => Err(out_of_order(db)),
        None => Ok(origin(db, log)?.upto),
    }
}

/// The log of `session`, and the last entry that its row must name: the one it names, or the last that is there.
pub(super) fn known_head(db: &Db<'_>, session: &SessionId) -> Result<(Log, EntryNumber), StoreError> {
    let (log, known) = find_end(db, session)?;
    Ok((log, known.map_or_else(|| head(db, log), Ok)?))
}

/// Where a log goes on from.
pub(super) fn origin(db: &Db<'_>, log: Log) -> Result<Origin, StoreError> {
    let sql = format!("SELECT {ORIGIN} FROM log WHERE id = ?1");
    match db.query_one(&sql, [log.0], |row| Ok(Origin::read(row)))? {
        Some(Some(origin)) => Ok(origin),
        Some(None) => Err(db.damaged(format!("log {} is not what was written", log.0))),
        None => Err(db.damaged(format!("log {} is missing", log.0))),
    }
}

/// Rows that come in another order than that of their ids: a page of the file is not where it belongs.
fn out_of_order(db: &Db<'_>) -> StoreError {
    db.damaged("the entries are not in their order")
}

/// The entry `number`, which should be there, is not.
pub(super) fn missing(db: &Db<'_>, number: EntryNumber) -> StoreError {
    db.damaged(format!("entry {number} is missing"))
}

/// Where the entries of `log` are, its parents' first.
pub(super) fn stretches(db: &Db<'_>, log: Log) -> Result<Vec<Stretch>, StoreError> {
    let (mut log, mut upto, mut stretches) = (log, OPEN, Vec::new());
    loop {
        let origin = origin(db, log)?;
        let shared = origin.upto.min(upto);
        stretches.push(Stretch { log, after: shared, upto });
        // It is an older log, so this comes to an end.
        let Some(parent) = origin.parent else { break };
        (log, upto) = (parent, shared);
    }
    stretches.reverse();
    Ok(stretches)
}

/// A page of the entries of `session` behind `after`.
pub(super) fn page(db: &Db<'_>, session: &SessionId, after: EntryNumber) -> Result<Vec<Entry>, StoreError> {
    let log = find_log(db, session)?;
    for stretch in stretches(db, log)? {
        if stretch.upto <= after {
            continue;
        }
        let page = page_of(db, Stretch { after: after.max(stretch.after), ..stretch })
            .map_err(|error| name_session(error, session))?;
        if !page.is_empty() {
            return Ok(page);
        }
        if stretch.upto != OPEN {
            return Err(name_session(missing(db, after.max(stretch.after).next()), session));
        }
    }
    // Nothing comes behind the end, if it is the end.
    let (_, head) = end_of(db, session)?;
    if after < head { Err(name_session(missing(db, after.next()), session)) } else { Ok(Vec::new()) }
}

/// A page of a stretch. Fails if an entry in it is damaged or missing.
pub(super) fn page_of(db: &Db<'_>, stretch: Stretch) -> Result<Vec<Entry>, StoreError> {
    Ok(read_page(db, stretch, Damages::Fail)?.entries)
}

/// A page of a stretch without those entries that are damaged or missing.
pub(super) fn sound_page_of(db: &Db<'_>, stretch: Stretch) -> Result<Page, StoreError> {
    read_page(db, stretch, Damages::LeaveOut)
}

/// What to do about damaged and missing entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Damages {
    Fail,
    LeaveOut,
}

/// Some entries, and the last that was looked at; none behind the last page, and where the rows do not go on.
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    pub(super) last: Option<EntryNumber>,
}

fn read_page(db: &Db<'_>, stretch: Stretch, damages: Damages) -> Result<Page, StoreError> {
    let mut statement = db.prepare(SELECT_ENTRIES)?;
    let (first, last) = (stretch.log.row(stretch.after), stretch.log.row(stretch.upto));
    let mut rows = statement.query(params![first, last]).map_err(|error| db.error(error))?;
    let mut page = Page { entries: Vec::new(), last: None };
    // The bodies of the page share one text: it takes less time to make than one for each.
    let (mut bodies, mut ends) = (String::new(), Vec::new());
    let mut place = Advance::from(first);
    let mut expected = stretch.after.next();
    while let Some(row) = rows.next().map_err(|error| db.error(error))? {
        let id = row.get(0).map_err(|error| db.error(error))?;
        if !place.to(id) || id > last {
            match damages {
                Damages::Fail => return Err(out_of_order(db)),
                Damages::LeaveOut => break,
            }
        }
        let stored = read_entry(row, id);
        let number = number_in(id);
        if number != expected && damages == Damages::Fail {
            return Err(missing(db, expected));
        }
        expected = number.next();
        page.last = Some(number);
        let body = match &stored {
            Some(stored) => content::restore(db, stored)?,
            None => None,
        };
        match (stored, body) {
            (Some(stored), Some(body)) => {
                if bodies.len() > SHORT_BYTES {
                    bodies.reserve(PAGE_BYTES.saturating_sub(bodies.len()));
                }
                bodies.push_str(&body);
                ends.push(bodies.len());
                page.entries.push(stored.entry);
            }
            _ if damages == Damages::Fail => {
                return Err(db.damaged(format!("entry {number} is not what was written")));
            }
            _ => {}
        }
        if page.entries.len() == PAGE_ENTRIES || bodies.len() > PAGE_BYTES {
            break;
        }
    }
    for (entry, body) in page.entries.iter_mut().zip(Json::from_stored_parts(bodies, ends)) {
        entry.step.body = body;
    }
    Ok(page)
}

/// A damage with the session's name.
fn name_session(error: StoreError, session: &SessionId) -> StoreError {
    match error {
        StoreError::Damaged { path, what } => {
            StoreError::Damaged { path, what: format!("session `{session}`: {what}") }
        }
        other => other,
    }
}

/// A stored piece of a replay.
struct Piece {
    id: i64,
    last: EntryNumber,
    /// In the last piece of a segment.
    states: Option<States>,
    /// Nothing, if they are damaged.
    lines: Option<String>,
}

/// A page of the replay of `session`: what is sealed comes as it was stored, unparsed; the rest is folded now.
pub(super) fn replay_page(db: &Db<'_>, session: &SessionId, mut place: ReplayPlace) -> Result<ReplayPage, StoreError> {
    let (log, head) = end_of(db, session)?;
    let upto = place.fix_end(head);
    let page_bytes = if place.is_at_start() { FIRST_REPLAY_BYTES } else { REPLAY_BYTES };
    let mut lines = String::new();
    for stretch in stretches(db, log)? {
        let upto = stretch.upto.min(upto);
        if upto <= place.after {
            continue;
        }
        let stretch = Stretch { upto, ..stretch };
        // A piece of another stretch says nothing of this one.
        let mut last_piece = place.piece.filter(|piece| stretch.log.has_row(*piece));
        // A fold that has begun goes on to the stretch's end.
        if last_piece.is_some() || place.after <= stretch.after {
            place.end_fold(&mut lines);
            while let Some(piece) = next_piece(db, stretch, last_piece, place.after)? {
                // What is damaged is made anew, from the entries.
                let Some(text) = piece.lines else { break };
                place.take_piece(piece.id, &text, piece.states.map(|states| (piece.last, states)));
                last_piece = place.piece;
                if lines.is_empty() {
                    lines = text;
                } else {
                    lines.push_str(&text);
                }
                if lines.len() > page_bytes {
                    return Ok(ReplayPage { lines, next: Some(place) });
                }
            }
            place.piece = None;
        }
        while place.after < upto {
            let entries = page_of(db, Stretch { after: place.after.max(stretch.after), ..stretch })
                .map_err(|error| name_session(error, session))?;
            if entries.is_empty() {
                return Err(db.damaged(format!("session `{session}` ends at entry {}, not at {upto}", place.after)));
            }
            place.fold_entries(&entries, &mut lines);
            if lines.len() > page_bytes {
                return Ok(ReplayPage { lines, next: Some(place) });
            }
        }
    }
    place.end(&mut lines);
    Ok(ReplayPage { lines, next: None })
}

/// The piece behind the piece `after` and the entries up to `done`, if it lies in the stretch and follows them.
fn next_piece(
    db: &Db<'_>,
    stretch: Stretch,
    after: Option<i64>,
    done: EntryNumber,
) -> Result<Option<Piece>, StoreError> {
    let sql = "SELECT id, first, last, states, holes, checksum, packed FROM replay WHERE id = ?1";
    let id = after.unwrap_or(stretch.log.row(EntryNumber::START)) + 1;
    // Where one is missing or damaged, its entries are folded again.
    let row = db.query_one(sql, [id], |row| Ok(read_piece(row)))?.flatten();
    // It must follow what was read: pieces may have been joined since the last page.
    let Some(row) = row.filter(|row| row.last <= stretch.upto.get() && row.first == done.next().get()) else {
        return Ok(None);
    };
    let states = row.states.as_deref().and_then(|states| serde_json::from_str(states).ok());
    let lines = unpack_lines(db, &row)?;
    Ok(Some(Piece { id: row.id, last: EntryNumber::new(row.last), states, lines }))
}

/// The lines of a stored piece; nothing, if they are damaged.
pub(super) fn unpack_lines(db: &Db<'_>, row: &PieceRow) -> Result<Option<String>, StoreError> {
    let text = content::unpack(&row.packed);
    let holes = read_holes(row.holes.as_deref().unwrap_or_default());
    match (text, holes) {
        (Some(text), Some(holes)) if holes.is_empty() => Ok(Some(text)),
        (Some(text), Some(holes)) => content::fill(db, &text, &holes),
        _ => Ok(None),
    }
}

/// A row of `replay`.
pub(super) struct PieceRow {
    pub(super) id: i64,
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) states: Option<String>,
    pub(super) holes: Option<Vec<u8>>,
    pub(super) packed: Vec<u8>,
}

impl PieceRow {
    /// The checksum of all of it.
    pub(super) fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.id.to_le_bytes());
        hasher.update(&self.first.to_le_bytes());
        hasher.update(&self.last.to_le_bytes());
        let (states, holes) = (self.states.as_deref().map(str::as_bytes), self.holes.as_deref());
        for part in [states.unwrap_or_default(), holes.unwrap_or_default(), &self.packed] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }
}

/// Reads the columns `id, first, last, states, holes, checksum, packed`; `None` if they are not what was written.
pub(super) fn read_piece(row: &Row<'_>) -> Option<PieceRow> {
    let piece = PieceRow {
        id: row.get(0).ok()?,
        first: row.get(1).ok()?,
        last: row.get(2).ok()?,
        states: row.get(3).ok()?,
        holes: row.get(4).ok()?,
        packed: row.get(6).ok()?,
    };
    (row.get::<_, u32>(5).ok()? == piece.checksum()).then_some(piece)
}
