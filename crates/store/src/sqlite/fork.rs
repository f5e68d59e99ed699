//! Forks: a new log that goes on where the source stands, and nothing copied.

use rejoin_transcript::{EntryNumber, Fact, Session, SessionId, Timestamp};

use super::append::mark_pending;
use super::database::Db;
use super::read::{self, Stretch};
use super::rows::{Log, ORIGIN, Origin, ReadyStep, find_session, insert_entries, insert_session_in};
use crate::StoreError;
use crate::fork::become_fork;

/// What was known of `source` at entry `at`; nothing if that is its end, where what is known now is right.
///
/// This takes time in proportion to the entries, and needs no transaction, since they never change.
pub(super) fn known_at(db: &Db<'_>, source: &SessionId, at: EntryNumber) -> Result<Option<Session>, StoreError> {
    let (log, mut session) = find_session(db, source)?;
    if at >= read::end_of(db, source)?.1 {
        return Ok(None);
    }
    observe_anew(db, &mut session, &read::stretches(db, log)?, at)?;
    Ok(Some(session))
}

/// Makes `fork`, given what was [`known_at`] its point.
pub(super) fn fork(
    db: &Db<'_>,
    source: &SessionId,
    known: Option<Session>,
    at: EntryNumber,
    fork: SessionId,
    now: Timestamp,
    facts: Vec<Fact>,
) -> Result<Session, StoreError> {
    let (log, session) = find_session(db, source)?;
    let (_, last) = read::end_of(db, source)?;
    if at > last {
        return Err(StoreError::NoSuchEntry { session: source.clone(), at, last });
    }
    let stretches = read::stretches(db, log)?;
    let has_gone_on = known.is_none() && at < last;
    let mut session = known.unwrap_or(session);
    if has_gone_on {
        observe_anew(db, &mut session, &stretches, at)?;
    }
    let first = ReadyStep::new(become_fork(&mut session, fork, at, now, facts))?;
    // The log that holds the fork point, so that the fork depends on no more than it needs.
    let parent = stretches.iter().find(|stretch| at <= stretch.upto && at > stretch.after).map(|stretch| stretch.log);
    let own = insert_session_in(db, &session, Origin { parent, upto: at }, at.next())?;
    insert_entries(db, own, at, &[first])?;
    mark_pending(db, own)?;
    Ok(session)
}

/// Tells `session` the entries up to `at` again.
fn observe_anew(db: &Db<'_>, session: &mut Session, stretches: &[Stretch], at: EntryNumber) -> Result<(), StoreError> {
    session.forget_entries();
    for stretch in stretches {
        let mut rest = Stretch { upto: stretch.upto.min(at), ..*stretch };
        while rest.after < rest.upto {
            let page = read::page_of(db, rest)?;
            let Some(last) = page.last() else { return Err(read::missing(db, rest.after.next())) };
            rest.after = last.number;
            for entry in &page {
                session.observe(entry.number, &entry.step);
            }
        }
    }
    Ok(())
}

/// The logs that go on from `log`, with the last entry that each shares with it. All of them are newer than it, so
/// whatever follows them comes to an end.
pub(super) fn children(db: &Db<'_>, log: Log) -> Result<Vec<(Log, EntryNumber)>, StoreError> {
    let children = origins_in(db, log)?.into_iter();
    Ok(children.filter_map(|(child, origin)| Some((child, origin?.upto))).collect())
}

/// The last entry of `log` that others need which go on from it. One that does not say any more what it needs is taken to
/// need everything.
pub(super) fn needed_by_children(db: &Db<'_>, log: Log) -> Result<Option<EntryNumber>, StoreError> {
    let children = origins_in(db, log)?.into_iter();
    Ok(children.map(|(_, origin)| origin.map_or(EntryNumber::new(u32::MAX), |origin| origin.upto)).max())
}

fn origins_in(db: &Db<'_>, log: Log) -> Result<Vec<(Log, Option<Origin>)>, StoreError> {
    let sql = format!("SELECT {ORIGIN} FROM log WHERE parent = ?1");
    db.query_all(&sql, [log.0], |row| Ok((Log(row.get(0)?), Origin::read(row))))
}
