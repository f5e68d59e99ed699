//! Checking every byte that can be checked.

use rejoin_transcript::{EntryNumber, SessionId};
use rusqlite::{Row, params};

use super::content;
use super::database::Db;
use super::read::{Stretch, stretches};
use super::rows::{Log, SELECT_ENTRIES, find_session, read_entry};
use crate::{Damage, StoreError, VerifyReport};

pub(super) fn verify(db: &Db<'_>) -> Result<VerifyReport, StoreError> {
    let mut report = VerifyReport::default();
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, Log(row.get(1)?)));
    let sessions = db.query_all("SELECT id, log FROM session ORDER BY log", [], read)?;
    for (id, log) in sessions {
        let session = SessionId::parse(id).map_err(|error| db.damaged(error.to_string()))?;
        report.sessions += 1;
        verify_session(db, &session, log, &mut report)?;
    }
    verify_file(db, &mut report);
    Ok(report)
}

/// Checks what is known of a session, and each of its entries. Those it shares with others are checked for each.
fn verify_session(db: &Db<'_>, session: &SessionId, log: Log, report: &mut VerifyReport) -> Result<(), StoreError> {
    let mut damage = |entry, what: String| {
        report.damages.push(Damage { session: Some(session.clone()), entry, what });
    };
    if let Err(StoreError::Damaged { what, .. }) = find_session(db, session) {
        damage(None, what);
    }
    let stretches = match stretches(db, log) {
        Err(StoreError::Damaged { what, .. }) => {
            damage(None, what);
            return Ok(());
        }
        other => other?,
    };
    let mut entries = 0;
    for stretch in stretches {
        entries += verify_stretch(db, stretch, &mut damage)?;
    }
    report.entries += entries;
    Ok(())
}

/// Checks the entries of one stretch, and says how many there are.
fn verify_stretch(
    db: &Db<'_>,
    stretch: Stretch,
    damage: &mut impl FnMut(Option<EntryNumber>, String),
) -> Result<u64, StoreError> {
    let mut statement = db.prepare(SELECT_ENTRIES)?;
    let range = params![stretch.log.row(stretch.after), stretch.log.row(stretch.upto)];
    let mut rows = statement.query(range).map_err(|error| db.error(error))?;
    let (mut expected, mut entries) = (stretch.after.next(), 0);
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(error) => {
                damage(Some(expected), format!("can't be read: {error}"));
                return Ok(entries);
            }
        };
        let stored = read_entry(row).map_err(|error| db.error(error))?;
        let number = stored.as_ref().map_or_else(|number| *number, |stored| stored.entry.number);
        while expected < number {
            damage(Some(expected), "is missing".to_owned());
            expected = expected.next();
        }
        match stored {
            Ok(stored) => {
                if content::restore(db, stored)?.is_none() {
                    damage(Some(number), "has lost big content".to_owned());
                }
            }
            Err(_) => damage(Some(number), "is not what was written".to_owned()),
        }
        entries += 1;
        expected = number.next();
    }
    let is_cut_short = stretch.upto != EntryNumber::new(u32::MAX) && expected <= stretch.upto;
    if is_cut_short {
        damage(Some(expected), "is missing".to_owned());
    }
    Ok(entries)
}

/// Lets SQLite check its own structures, the search index among them.
fn verify_file(db: &Db<'_>, report: &mut VerifyReport) {
    let mut damage = |what| report.damages.push(Damage { session: None, entry: None, what });
    match db.query_all("PRAGMA integrity_check(20)", [], |row| row.get::<_, String>(0)) {
        Ok(lines) => lines.into_iter().filter(|line| line != "ok").for_each(damage),
        Err(error) => damage(error.to_string()),
    }
}
