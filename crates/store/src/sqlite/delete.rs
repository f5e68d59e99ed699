//! Deleting sessions, and what only they needed.

use std::collections::BTreeSet;

use rejoin_transcript::{EntryNumber, SessionFacts, SessionId, Shelf, Timestamp};
use rusqlite::{Row, params};

use super::append::mark_pending;
use super::content;
use super::database::Db;
use super::fork::needed_by_children;
use super::leases::{check_idle, is_held_by_anyone};
use super::projector::{forget_passages, forget_title};
use super::read;
use super::rows::{Log, facts_in, find_log};
use crate::cut::{Address, read_holes};
use crate::{Pruned, Retention, StoreError};

pub(super) fn delete(db: &Db<'_>, session: &SessionId, now: Timestamp) -> Result<(), StoreError> {
    check_idle(db, session, now)?;
    let log = find_log(db, session)?;
    // Should the files not be scrubbed after this, they will be another time.
    db.execute("UPDATE meta SET value = 1 WHERE key = 'scrub_due'", [])?;
    forget_title(db, log)?;
    db.execute("DELETE FROM session WHERE log = ?1", [log.0])?;
    free(db, log)
}

/// Frees what no session needs of `log`, and of the logs it goes on from.
fn free(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    let mut next = Some(log);
    while let Some(log) = next {
        let is_used = db.query_one("SELECT 1 FROM session WHERE log = ?1", [log.0], |_| Ok(()))?.is_some();
        if is_used {
            return Ok(());
        }
        if let Some(needed) = needed_by_children(db, log)? {
            return trim(db, log, needed);
        }
        // Where a damaged log went on from is not known any more.
        next = match read::origin(db, log) {
            Err(StoreError::Damaged { .. }) => None,
            origin => origin?.parent,
        };
        remove(db, log)?;
    }
    Ok(())
}

/// Removes the entries of `log` behind `needed`.
fn trim(db: &Db<'_>, log: Log, needed: EntryNumber) -> Result<(), StoreError> {
    let pieces = params![log.row(EntryNumber::START), log.last_row(), needed.get()];
    db.execute("DELETE FROM replay WHERE id > ?1 AND id <= ?2 AND last > ?3", pieces)?;
    let sql = "SELECT max(last) FROM replay WHERE id > ?1 AND id <= ?2";
    let range = params![log.row(EntryNumber::START), log.last_row()];
    let sealed = match db.query_one(sql, range, |row| row.get::<_, Option<u32>>(0))?.flatten() {
        Some(sealed) => sealed,
        None => read::origin(db, log)?.upto.get(),
    };
    // What is not sealed may reach beyond what is kept; it is indexed anew.
    forget_passages(db, log, EntryNumber::new(sealed))?;
    db.execute("DELETE FROM entry WHERE id > ?1 AND id <= ?2", params![log.row(needed), log.last_row()])?;
    content::forget(db, log, &used_contents(db, log)?)?;
    db.execute("UPDATE log SET sealed = ?2 WHERE id = ?1", params![log.0, sealed])?;
    mark_pending(db, log)
}

/// Removes all of `log`.
fn remove(db: &Db<'_>, log: Log) -> Result<(), StoreError> {
    forget_passages(db, log, EntryNumber::START)?;
    // Those that do not say any more which entries they are in.
    db.execute("DELETE FROM passage WHERE log = ?1", [log.0])?;
    let range = params![log.row(EntryNumber::START), log.last_row()];
    db.execute("DELETE FROM replay WHERE id > ?1 AND id <= ?2", range)?;
    db.execute("DELETE FROM entry WHERE id > ?1 AND id <= ?2", range)?;
    content::forget(db, log, &[])?;
    db.execute("DELETE FROM log WHERE id = ?1", [log.0])?;
    Ok(())
}

/// The addresses of the big content in the entries of `log`.
fn used_contents(db: &Db<'_>, log: Log) -> Result<Vec<Address>, StoreError> {
    let sql = "SELECT holes FROM entry WHERE id > ?1 AND id <= ?2 AND holes IS NOT NULL";
    let range = params![log.row(EntryNumber::START), log.last_row()];
    let holes: Vec<Vec<u8>> = db.query_all(sql, range, |row| row.get(0))?;
    let addresses: BTreeSet<Address> =
        holes.iter().filter_map(|holes| read_holes(holes)).flatten().map(|(_, address)| address).collect();
    Ok(addresses.into_iter().collect())
}

/// The sessions that `retention` does not keep, the least recently used first.
pub(super) fn to_prune(db: &Db<'_>, retention: &Retention, now: Timestamp) -> Result<Vec<Pruned>, StoreError> {
    // By an index alone: a page of the sessions that can't be read must not hide those on others.
    let sql = "SELECT log FROM session INDEXED BY session_by_time WHERE shelf IN (?1, ?2)
               ORDER BY updated_at DESC, log DESC";
    let shelves = params![Shelf::Listed.code(), Shelf::Archived.code()];
    let logs = db.query_all(sql, shelves, |row| row.get(0).map(Log))?;
    let candidates = logs.into_iter().filter_map(|log| candidate(db, log, now).transpose());
    retention.choose(candidates, |facts| own_bytes(db, find_log(db, &facts.session_id)?), now)
}

/// The session of `log`, and whether a turn of it is running. What is damaged is left for a person to look at.
fn candidate(db: &Db<'_>, log: Log, now: Timestamp) -> Result<Option<(SessionFacts, bool)>, StoreError> {
    Ok(facts_in(db, log)?.map(|facts| {
        let is_running = check_idle(db, &facts.session_id, now).is_err();
        (facts, is_running)
    }))
}

/// The bytes of what is known of a session, of its log's own entries, and of the big content they use. What is made of
/// these, and how SQLite lays them out, comes on top.
fn own_bytes(db: &Db<'_>, log: Log) -> Result<u64, StoreError> {
    let number = |row: &Row<'_>| row.get::<_, u64>(0);
    let known =
        "SELECT coalesce(octet_length(facts), 0) + coalesce(octet_length(settings), 0) FROM session WHERE log = ?1";
    let known = db.query_one(known, [log.0], number)?;
    let entries = db.query_one(
        "SELECT coalesce(sum(octet_length(body) + coalesce(octet_length(extra), 0)), 0) FROM entry
         WHERE id > ?1 AND id <= ?2",
        params![log.row(EntryNumber::START), log.last_row()],
        number,
    )?;
    let contents = db.query_one(
        "SELECT coalesce(sum(octet_length(packed)), 0) FROM content_use JOIN content USING (address) WHERE log = ?1",
        [log.0],
        number,
    )?;
    Ok([known, entries, contents].into_iter().flatten().sum())
}

/// Removes the sessions made before `before` that were never prompted.
pub(super) fn remove_empty(db: &Db<'_>, before: Timestamp, now: Timestamp) -> Result<u64, StoreError> {
    let found = find_empty(db, before, now)?;
    for session in &found {
        delete(db, session, now)?;
    }
    Ok(found.len() as u64)
}

/// The sessions made before `before` that were never prompted, and that nobody has open: somebody may be about to prompt
/// such a one.
pub(super) fn find_empty(db: &Db<'_>, before: Timestamp, now: Timestamp) -> Result<Vec<SessionId>, StoreError> {
    let sql = "SELECT log FROM session INDEXED BY session_empty WHERE shelf = 2 AND created_at < ?1";
    let mut empty = Vec::new();
    for log in db.query_all(sql, [before.as_millis()], |row| row.get(0).map(Log))? {
        let Some(SessionFacts { session_id: session, .. }) = facts_in(db, log)? else { continue };
        match is_held_by_anyone(db, &session, now) {
            // What is damaged is left for a person to look at.
            Err(StoreError::Damaged { .. }) => {}
            is_held => empty.extend((!is_held?).then_some(session)),
        }
    }
    Ok(empty)
}
