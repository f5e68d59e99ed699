//! Leases, in the row of their session.

use rejoin_transcript::{EntryNumber, SessionId, Timestamp};
use rusqlite::{Row, params};

use super::clock;
use super::database::Db;
use super::read;
use super::rows::{Log, not_found};
use crate::lease::{Held, is_busy, is_held, is_orphaned, may_take_over};
use crate::{Lease, Owner, StoreError};

/// A session's lease, and whether a turn is running.
struct Standing {
    log: Log,
    /// Whose session it is.
    owner: String,
    token: u64,
    held: Option<Held>,
    running_since: Option<EntryNumber>,
}

pub(super) fn acquire(db: &Db<'_>, session: &SessionId, owner: &Owner, now: Timestamp) -> Result<Lease, StoreError> {
    // A turn begins with this.
    db.check_files()?;
    let standing = free_to_take(db, session, owner, now)?;
    clock::bring_back(db, &standing.owner, now)?;
    let token = standing.token + 1;
    let holder = serde_json::to_string(owner).map_err(|error| db.damaged(error.to_string()))?;
    db.execute(
        "UPDATE session SET token = ?2, holder = ?3, held_since = ?4, held_until = ?5 WHERE log = ?1",
        params![standing.log.0, token, holder, now.as_millis(), now.plus_millis(owner.lease_millis).as_millis()],
    )?;
    let (_, head) = read::end_of(db, session)?;
    Ok(Lease {
        session: session.clone(),
        token,
        millis: owner.lease_millis,
        head,
        unfinished_since: standing.running_since,
        is_orphaned: is_orphaned(standing.held.as_ref(), owner),
    })
}

pub(super) fn renew(db: &Db<'_>, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
    let renewed = db.execute(
        "UPDATE session SET held_until = ?3 WHERE id = ?1 AND token = ?2",
        params![lease.session.as_str(), lease.token, now.plus_millis(lease.millis).as_millis()],
    )?;
    if renewed == 1 { Ok(()) } else { Err(StoreError::LeaseLost { session: lease.session.clone() }) }
}

pub(super) fn release(db: &Db<'_>, lease: &Lease) -> Result<(), StoreError> {
    db.execute(
        // Whoever gave the right back can't use it any more.
        "UPDATE session SET token = token + 1, holder = NULL, held_since = NULL, held_until = NULL
         WHERE id = ?1 AND token = ?2",
        params![lease.session.as_str(), lease.token],
    )?;
    Ok(())
}

/// Fails while a living owner, be it this process, runs a turn of `session`.
pub(super) fn check_idle(db: &Db<'_>, session: &SessionId, now: Timestamp) -> Result<(), StoreError> {
    let standing = find_standing(db, session)?;
    match &standing.held {
        Some(held) if is_busy(Some(held), now, standing.running_since.is_some()) => Err(in_use(session, held)),
        _ => Ok(()),
    }
}

/// Whether a living owner has `session`, be it this process.
pub(super) fn is_held_by_anyone(db: &Db<'_>, session: &SessionId, now: Timestamp) -> Result<bool, StoreError> {
    Ok(is_held(find_standing(db, session)?.held.as_ref(), now))
}

fn free_to_take(db: &Db<'_>, session: &SessionId, owner: &Owner, now: Timestamp) -> Result<Standing, StoreError> {
    let standing = find_standing(db, session)?;
    match &standing.held {
        Some(held) if !may_take_over(Some(held), owner, now, standing.running_since.is_some()) => {
            Err(in_use(session, held))
        }
        _ => Ok(standing),
    }
}

fn in_use(session: &SessionId, held: &Held) -> StoreError {
    StoreError::InUse { session: session.clone(), owner: Box::new(held.owner.clone()), since: held.since }
}

fn find_standing(db: &Db<'_>, session: &SessionId) -> Result<Standing, StoreError> {
    let read = |row: &Row<'_>| {
        // A holder that can't be read can't be asked either.
        let holder = row.get_ref(2)?.as_str().ok();
        let owner = holder.and_then(|holder| serde_json::from_str(holder).ok());
        let time = |column| Timestamp::from_millis(row.get(column).unwrap_or_default());
        let held = owner.map(|owner| Held { owner, since: time(3), until: time(4) });
        let running_since = row.get::<_, Option<u32>>(5)?.map(EntryNumber::new);
        Ok(Standing { log: Log(row.get(0)?), owner: row.get(6)?, token: row.get(1)?, held, running_since })
    };
    let sql = "SELECT log, token, holder, held_since, held_until, running_since, owner FROM session WHERE id = ?1";
    db.query_one(sql, [session.as_str()], read)?.ok_or_else(|| not_found(session))
}
