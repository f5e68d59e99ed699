//! How sessions and entries are written in rows.

use rejoin_transcript::{
    Audience, Entry, EntryNumber, Json, MessageId, Session, SessionFacts, SessionId, Step, StepKind, Timestamp, Turn,
};
use rusqlite::{Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::content;
use super::database::Db;
use crate::StoreError;
use crate::cut::{Address, LONGEST_INLINE, cut, read_holes, write_holes};

/// The number of a session's own log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Log(pub(super) i64);

impl Log {
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

/// What is known of `session`.
pub(super) fn find_session(db: &Db<'_>, session: &SessionId) -> Result<(Log, Session), StoreError> {
    let read = |row: &Row<'_>| {
        let (facts, settings): (String, String) = (row.get(1)?, row.get(3)?);
        Ok((Log(row.get(0)?), facts, row.get(2)?, settings, row.get(4)?))
    };
    let sql = "SELECT log, facts, facts_checksum, settings, settings_checksum FROM session WHERE id = ?1";
    let found = db.query_one(sql, [session.as_str()], read)?;
    let (log, facts, facts_checksum, settings, settings_checksum) = found.ok_or_else(|| not_found(session))?;
    let facts = read_facts(&facts, facts_checksum);
    let settings = checked(&settings, settings_checksum);
    match (facts, settings) {
        (Some(facts), Some(settings)) => Ok((log, Session { facts, settings })),
        _ => Err(db.damaged(format!("what is known of session `{session}` is not what was written"))),
    }
}

/// Reads the columns `facts` and `facts_checksum`; nothing, if they are not what was written.
pub(super) fn read_facts(text: &str, checksum: u32) -> Option<SessionFacts> {
    checked(text, checksum)
}

fn checked<T: DeserializeOwned>(text: &str, checksum: u32) -> Option<T> {
    if crc32fast::hash(text.as_bytes()) == checksum { serde_json::from_str(text).ok() } else { None }
}

pub(super) fn not_found(session: &SessionId) -> StoreError {
    StoreError::SessionNotFound { id: session.to_string() }
}

/// Makes a session with a log of its own.
pub(super) fn insert_session(db: &Db<'_>, session: &Session) -> Result<(), StoreError> {
    insert_session_in(db, session, None, EntryNumber::START).map(|_| ())
}

/// Makes a session whose log goes on from entry `upto` of `parent`.
pub(super) fn insert_session_in(
    db: &Db<'_>,
    session: &Session,
    parent: Option<Log>,
    upto: EntryNumber,
) -> Result<Log, StoreError> {
    let id = &session.facts.session_id;
    if db.query_one("SELECT 1 FROM session WHERE id = ?1", [id.as_str()], |_| Ok(()))?.is_some() {
        return Err(StoreError::SessionExists { id: id.clone() });
    }
    let parent = parent.map(|parent| parent.0);
    db.execute("INSERT INTO log (parent, parent_upto, sealed) VALUES (?1, ?2, ?2)", params![parent, upto.get()])?;
    let log = Log(db.connection.last_insert_rowid());
    let Session { facts, settings } = session;
    let (facts_text, settings_text) = (to_json(db, facts)?, to_json(db, settings)?);
    db.execute(
        "INSERT INTO session (log, id, owner, shelf, cwd, agent, created_at, updated_at, running_since, recent_messages,
         token, facts, facts_checksum, settings, settings_checksum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11, ?12, ?13, ?14)",
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
            crc32fast::hash(facts_text.as_bytes()),
            settings_text,
            crc32fast::hash(settings_text.as_bytes()),
        ],
    )?;
    Ok(log)
}

/// Writes what is known of a session over what was known `before`. What is in indexes, and what may be large, is only
/// written where it has changed.
pub(super) fn update_session(db: &Db<'_>, log: Log, before: &Session, session: &Session) -> Result<(), StoreError> {
    let Session { facts, settings } = session;
    let indexed = |facts: &SessionFacts| {
        let SessionFacts { owner, cwd, agent, updated_at, .. } = facts;
        (owner.clone(), facts.shelf(), cwd.canonical.clone(), agent.name.clone(), *updated_at)
    };
    let text = to_json(db, facts)?;
    db.execute(
        "UPDATE session SET running_since = ?2, recent_messages = ?3, facts = ?4, facts_checksum = ?5 WHERE log = ?1",
        params![
            log.0,
            facts.running_since.map(EntryNumber::get),
            to_json(db, &facts.recent_messages)?,
            text,
            crc32fast::hash(text.as_bytes())
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
            params![log.0, text, crc32fast::hash(text.as_bytes())],
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

/// Reads a row of [`SELECT_ENTRIES`]; gives its number if it is not what was written.
pub(super) fn read_entry<'row>(row: &'row Row<'_>) -> rusqlite::Result<Result<StoredEntry<'row>, EntryNumber>> {
    let id = row.get(0)?;
    Ok(read_columns(row, id).ok_or(number_in(id)))
}

fn read_columns<'row>(row: &'row Row<'_>, id: i64) -> Option<StoredEntry<'row>> {
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
