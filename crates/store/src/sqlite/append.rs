//! Appending entries: the hot path.
//!
//! A chunk that continues a message touches one row of `entry` and nothing else: whether the writer may write and
//! where the session stands is read, not written.

use rejoin_transcript::{Entry, EntryNumber, Fact, SessionId, Step, StepKind};
use rusqlite::Row;

use super::database::Db;
use super::read;
use super::rows::{Log, find_session, insert_entry, not_found, update_session};
use crate::{Lease, StoreError};

/// Whether these steps end a turn, so that it can be sealed.
pub(super) fn ends_turn(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.kind == StepKind::TurnEnded)
}

/// What is looked at before anything is written.
struct Standing {
    log: Log,
    token: u64,
    last_message: Option<String>,
    is_pending: bool,
}

pub(super) fn append(
    db: &Db<'_>,
    lease: &Lease,
    after: EntryNumber,
    steps: Vec<Step>,
    facts: Vec<Fact>,
) -> Result<(Log, EntryNumber), StoreError> {
    let standing = find_standing(db, &lease.session)?;
    let log = standing.log;
    if standing.token != lease.token {
        return Err(StoreError::LeaseLost { session: lease.session.clone() });
    }
    let head = read::head(db, log)?;
    if head != after {
        return Err(StoreError::Conflict { session: lease.session.clone(), expected: after, actual: head });
    }
    let last_message = standing.last_message.as_deref();
    let tells = |step: &Step| step.tells_facts(last_message);
    let changes_facts = !facts.is_empty() || steps.iter().any(tells);
    let mut entries = Vec::new();
    let mut number = after;
    for step in steps {
        number = number.next();
        insert_entry(db, log, number, &step)?;
        if changes_facts {
            entries.push(Entry { number, step });
        }
    }
    if changes_facts {
        let (_, mut session) = find_session(db, &lease.session)?;
        for entry in &entries {
            session.observe(entry);
        }
        for fact in facts {
            session.apply(fact);
        }
        update_session(db, log, &session)?;
    }
    if !standing.is_pending {
        mark_pending(db, log)?;
    }
    Ok((log, number))
}

pub(super) fn tell(db: &Db<'_>, session: &SessionId, facts: Vec<Fact>) -> Result<(), StoreError> {
    let (log, mut session) = find_session(db, session)?;
    for fact in facts {
        session.apply(fact);
    }
    update_session(db, log, &session)?;
    // The title may be another one.
    mark_pending(db, log)
}

/// Notes that there is something to be projected.
pub(super) fn mark_pending(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    db.execute("UPDATE log SET pending = 1 WHERE id = ?1", [log.0])?;
    Ok(())
}

fn find_standing(db: &Db<'_>, session: &SessionId) -> Result<Standing, StoreError> {
    let read = |row: &Row<'_>| {
        Ok(Standing { log: Log(row.get(0)?), token: row.get(1)?, last_message: row.get(2)?, is_pending: row.get(3)? })
    };
    let sql = "SELECT session.log, session.token, session.last_message, log.pending
               FROM session JOIN log ON log.id = session.log WHERE session.id = ?1";
    db.query_one(sql, [session.as_str()], read)?.ok_or_else(|| not_found(session))
}
