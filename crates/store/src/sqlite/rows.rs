//! How sessions and entries are written in rows.

use rejoin_transcript::{
    Audience, Entry, EntryNumber, Json, MessageId, Session, SessionFacts, SessionId, Step, StepKind, Timestamp, Turn,
};
use rusqlite::{Row, named_params, params};

use super::content;
use super::database::Db;
use crate::StoreError;
use crate::cut::{Address, cut, read_holes, write_holes};

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
    let read = |row: &Row<'_>| Ok((Log(row.get(0)?), row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    let found = db.query_one("SELECT log, facts, settings FROM session WHERE id = ?1", [session.as_str()], read)?;
    let (log, facts, settings) = found.ok_or_else(|| not_found(session))?;
    let settings = serde_json::from_str(&settings)
        .map_err(|error| db.damaged(format!("the settings of session `{session}` can't be read: {error}")))?;
    Ok((log, Session { facts: read_facts(db, &facts)?, settings }))
}

/// Reads the column `facts`.
pub(super) fn read_facts(db: &Db<'_>, text: &str) -> Result<SessionFacts, StoreError> {
    serde_json::from_str(text).map_err(|error| db.damaged(format!("the facts of a session can't be read: {error}")))
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
    write_session(
        db,
        log,
        session,
        "INSERT INTO session
        (log, id, owner, shelf, cwd, agent, created_at, updated_at, running_since, last_message, token, facts, settings)
        VALUES (:log, :id, :owner, :shelf, :cwd, :agent, :created_at, :updated_at, :running_since, :last_message, 0,
        :facts, :settings)",
    )?;
    Ok(log)
}

/// Writes what is known of a session over what was known.
pub(super) fn update_session(db: &Db<'_>, log: Log, session: &Session) -> Result<(), StoreError> {
    write_session(
        db,
        log,
        session,
        "UPDATE session SET id = :id, owner = :owner, shelf = :shelf, cwd = :cwd,
        agent = :agent, created_at = :created_at, updated_at = :updated_at, running_since = :running_since,
        last_message = :last_message, facts = :facts, settings = :settings WHERE log = :log",
    )
}

fn write_session(db: &Db<'_>, log: Log, session: &Session, sql: &str) -> Result<(), StoreError> {
    let Session { facts, settings } = session;
    let json = |json: Result<String, serde_json::Error>| json.map_err(|error| db.damaged(error.to_string()));
    db.execute(
        sql,
        named_params! {
            ":log": log.0,
            ":id": facts.session_id.as_str(),
            ":owner": facts.owner,
            ":shelf": facts.shelf().code(),
            ":cwd": facts.cwd.canonical,
            ":agent": facts.agent.name,
            ":created_at": facts.created_at.as_millis(),
            ":updated_at": facts.updated_at.as_millis(),
            ":running_since": facts.running_since.map(EntryNumber::get),
            ":last_message": facts.last_message.as_ref().map(MessageId::as_str),
            ":facts": json(serde_json::to_string(facts))?,
            ":settings": json(serde_json::to_string(settings))?,
        },
    )?;
    Ok(())
}

/// Writes `step` as entry `number` of `log`.
pub(super) fn insert_entry(db: &Db<'_>, log: Log, number: EntryNumber, step: &Step) -> Result<(), StoreError> {
    let cut = cut(step.body.as_str());
    let (body, holes) = match &cut {
        Some(cut) => {
            for (content, (_, address)) in cut.contents.iter().zip(&cut.holes) {
                content::keep(db, log, address, content)?;
            }
            (cut.rest.as_str(), Some(write_holes(&cut.holes)))
        }
        None => (step.body.as_str(), None),
    };
    let message_id = step.message_id.as_ref().map(MessageId::as_str);
    let extra = step.extra.as_ref().map(Json::as_str);
    let row = EntryRow {
        id: log.row(number),
        at: step.at.as_millis(),
        turn: step.turn.code(),
        kind: step.kind.code(),
        audience: step.audience.code(),
        protocol: step.protocol,
        message_id,
        extra,
        holes: holes.as_deref(),
        body,
    };
    let checksum = row.checksum();
    db.execute(
        "INSERT INTO entry (id, at, turn, kind, audience, protocol, message_id, extra, holes, checksum, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            row.id,
            row.at,
            row.turn,
            row.kind,
            row.audience,
            row.protocol,
            message_id,
            extra,
            row.holes,
            checksum,
            body
        ],
    )?;
    Ok(())
}

/// The entries of a log behind one row, up to another, for [`read_entry`].
pub(super) const SELECT_ENTRIES: &str = "
    SELECT id, at, turn, kind, audience, protocol, message_id, extra, holes, checksum, body
    FROM entry WHERE id > ?1 AND id <= ?2 ORDER BY id";

/// An entry as it is stored: big content is still elsewhere.
pub(super) struct StoredEntry {
    pub(super) entry: Entry,
    pub(super) holes: Vec<(u32, Address)>,
}

/// Reads a row of [`SELECT_ENTRIES`]; gives its number if it is not what was written.
pub(super) fn read_entry(row: &Row<'_>) -> rusqlite::Result<Result<StoredEntry, EntryNumber>> {
    let id = row.get(0)?;
    Ok(read_columns(row, id).ok_or(number_in(id)))
}

fn read_columns(row: &Row<'_>, id: i64) -> Option<StoredEntry> {
    let text = |column| row.get_ref(column).ok()?.as_str_or_null().ok();
    let stored = EntryRow {
        id,
        at: row.get(1).ok()?,
        turn: row.get(2).ok()?,
        kind: row.get(3).ok()?,
        audience: row.get(4).ok()?,
        protocol: row.get(5).ok()?,
        message_id: text(6)?,
        extra: text(7)?,
        holes: row.get_ref(8).ok()?.as_blob_or_null().ok()?,
        body: text(10)??,
    };
    if row.get::<_, u32>(9).ok()? != stored.checksum() {
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
        body: Json::from_stored(stored.body.to_owned()),
    };
    let holes = read_holes(stored.holes.unwrap_or_default())?;
    Some(StoredEntry { entry: Entry { number: number_in(id), step }, holes })
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

impl EntryRow<'_> {
    fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let mut numbers = [0; 28];
        numbers[..8].copy_from_slice(&self.id.to_le_bytes());
        numbers[8..16].copy_from_slice(&self.at.to_le_bytes());
        numbers[16..24].copy_from_slice(&self.turn.to_le_bytes());
        numbers[24..26].copy_from_slice(&[self.kind, self.audience]);
        numbers[26..].copy_from_slice(&self.protocol.to_le_bytes());
        hasher.update(&numbers);
        let texts = [self.message_id.map(str::as_bytes), self.extra.map(str::as_bytes), self.holes];
        for text in texts {
            // The length, or that there is none, tells where one ends and the next begins.
            hasher.update(&text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            hasher.update(text.unwrap_or_default());
        }
        hasher.update(self.body.as_bytes());
        hasher.finalize()
    }
}
