//! Connections to the file: to write, or only to read; also where nobody can write.
//!
//! To read beside a writer, SQLite needs files beside the store's. Where they can't be made, nobody writes either, and the
//! file can be read as something that never changes, if all that was written is in it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// How long to wait for other processes.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// How many KiB of the file are kept in memory, by the connection that writes and by each that reads.
const WRITER_CACHE: i64 = 8_192;
const READER_CACHE: i64 = 2_048;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// To write.
    Write,
    /// To read beside those who write.
    Read,
    /// To read where nobody can write.
    ReadStill,
}

impl Access {
    /// The ways to read the file at `path`, which can't be written; the best first.
    pub(super) fn to_read(path: &Path) -> &'static [Self] {
        let is_all_in_file = beside(path, "-wal").metadata().map_or(true, |log| log.len() == 0);
        if is_all_in_file { &[Self::Read, Self::ReadStill] } else { &[Self::Read] }
    }
}

/// Opens the file at `path`.
pub(super) fn connect(path: &Path, access: Access) -> rusqlite::Result<Connection> {
    let (flags, cache_kib) = match access {
        Access::Write => (OpenFlags::SQLITE_OPEN_READ_WRITE, WRITER_CACHE),
        Access::Read | Access::ReadStill => (OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE),
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        Access::Write | Access::Read => Connection::open_with_flags(path, flags)?,
        Access::ReadStill => Connection::open_with_flags(still(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    connection.busy_timeout(PATIENCE)?;
    // Else statements are prepared again whenever their parameters change, to look at the values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -cache_kib)?;
    Ok(connection)
}

/// The file that SQLite keeps beside the one at `path`, with `suffix` behind its name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut file = path.as_os_str().to_owned();
    file.push(suffix);
    file.into()
}

/// The address of the file at `path`, as one that never changes.
fn still(path: &Path) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(byte);
    let escape = |byte: u8| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let path: String = path.as_os_str().as_bytes().iter().copied().map(escape).collect();
    format!("file:{path}?immutable=1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_an_address_means_itself() {
        let address = still(Path::new("/my files/é?#%.db"));
        assert_eq!(address, "file:/my%20files/%C3%A9%3F%23%25.db?immutable=1");
    }
}
