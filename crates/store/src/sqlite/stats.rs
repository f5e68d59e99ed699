//! How much the store holds.

use std::ops::ControlFlow;

use rejoin_transcript::{Shelf, Timestamp};
use rusqlite::{Row, params};

use super::access::beside;
use super::database::Db;
use super::rows::{FACTS, Log, facts_in, read_facts};
use crate::{Stats, StoreError};

pub(super) fn stats(db: &Db<'_>, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
    let mut stats = Stats { bytes: bytes_on_disk(db), ..Stats::default() };
    let sql = format!("SELECT {FACTS} FROM session WHERE shelf IN (?1, ?2)");
    let shelves = params![Shelf::Listed.code(), Shelf::Archived.code()];
    let read = |row: &Row<'_>| Ok(read_facts(row));
    let counted = db.visit_rows(&sql, shelves, read, |facts| {
        facts.flatten().iter().for_each(|facts| stats.add(facts, day));
        Ok(ControlFlow::Continue(()))
    });
    match counted {
        Err(StoreError::Damaged { .. }) => count_one_by_one(db, day),
        counted => counted.map(|()| stats),
    }
}

/// Counts the sessions one by one, since a page of them can't be read.
fn count_one_by_one(db: &Db<'_>, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
    let mut stats = Stats { bytes: bytes_on_disk(db), ..Stats::default() };
    let sql = "SELECT log FROM session INDEXED BY session_by_time WHERE shelf IN (?1, ?2)";
    let shelves = params![Shelf::Listed.code(), Shelf::Archived.code()];
    for log in db.query_all(sql, shelves, |row| row.get(0).map(Log))? {
        facts_in(db, log)?.iter().for_each(|facts| stats.add(facts, day));
    }
    Ok(stats)
}

/// The bytes of the store's files.
fn bytes_on_disk(db: &Db<'_>) -> u64 {
    let size = |suffix| std::fs::metadata(beside(db.path(), suffix)).map_or(0, |metadata| metadata.len());
    size("") + size("-wal") + size("-shm")
}
