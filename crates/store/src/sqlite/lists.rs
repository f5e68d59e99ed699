//! Lists: by index, page by page.

use std::cmp::Reverse;
use std::ops::ControlFlow;

use rejoin_transcript::{SessionFacts, SessionId, Shelf, Timestamp};
use rusqlite::{Row, named_params, params};

use super::database::Db;
use super::rows::{FACTS, Log, facts_in, read_facts};
use crate::advance::Advance;
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
    found.sort_by_key(|(place, _)| Reverse(*place));
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
    let (index, filters) = match (&filter.cwd, &filter.agent) {
        (None, None) => ("session_by_time", "(:cwd IS NULL AND :agent IS NULL)"),
        (Some(_), None) => ("session_by_cwd", "cwd = :cwd AND (:agent IS NULL)"),
        (None, Some(_)) => ("session_by_agent", "agent = :agent AND (:cwd IS NULL)"),
        (Some(_), Some(_)) => ("session_by_cwd_and_agent", "cwd = :cwd AND agent = :agent"),
    };
    let sql = |columns: &str| {
        format!(
            "SELECT {columns} FROM session INDEXED BY {index} WHERE owner = :owner AND shelf = :shelf AND {filters}
             AND (updated_at, log) < (:updated_at, :log) ORDER BY updated_at DESC, log DESC LIMIT :limit"
        )
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
    let place = |row: &Row<'_>| Ok(Place { row: row.get(0)?, updated_at: Timestamp::from_millis(row.get(1)?) });
    // A damaged session must not hide the others; `verify` names it.
    let rows = match db.query_all(&sql(FACTS), params, |row| Ok((place(row)?, read_facts(row)))) {
        // A page of the sessions can't be read. The index alone says where they are.
        Err(StoreError::Damaged { .. }) => {
            let places = db.query_all(&sql("log, updated_at"), params, place)?.into_iter();
            places.map(|place| Ok((place, facts_in(db, Log(place.row))?))).collect::<Result<_, StoreError>>()?
        }
        rows => rows?,
    };
    let mut order = Advance::from(Reverse(from));
    if rows.iter().all(|(place, _)| order.to(Reverse(*place))) {
        Ok(rows)
    } else {
        // A cursor made of this would lead back to where it came from.
        Err(db.damaged("an index of the sessions is not in its order"))
    }
}

pub(super) fn resolve(db: &Db<'_>, owner: &str, prefix: &str) -> Result<SessionId, StoreError> {
    let not_found = || StoreError::SessionNotFound { id: prefix.to_owned() };
    // A damaged id matches nothing.
    let read = |row: &Row<'_>| Ok(row.get_ref(0)?.as_str().ok().and_then(|id| SessionId::parse(id).ok()));
    let whole = db.query_one("SELECT id FROM session WHERE id = ?1 AND owner = ?2", [prefix, owner], read)?;
    if let Some(id) = whole.flatten() {
        return Ok(id);
    }
    if prefix.is_empty() {
        return Err(not_found());
    }
    let beyond = format!("{prefix}\u{10ffff}");
    // The plus keeps SQLite from going through all sessions of the owner.
    let sql = "SELECT id FROM session WHERE id >= ?1 AND id < ?2 AND +owner = ?3";
    let (mut first, mut count) = (None, 0);
    db.visit_rows(sql, params![prefix, beyond, owner], read, |id| {
        if let Some(id) = id.flatten() {
            first.get_or_insert(id);
            count += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    match first {
        Some(id) if count == 1 => Ok(id),
        Some(_) => Err(StoreError::AmbiguousPrefix { prefix: prefix.to_owned(), count }),
        None => Err(not_found()),
    }
}
