//! Big content, kept once under its address, and freed when no log uses it any more.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use rusqlite::{Row, params};
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::get_frame_content_size;

use super::database::Db;
use super::rows::{Log, StoredEntry};
use crate::StoreError;
use crate::cut::{Address, address, join};

/// How hard to compress: the fastest, since this is done while someone waits.
const LEVEL: i32 = 1;

/// Nothing that is packed is longer: a message has at most a quarter of it.
const LONGEST: usize = 256 * 1024 * 1024;

thread_local! {
    // To set one up costs more than a short text, so each thread keeps its own.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses `text`.
pub(super) fn pack(text: &str) -> Result<Vec<u8>, StoreError> {
    let packed = COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = match compressor {
            Some(compressor) => compressor,
            None => compressor.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(text.as_bytes())
    });
    packed.map_err(|source| StoreError::Compression { source: Arc::new(source) })
}

/// Reads what [`pack`] wrote; `None` if it is damaged.
pub(super) fn unpack(packed: &[u8]) -> Option<String> {
    let size = unpacked_len(packed)?;
    let text = DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            None => decompressor.insert(Decompressor::new().ok()?),
        };
        decompressor.decompress(packed, size).ok()
    });
    String::from_utf8(text?).ok()
}

/// How long the text is that [`pack`] made this of; `None` if it is damaged.
pub(super) fn unpacked_len(packed: &[u8]) -> Option<usize> {
    usize::try_from(get_frame_content_size(packed).ok()??).ok().filter(|len| *len <= LONGEST)
}

/// Keeps the content `packed` for `log`.
pub(super) fn keep(db: &Db<'_>, log: Log, address: &Address, packed: &[u8]) -> Result<(), StoreError> {
    // What is there may be damaged; then this makes it whole again.
    if find(db, address)?.is_none() {
        db.execute("INSERT OR REPLACE INTO content (address, packed) VALUES (?1, ?2)", params![address, packed])?;
    }
    use_in(db, log, address)
}

/// Notes that `log` uses what is kept under `address`.
pub(super) fn use_in(db: &Db<'_>, log: Log, address: &Address) -> Result<(), StoreError> {
    db.execute("INSERT OR IGNORE INTO content_use (log, address) VALUES (?1, ?2)", params![log.0, address])?;
    Ok(())
}

/// Forgets that `log` uses any, and frees what nobody uses any more but those in `kept`.
pub(super) fn forget(db: &Db<'_>, log: Log, kept: &[Address]) -> Result<(), StoreError> {
    // A damaged address refers to no content.
    let sql = "DELETE FROM content_use WHERE log = ?1 AND (typeof(address) != 'blob' OR octet_length(address) != 32)";
    db.execute(sql, [log.0])?;
    let used: Vec<Address> =
        db.query_all("SELECT address FROM content_use WHERE log = ?1", [log.0], |row| row.get(0))?;
    for address in used.iter().filter(|address| !kept.contains(address)) {
        db.execute("DELETE FROM content_use WHERE log = ?1 AND address = ?2", params![log.0, address])?;
        db.execute(
            "DELETE FROM content WHERE address = ?1 AND NOT EXISTS (SELECT 1 FROM content_use WHERE address = ?1)",
            [address],
        )?;
    }
    Ok(())
}

/// What is kept under `address`; `None` if it is missing or damaged.
pub(super) fn find(db: &Db<'_>, address: &Address) -> Result<Option<String>, StoreError> {
    let read = |row: &Row<'_>| Ok(row.get_ref(0)?.as_blob().ok().and_then(unpack));
    let content = db.query_one("SELECT packed FROM content WHERE address = ?1", [address], read)?.flatten();
    Ok(content.filter(|content| self::address(content) == *address))
}

/// The body of an entry with its big content; `None` if some is missing or damaged.
pub(super) fn restore<'row>(db: &Db<'_>, stored: &StoredEntry<'row>) -> Result<Option<Cow<'row, str>>, StoreError> {
    if stored.holes.is_empty() {
        return Ok(Some(Cow::Borrowed(stored.body)));
    }
    Ok(fill(db, stored.body, &stored.holes)?.map(Cow::Owned))
}

/// Puts the big content back into `rest`; `None` if some is missing or damaged.
pub(super) fn fill(db: &Db<'_>, rest: &str, holes: &[(u32, Address)]) -> Result<Option<String>, StoreError> {
    let mut failure = None;
    let joined = join(rest, holes, |address| match find(db, address) {
        Ok(found) => found,
        Err(error) => {
            failure = Some(error);
            None
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(joined.ok()),
    }
}
