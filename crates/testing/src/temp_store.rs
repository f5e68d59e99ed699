//! A store in a folder of its own.

use rejoin_store::SqliteStore;
use tempfile::TempDir;

/// A SQLite store in a folder of its own, which goes with it.
pub struct TempStore {
    /// The store.
    pub store: SqliteStore,
    /// Its folder.
    pub folder: TempDir,
}

impl TempStore {
    /// Opens a new store.
    #[expect(clippy::new_without_default, reason = "a folder made by default would surprise")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
        Self { store, folder }
    }

    /// Closes the store and opens it again, as another process would.
    #[must_use]
    pub fn reopen(self) -> Self {
        let Self { store, folder } = self;
        let path = store.path().to_owned();
        drop(store);
        Self { store: SqliteStore::open(path).unwrap(), folder }
    }

    /// Whether any file of the store holds `word`.
    pub fn files_hold(&self, word: &str) -> bool {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).any(|bytes| holds(&bytes, word.as_bytes()))
    }
}

/// Whether `bytes` hold `word`.
pub fn holds(bytes: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(bytes, word).is_some()
}
