//! How much the store holds.

use rejoin_transcript::{Shelf, Timestamp};
use rusqlite::params;

use super::access::beside;
use super::database::Db;
use super::rows::read_facts;
use crate::{Stats, StoreError};

pub(super) fn stats(db: &Db<'_>, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
    let mut stats = Stats { bytes: bytes_on_disk(db), ..Stats::default() };
    let sql = "SELECT facts, facts_checksum FROM session WHERE shelf IN (?1, ?2)";
    let mut statement = db.prepare(sql)?;
    let shelves = params![Shelf::Listed.code(), Shelf::Archived.code()];
    let mut rows = statement.query(shelves).map_err(|error| db.error(error))?;
    while let Some(row) = rows.next().map_err(|error| db.error(error))? {
        let read = || Ok((row.get::<_, String>(0)?, row.get(1)?));
        let (facts, checksum) = read().map_err(|error| db.error(error))?;
        if let Some(facts) = read_facts(&facts, checksum) {
            stats.add(&facts, day);
        }
    }
    Ok(stats)
}

/// The bytes of the store's files.
fn bytes_on_disk(db: &Db<'_>) -> u64 {
    let size = |suffix| std::fs::metadata(beside(db.path(), suffix)).map_or(0, |metadata| metadata.len());
    size("") + size("-wal") + size("-shm")
}
