//! Appending entries: the hot path.
//!
//! A chunk that continues a message touches one row of `entry` and nothing else: whether the writer may write and
//! where the session stands is read, not written.

use rejoin_transcript::json::write_string;
use rejoin_transcript::{EntryNumber, Fact, SessionId, Step, StepKind};
use rusqlite::Row;

use super::database::Db;
use super::index::pending;
use super::read;
use super::rows::{Log, ReadyStep, find_session, insert_entries, not_found, update_session};
use crate::{Lease, StoreError};

/// Whether these steps end a turn, so that it can be sealed.
pub(super) fn ends_turn(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.kind == StepKind::TurnEnded)
}

/// What is looked at before anything is written.
struct Standing {
    log: Log,
    token: u64,
    /// JSON of the ids of messages that a chunk may continue.
    recent_messages: String,
    is_pending: bool,
    head: EntryNumber,
}

pub(super) fn append(
    db: &Db<'_>,
    lease: &Lease,
    after: EntryNumber,
    steps: &[ReadyStep],
    facts: &[Fact],
) -> Result<(Log, EntryNumber), StoreError> {
    let standing = find_standing(db, &lease.session)?;
    let log = standing.log;
    if standing.token != lease.token {
        return Err(StoreError::LeaseLost { session: lease.session.clone() });
    }
    if standing.head != after {
        return Err(StoreError::Conflict { session: lease.session.clone(), expected: after, actual: standing.head });
    }
    let is_recent = |id: &str| standing.recent_messages.contains(&write_string(id));
    let changes_facts = !facts.is_empty() || steps.iter().any(|ready| ready.step.tells_facts(is_recent));
    let last = insert_entries(db, log, after, steps)?;
    if changes_facts {
        change_session(db, &lease.session, after, steps, facts)?;
    }
    if !standing.is_pending {
        mark_pending(db, log)?;
    }
    Ok((log, last))
}

pub(super) fn tell(db: &Db<'_>, session: &SessionId, facts: &[Fact]) -> Result<(), StoreError> {
    let (log, head) = read::known_head(db, session)?;
    change_session(db, session, head, &[], facts)?;
    // The title may be another one.
    mark_pending(db, log)
}

/// Tells a session what `steps`, the entries behind `after`, tell, and `facts`.
fn change_session(
    db: &Db<'_>,
    session: &SessionId,
    after: EntryNumber,
    steps: &[ReadyStep],
    facts: &[Fact],
) -> Result<(), StoreError> {
    let (log, before) = find_session(db, session)?;
    let mut session = before.clone();
    let mut number = after;
    for ready in steps {
        number = number.next();
        session.observe(number, &ready.step);
    }
    for fact in facts {
        session.apply(fact.clone());
    }
    update_session(db, log, number, &before, &session)
}

/// Notes that there is something to be projected.
pub(super) fn mark_pending(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let sql = "UPDATE log SET pending = ?2 WHERE id = ?1 AND pending IS NOT ?3";
    db.execute(sql, [log.0, pending::NEWEST, pending::WHOLE_INDEX])?;
    Ok(())
}

fn find_standing(db: &Db<'_>, session: &SessionId) -> Result<Standing, StoreError> {
    let read = |row: &Row<'_>| {
        Ok(Standing {
            log: Log(row.get(0)?),
            token: row.get(1)?,
            recent_messages: row.get(2)?,
            // One that can't be read is written again.
            is_pending: row.get(3).unwrap_or(false),
            head: EntryNumber::new(row.get(4)?),
        })
    };
    // One statement, since this is done for every chunk. The rows of a log's entries are `log << 32 | number`.
    let sql = "SELECT session.log, session.token, session.recent_messages, log.pending,
               coalesce((SELECT entry.id & 0xffffffff FROM entry WHERE entry.id > session.log << 32
                         AND entry.id <= session.log << 32 | 0xffffffff ORDER BY entry.id DESC LIMIT 1), log.parent_upto)
               FROM session JOIN log ON log.id = session.log WHERE session.id = ?1";
    db.query_one(sql, [session.as_str()], read)?.ok_or_else(|| not_found(session))
}
