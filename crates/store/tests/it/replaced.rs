//! What is done to the store's files from outside while a process has the store open.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rejoin_store::{Lease, SessionStore, SqliteStore, StoreError};
use rejoin_testing::{
    TempStore, append_turn, chunk, create_and_acquire, create_with_turn, finds, numbers, owner, prompt, read_all,
};
use rejoin_transcript::{EntryNumber, SessionId};

/// A store with a session, in the folder `store` of a folder of its own.
struct Opened {
    folder: tempfile::TempDir,
    store: SqliteStore,
    session: SessionId,
    lease: Lease,
    last: EntryNumber,
}

impl Opened {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("store/sessions.db")).unwrap();
        let (session, lease) = create_and_acquire(&store).await;
        append_turn(&store, &lease, 1, "zebra", "x").await;
        store.flush().await.unwrap();
        let last = store.head(&session).await.unwrap();
        Self { folder, store, session, lease, last }
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("store/sessions.db{suffix}"))
    }

    /// Whether a new turn, a flush, a read and at last an append are refused because the store failed.
    async fn are_refused(&mut self) -> [bool; 4] {
        let turn = self.store.acquire(&self.session, &owner("b")).await;
        let (flush, read) = (self.store.flush().await, self.store.read(&self.session, EntryNumber::START).await);
        let append = tokio::time::timeout(Duration::from_secs(30), self.append_until_refused()).await;
        [turn.err(), flush.err(), read.err(), append.ok()]
            .map(|error| error.is_some_and(|error| is_store_failed(&error)))
    }

    /// Appends as a turn does that goes on; each such append is checked now and then.
    async fn append_until_refused(&mut self) -> StoreError {
        loop {
            match self.store.append(&self.lease, self.last, vec![chunk(1, "m", "more")], Vec::new()).await {
                Ok(last) => self.last = last,
                Err(error) => return error,
            }
        }
    }
}

fn is_store_failed(error: &StoreError) -> bool {
    (error.code(), error.kind()) == (-32012, "store_failed")
}

/// Checks that after `change` nothing is written, flushed or read.
async fn check(what: &str, change: impl FnOnce(&Opened)) {
    let mut opened = Opened::new().await;
    change(&opened);
    assert_eq!(opened.are_refused().await, [true; 4], "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_files_were_removed_or_replaced_is_neither_written_nor_read() {
    check("the file was removed", |opened| fs::remove_file(opened.file("")).unwrap()).await;
    check("the folder was removed", |opened| fs::remove_dir_all(opened.folder.path().join("store")).unwrap()).await;
    check("the log was removed", |opened| fs::remove_file(opened.file("-wal")).unwrap()).await;
    check("the index was removed", |opened| fs::remove_file(opened.file("-shm")).unwrap()).await;
    check("a backup was moved over the file", |opened| {
        let backup = opened.folder.path().join("backup.db");
        fs::copy(opened.file(""), &backup).unwrap();
        fs::rename(&backup, opened.file("")).unwrap();
    })
    .await;
    check("a new store is in its place", |opened| {
        let folder = opened.folder.path();
        fs::rename(folder.join("store"), folder.join("old")).unwrap();
        drop(SqliteStore::open(folder.join("store/sessions.db")).unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_put_back_goes_on() {
    let mut opened = Opened::new().await;
    let (here, there) = (opened.folder.path().join("store"), opened.folder.path().join("elsewhere"));
    fs::rename(&here, &there).unwrap();
    assert_eq!(opened.are_refused().await, [true; 4]);

    fs::rename(&there, &here).unwrap();

    let appended = opened.store.append(&opened.lease, opened.last, vec![prompt(2, "kept")], Vec::new()).await;
    opened.last = appended.unwrap();
    assert_eq!(read_all(&opened.store, &opened.session).await.len(), opened.last.get() as usize);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_store_whose_index_was_removed_loses_nothing() {
    let opened = Opened::new().await;
    let (path, session, last) = (opened.file(""), opened.session.clone(), opened.last);
    fs::remove_file(opened.file("-shm")).unwrap();
    let Opened { folder: _folder, store, .. } = opened;

    drop(store);

    let store = SqliteStore::open(path).unwrap();
    assert_eq!(store.head(&session).await.unwrap(), last);
    assert_eq!(store.verify().await.unwrap().damages, []);
}

const TWO_WRITERS: &str = "replaced::two_processes_never_write_a_store_whose_log_or_index_was_removed";

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_never_write_a_store_whose_log_or_index_was_removed() {
    if let Ok(path) = std::env::var("REJOIN_TEST_STORE") {
        return write_or_be_refused(Path::new(&path)).await;
    }
    tokio::join!(write_in_two_processes("-shm"), write_in_two_processes("-wal"));
}

/// Removes the file with `suffix`, then has another process write, and this one too.
async fn write_in_two_processes(suffix: &str) {
    let opened = Opened::new().await;
    let (path, session) = (opened.file(""), opened.session.clone());
    // Nothing is written in the background any more, and what was recorded is in the file: it can't be lost with the log.
    finds(&opened.store, "zebra", &[&session]).await;
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    fs::remove_file(opened.file(suffix)).unwrap();

    let other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TWO_WRITERS, "--nocapture"])
        .env("REJOIN_TEST_STORE", opened.file(""))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&other.stdout).into_owned() + &String::from_utf8_lossy(&other.stderr);
    assert!(other.status.success(), "{said}");
    let mut last = opened.last;
    // What is refused here would be written over what the other process wrote.
    for turn in 2..50 {
        let steps = vec![prompt(turn, &"here".repeat(500))];
        last = opened.store.append(&opened.lease, last, steps, Vec::new()).await.unwrap_or(last);
    }
    let Opened { folder: _folder, store, .. } = opened;
    drop(store);

    let store = SqliteStore::open(path).unwrap();
    assert_eq!(store.verify().await.unwrap().damages, [], "{said}");
    assert_eq!(store.head(&session).await.unwrap(), last, "{said}");
    assert!(said.contains("was removed, renamed or replaced"), "the other process was not refused: {said}");
    for stored in said.lines().filter_map(|line| line.strip_prefix("stored ")) {
        let stored = SessionId::parse(stored).unwrap();
        assert_eq!(numbers(&store, &stored).await, [1, 2, 3], "{said}");
    }
}

/// Writes as much as it may into the store at `path`, as another process, and says what it stored.
async fn write_or_be_refused(path: &Path) {
    let store = match SqliteStore::open(path) {
        Ok(store) => store,
        Err(error) => {
            assert!(is_store_failed(&error), "{error}");
            return eprintln!("{error}");
        }
    };
    for _ in 0..50 {
        eprintln!("stored {}", create_with_turn(&store, &"there".repeat(500), "x").await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_a_link_is_used_as_any_other() {
    let temp = TempStore::new();
    let links = tempfile::tempdir().unwrap();
    let link = links.path().join("link.db");
    symlink(temp.store.path(), &link).unwrap();

    let store = SqliteStore::open(&link).unwrap();
    let session = create_with_turn(&store, "zebra", "x").await;
    store.flush().await.unwrap();
    assert_eq!(numbers(&temp.store, &session).await, [1, 2, 3]);
    assert!(temp.store.acquire(&session, &owner("b")).await.is_ok());

    fs::remove_file(&link).unwrap();
    let refused = store.flush().await.unwrap_err();
    assert!(is_store_failed(&refused), "{refused}");
}
