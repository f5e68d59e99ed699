//! The file and the connections to it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, TransactionBehavior};
use tokio::sync::Semaphore;

use super::access::{Access, PATIENCE, connect};
use super::files::{OpenFiles, index_path, log_path};
use super::threads::Threads;
use crate::StoreError;

/// Marks the file as ours: `RJoN`.
const APPLICATION_ID: i32 = 0x524a_6f4e;

/// How many reads run at once.
const READERS: usize = 4;

/// How long to wait for a process that is about to make the log and its index, or to remove them.
const NAMES_PATIENCE: Duration = Duration::from_secs(1);

/// A step from one schema to the next.
struct Migration {
    sql: &'static str,
    /// The oldest schema whose programs can go on with the file after this step.
    oldest_fit: u32,
}

/// The steps from nothing to the newest schema, in order. They are only ever added to.
const MIGRATIONS: [Migration; 2] = [
    Migration { sql: include_str!("../../migrations/sqlite/0001_sessions.sql"), oldest_fit: 1 },
    // Programs before this one take the checksums of facts for wrong.
    Migration { sql: include_str!("../../migrations/sqlite/0002_ties.sql"), oldest_fit: 2 },
];

#[expect(clippy::cast_possible_truncation, reason = "there are a handful of migrations")]
const NEWEST: u32 = MIGRATIONS.len() as u32;

/// How long a connection waits for other processes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// As long as a person would.
    Usual,
    /// Not at all.
    None,
}

/// A connection, and what is needed to say what went wrong on it.
pub(super) struct Db<'a> {
    pub(super) connection: &'a Connection,
    database: &'a Database,
}

/// The store's file.
#[derive(Clone)]
pub(super) struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    /// How it is read.
    access: Access,
    files: OpenFiles,
    /// The store's own name, made at random when it was.
    id: String,
    idle_readers: Mutex<Vec<Connection>>,
    permits: Semaphore,
    threads: Threads,
    /// The write-ahead log, once it has been synced.
    log: Mutex<Option<File>>,
}

impl Database {
    /// Opens the file and brings its schema up to date. The connection is the one to write with.
    pub(super) fn open(path: &Path) -> Result<(Self, Connection), StoreError> {
        prepare_file(path)?;
        check_names(path)?;
        let mut connection = connect(path, Access::Write).map_err(|source| store_error(path, source))?;
        set_up(&mut connection, path)?;
        let files = OpenFiles::of(path, Access::Write)?;
        Ok((Self::over(path, Access::Read, files, &connection)?, connection))
    }

    /// Opens the file, which can't be written, by `access`. The connection refuses to write.
    pub(super) fn open_to_read(path: &Path, access: Access) -> Result<(Self, Connection), StoreError> {
        let connection = connect(path, access).map_err(|source| store_error(path, source))?;
        let found = check_identity(&connection, path)?;
        if found.schema < NEWEST {
            // It would have to be brought up to date first.
            return Err(StoreError::ReadOnly { path: path.to_owned() });
        }
        let files = OpenFiles::of(path, access)?;
        Ok((Self::over(path, access, files, &connection)?, connection))
    }

    /// The database at `path`, to which `connection` is open.
    fn over(path: &Path, access: Access, files: OpenFiles, connection: &Connection) -> Result<Self, StoreError> {
        // A damaged name only makes the cursors of lists that were given before useless.
        let sql = "SELECT value FROM meta WHERE key = 'id'";
        let read =
            |row: &Row<'_>| Ok(String::from_utf8_lossy(row.get_ref(0)?.as_bytes().unwrap_or_default()).into_owned());
        let id = connection.query_row(sql, [], read).optional();
        let shared = Shared {
            path: path.to_owned(),
            access,
            files,
            id: id.map_err(|source| store_error(path, source))?.unwrap_or_default(),
            idle_readers: Mutex::new(Vec::new()),
            permits: Semaphore::new(READERS),
            threads: Threads::default(),
            log: Mutex::new(None),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Runs `work` on a connection that only reads, on a thread where that may take its time.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _permit = self.shared.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let database = self.clone();
        self.shared.threads.run(move || database.read_here(work)).await?
    }

    /// As [`Database::read`], on this thread.
    pub(super) fn read_here<T>(&self, work: impl FnOnce(&Db<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let idle = self.idle_readers().pop();
        let reader = if let Some(reader) = idle {
            reader
        } else {
            // A new connection would create the log again if its name is gone.
            self.check_files()?;
            connect(self.path(), self.shared.access).map_err(|source| store_error(self.path(), source))?
        };
        let done = self.snapshot(&reader, work);
        if reader.is_autocommit() {
            self.idle_readers().push(reader);
        }
        done
    }

    /// Runs `work` so that it sees the file as it is at one moment.
    fn snapshot<T>(
        &self,
        reader: &Connection,
        work: impl FnOnce(&Db<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let db = self.on(reader);
        db.execute("BEGIN", [])?;
        let done = self.check_files().and_then(|()| work(&db));
        if db.execute("COMMIT", []).is_err() {
            // Nothing was written, so it does not matter how it ends.
            let _ = db.execute("ROLLBACK", []);
        }
        done
    }

    /// Makes everything that is committed survive the loss of power.
    ///
    /// A commit is in the write-ahead log, or it has been written back into the file, which is synced then. So it is
    /// enough to sync the log, as SQLite itself would do, and others can write meanwhile.
    pub(super) async fn flush(&self) -> Result<(), StoreError> {
        let database = self.clone();
        self.shared.threads.run(move || database.sync_log()).await?
    }

    fn sync_log(&self) -> Result<(), StoreError> {
        let error = |source| StoreError::CannotOpen { path: self.path().to_owned(), source: Arc::new(source) };
        let mut log = self.shared.log.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match log.take() {
            Some(file) => file,
            None => open_log(self.path()).map_err(error)?,
        };
        let synced = file.sync_data().map_err(error);
        // The log stays the same file as long as a connection is open.
        *log = Some(file);
        synced?;
        // Only now is it sure that what was synced can be found again.
        self.check_files()
    }

    /// Fails with [`StoreError::Replaced`] if the store's files are not the ones that were opened.
    pub(super) fn check_files(&self) -> Result<(), StoreError> {
        self.shared.files.check()
    }

    /// Makes `connection`, which writes and is about to be closed, leave files alone that are not the ones it opened.
    pub(super) fn before_close(&self, connection: &Connection) {
        if self.check_files().is_ok() {
            return;
        }
        // The last connection writes the log back and removes it by its name, which may be another's by now.
        let kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        if let Err(error) = kept {
            tracing::error!(%error, "the store's files were replaced, and closing the store may change them");
        }
    }

    /// Closes the connections that only read, so that the one that writes is the last and tidies up.
    pub(super) fn close_readers(&self) {
        self.idle_readers().clear();
    }

    /// `connection` as one of this database.
    pub(super) fn on<'a>(&'a self, connection: &'a Connection) -> Db<'a> {
        Db { connection, database: self }
    }

    /// Fails if nothing may be written: the files were replaced, or a newer program has changed them in a way that this
    /// one can't follow.
    pub(super) fn check_writable(&self, connection: &Connection) -> Result<(), StoreError> {
        self.shared.files.check_now_and_then()?;
        let error = |source| store_error(self.path(), source);
        let found = schema(&self.on(connection))?;
        if found <= NEWEST || oldest_fit(connection).map_err(error)? <= NEWEST {
            return Ok(());
        }
        Err(StoreError::NewerSchema { path: self.path().to_owned(), found, known: NEWEST })
    }

    /// Sets how long a connection waits for other processes.
    pub(super) fn set_patience(&self, connection: &Connection, patience: Patience) -> Result<(), StoreError> {
        let timeout = match patience {
            Patience::Usual => PATIENCE,
            Patience::None => Duration::ZERO,
        };
        connection.busy_timeout(timeout).map_err(|source| store_error(self.path(), source))
    }

    /// Whether something that was deleted may still be in the files.
    pub(super) fn is_scrub_due(&self, connection: &Connection) -> Result<bool, StoreError> {
        let due =
            self.on(connection).query_one("SELECT value IS NOT '0' FROM meta WHERE key = 'scrub_due'", [], |row| {
                row.get::<_, bool>(0)
            })?;
        // Where it can't be read, it may be.
        Ok(due.unwrap_or(true))
    }

    fn idle_readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.shared.idle_readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Db<'_> {
    /// The store's own name.
    pub(super) fn id(&self) -> &str {
        &self.database.shared.id
    }

    /// The file.
    pub(super) fn path(&self) -> &Path {
        self.database.path()
    }

    /// Fails with [`StoreError::Replaced`] if the store's files are not the ones that were opened.
    pub(super) fn check_files(&self) -> Result<(), StoreError> {
        self.database.check_files()
    }

    /// What `source` means for the store.
    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        store_error(self.path(), source)
    }

    /// Something that should not be in the file.
    pub(super) fn damaged(&self, what: impl Into<String>) -> StoreError {
        StoreError::Damaged { path: self.path().to_owned(), what: what.into() }
    }

    /// Runs a statement that changes rows, and says how many.
    pub(super) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize, StoreError> {
        self.prepare(sql)?.execute(params).map_err(|source| self.error(source))
    }

    /// The only row of a query, if there is one. Fails if a value in it can't be read.
    pub(super) fn query_one<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.prepare(sql)?.query_row(params, read).optional().map_err(|source| self.error(source))
    }

    /// All rows of a query but those with a value that can't be read: a damaged row must not hide the others, and
    /// `verify` names it.
    pub(super) fn query_all<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        Ok(self.query_rows(sql, params, read)?.into_iter().flatten().collect())
    }

    /// All rows of a query, with `None` for one that has a value that can't be read; for callers to which a damaged row
    /// is something else than a missing one.
    pub(super) fn query_rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<Option<T>>, StoreError> {
        let mut all = Vec::new();
        self.visit_rows(sql, params, read, |row| {
            all.push(row);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(all)
    }

    /// Gives the rows of a query to `visit`, one by one, until it breaks off; `None` stands for one that has a value that
    /// can't be read.
    pub(super) fn visit_rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
        mut visit: impl FnMut(Option<T>) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let mut statement = self.prepare(sql)?;
        let mut rows = statement.query(params).map_err(|source| self.error(source))?;
        while let Some(row) = rows.next().map_err(|source| self.error(source))? {
            let row = match read(row) {
                Ok(row) => Some(row),
                Err(error) if is_unreadable_value(&error) => None,
                Err(error) => return Err(self.error(error)),
            };
            if visit(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// A statement, prepared once for the connection.
    pub(super) fn prepare(&self, sql: &str) -> Result<rusqlite::CachedStatement<'_>, StoreError> {
        self.connection.prepare_cached(sql).map_err(|source| self.error(source))
    }
}

/// The version of the tables.
pub(super) fn schema(db: &Db<'_>) -> Result<u32, StoreError> {
    Ok(db.query_one("PRAGMA user_version", [], |row| row.get(0))?.unwrap_or_default())
}

/// Makes the file, for its owner alone, and the folders above it.
///
/// A file that is there is not opened here: closing it would undo the locks that SQLite holds on it in this process.
fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let cannot_open = |source| StoreError::CannotOpen { path: path.to_owned(), source: Arc::new(source) };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(cannot_open)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(cannot_open(error)),
    }
    let metadata = fs::metadata(path).map_err(cannot_open)?;
    if !metadata.is_file() {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    let may = |access| rustix::fs::access(path, access);
    may(rustix::fs::Access::READ_OK).map_err(|error| cannot_open(error.into()))?;
    may(rustix::fs::Access::WRITE_OK).map_err(|_| StoreError::ReadOnly { path: path.to_owned() })?;
    Ok(())
}

/// Makes the store's files, which are there, their owner's alone.
fn make_private(path: &Path) -> std::io::Result<()> {
    for file in [path.to_owned(), log_path(path)?, index_path(path)?] {
        match fs::metadata(&file) {
            Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
                fs::set_permissions(&file, Permissions::from_mode(0o600))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Opens the write-ahead log, and makes sure that its name is on disk too.
///
/// SQLite has no locks on this file that closing it could undo.
fn open_log(path: &Path) -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(log_path(path)?)?;
    let path = path.canonicalize()?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// Fails with [`StoreError::Replaced`] if another process has the store open with a log, or an index of it, whose name is
/// gone.
///
/// SQLite would make new ones, with new locks, and both processes would write at once. A process that has the store open
/// holds a lock on the file itself, too, so that no other process can lock it exclusively.
fn check_names(path: &Path) -> Result<(), StoreError> {
    let cannot_open = |source| StoreError::CannotOpen { path: path.to_owned(), source: Arc::new(source) };
    let names = [log_path(path).map_err(cannot_open)?, index_path(path).map_err(cannot_open)?];
    let missing = || names.iter().find(|name| !name.exists());
    // An empty file becomes a store later.
    if missing().is_none() || fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        return Ok(());
    }
    // Another process may be opening the store, or closing it.
    match patiently_for(NAMES_PATIENCE, || if missing().is_none() { Ok(()) } else { have_alone(path) }) {
        Err(error) if is_busy(&error) => {
            Err(StoreError::Replaced { path: missing().map_or_else(|| path.to_owned(), Clone::clone) })
        }
        done => done.map_err(|source| store_error(path, source)),
    }
}

/// Has the file at `path` alone for a moment. Fails if another process has it open.
fn have_alone(path: &Path) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Before the file is read for the first time: then its index is made in memory, and the file is locked instead.
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// Sets the connection to write with up, and brings the schema up to date.
fn set_up(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let error = |source| store_error(path, source);
    let found = check_identity(connection, path)?;
    // Only now is it sure that the file is ours.
    make_private(path).map_err(|source| StoreError::CannotOpen { path: path.to_owned(), source: Arc::new(source) })?;
    if found.is_new() {
        // Must come before anything is written. Lets the file shrink after a delete.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(error)?;
    }
    patiently(|| connection.pragma_update(None, "journal_mode", "WAL")).map_err(error)?;
    // The writer decides when to write the log back, and on which thread. The log keeps its length up to a limit that
    // it seldom reaches, since cutting it short only to let it grow again takes longer than writing it.
    for (name, value) in [("wal_autocheckpoint", 0), ("journal_size_limit", 32 * 1024 * 1024)] {
        connection.pragma_update(None, name, value).map_err(error)?;
    }
    // A commit survives the death of the process; `flush` makes it survive the loss of power.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(error)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true).map_err(error)?;
    // What is deleted is overwritten.
    connection.pragma_update(None, "secure_delete", true).map_err(error)?;
    if found.schema < NEWEST {
        migrate(connection).map_err(error)?;
    }
    Ok(())
}

/// What the file says of itself, if it is a store that this program can follow, or is empty.
fn check_identity(connection: &Connection, path: &Path) -> Result<Identity, StoreError> {
    let error = |source| store_error(path, source);
    let found = patiently(|| identify_at_once(connection)).map_err(error)?;
    if !found.is_new() && found.application != APPLICATION_ID {
        return Err(StoreError::NotAStore { path: path.to_owned() });
    }
    if found.schema > NEWEST && oldest_fit(connection).map_err(error)? > NEWEST {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found: found.schema, known: NEWEST });
    }
    Ok(found)
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    // Another process may have been first.
    let found = identify(&transaction)?.schema;
    for (number, migration) in (1..).zip(&MIGRATIONS).skip(found as usize) {
        transaction.execute_batch(migration.sql)?;
        transaction.execute(
            "INSERT OR REPLACE INTO meta (key, value) VALUES ('oldest_fit', ?1)",
            [migration.oldest_fit.to_string()],
        )?;
        transaction.pragma_update(None, "user_version", number)?;
    }
    if found == 0 {
        let id = format!("{:032x}", crate::random_bits());
        transaction.execute("INSERT INTO meta (key, value) VALUES ('id', ?1)", [id])?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.commit()
}

/// What the file says of itself.
struct Identity {
    application: i32,
    schema: u32,
    is_empty: bool,
}

impl Identity {
    /// Whether it is an empty file, which may become a store.
    fn is_new(&self) -> bool {
        self.application == 0 && self.schema == 0 && self.is_empty
    }
}

/// Reads the identity as it is at one moment: another process may be making the store.
fn identify_at_once(connection: &Connection) -> rusqlite::Result<Identity> {
    let transaction = connection.unchecked_transaction()?;
    let identity = identify(&transaction)?;
    transaction.commit()?;
    Ok(identity)
}

fn identify(connection: &Connection) -> rusqlite::Result<Identity> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let is_empty = connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))?;
    let schema = u32::try_from(pragma("user_version")?).unwrap_or(u32::MAX);
    Ok(Identity { application: pragma("application_id")?, schema, is_empty })
}

fn oldest_fit(connection: &Connection) -> rusqlite::Result<u32> {
    let read = |row: &Row<'_>| Ok(row.get::<_, String>(0).ok().and_then(|text| text.parse().ok()));
    let value = connection.query_row("SELECT value FROM meta WHERE key = 'oldest_fit'", [], read).optional()?;
    // Where it can't be read, nothing may be written.
    Ok(value.flatten().unwrap_or(u32::MAX))
}

/// Tries again while another process holds the file: some pragmas do not wait by themselves.
fn patiently<T>(attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    patiently_for(PATIENCE, attempt)
}

fn patiently_for<T>(limit: Duration, mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && begun.elapsed() < limit => std::thread::sleep(Duration::from_millis(5)),
            done => return done,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked))
}

/// What `source`, met on the file at `path`, means for the store.
fn store_error(path: &Path, source: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        // Where there is no room, only some of SQLite's calls say so.
        Some(ErrorCode::SystemIoFailure) if is_disk_full(&path) || has_size_limit() => StoreError::Full { path },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked { path },
        Some(ErrorCode::NotADatabase) => StoreError::NotAStore { path },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, what: "a page of it can't be read".to_owned() },
        Some(ErrorCode::CannotOpen) => {
            let source = std::io::Error::other(source);
            StoreError::CannotOpen { path, source: Arc::new(source) }
        }
        _ if is_unreadable_value(&source) => {
            StoreError::Damaged { path, what: format!("a value in it can't be read: {source}") }
        }
        _ => StoreError::Database { path, source: Arc::new(source) },
    }
}

/// Whether it says that a value is not what a column holds: another type, no number of its range, no UTF-8.
fn is_unreadable_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

fn is_disk_full(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < 1024 * 1024)
}

/// Whether the system limits how long files of this process may become.
fn has_size_limit() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::Fsize).current.is_some()
}
