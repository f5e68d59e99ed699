//! The search index: which passages there are, and the words in them.
//!
//! All of it can be made again from the entries. An index that can't be read or written any more is emptied, and the logs
//! are marked so that the projector indexes them from their beginning.

use std::collections::HashMap;

use rejoin_transcript::EntryNumber;
use rusqlite::{Row, params};

use super::database::Db;
use super::rows::{Log, checksum_of, number};
use crate::StoreError;

/// The values of `log.pending`.
pub(super) mod pending {
    /// What was written last is not projected yet.
    pub(in super::super) const NEWEST: i64 = 1;
    /// Nothing of the log is in the index.
    pub(in super::super) const WHOLE_INDEX: i64 = 2;
}

/// A row of `passage`: a message, a tool call's title, or the session's title, to be found by its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PassageRow {
    pub(super) log: Log,
    /// The entries that its text is in; both [`EntryNumber::START`] for the session's title.
    pub(super) first: EntryNumber,
    pub(super) last: EntryNumber,
    /// When it was last added to.
    pub(super) at: i64,
    /// The title as indexed; other text is in the entries.
    pub(super) text: Option<String>,
}

/// The columns that [`PassageRow::read`] reads.
pub(super) const PASSAGE: &str = "passage.log, passage.first, passage.last, passage.at, passage.text, passage.checksum";

impl PassageRow {
    /// Reads a row that has [`PASSAGE`] from `column` on; `None` if it is not what was written.
    pub(super) fn read(row: &Row<'_>, column: usize) -> Option<Self> {
        let integer = |offset| row.get_ref(column + offset).ok()?.as_i64().ok();
        let text = row.get_ref(column + 4).ok()?.as_str_or_null().ok()?;
        let (first, last) = (number(integer(1)?)?, number(integer(2)?)?);
        let passage = Self { log: Log(integer(0)?), first, last, at: integer(3)?, text: text.map(str::to_owned) };
        let checksum = row.get_ref(column + 5).ok()?.as_i64_or_null().ok()?;
        // Written by schema 1, if it has none.
        checksum.is_none_or(|checksum| checksum == i64::from(passage.checksum())).then_some(passage)
    }

    fn checksum(&self) -> u32 {
        checksum_of(&[
            &self.log.0.to_le_bytes(),
            &self.first.get().to_le_bytes(),
            &self.last.get().to_le_bytes(),
            &self.at.to_le_bytes(),
            &[u8::from(self.text.is_some())],
            self.text.as_deref().unwrap_or_default().as_bytes(),
        ])
    }
}

/// Adds `passage`, with the words of `indexed`.
pub(super) fn add(db: &Db<'_>, passage: &PassageRow, indexed: &str) -> Result<(), StoreError> {
    let PassageRow { log, first, last, at, text } = passage;
    let added = db.execute(
        "INSERT INTO passage (log, first, last, at, text, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![log.0, first.get(), last.get(), at, text, passage.checksum()],
    );
    match added {
        // SQLite has the same word for it when a damaged row has the last of all ids.
        Err(StoreError::Full { .. }) if has_last_id(db)? => {
            return Err(StoreError::IndexDamaged { path: db.path().to_owned() });
        }
        added => added?,
    };
    let columns = params![db.connection.last_insert_rowid(), indexed];
    of_index(db, db.execute("INSERT INTO passage_text (rowid, text) VALUES (?1, ?2)", columns))
}

fn has_last_id(db: &Db<'_>) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM passage WHERE id = ?1)
               OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'passage' AND seq = ?1)";
    Ok(db.query_one(sql, [i64::MAX], |row| row.get(0))?.unwrap_or_default())
}

/// Removes the passage `id`, which was added with the words of `indexed`.
pub(super) fn remove(db: &Db<'_>, id: i64, indexed: &str) -> Result<(), StoreError> {
    // The index holds no text: to take words out, it must be told which.
    let sql = "INSERT INTO passage_text (passage_text, rowid, text) VALUES ('delete', ?1, ?2)";
    of_index(db, db.execute(sql, params![id, indexed]))?;
    db.execute("DELETE FROM passage WHERE id = ?1", [id])?;
    Ok(())
}

/// How a statement on the index ended: where it failed because of what the index holds, the index is damaged.
pub(super) fn of_index<T>(db: &Db<'_>, done: Result<T, StoreError>) -> Result<(), StoreError> {
    match done {
        Ok(_) => Ok(()),
        Err(error) if is_of_index(&error) => Err(StoreError::IndexDamaged { path: db.path().to_owned() }),
        Err(error) => Err(error),
    }
}

/// Whether a statement that is right fails like this because of what the index holds. Of its configuration FTS5 says so
/// by the code for any error.
fn is_of_index(error: &StoreError) -> bool {
    match error {
        StoreError::Damaged { .. } => true,
        StoreError::Database { source, .. } => {
            let source = source.downcast_ref::<rusqlite::Error>();
            source.and_then(rusqlite::Error::sqlite_error_code) == Some(rusqlite::ErrorCode::Unknown)
        }
        _ => false,
    }
}

/// Whether FTS5 can find its way through the index: where it can't, it often finds nothing, and does not say so.
///
/// Looks at a row for each of its pages, and at no word.
pub(super) fn is_readable(db: &Db<'_>) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM passage_text_data WHERE id < 0 OR typeof(block) != 'blob')
               OR EXISTS (SELECT 1 FROM passage_text_idx WHERE typeof(segid) != 'integer' OR typeof(pgno) != 'integer'
                          OR typeof(term) NOT IN ('blob', 'text'))";
    let has_wrong_type: bool = db.query_one(sql, [], |row| row.get(0))?.unwrap_or_default();
    let block = |id: i64| {
        let sql = "SELECT block FROM passage_text_data WHERE id = ?1";
        db.query_one(sql, [id], |row| Ok(row.get_ref(0)?.as_blob().unwrap_or_default().to_vec()))
    };
    let sql = "SELECT (SELECT count(*) FROM passage_text_docsize), EXISTS (SELECT 1 FROM passage_text_idx)";
    let counts = db.query_one(sql, [], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, bool>(1)?)))?;
    let (passages, has_pages) = counts.unwrap_or_default();
    let (Some(totals), Some(structure)) = (block(TOTALS)?, block(STRUCTURE)?) else { return Ok(false) };
    let (known, words) = read_varint(&totals);
    let are_totals_sound = known == passages && read_varint(words).1.is_empty();
    let segments = read_segments(&structure);
    Ok(!has_wrong_type && are_totals_sound && segments.is_empty() != has_pages && !has_lost_page(db, &segments)?)
}

/// Whether a page is missing that the index knows of. While segments are merged, those pages of them are gone that come
/// before the first that is not merged yet, which is among `segments`.
fn has_lost_page(db: &Db<'_>, segments: &HashMap<u64, u64>) -> Result<bool, StoreError> {
    // Page P of segment S is the row `S << 37 | P`.
    let sql = "SELECT segid, pgno >> 1 FROM passage_text_idx
               WHERE (segid << 37) + (pgno >> 1) NOT IN (SELECT id FROM passage_text_data)";
    let missing = db.query_rows(sql, [], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?)))?;
    let is_merged = |row: &Option<(u64, u64)>| {
        row.is_some_and(|(segment, page)| segments.get(&segment).is_some_and(|first| *first == 0 || page < *first))
    };
    Ok(!missing.iter().all(is_merged))
}

/// Rows of `passage_text_data`: how many passages and words there are; which segments.
const TOTALS: i64 = 1;
const STRUCTURE: i64 = 10;

/// The segments in the structure of an index, each with its first page, or 0 if all of it is merged.
///
/// Behind a cookie, and the mark of the newer format, stand how many levels and segments there are and a counter; then for
/// each level how many of its segments are being merged, how many it has, and what there is to say of each.
fn read_segments(structure: &[u8]) -> HashMap<u64, u64> {
    let mut rest = structure.get(4..).unwrap_or_default();
    let mut n_more = 0;
    if let Some(newer) = rest.strip_prefix(&[0xff, 0, 0, 1]) {
        (rest, n_more) = (newer, 5);
    }
    let mut next = || {
        let (number, behind) = read_varint(rest);
        let is_there = !rest.is_empty();
        rest = behind;
        is_there.then_some(number)
    };
    let (mut segments, [levels, _, _]) = (HashMap::new(), [(); 3].map(|()| next()));
    for _ in 0..levels.unwrap_or_default() {
        let [_, Some(count)] = [next(), next()] else { break };
        for _ in 0..count {
            let [Some(segment), Some(first), _] = [next(), next(), next()] else { break };
            (0..n_more).for_each(|_| {
                next();
            });
            segments.insert(segment, first);
        }
    }
    segments
}

/// A number as SQLite writes it, and what comes behind; 0 where there is none.
fn read_varint(bytes: &[u8]) -> (u64, &[u8]) {
    let mut number = 0;
    for (count, byte) in bytes.iter().take(9).enumerate() {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return (number, &bytes[count + 1..]);
        }
    }
    (number, &[])
}

/// Empties the index, whatever state it is in, and marks every log so that it is indexed again.
pub(super) fn reset(db: &Db<'_>) -> Result<(), StoreError> {
    // With a damaged configuration FTS5 does not even open the index. 5 is its format with secure deletes.
    db.execute("DELETE FROM passage_text_config", [])?;
    db.execute("INSERT INTO passage_text_config (k, v) VALUES ('version', 5), ('secure-delete', 1)", [])?;
    of_index(db, db.execute("INSERT INTO passage_text (passage_text) VALUES ('delete-all')", []))?;
    db.execute("DELETE FROM passage", [])?;
    // No index knows any of them.
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'passage'", [])?;
    db.execute("UPDATE log SET pending = ?1", [pending::WHOLE_INDEX])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::database::Database;
    use super::*;

    #[test]
    fn an_index_that_is_being_merged_is_readable() {
        let folder = tempfile::tempdir().unwrap();
        let (database, connection) = Database::open(&folder.path().join("sessions.db")).unwrap();
        let db = database.on(&connection);
        db.execute("INSERT INTO log (id) VALUES (1)", []).unwrap();
        // Two segments of several pages each.
        for segment in 0..2 {
            db.execute("BEGIN", []).unwrap();
            for number in 0..20 {
                let first = EntryNumber::new(1 + segment * 20 + number);
                let words: Vec<String> = (0..200).map(|word| format!("{}x{number}x{word}", "w".repeat(30))).collect();
                add(&db, &PassageRow { log: Log(1), first, last: first, at: 0, text: None }, &words.join(" ")).unwrap();
            }
            db.execute("COMMIT", []).unwrap();
        }
        let lost = "SELECT count(*) FROM passage_text_idx
                    WHERE (segid << 37) + (pgno >> 1) NOT IN (SELECT id FROM passage_text_data)";
        let count_lost = || db.query_one(lost, [], |row| row.get::<_, u64>(0)).unwrap().unwrap();

        let merge = "INSERT INTO passage_text (passage_text, rank) VALUES ('merge', -3)";
        db.execute(merge, []).unwrap();

        assert!(count_lost() > 0);
        assert!(is_readable(&db).unwrap());
        db.execute("DELETE FROM passage_text_data WHERE id = (SELECT max(id) FROM passage_text_data)", []).unwrap();
        assert!(!is_readable(&db).unwrap());
    }
}
