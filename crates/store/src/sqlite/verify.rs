//! Checking every byte that can be checked.

use rejoin_transcript::{EntryNumber, SessionId};
use rusqlite::{Row, params};

use super::content;
use super::database::Db;
use super::read::{Stretch, read_piece, stretches, unpack_lines};
use super::rows::{Log, SELECT_ENTRIES, find_session, read_entry};
use crate::{Damage, StoreError, VerifyReport};

pub(super) fn verify(db: &Db<'_>) -> VerifyReport {
    let mut report = VerifyReport::default();
    verify_file(db, &mut report);
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, Log(row.get(1)?)));
    match db.query_all("SELECT id, log FROM session ORDER BY log", [], read) {
        Ok(sessions) => {
            for (id, log) in sessions {
                verify_session(db, &id, log, &mut report);
            }
        }
        Err(error) => report.damages.push(Damage { session: None, entry: None, what: tell(&error) }),
    }
    report
}

/// Checks what is known of a session, and each of its entries. Those it shares with others are checked for each.
fn verify_session(db: &Db<'_>, id: &str, log: Log, report: &mut VerifyReport) {
    report.sessions += 1;
    let Ok(session) = SessionId::parse(id) else {
        let what = format!("a session has the id `{}`", id.escape_debug());
        return report.damages.push(Damage { session: None, entry: None, what });
    };
    let mut damages = Vec::new();
    let mut entries = 0;
    let mut damage = |entry, what| damages.push(Damage { session: Some(session.clone()), entry, what });
    if let Err(error) = find_session(db, &session) {
        damage(None, tell(&error));
    }
    match stretches(db, log) {
        Ok(stretches) => {
            for stretch in stretches {
                entries += verify_entries(db, stretch, &mut damage);
            }
        }
        Err(error) => damage(None, tell(&error)),
    }
    if let Err(error) = verify_pieces(db, log, &mut damage) {
        damage(None, tell(&error));
    }
    report.entries += entries;
    report.damages.extend(damages);
}

/// Checks the entries of one stretch, and says how many there are.
fn verify_entries(db: &Db<'_>, stretch: Stretch, damage: &mut impl FnMut(Option<EntryNumber>, String)) -> u64 {
    let (mut expected, mut entries) = (stretch.after.next(), 0);
    let mut verify = || -> Result<(), StoreError> {
        let mut statement = db.prepare(SELECT_ENTRIES)?;
        let range = params![stretch.log.row(stretch.after), stretch.log.row(stretch.upto)];
        let mut rows = statement.query(range).map_err(|error| db.error(error))?;
        while let Some(row) = rows.next().map_err(|error| db.error(error))? {
            let stored = read_entry(row).map_err(|error| db.error(error))?;
            let number = stored.as_ref().map_or_else(|number| *number, |stored| stored.entry.number);
            if expected < number {
                damage(Some(expected), missing(expected, number));
            }
            (expected, entries) = (number.next(), entries + 1);
            match stored.map(|stored| content::restore(db, &stored)) {
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => damage(Some(number), "has lost big content".to_owned()),
                Ok(Err(error)) => damage(Some(number), format!("has big content that can't be read: {}", tell(&error))),
                Err(_) => damage(Some(number), "is not what was written".to_owned()),
            }
        }
        Ok(())
    };
    match verify() {
        Err(error) => damage(Some(expected), tell(&error)),
        Ok(()) if stretch.upto != EntryNumber::new(u32::MAX) && expected <= stretch.upto => {
            damage(Some(expected), missing(expected, stretch.upto.next()));
        }
        Ok(()) => {}
    }
    entries
}

/// Checks the stored replay of a log. It can be made again, so its damage costs nothing but time.
fn verify_pieces(
    db: &Db<'_>,
    log: Log,
    damage: &mut impl FnMut(Option<EntryNumber>, String),
) -> Result<(), StoreError> {
    let sql = "SELECT id, first, last, states, holes, checksum, packed FROM replay WHERE id > ?1 AND id <= ?2";
    let mut statement = db.prepare(sql)?;
    let range = params![log.row(EntryNumber::START), log.last_row()];
    let mut rows = statement.query(range).map_err(|error| db.error(error))?;
    while let Some(row) = rows.next().map_err(|error| db.error(error))? {
        let piece = read_piece(row).map_err(|error| db.error(error))?;
        if !piece.is_whole || unpack_lines(db, &piece)?.is_none() {
            damage(
                Some(EntryNumber::new(piece.first)),
                "has a damaged replay form, which is made anew when it is read".to_owned(),
            );
        }
    }
    Ok(())
}

fn missing(first: EntryNumber, next: EntryNumber) -> String {
    match next.get() - first.get() {
        1 => "is missing".to_owned(),
        count => format!("is missing, and the {} behind it", count - 1),
    }
}

/// What is wrong, without the store's path, which the reader knows.
fn tell(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { what, .. } => what.clone(),
        other => other.to_string(),
    }
}

/// Lets SQLite check its own structures, the search index among them.
fn verify_file(db: &Db<'_>, report: &mut VerifyReport) {
    let mut damage = |what| report.damages.push(Damage { session: None, entry: None, what });
    match db.query_all("PRAGMA integrity_check(20)", [], |row| row.get::<_, String>(0)) {
        Ok(lines) => lines.into_iter().filter(|line| line != "ok").for_each(damage),
        Err(error) => damage(tell(&error)),
    }
}
