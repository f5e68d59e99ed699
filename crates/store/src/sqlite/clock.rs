//! Brings sessions back that are [ahead](crate::ahead) of the clock.

use rejoin_transcript::{SessionId, Shelf, Timestamp};
use rusqlite::{Row, params};

use super::database::Db;
use super::read::known_head;
use super::rows::{find_session, update_session};
use crate::StoreError;
use crate::ahead::{AT_MOST, latest_stamp, stamps};

/// Stamps the sessions of `owner` that are ahead of `now` with that, in their order.
pub(super) fn bring_back(db: &Db<'_>, owner: &str, now: Timestamp) -> Result<(), StoreError> {
    let mut ahead = Vec::new();
    for shelf in [Shelf::Listed, Shelf::Archived] {
        let sql = "SELECT updated_at, log, id FROM session INDEXED BY session_by_time
                   WHERE owner = ?1 AND shelf = ?2 AND updated_at > ?3 LIMIT ?4";
        let params = params![owner, shelf.code(), latest_stamp(now).as_millis(), AT_MOST as u64 + 1];
        ahead.extend(db.query_all(sql, params, |row| Ok(read(row)))?.into_iter().flatten());
    }
    ahead.sort_unstable();
    let new = stamps(ahead.len(), now);
    for ((_, _, id), stamp) in ahead.into_iter().zip(new) {
        let (Ok((log, before)), Ok((_, head))) = (find_session(db, &id), known_head(db, &id)) else { continue };
        let mut session = before.clone();
        session.facts.updated_at = stamp;
        update_session(db, log, head, &before, &session)?;
    }
    Ok(())
}

/// The stamp, the place and the id of a session. One that is damaged stays as it is, and keeps nobody from using another.
fn read(row: &Row<'_>) -> Option<(i64, i64, SessionId)> {
    let id: String = row.get(2).ok()?;
    Some((row.get(0).ok()?, row.get(1).ok()?, SessionId::parse(id).ok()?))
}
