//! The store's files as they were opened, and whether their names still mean them.
//!
//! SQLite works on open files, and finds other processes by the names of the files. So a store that is removed, renamed
//! or replaced takes every write and keeps none, and one that lost its `-shm` or `-wal` could be written by two processes
//! that don't see each other's locks, which destroys it. Reads, flushes and the first write of a turn therefore check
//! that the names are still those of the open files; the writes between check now and then. The check is a `stat` of each
//! file: to open and close one would drop SQLite's locks.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::access::{Access, beside};
use crate::StoreError;

/// How long a check holds for the writes of a turn: it takes half as long as one of them.
const FRESH: Duration = Duration::from_millis(100);

/// The files of an open store.
pub(super) struct OpenFiles {
    files: Vec<OpenFile>,
    opened: Instant,
    /// When they were last checked, in milliseconds after `opened`.
    checked: AtomicU64,
}

/// The name of a file, and which file it was the name of.
struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFiles {
    /// The files of the store at `path`, which was just opened by `access`.
    ///
    /// They can't be mistaken for later ones: the number of a file is not given to another while the file is open.
    pub(super) fn of(path: &Path, access: Access) -> Result<Self, StoreError> {
        let cannot_open = |source| cannot_open(path, source);
        let mut paths = vec![std::path::absolute(path).map_err(cannot_open)?];
        if access == Access::Write {
            paths.extend([log_path(path).map_err(cannot_open)?, index_path(path).map_err(cannot_open)?]);
        }
        let files = paths.into_iter().map(OpenFile::find).collect::<Result<_, _>>()?;
        Ok(Self { files, opened: Instant::now(), checked: AtomicU64::new(0) })
    }

    /// Fails with [`StoreError::Replaced`] if a file was removed, renamed or replaced since it was opened.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let checked = self.age();
        self.files.iter().try_for_each(OpenFile::check)?;
        self.checked.store(checked, Ordering::Relaxed);
        Ok(())
    }

    /// As [`OpenFiles::check`], unless that was done a moment ago.
    pub(super) fn check_now_and_then(&self) -> Result<(), StoreError> {
        let since = self.age().saturating_sub(self.checked.load(Ordering::Relaxed));
        if Duration::from_millis(since) < FRESH { Ok(()) } else { self.check() }
    }

    /// How many milliseconds ago the files were opened.
    fn age(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl OpenFile {
    fn find(path: PathBuf) -> Result<Self, StoreError> {
        let metadata = find(&path)?;
        Ok(Self { path, device: metadata.dev(), inode: metadata.ino() })
    }

    fn check(&self) -> Result<(), StoreError> {
        let metadata = find(&self.path)?;
        if (metadata.dev(), metadata.ino()) == (self.device, self.inode) {
            return Ok(());
        }
        Err(StoreError::Replaced { path: self.path.clone() })
    }
}

fn find(path: &Path) -> Result<Metadata, StoreError> {
    fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => StoreError::Replaced { path: path.to_owned() },
        _ => cannot_open(path, error),
    })
}

fn cannot_open(path: &Path, source: io::Error) -> StoreError {
    StoreError::CannotOpen { path: path.to_owned(), source: Arc::new(source) }
}

/// Where SQLite keeps the write-ahead log of the store at `path`, which may be a link.
pub(super) fn log_path(path: &Path) -> io::Result<PathBuf> {
    Ok(beside(&path.canonicalize()?, "-wal"))
}

/// Where SQLite keeps the index of that log. Its locks are on this file.
pub(super) fn index_path(path: &Path) -> io::Result<PathBuf> {
    Ok(beside(&path.canonicalize()?, "-shm"))
}
