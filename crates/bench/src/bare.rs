//! What we compare with: SQLite with nothing around it.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::Result;

/// A SQLite file with one table of entries and one of messages, set up as the store sets its own up.
pub(crate) struct BareSqlite {
    connection: Connection,
}

impl BareSqlite {
    /// Makes the file.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let connection = Connection::open(path)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             PRAGMA cache_size = -8192;
             PRAGMA wal_autocheckpoint = 4000;
             CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
             CREATE TABLE message (text TEXT NOT NULL);",
        )?;
        Ok(Self { connection })
    }

    /// Inserts one entry in a commit of its own, which the death of the process does not undo.
    pub(crate) fn insert(&self, id: i64, body: &str) -> Result<()> {
        let mut insert = self.connection.prepare_cached("INSERT INTO entry (id, body) VALUES (?1, ?2)")?;
        insert.execute(params![id, body])?;
        Ok(())
    }

    /// Inserts entries in one commit, which the loss of power does not undo.
    pub(crate) fn insert_batch<'a>(&self, entries: impl IntoIterator<Item = (i64, &'a str)>) -> Result<()> {
        self.connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
        entries.into_iter().try_for_each(|(id, body)| self.insert(id, body))?;
        Ok(self.connection.execute_batch("COMMIT; PRAGMA synchronous = NORMAL")?)
    }

    /// Inserts messages in one commit.
    pub(crate) fn insert_messages(&self, texts: &[String]) -> Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let mut insert = self.connection.prepare_cached("INSERT INTO message (text) VALUES (?1)")?;
        for text in texts {
            insert.execute([text])?;
        }
        Ok(self.connection.execute_batch("COMMIT")?)
    }

    /// How many messages hold `word`, found by looking at each.
    pub(crate) fn count_messages_with(&self, word: &str) -> Result<u32> {
        let mut scan = self.connection.prepare_cached("SELECT count(*) FROM message WHERE text LIKE ?1")?;
        Ok(scan.query_row([format!("%{word}%")], |row| row.get(0))?)
    }
}

/// The id of entry `number` of `log`, so that the entries of one lie together.
pub(crate) fn row_id(log: usize, number: u32) -> Result<i64> {
    Ok((i64::try_from(log)? << 32) | i64::from(number))
}
