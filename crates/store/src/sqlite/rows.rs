//! How sessions and entries are written in rows, and read from them.
//!
//! A row is believed only if it is what was written, where it was written: checksums cover the row's own id, and the
//! columns beside a session's facts must say what these say. A row that is not is damaged, which is never an error of the
//! query that met it: it hides no other row.

use rejoin_transcript::{
    Audience, Entry, EntryNumber, Json, MessageId, Session, SessionFacts, SessionId, Settings, Step, StepKind,
    Timestamp, Turn,
};
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};
use serde::Serialize;

use super::content;
use super::database::Db;
use crate::StoreError;
use crate::cut::{Address, LONGEST_INLINE, cut, read_holes, write_holes};

/// The number of a session's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Log(pub(super) i64);

impl Log {
    /// The numbers of logs are below this one: they are the upper half of a row's id.
    const LIMIT: i64 = 1 << 31;

    /// The row of entry `number`.
    pub(super) fn row(self, number: EntryNumber) -> i64 {
        (self.0 << 32) | i64::from(number.get())
    }

    /// The last row that an entry of this log can have.
    pub(super) fn last_row(self) -> i64 {
        (self.0 << 32) | 0xffff_ffff
    }

    /// Whether `row` is one of this log.
    pub(super) fn has_row(self, row: i64) -> bool {
        row >> 32 == self.0
    }
}

/// The entry's number in a row's id.
pub(super) fn number_in(row: i64) -> EntryNumber {
    EntryNumber::new(u32::try_from(row & 0xffff_ffff).unwrap_or(u32::MAX))
}

/// The log of `session`.
pub(super) fn find_log(db: &Db<'_>, session: &SessionId) -> Result<Log, StoreError> {
    let log = db.query_one("SELECT log FROM session WHERE id = ?1", [session.as_str()], |row| row.get(0))?;
    log.map(Log).ok_or_else(|| not_found(session))
}

/// The log of `session`, and an entry that it must have; none is known where schema 1 wrote the session last.
///
/// What only adds to a message is not noted, so the session may well have more entries than this.
pub(super) fn find_end(db: &Db<'_>, session: &SessionId) -> Result<(Log, Option<EntryNumber>), StoreError> {
    let read = |row: &Row<'_>| Ok((Log(row.get(0)?), row.get::<_, Option<u32>>(1)?.map(EntryNumber::new)));
    let found = db.query_one("SELECT log, head FROM session WHERE id = ?1", [session.as_str()], read)?;
    found.ok_or_else(|| not_found(session))
}

/// What is known of `session`.
pub(super) fn find_session(db: &Db<'_>, session: &SessionId) -> Result<(Log, Session), StoreError> {
    let read = |row: &Row<'_>| {
        let facts = read_facts(row);
        let settings = read_settings(row, session.as_str());
        Ok((Log(row.get(0)?), facts.zip(settings)))
    };
    let sql = format!("SELECT {FACTS}, {SETTINGS} FROM session WHERE id = ?1");
    match db.query_one(&sql, [session.as_str()], read)?.ok_or_else(|| not_found(session))? {
        (log, Some((facts, settings))) => Ok((log, Session { facts, settings })),
        _ => Err(db.damaged(format!("what is known of session `{session}` is not what was written"))),
    }
}

/// The columns that [`read_facts`] reads. `log`, `updated_at` and `head` are the first three.
pub(super) const FACTS: &str = "log, updated_at, head, id, owner, shelf, cwd, agent, created_at, facts, facts_checksum";

/// What is known of the session in row `log`, as a list shows it; `None` if there is none, or it can't be read.
pub(super) fn facts_in(db: &Db<'_>, log: Log) -> Result<Option<SessionFacts>, StoreError> {
    let sql = format!("SELECT {FACTS} FROM session WHERE log = ?1");
    match db.query_one(&sql, [log.0], |row| Ok(read_facts(row))) {
        // Not even the page of the file that it is on.
        Err(StoreError::Damaged { .. }) => Ok(None),
        found => Ok(found?.flatten()),
    }
}

/// The columns that [`read_settings`] reads, behind [`FACTS`].
pub(super) const SETTINGS: &str = "settings, settings_checksum";

/// Where the columns behind [`FACTS`] begin, and those behind [`SETTINGS`].
const BEHIND_FACTS: usize = 11;
pub(super) const BEHIND_SETTINGS: usize = BEHIND_FACTS + 2;

/// Reads a row that begins with [`FACTS`]; `None` if it is not what was written.
pub(super) fn read_facts(row: &Row<'_>) -> Option<SessionFacts> {
    let integer = |column| row.get_ref(column).ok()?.as_i64().ok();
    let text = |column| row.get_ref(column).ok()?.as_str().ok();
    let head = row.get_ref(2).ok()?.as_i64_or_null().ok()?;
    let (id, facts_text) = (text(3)?, text(9)?);
    let checksum = match head {
        Some(head) => facts_checksum(Log(integer(0)?), id, number(head)?, facts_text),
        // Written by schema 1.
        None => crc32fast::hash(facts_text.as_bytes()),
    };
    if integer(10)? != i64::from(checksum) {
        return None;
    }
    let facts: SessionFacts = serde_json::from_str(facts_text).ok()?;
    let is_its_own = facts.session_id.as_str() == id
        && facts.updated_at.as_millis() == integer(1)?
        && facts.owner == text(4)?
        && i64::from(facts.shelf().code()) == integer(5)?
        && facts.cwd.canonical == text(6)?
        && facts.agent.name == text(7)?
        && facts.created_at.as_millis() == integer(8)?;
    is_its_own.then_some(facts)
}

/// Reads [`SETTINGS`] behind [`FACTS`] in the row of the session `id`; `None` if they are not what was written.
pub(super) fn read_settings(row: &Row<'_>, id: &str) -> Option<Settings> {
    let log = Log(row.get_ref(0).ok()?.as_i64().ok()?);
    let text = row.get_ref(BEHIND_FACTS).ok()?.as_str().ok()?;
    let checksum = row.get_ref(BEHIND_FACTS + 1).ok()?.as_i64().ok()?;
    // Settings that have not changed since schema 1 have the checksum of the text alone.
    let known = [settings_checksum(log, id, text), crc32fast::hash(text.as_bytes())];
    if known.into_iter().any(|known| i64::from(known) == checksum) { serde_json::from_str(text).ok() } else { None }
}

/// The checksum of the facts of the session `id` in row `log`, which had the entries up to `head` at least.
fn facts_checksum(log: Log, id: &str, head: EntryNumber, text: &str) -> u32 {
    checksum_of(&[&log.0.to_le_bytes(), id.as_bytes(), &head.get().to_le_bytes(), text.as_bytes()])
}

/// The checksum of the settings of the session `id` in row `log`.
fn settings_checksum(log: Log, id: &str, text: &str) -> u32 {
    checksum_of(&[&log.0.to_le_bytes(), id.as_bytes(), text.as_bytes()])
}

/// The checksum of `parts`, which says where each of them ends.
pub(super) fn checksum_of(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize()
}

/// The number of an entry that stands in a column; `None` if no entry can have it.
pub(super) fn number(value: i64) -> Option<EntryNumber> {
    u32::try_from(value).ok().map(EntryNumber::new)
}

pub(super) fn not_found(session: &SessionId) -> StoreError {
    StoreError::SessionNotFound { id: session.to_string() }
}

/// Makes a session with a log of its own.
pub(super) fn insert_session(db: &Db<'_>, session: &Session) -> Result<(), StoreError> {
    let origin = Origin { parent: None, upto: EntryNumber::START };
    insert_session_in(db, session, origin, EntryNumber::START).map(|_| ())
}

/// Makes a session whose log goes on from `origin`, and which will have the entries up to `head` in the same commit.
pub(super) fn insert_session_in(
    db: &Db<'_>,
    session: &Session,
    origin: Origin,
    head: EntryNumber,
) -> Result<Log, StoreError> {
    let id = &session.facts.session_id;
    if db.query_one("SELECT 1 FROM session WHERE id = ?1", [id.as_str()], |_| Ok(()))?.is_some() {
        return Err(StoreError::SessionExists { id: id.clone() });
    }
    let log = next_log(db)?;
    db.execute(
        "INSERT INTO log (id, parent, parent_upto, sealed, checksum) VALUES (?1, ?2, ?3, ?3, ?4)",
        params![log.0, origin.parent.map(|parent| parent.0), origin.upto.get(), origin.checksum(log)],
    )?;
    let Session { facts, settings } = session;
    let (facts_text, settings_text) = (to_json(db, facts)?, to_json(db, settings)?);
    db.execute(
        "INSERT INTO session (log, id, owner, shelf, cwd, agent, created_at, updated_at, running_since, recent_messages,
         token, facts, facts_checksum, settings, settings_checksum, head)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14, ?15)",
        params![
            log.0,
            facts.session_id.as_str(),
            facts.owner,
            facts.shelf().code(),
            facts.cwd.canonical,
            facts.agent.name,
            facts.created_at.as_millis(),
            facts.updated_at.as_millis(),
            facts.running_since.map(EntryNumber::get),
            to_json(db, &facts.recent_messages)?,
            facts_text,
            facts_checksum(log, id.as_str(), head, &facts_text),
            settings_text,
            settings_checksum(log, id.as_str(), &settings_text),
            head.get(),
        ],
    )?;
    Ok(log)
}

/// A number that no log has or had. One that none can have, in a damaged row, does not count.
fn next_log(db: &Db<'_>) -> Result<Log, StoreError> {
    let sql = "SELECT max(coalesce((SELECT max(id) FROM log WHERE id < ?1), 0),
                          coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'log' AND seq < ?1), 0))";
    let last: i64 = db.query_one(sql, [Log::LIMIT], |row| row.get(0))?.unwrap_or_default();
    Ok(Log(last + 1))
}

/// The log that another goes on from, and the last entry that both share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) parent: Option<Log>,
    pub(super) upto: EntryNumber,
}

/// The columns that [`Origin::read`] reads.
pub(super) const ORIGIN: &str = "id, parent, parent_upto, checksum";

impl Origin {
    /// Reads a row that begins with [`ORIGIN`]; `None` if it is not what was written.
    ///
    /// A log is made after the one it goes on from, so its number is greater. Whatever follows origins comes to an end.
    pub(super) fn read(row: &Row<'_>) -> Option<Self> {
        let integer = |column| row.get_ref(column).ok()?.as_i64_or_null().ok();
        let log = Log(integer(0)??);
        let origin = Self { parent: integer(1)?.map(Log), upto: number(integer(2)??)? };
        // Written by schema 1, if it has none.
        let is_written = integer(3)?.is_none_or(|checksum| checksum == i64::from(origin.checksum(log)));
        (is_written && origin.parent.is_none_or(|parent| parent < log)).then_some(origin)
    }

    /// The checksum of the origin of `log`.
    fn checksum(&self, log: Log) -> u32 {
        let parent = self.parent.map_or(0, |parent| parent.0);
        checksum_of(&[&log.0.to_le_bytes(), &parent.to_le_bytes(), &self.upto.get().to_le_bytes()])
    }
}

/// Writes what is known of a session, which has the entries up to `head`, over what was known `before`. What is in
/// indexes, and what may be large, is only written where it has changed.
pub(super) fn update_session(
    db: &Db<'_>,
    log: Log,
    head: EntryNumber,
    before: &Session,
    session: &Session,
) -> Result<(), StoreError> {
    let Session { facts, settings } = session;
    let id = facts.session_id.as_str();
    let indexed = |facts: &SessionFacts| {
        let SessionFacts { owner, cwd, agent, updated_at, .. } = facts;
        (owner.clone(), facts.shelf(), cwd.canonical.clone(), agent.name.clone(), *updated_at)
    };
    let text = to_json(db, facts)?;
    db.execute(
        "UPDATE session SET running_since = ?2, recent_messages = ?3, facts = ?4, facts_checksum = ?5, head = ?6
         WHERE log = ?1",
        params![
            log.0,
            facts.running_since.map(EntryNumber::get),
            to_json(db, &facts.recent_messages)?,
            text,
            facts_checksum(log, id, head, &text),
            head.get(),
        ],
    )?;
    if indexed(&before.facts) != indexed(facts) {
        db.execute(
            "UPDATE session SET owner = ?2, shelf = ?3, cwd = ?4, agent = ?5, updated_at = ?6 WHERE log = ?1",
            params![
                log.0,
                facts.owner,
                facts.shelf().code(),
                facts.cwd.canonical,
                facts.agent.name,
                facts.updated_at.as_millis()
            ],
        )?;
    }
    if before.settings != *settings {
        let text = to_json(db, settings)?;
        db.execute(
            "UPDATE session SET settings = ?2, settings_checksum = ?3 WHERE log = ?1",
            params![log.0, text, settings_checksum(log, id, &text)],
        )?;
    }
    Ok(())
}

fn to_json(db: &Db<'_>, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| db.damaged(error.to_string()))
}

/// A step that is ready to be written: big content is cut out and compressed already.
pub(super) struct ReadyStep {
    pub(super) step: Step,
    cut: Option<ReadyCut>,
}

struct ReadyCut {
    rest: String,
    holes: Vec<(u32, Address)>,
    contents: Vec<Vec<u8>>,
}

impl ReadyStep {
    /// Cuts and compresses what is big, which takes its time.
    pub(super) fn new(step: Step) -> Result<Self, StoreError> {
        let Some(cut) = cut(step.body.as_str()) else { return Ok(Self { step, cut: None }) };
        let contents = cut.contents.iter().map(|content| content::pack(content)).collect::<Result<_, _>>()?;
        let cut = ReadyCut { rest: cut.rest, holes: cut.holes, contents };
        Ok(Self { step, cut: Some(cut) })
    }

    /// Whether making this step ready takes its time.
    pub(super) fn is_big(step: &Step) -> bool {
        step.body.as_str().len() > LONGEST_INLINE
    }
}

/// Writes `steps` as the entries of `log` behind `after`, and returns the last number.
pub(super) fn insert_entries(
    db: &Db<'_>,
    log: Log,
    after: EntryNumber,
    steps: &[ReadyStep],
) -> Result<EntryNumber, StoreError> {
    let mut insert = db.prepare(
        "INSERT INTO entry (id, at, turn, tag, message_id, extra, holes, checksum, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut number = after;
    for ReadyStep { step, cut } in steps {
        number = number.next();
        let holes = match cut {
            Some(cut) => {
                for (packed, (_, address)) in cut.contents.iter().zip(&cut.holes) {
                    content::keep(db, log, address, packed)?;
                }
                Some(write_holes(&cut.holes))
            }
            None => None,
        };
        let row = EntryRow {
            id: log.row(number),
            at: step.at.as_millis(),
            turn: step.turn.code(),
            kind: step.kind.code(),
            audience: step.audience.code(),
            protocol: step.protocol,
            message_id: step.message_id.as_ref().map(MessageId::as_str),
            extra: step.extra.as_ref().map(Json::as_str),
            holes: holes.as_deref(),
            body: cut.as_ref().map_or(step.body.as_str(), |cut| &cut.rest),
        };
        let (tag, checksum) = (row.tag(), row.checksum());
        let columns = params![row.id, row.at, row.turn, tag, row.message_id, row.extra, row.holes, checksum, row.body];
        insert.execute(columns).map_err(|source| db.error(source))?;
    }
    Ok(number)
}

/// The entries of a log behind one row, up to another, for [`read_entry`].
pub(super) const SELECT_ENTRIES: &str = "
    SELECT id, at, turn, tag, message_id, extra, holes, checksum, body
    FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id";

/// An entry as it is stored: big content is still elsewhere.
pub(super) struct StoredEntry<'row> {
    /// The entry with nothing in its body.
    pub(super) entry: Entry,
    pub(super) body: &'row str,
    pub(super) holes: Vec<(u32, Address)>,
}

impl StoredEntry<'_> {
    /// Whether those columns of its `row` are empty that were not looked at, because they should be.
    pub(super) fn has_nothing_else(&self, row: &Row<'_>) -> bool {
        let is_empty = |column| row.get_ref(column).is_ok_and(|value| value == ValueRef::Null);
        let Step { message_id, extra, .. } = &self.entry.step;
        (message_id.is_some() || is_empty(4))
            && (extra.is_some() || is_empty(5))
            && (!self.holes.is_empty() || is_empty(6))
    }
}

/// Reads a row of [`SELECT_ENTRIES`], whose first column is `id`; `None` if it is not what was written.
pub(super) fn read_entry<'row>(row: &'row Row<'_>, id: i64) -> Option<StoredEntry<'row>> {
    let integer = |column| row.get_ref(column).ok()?.as_i64().ok();
    let [kind, audience, protocol_low, protocol_high, there, ..] = integer(3)?.to_le_bytes();
    // Looking at a column takes time, even at one that is empty, and these mostly are.
    let text = |column, bit| match there & bit {
        0 => Some(None),
        _ => row.get_ref(column).ok()?.as_str().ok().map(Some),
    };
    let stored = EntryRow {
        id,
        at: integer(1)?,
        turn: integer(2)?,
        kind,
        audience,
        protocol: u16::from_le_bytes([protocol_low, protocol_high]),
        message_id: text(4, HAS_MESSAGE_ID)?,
        extra: text(5, HAS_EXTRA)?,
        holes: if there & HAS_HOLES == 0 { None } else { Some(row.get_ref(6).ok()?.as_blob().ok()?) },
        body: row.get_ref(8).ok()?.as_str().ok()?,
    };
    if integer(7)? != i64::from(stored.checksum()) {
        return None;
    }
    let step = Step {
        at: Timestamp::from_millis(stored.at),
        turn: Turn::from_code(stored.turn)?,
        kind: StepKind::from_code(stored.kind)?,
        audience: Audience::from_code(stored.audience)?,
        protocol: stored.protocol,
        message_id: stored.message_id.map(MessageId::new),
        extra: stored.extra.map(|extra| Json::from_stored(extra.to_owned())),
        body: Json::from_stored(String::new()),
    };
    let holes = match stored.holes {
        Some(holes) => read_holes(holes)?,
        None => Vec::new(),
    };
    Some(StoredEntry { entry: Entry { number: number_in(id), step }, body: stored.body, holes })
}

/// The columns of an entry that its checksum guards, which are all.
struct EntryRow<'a> {
    id: i64,
    at: i64,
    turn: i64,
    kind: u8,
    audience: u8,
    protocol: u16,
    message_id: Option<&'a str>,
    extra: Option<&'a str>,
    holes: Option<&'a [u8]>,
    body: &'a str,
}

/// Bits of the tag: which of the columns that may be empty are not.
const HAS_MESSAGE_ID: u8 = 1;
const HAS_EXTRA: u8 = 2;
const HAS_HOLES: u8 = 4;

impl EntryRow<'_> {
    /// The small columns in one.
    fn tag(&self) -> i64 {
        let bit = |is_there: bool, bit| if is_there { bit } else { 0 };
        let there = bit(self.message_id.is_some(), HAS_MESSAGE_ID)
            | bit(self.extra.is_some(), HAS_EXTRA)
            | bit(self.holes.is_some(), HAS_HOLES);
        let [protocol_low, protocol_high] = self.protocol.to_le_bytes();
        i64::from_le_bytes([self.kind, self.audience, protocol_low, protocol_high, there, 0, 0, 0])
    }

    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let texts = [self.message_id.map(str::as_bytes), self.extra.map(str::as_bytes), self.holes];
        // The length of each text, or that there is none, tells where one ends and the next begins.
        let length = |text: Option<&[u8]>| text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes();
        let mut numbers = [0; 56];
        numbers[..8].copy_from_slice(&self.id.to_le_bytes());
        numbers[8..16].copy_from_slice(&self.at.to_le_bytes());
        numbers[16..24].copy_from_slice(&self.turn.to_le_bytes());
        numbers[24..32].copy_from_slice(&self.tag().to_le_bytes());
        for (place, text) in numbers[32..].chunks_exact_mut(8).zip(texts) {
            place.copy_from_slice(&length(text));
        }
        hasher.update(&numbers);
        for text in texts.into_iter().flatten() {
            hasher.update(text);
        }
        hasher.update(self.body.as_bytes());
        hasher.finalize()
    }
}
