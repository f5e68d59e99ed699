//! Reading entries and replays, page by page.

use rejoin_transcript::{Entry, EntryNumber, SessionId, States};
use rusqlite::{Row, params};

use super::content;
use super::database::Db;
use super::rows::{Log, SELECT_ENTRIES, find_log, number_in, read_entry};
use crate::cut::read_holes;
use crate::{ReplayPage, ReplayPlace, StoreError};

/// A page ends after this many entries …
const PAGE_ENTRIES: usize = 512;

/// … or this many bytes of them.
const PAGE_BYTES: usize = 1024 * 1024;

/// A stretch of a session's entries that lies in one log: those behind `after`, up to `upto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) log: Log,
    pub(super) after: EntryNumber,
    pub(super) upto: EntryNumber,
}

/// The last entry of a log, its parents' included.
pub(super) fn head(db: &Db<'_>, log: Log) -> Result<EntryNumber, StoreError> {
    let sql = "SELECT id FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id DESC LIMIT 1";
    let range = params![log.row(EntryNumber::START), log.last_row()];
    match db.query_one(sql, range, |row| row.get(0))? {
        Some(row) => Ok(number_in(row)),
        None => Ok(parent(db, log)?.1),
    }
}

/// The parent of a log, and the last entry shared with it.
fn parent(db: &Db<'_>, log: Log) -> Result<(Option<Log>, EntryNumber), StoreError> {
    let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?.map(Log), EntryNumber::new(row.get(1)?)));
    let found = db.query_one("SELECT parent, parent_upto FROM log WHERE id = ?1", [log.0], read)?;
    found.ok_or_else(|| db.damaged(format!("log {} is missing", log.0)))
}

/// Where the entries of `log` are, its parents' first.
pub(super) fn stretches(db: &Db<'_>, log: Log) -> Result<Vec<Stretch>, StoreError> {
    let (mut log, mut upto, mut stretches) = (log, EntryNumber::new(u32::MAX), Vec::new());
    loop {
        let (parent, shared) = parent(db, log)?;
        stretches.push(Stretch { log, after: shared.min(upto), upto });
        let Some(parent) = parent else { break };
        (log, upto) = (parent, shared.min(upto));
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
    }
    Ok(Vec::new())
}

/// A page of a stretch.
pub(super) fn page_of(db: &Db<'_>, stretch: Stretch) -> Result<Vec<Entry>, StoreError> {
    let mut statement = db.prepare(SELECT_ENTRIES)?;
    let (first, last) = (stretch.log.row(stretch.after), stretch.log.row(stretch.upto));
    let mut rows = statement.query(params![first, last]).map_err(|error| db.error(error))?;
    let (mut page, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next().map_err(|error| db.error(error))? {
        let stored = read_entry(row).map_err(|error| db.error(error))?;
        let number = stored.as_ref().map_or_else(|number| *number, |stored| stored.entry.number);
        let restored = match stored {
            Ok(stored) => content::restore(db, stored)?,
            Err(_) => None,
        };
        let entry = restored.ok_or_else(|| db.damaged(format!("entry {number} is not what was written")))?;
        bytes += entry.step.body.as_str().len();
        page.push(entry);
        if page.len() == PAGE_ENTRIES || bytes > PAGE_BYTES {
            break;
        }
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
    let log = find_log(db, session)?;
    let upto = match place.upto {
        Some(upto) => upto,
        None => head(db, log)?,
    };
    place.upto = Some(upto);
    let mut lines = String::new();
    for stretch in stretches(db, log)? {
        let upto = stretch.upto.min(upto);
        if upto <= place.after {
            continue;
        }
        let stretch = Stretch { upto, ..stretch };
        // A fold that has begun goes on to the stretch's end.
        if place.piece.is_some() || place.after <= stretch.after {
            place.end_fold(&mut lines);
            while let Some(piece) = next_piece(db, stretch, place.piece)? {
                // What is damaged is made anew, from the entries.
                let Some(text) = piece.lines else { break };
                place.take_piece(piece.id, &text, piece.states.map(|states| (piece.last, states)));
                lines.push_str(&text);
                if lines.len() > PAGE_BYTES {
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
            if lines.len() > PAGE_BYTES {
                return Ok(ReplayPage { lines, next: Some(place) });
            }
        }
    }
    place.end(&mut lines);
    Ok(ReplayPage { lines, next: None })
}

/// The piece behind the piece `after`, if it lies in the stretch.
fn next_piece(db: &Db<'_>, stretch: Stretch, after: Option<i64>) -> Result<Option<Piece>, StoreError> {
    let sql = "SELECT id, last, states, holes, checksum, packed FROM replay WHERE id > ?1 AND id <= ?2 AND last <= ?3
               ORDER BY id LIMIT 1";
    let range =
        params![after.unwrap_or(stretch.log.row(EntryNumber::START)), stretch.log.last_row(), stretch.upto.get()];
    let read = |row: &Row<'_>| {
        let (states, holes, checksum): (Option<String>, Option<Vec<u8>>, u32) = (row.get(2)?, row.get(3)?, row.get(4)?);
        let (id, last, packed): (i64, u32, Vec<u8>) = (row.get(0)?, row.get(1)?, row.get(5)?);
        let is_whole = checksum == piece_checksum(states.as_deref(), holes.as_deref(), &packed);
        let states = states.and_then(|states| serde_json::from_str(&states).ok());
        Ok((Piece { id, last: EntryNumber::new(last), states, lines: None }, holes, is_whole.then_some(packed)))
    };
    let Some((piece, holes, packed)) = db.query_one(sql, range, read)? else { return Ok(None) };
    let text = packed.and_then(|packed| content::unpack(&packed));
    let holes = read_holes(holes.as_deref().unwrap_or_default());
    let lines = match (text, holes) {
        (Some(text), Some(holes)) if holes.is_empty() => Some(text),
        (Some(text), Some(holes)) => content::fill(db, &text, &holes)?,
        _ => None,
    };
    Ok(Some(Piece { lines, ..piece }))
}

/// The checksum of a stored piece.
pub(super) fn piece_checksum(states: Option<&str>, holes: Option<&[u8]>, packed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in [states.map(str::as_bytes).unwrap_or_default(), holes.unwrap_or_default(), packed] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}
