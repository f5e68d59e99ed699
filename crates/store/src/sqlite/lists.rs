//! Lists: by index, page by page.

use rejoin_transcript::{SessionFacts, SessionId, Shelf, Timestamp};
use rusqlite::{Row, named_params, params};

use super::database::Db;
use super::rows::read_facts;
use crate::list::{Place, read_cursor, write_cursor};
use crate::{Cursor, ListFilter, Page, StoreError};

pub(super) fn list(
    db: &Db<'_>,
    filter: &ListFilter,
    cursor: Option<&Cursor>,
    limit: u32,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let from = cursor.map(|cursor| read_cursor(cursor, filter, db.id(), now)).transpose()?;
    let limit = limit.max(1) as usize;
    let mut found = Vec::new();
    // An index serves one shelf; several are merged.
    for shelf in filter.archived.shelves() {
        found.extend(list_shelf(db, filter, *shelf, from, limit + 1)?);
    }
    found.sort_by_key(|(place, _)| std::cmp::Reverse((place.updated_at, place.row)));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|(place, _)| *place).filter(|_| has_more);
    let next = last.map(|place| write_cursor(place, filter, db.id(), now));
    Ok(Page { sessions: found.into_iter().filter_map(|(_, facts)| facts).collect(), next })
}

fn list_shelf(
    db: &Db<'_>,
    filter: &ListFilter,
    shelf: Shelf,
    from: Option<Place>,
    limit: usize,
) -> Result<Vec<(Place, Option<SessionFacts>)>, StoreError> {
    // Each filter has its own index, so each has its own query.
    let sql = match (&filter.cwd, &filter.agent) {
        (None, None) => {
            "SELECT log, updated_at, facts, facts_checksum FROM session INDEXED BY session_by_time
             WHERE owner = :owner AND shelf = :shelf AND (:cwd IS NULL AND :agent IS NULL)
             AND (updated_at, log) < (:updated_at, :log) ORDER BY updated_at DESC, log DESC LIMIT :limit"
        }
        (Some(_), None) => {
            "SELECT log, updated_at, facts, facts_checksum FROM session INDEXED BY session_by_cwd
             WHERE owner = :owner AND shelf = :shelf AND cwd = :cwd AND (:agent IS NULL)
             AND (updated_at, log) < (:updated_at, :log) ORDER BY updated_at DESC, log DESC LIMIT :limit"
        }
        (None, Some(_)) => {
            "SELECT log, updated_at, facts, facts_checksum FROM session INDEXED BY session_by_agent
             WHERE owner = :owner AND shelf = :shelf AND agent = :agent AND (:cwd IS NULL)
             AND (updated_at, log) < (:updated_at, :log) ORDER BY updated_at DESC, log DESC LIMIT :limit"
        }
        (Some(_), Some(_)) => {
            "SELECT log, updated_at, facts, facts_checksum FROM session INDEXED BY session_by_cwd_and_agent
             WHERE owner = :owner AND shelf = :shelf AND cwd = :cwd AND agent = :agent
             AND (updated_at, log) < (:updated_at, :log) ORDER BY updated_at DESC, log DESC LIMIT :limit"
        }
    };
    let from = from.unwrap_or(Place { updated_at: Timestamp::from_millis(i64::MAX), row: i64::MAX });
    let params = named_params! {
        ":owner": filter.owner,
        ":shelf": shelf.code(),
        ":cwd": filter.cwd,
        ":agent": filter.agent,
        ":updated_at": from.updated_at.as_millis(),
        ":log": from.row,
        ":limit": limit as u64,
    };
    let read = |row: &Row<'_>| {
        let place = Place { row: row.get(0)?, updated_at: Timestamp::from_millis(row.get(1)?) };
        Ok((place, row.get::<_, String>(2)?, row.get::<_, u32>(3)?))
    };
    let rows = db.query_all(sql, params, read)?;
    // A damaged session must not hide the others; `verify` names it.
    Ok(rows.into_iter().map(|(place, facts, checksum)| (place, read_facts(&facts, checksum))).collect())
}

pub(super) fn resolve(db: &Db<'_>, owner: &str, prefix: &str) -> Result<SessionId, StoreError> {
    let not_found = || StoreError::SessionNotFound { id: prefix.to_owned() };
    let parse = |id: String| SessionId::parse(id).map_err(|error| db.damaged(error.to_string()));
    let whole =
        db.query_one("SELECT id FROM session WHERE id = ?1 AND owner = ?2", [prefix, owner], |row| row.get(0))?;
    if let Some(id) = whole {
        return parse(id);
    }
    if prefix.is_empty() {
        return Err(not_found());
    }
    let beyond = format!("{prefix}\u{10ffff}");
    // The plus keeps SQLite from going through all sessions of the owner.
    let sql = "SELECT min(id), count(*) FROM session WHERE id >= ?1 AND id < ?2 AND +owner = ?3";
    let read = |row: &Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get(1)?));
    match db.query_one(sql, params![prefix, beyond, owner], read)? {
        Some((Some(id), 1)) => parse(id),
        Some((Some(_), count)) => Err(StoreError::AmbiguousPrefix { prefix: prefix.to_owned(), count }),
        _ => Err(not_found()),
    }
}
