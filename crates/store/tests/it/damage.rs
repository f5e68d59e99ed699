//! A damaged file hides nothing that is sound, shows nothing wrong as right, and `verify` names the damage.
//!
//! The same questions are asked of every damaged store ([`World::survey`]). Damages are made of the schema, so that a new
//! column is covered by itself, and at random from a seed: `REJOIN_DAMAGES` sets how many; the long form is
//! `./check --long`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::TryStreamExt;
use rejoin_store::{
    ListFilter, ReplayPlace, Retention, Run, SessionStore, SqliteStore, StoreError, VerifyReport, entries,
    new_session_id, replay_pages,
};
use rejoin_transcript::{Entry, EntryNumber, Fact, Session, SessionId};
use rusqlite::Connection;
use tempfile::TempDir;

use rejoin_testing::{
    TempStore, append_turn, at, chunk, create_and_acquire, end, found, owner, prompt, query, read_all, replay_all,
};

/// Nothing that is asked of a store takes longer; a loop that never ends does.
const BOUND: Duration = Duration::from_secs(120);

/// A session as it was before the damage.
#[derive(Clone)]
struct Known {
    id: SessionId,
    session: Session,
    entries: Vec<Entry>,
    replay: String,
    /// A word that only it holds.
    word: String,
}

/// A store that is closed, and what is in it.
struct World {
    folder: TempDir,
    /// A source, its fork, and one that has nothing to do with them.
    known: Vec<Known>,
}

const SOURCE: usize = 0;
const FORK: usize = 1;
const OTHER: usize = 2;

/// What a survey of a damaged store found.
struct Outcome {
    verified: VerifyReport,
    /// Those sessions that can't be read any more, or are not listed.
    lost: Vec<usize>,
}

impl World {
    async fn new() -> Self {
        let TempStore { store, folder } = TempStore::new();
        let mut ids = Vec::new();
        for word in ["sourceword", "otherword"] {
            let (session, lease) = create_and_acquire(&store).await;
            for turn in 1..=2 {
                append_turn(&store, &lease, turn, &format!("go {turn}"), &format!("{word} {}", word.repeat(2_000)))
                    .await;
            }
            // More pieces and entries than fit on a page of the file.
            let chunks = (0..40).map(|count| chunk(3, &format!("m{count}-"), &format!("{count} {}", "y".repeat(300))));
            let steps = [prompt(3, "third")].into_iter().chain(chunks).chain([end(3)]).collect();
            store.append(&lease, store.head(&session).await.unwrap(), steps, Vec::new()).await.unwrap();
            store.tell(&session, vec![Fact::ManualTitle(Some(format!("title of {word}")))]).await.unwrap();
            store.release(&lease).await.unwrap();
            ids.push((session, word));
        }
        let source = ids[0].0.clone();
        let at_entry = EntryNumber::new(6);
        let fork = store.fork(&source, at_entry, new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
        let lease = store.acquire(&fork, &owner("a")).await.unwrap();
        append_turn(&store, &lease, 3, "fork", &format!("forkword {}", "forkword".repeat(2_500))).await;
        ids.insert(FORK, (fork, "forkword"));
        // Entries are indexed before they are damaged, as a damaged one cannot be indexed.
        found(&store, "sourceword").await;
        let mut known = Vec::new();
        for (id, word) in ids {
            let session = store.session(&id).await.unwrap();
            let (entries, replay) = (read_all(&store, &id).await, replay_all(&store, &id).await);
            known.push(Known { id, session, entries, replay, word: word.to_owned() });
        }
        assert_eq!(store.verify().await.unwrap().damages, []);
        Self { folder, known }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("sessions.db")
    }

    /// A copy of the store's file.
    fn copy(&self) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        fs::copy(self.path(), &path).unwrap();
        (folder, path)
    }

    /// Asks everything of the store at `path`. Whatever is wrong there, nothing that it says may be wrong, and the
    /// sessions `sound` must be usable.
    async fn survey(&self, path: &Path, sound: &[usize], about: &str) -> Option<Outcome> {
        let store = match SqliteStore::open(path) {
            Ok(store) => store,
            Err(error) => {
                assert!(sound.is_empty(), "{about}: {error}");
                return None;
            }
        };
        let asked = tokio::time::timeout(BOUND, self.ask(&store, sound, about)).await;
        if asked.is_err() {
            // Closing it would wait for what never ends.
            std::mem::forget(store);
        }
        assert!(asked.is_ok(), "{about}: does not come to an end");
        asked.ok()
    }

    async fn ask(&self, store: &SqliteStore, sound: &[usize], about: &str) -> Outcome {
        let verified = store.verify().await.unwrap();
        let mut lost = Vec::new();
        for (index, known) in self.known.iter().enumerate() {
            let read = self.read(store, known, about).await;
            if let Err(error) = read {
                assert!(!sound.contains(&index), "{about}: `{}`: {error}", known.word);
                lost.push(index);
            }
        }
        lost.extend(self.look_around(store, sound, about).await);
        for (index, known) in self.known.iter().enumerate() {
            let used = self.use_session(store, known, about).await;
            // Whatever the others say, they come to an end.
            assert!(used.is_ok() || !sound.contains(&index), "{about}: `{}`: {used:?}", known.word);
        }
        Outcome { verified, lost }
    }

    /// Reads all of a session. Fails, or it is what it was.
    async fn read(&self, store: &SqliteStore, known: &Known, about: &str) -> Result<(), StoreError> {
        let session = store.session(&known.id).await?;
        assert_eq!(session, known.session, "{about}: `{}`", known.word);
        let read: Vec<Entry> = entries(store, &known.id, EntryNumber::START).try_collect().await?;
        assert!(read == known.entries, "{about}: entries of `{}` are others", known.word);
        let lines: Vec<String> = replay_pages(store, &known.id, ReplayPlace::all()).try_collect().await?;
        assert!(lines.concat() == known.replay, "{about}: the replay of `{}` is another", known.word);
        assert_eq!(store.head(&known.id).await?, known.entries.last().unwrap().number, "{about}");
        Ok(())
    }

    /// Asks what concerns all sessions. What is shown of one is what it was; those that are sound are all shown. Gives
    /// those that are not listed.
    async fn look_around(&self, store: &SqliteStore, sound: &[usize], about: &str) -> Vec<usize> {
        let must = |done: Result<(), StoreError>| assert!(done.is_ok() || sound.is_empty(), "{about}: {done:?}");
        let listed = store.list(&ListFilter::default(), None, 50).await;
        for facts in listed.as_ref().map(|page| &page.sessions[..]).unwrap_or_default() {
            let known = self.known.iter().find(|known| known.id == facts.session_id);
            assert_eq!(Some(facts), known.map(|known| &known.session.facts), "{about}");
        }
        for known in sound.iter().map(|index| &self.known[*index]) {
            let is_listed =
                listed.as_ref().is_ok_and(|page| page.sessions.iter().any(|facts| facts.session_id == known.id));
            assert!(is_listed, "{about}: `{}` is not listed: {listed:?}", known.word);
            let resolved = store.resolve("", &known.id.as_str()[..20]).await;
            assert_eq!(resolved.ok().as_ref(), Some(&known.id), "{about}");
        }
        for (index, known) in self.known.iter().enumerate() {
            let is_sound = sound.contains(&index);
            match store.search(&query(&known.word)).await {
                Ok(hits) => {
                    for hit in &hits {
                        let of = self.known.iter().find(|known| known.id == hit.session_id);
                        assert_eq!(of.map(|of| of.session.facts.title()), Some(hit.title.as_deref()), "{about}");
                        // The fork has the words of its source.
                        let is_own = hit.session_id == known.id || index == SOURCE;
                        assert!(is_own || sound.is_empty(), "{about}: `{}` in {hit:?}", known.word);
                    }
                    assert!(!is_sound || hits.iter().any(|hit| hit.session_id == known.id), "{about}: {}", known.word);
                }
                Err(error) => must(Err(error)),
            }
        }
        must(store.stats(|_| String::new()).await.map(|_| ()));
        let retention = Retention { max_age_millis: Some(1), max_bytes: Some(1) };
        must(store.prune(&retention, rejoin_store::now(), Run::Dry).await.map(|_| ()));
        must(store.remove_empty(rejoin_store::now(), Run::Dry).await.map(|_| ()));
        let is_listed = |known: &Known| {
            listed.as_ref().is_ok_and(|page| page.sessions.iter().any(|facts| facts.session_id == known.id))
        };
        (0..self.known.len()).filter(|index| !is_listed(&self.known[*index])).collect()
    }

    /// Prompts, forks, and deletes the fork.
    async fn use_session(&self, store: &SqliteStore, known: &Known, about: &str) -> Result<(), StoreError> {
        let lease = store.acquire(&known.id, &owner("b")).await?;
        let steps = vec![prompt(9, "more"), end(9)];
        let last = store.append(&lease, lease.head, steps, Vec::new()).await?;
        store.tell(&known.id, vec![Fact::Archived(true)]).await?;
        let fork = store.fork(&known.id, last, new_session_id(), at(0), Vec::new()).await?;
        assert_eq!(fork.facts.turns, 9, "{about}");
        store.delete(&known.id).await?;
        let gone = store.session(&known.id).await;
        assert!(matches!(gone, Err(StoreError::SessionNotFound { .. })), "{about}: {gone:?}");
        store.session(&fork.facts.session_id).await?;
        Ok(())
    }
}

/// Changes the store at `path` by `sql`, against all its rules.
fn change(path: &Path, sql: &str) {
    lawless(path).execute_batch(sql).unwrap();
}

/// A world and a copy of its store that was changed by `sql`, in which `:source`, `:fork` and `:other` are logs.
async fn changed(sql: &str) -> (World, TempDir, SqliteStore) {
    let world = World::new().await;
    let (folder, path) = world.copy();
    let log = |index: usize| log_of(&path, &world.known[index].id).to_string();
    let sql = sql.replace(":source", &log(SOURCE)).replace(":fork", &log(FORK)).replace(":other", &log(OTHER));
    change(&path, &sql);
    let store = SqliteStore::open(&path).unwrap();
    (world, folder, store)
}

fn log_of(path: &Path, session: &SessionId) -> i64 {
    let sql = "SELECT log FROM session WHERE id = ?1";
    Connection::open(path).unwrap().query_row(sql, [session.as_str()], |row| row.get(0)).unwrap()
}

/// What `verify` says, each with the session it is about.
async fn told(world: &World, store: &SqliteStore) -> Vec<(Option<usize>, String)> {
    let of = |session: SessionId| world.known.iter().position(|known| known.id == session).unwrap();
    let damages = store.verify().await.unwrap().damages;
    damages.into_iter().map(|damage| (damage.session.map(of), damage.what)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_has_lost_its_end_is_named_and_not_shown_as_whole() {
    for last in [1, 7, 8, 20, 47] {
        let sql = format!("DELETE FROM entry WHERE id > (:other << 32) + {last} AND id >> 32 = :other");
        let (world, _folder, store) = changed(&sql).await;
        let told = told(&world, &store).await;
        assert!(
            told.contains(&(
                Some(OTHER),
                format!("session `{}` ends at entry {last}, not at 48", world.known[OTHER].id)
            ))
        );
        let id = &world.known[OTHER].id;
        assert!(matches!(store.head(id).await, Err(StoreError::Damaged { .. })));
        assert!(matches!(store.acquire(id, &owner("a")).await, Err(StoreError::Damaged { .. })));
        assert!(world.read(&store, &world.known[OTHER], "").await.is_err());
        world.read(&store, &world.known[SOURCE], "").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_has_lost_what_a_fork_needs_is_named_for_both() {
    let (world, _folder, store) = changed("DELETE FROM entry WHERE id = (:source << 32) + 6").await;
    let told = told(&world, &store).await;
    assert!(told.iter().any(|(of, what)| *of == Some(SOURCE) && what == "is missing"), "{told:?}");
    assert!(told.iter().any(|(of, what)| *of == Some(FORK) && what == "is missing"), "{told:?}");
    for index in [SOURCE, FORK] {
        assert!(store.read(&world.known[index].id, EntryNumber::new(5)).await.is_err(), "{index}");
        assert!(world.read(&store, &world.known[index], "").await.is_err(), "{index}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_row_is_gone_is_named_by_what_it_left() {
    let (world, _folder, store) = changed("DELETE FROM session WHERE log = :other").await;
    let told = told(&world, &store).await;
    assert!(told.iter().any(|(of, what)| of.is_none() && what.ends_with("belongs to no session")), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_belongs_to_nothing_is_named() {
    let damages = [
        ("DELETE FROM log WHERE id = :other", "there are entries of log"),
        (
            "INSERT INTO replay (id, first, last, checksum, packed) VALUES (99 << 32 | 1, 1, 1, 0, '')",
            "there are pieces of a replay of log 99",
        ),
        (
            "INSERT INTO entry (id, at, turn, tag, checksum, body) VALUES (99 << 32 | 1, 0, 0, 0, 0, '')",
            "there are entries of log 99",
        ),
        (
            "INSERT INTO passage (log, first, last, at) VALUES (99, 1, 1, 0)",
            "table `passage`: 1 rows belong to a `log` that is missing",
        ),
        ("INSERT INTO content (address, packed) VALUES (zeroblob(32), '')", "table `content`: 1 belong to no session"),
        (
            "INSERT INTO content_use (log, address) VALUES (:other, zeroblob(32))",
            "other big content is kept than its entries have",
        ),
        ("DELETE FROM content_use WHERE log = :other", "other big content is kept than its entries have"),
        ("DELETE FROM session WHERE log = :source", "which belong to no session"),
        ("UPDATE log SET sealed = 2 WHERE id = :other", "has a damaged replay form"),
        ("UPDATE log SET sealed = 4000 WHERE id = :other", "has a damaged replay form"),
        ("DELETE FROM replay WHERE id >> 32 = :other", "has a damaged replay form"),
    ];
    for (sql, expected) in damages {
        let (world, _folder, store) = changed(sql).await;
        let told = told(&world, &store).await;
        assert!(told.iter().any(|(_, what)| what.contains(expected)), "{sql}: {told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_one_session_is_not_taken_for_what_is_known_of_another() {
    let copies =
        ["facts, facts_checksum", "facts, facts_checksum, settings, settings_checksum", "settings, settings_checksum"];
    for columns in copies {
        let sql = format!(
            "UPDATE session SET ({columns}) = (SELECT {columns} FROM session WHERE log = :source) WHERE log = :other"
        );
        let (world, _folder, store) = changed(&sql).await;
        let told = told(&world, &store).await;
        assert!(
            told.iter().any(|(of, what)| *of == Some(OTHER) && what.ends_with("is not what was written")),
            "{told:?}"
        );
        assert!(matches!(store.session(&world.known[OTHER].id).await, Err(StoreError::Damaged { .. })), "{columns}");
        let listed = store.list(&ListFilter::default(), None, 50).await.unwrap().sessions;
        let sources = listed.iter().filter(|facts| facts.session_id == world.known[SOURCE].id).count();
        assert_eq!(sources, 1, "{columns}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_that_have_changed_places_are_not_taken_for_each_other() {
    let sql = "UPDATE session SET log = -1 WHERE log = :source; UPDATE session SET log = :source WHERE log = :other;
               UPDATE session SET log = :other WHERE log = -1";
    let (world, _folder, store) = changed(sql).await;
    for index in [SOURCE, OTHER] {
        assert!(matches!(store.session(&world.known[index].id).await, Err(StoreError::Damaged { .. })));
    }
    assert!(told(&world, &store).await.iter().any(|(of, _)| *of == Some(SOURCE)));
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_that_go_on_from_each_other_come_to_an_end() {
    for sql in [
        "UPDATE log SET parent = id, checksum = NULL WHERE id = :fork",
        "UPDATE log SET parent = :fork, parent_upto = 3, checksum = NULL WHERE id = :source",
    ] {
        let (world, _folder, store) = changed(sql).await;
        let outcome = world.ask(&store, &[OTHER], sql).await;
        assert!(!outcome.verified.damages.is_empty(), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_piece_of_a_replay_that_is_lost_is_folded_again() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    let chunks = (0..900).map(|count| chunk(1, &format!("m{count}-"), &format!("{count} {}", "y".repeat(1_000))));
    let steps = [prompt(1, "go")].into_iter().chain(chunks).chain([end(1)]).collect();
    store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    found(&store, "go").await;
    let replay = replay_all(&store, &session).await;
    drop(store);
    let path = folder.path().join("sessions.db");
    let connection = lawless(&path);
    assert!(connection.query_row("SELECT count(*) FROM replay", [], |row| row.get::<_, u32>(0)).unwrap() > 2);
    assert_eq!(connection.execute("DELETE FROM replay WHERE id & 0xffffffff = 2", []).unwrap(), 1);
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert!(replay_all(&store, &session).await == replay);
    assert!(!store.verify().await.unwrap().damages.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_sessions_that_can_not_be_read_hides_none_on_other_pages() {
    let TempStore { store, folder } = TempStore::new();
    for count in 0..40 {
        rejoin_testing::create_with_turn(&store, &format!("prompt {count}"), "answer").await;
    }
    found(&store, "answer").await;
    drop(store);
    let path = folder.path().join("sessions.db");
    let pages = leaves(&path).remove("session").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&[0xff; PAGE_BYTES], (pages[1] - 1) * PAGE).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let listed = store.list(&ListFilter::default(), None, 100).await.unwrap().sessions;
    let left = listed.len();
    assert!(left < 40 && left >= 40 - 40 / (pages.len() - 1), "{left} of 40, {} pages", pages.len());
    assert_eq!(store.stats(|_| String::new()).await.unwrap().all.sessions, left as u64);
    let everything = Retention { max_age_millis: Some(1), max_bytes: None };
    assert_eq!(store.prune(&everything, rejoin_store::now(), Run::Dry).await.unwrap().len(), left);
    store.remove_empty(rejoin_store::now(), Run::Dry).await.unwrap();
    assert_eq!(found(&store, "answer").await.len(), left);
    let report = store.verify().await.unwrap();
    let unread = report.damages.iter().filter(|damage| damage.what.starts_with("table `session`: row")).count();
    assert_eq!((report.sessions, unread), (left as u64, 40 - left));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_search_index_is_made_again_by_a_search() {
    let damages = [
        "UPDATE passage_text_data SET block = zeroblob(20)",
        "DELETE FROM passage_text_data",
        "DELETE FROM passage_text_idx",
        "DELETE FROM passage_text_config",
        "UPDATE passage_text_docsize SET sz = NULL",
    ];
    for sql in damages {
        let (world, folder, store) = changed(sql).await;
        assert!(!store.verify().await.unwrap().damages.is_empty(), "{sql}");
        // A search without a hit checks the index. One that still finds its words does not.
        assert_eq!(found(&store, "absentword").await, [], "{sql}");
        for known in &world.known {
            let found = found(&store, &known.word).await;
            assert!(found.contains(&known.id), "{sql}: {}", known.word);
        }
        assert_eq!(found(&store, "title").await.len(), 3, "{sql}");
        assert_eq!(told(&world, &store).await, [], "{sql}");
        // Deleted words are gone from it as from any other.
        store.delete(&world.known[OTHER].id).await.unwrap();
        assert_eq!(found(&store, "otherword").await, [], "{sql}");
        let files = fs::read_dir(folder.path()).unwrap();
        let files: Vec<Vec<u8>> = files.map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
        assert!(!files.iter().any(|file| rejoin_testing::holds(file, b"otherword")), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_schema_1_is_sound_and_its_sessions_are_tied_when_they_are_next_written() {
    let world = World::new().await;
    let (_folder, path) = world.copy();
    let connection = lawless(&path);
    connection.execute_batch("ALTER TABLE log DROP COLUMN checksum; ALTER TABLE passage DROP COLUMN checksum").unwrap();
    let sums = |column: &str| {
        let mut statement = connection.prepare(&format!("SELECT log, {column} FROM session")).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
        rows.map(Result::unwrap).map(|(log, text)| (log, crc32fast::hash(text.as_bytes()))).collect::<Vec<_>>()
    };
    for column in ["facts", "settings"] {
        for (log, sum) in sums(column) {
            connection
                .execute(&format!("UPDATE session SET {column}_checksum = ?2 WHERE log = ?1"), (log, sum))
                .unwrap();
        }
    }
    connection.execute_batch("ALTER TABLE session DROP COLUMN head; PRAGMA user_version = 1").unwrap();
    connection.execute_batch("UPDATE meta SET value = 1 WHERE key = 'oldest_fit'").unwrap();
    drop(connection);

    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(told(&world, &store).await, []);
    assert_eq!(store.schema().await.unwrap(), 2);
    let other = &world.known[OTHER];
    world.read(&store, other, "").await.unwrap();
    let lease = store.acquire(&other.id, &owner("a")).await.unwrap();
    append_turn(&store, &lease, 4, "still", "works").await;
    assert_eq!(told(&world, &store).await, []);
    let log = log_of(&path, &other.id);
    let source = log_of(&path, &world.known[SOURCE].id);
    drop(store);
    // Neither the tied one nor those of before may lose their ends unnoticed.
    change(&path, &format!("DELETE FROM entry WHERE id IN ({log} << 32 | 51, {source} << 32 | 48)"));
    let store = SqliteStore::open(&path).unwrap();
    let told = told(&world, &store).await;
    assert!(
        told.iter().any(|(of, _)| *of == Some(OTHER)) && told.iter().any(|(of, _)| *of == Some(SOURCE)),
        "{told:?}"
    );
}

/// A value that is not what a column holds.
#[derive(Debug, Clone, Copy)]
enum Poison {
    NoUtf8,
    Blob,
    Null,
    Negative,
    Huge,
    UnknownCode,
    Real,
    Empty,
    NoJson,
    /// What another row of the table has there.
    FromAnother,
}

const POISONS: [Poison; 10] = [
    Poison::NoUtf8,
    Poison::Blob,
    Poison::Null,
    Poison::Negative,
    Poison::Huge,
    Poison::UnknownCode,
    Poison::Real,
    Poison::Empty,
    Poison::NoJson,
    Poison::FromAnother,
];

impl Poison {
    /// The SQL of the value for `column` of `table`, in the row `row`.
    fn sql(self, table: &str, column: &str, row: &str) -> String {
        match self {
            Self::NoUtf8 => "CAST(X'22ff80fe22' AS TEXT)".to_owned(),
            Self::Blob => "X'00ff'".to_owned(),
            Self::Null => "NULL".to_owned(),
            Self::Negative => "-1".to_owned(),
            Self::Huge => i64::MAX.to_string(),
            Self::UnknownCode => "77".to_owned(),
            Self::Real => "0.5".to_owned(),
            Self::Empty => "''".to_owned(),
            Self::NoJson => "'{ no JSON'".to_owned(),
            Self::FromAnother => format!("(SELECT \"{column}\" FROM \"{table}\" WHERE NOT ({row}) LIMIT 1)"),
        }
    }
}

/// A connection by which anything can be written.
fn lawless(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON").unwrap();
    connection
}

/// The tables of the store, and their columns.
fn columns(path: &Path) -> BTreeMap<String, Vec<String>> {
    let connection = Connection::open(path).unwrap();
    let sql = "SELECT schema.name, info.name FROM sqlite_schema AS schema, pragma_table_info(schema.name) AS info
               WHERE schema.type = 'table' AND schema.sql NOT LIKE 'CREATE VIRTUAL%' AND schema.name != 'sqlite_sequence'";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut columns = BTreeMap::<String, Vec<String>>::new();
    for (table, column) in rows.map(Result::unwrap) {
        columns.entry(table).or_default().push(column);
    }
    columns
}

/// Writes `poison` into a column of one row, and says whether the file is another now.
fn poison(path: &Path, table: &str, column: &str, row: &str, poison: Poison) -> bool {
    let connection = lawless(path);
    // The rules of the schema are not those of a damaged file.
    connection
        .execute_batch("UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'")
        .unwrap();
    drop(connection);
    let connection = lawless(path);
    let value = poison.sql(table, column, row);
    let is_same = format!("SELECT \"{column}\" IS {value} FROM \"{table}\" WHERE {row} LIMIT 1");
    let is_same: bool = connection.query_row(&is_same, [], |row| row.get(0)).unwrap();
    // SQLite refuses some values even here, such as text for a row id.
    !is_same && connection.execute(&format!("UPDATE \"{table}\" SET \"{column}\" = {value} WHERE {row}"), []).is_ok()
}

/// Rows of `table` that belong to the fork, whose log is `log`, or to no session.
fn victims(table: &str, log: i64) -> Vec<String> {
    let one = |row: String| vec![row];
    match table {
        "meta" => ["id", "scrub_due", "oldest_fit"].iter().map(|key| format!("key = '{key}'")).collect(),
        "log" => one(format!("id = {log}")),
        "session" | "content_use" => one(format!("log = {log}")),
        "entry" => one(format!("id = {log} << 32 | 9")),
        "content" => one(format!("address = (SELECT address FROM content_use WHERE log = {log})")),
        "replay" => one(format!("id = {log} << 32 | 1")),
        "passage" => vec![
            format!("id = (SELECT id FROM passage WHERE log = {log} AND first = 9)"),
            format!("id = (SELECT id FROM passage WHERE log = {log} AND first = 0)"),
        ],
        // Averages, structure, and words.
        "passage_text_data" => vec!["id = 1".to_owned(), "id = 10".to_owned(), "id > 10".to_owned()],
        "passage_text_config" => vec!["k = 'version'".to_owned(), "k = 'secure-delete'".to_owned()],
        "passage_text_idx" | "passage_text_docsize" => one("true".to_owned()),
        other => unreachable!("which row of `{other}` is the fork's?"),
    }
}

/// Whether the value is a valid one for its column, so that no check can find it.
fn is_plausible(table: &str, column: &str, row: &str, poison: Poison) -> bool {
    use Poison::{Blob, FromAnother, Huge, Negative, Null, UnknownCode};
    match (table, column) {
        ("session", "token") => matches!(poison, Huge | UnknownCode | FromAnother),
        ("session", "held_since" | "held_until") => {
            matches!(poison, Null | Negative | Huge | UnknownCode | FromAnother)
        }
        ("session", "holder") => matches!(poison, Null | FromAnother),
        ("log", "pending") => matches!(poison, FromAnother),
        // Rows of before have none.
        ("log" | "passage", "checksum") => matches!(poison, Null),
        // What is to be done at opening is done then, and written again.
        ("meta", "value") if row.contains("scrub_due") => true,
        ("meta", "value") => row.contains("oldest_fit") && matches!(poison, UnknownCode | FromAnother),
        // How many words a passage has only orders what is found.
        ("passage_text_docsize", "sz") => matches!(poison, Blob | FromAnother),
        _ => false,
    }
}

/// How many damages to make, if more than a few.
fn damages() -> Option<u64> {
    std::env::var("REJOIN_DAMAGES").ok().map(|count| count.parse().unwrap())
}

/// What to poison a column with: everything, or, where it should be quick, two of them by turns.
fn kinds(turn: usize) -> Vec<Poison> {
    match damages() {
        Some(_) => POISONS.to_vec(),
        None => vec![POISONS[turn % POISONS.len()], POISONS[(turn + 5) % POISONS.len()]],
    }
}

/// Poisons every column of `table` with everything, and asks everything of the store each time.
async fn poison_table(table: &str) {
    let world = World::new().await;
    let log: i64 = Connection::open(world.path())
        .unwrap()
        .query_row("SELECT log FROM session WHERE id = ?1", [world.known[FORK].id.as_str()], |row| row.get(0))
        .unwrap();
    let rows = victims(table, log);
    let (mut made, mut turn) = (0, 0);
    for (column, row) in
        columns(&world.path())[table].iter().flat_map(|column| rows.iter().map(move |row| (column, row)))
    {
        turn += 1;
        for kind in kinds(turn) {
            let (_folder, path) = world.copy();
            if !poison(&path, table, column, row, kind) {
                continue;
            }
            made += 1;
            let about = format!("{table}.{column} where {row} := {kind:?}");
            let outcome = world.survey(&path, &[SOURCE, OTHER], &about).await.unwrap();
            let damages = &outcome.verified.damages;
            let is_named = !damages.is_empty() || (is_plausible(table, column, row, kind) && outcome.lost.is_empty());
            assert!(is_named, "{about}: verify says nothing of it");
            let sound = [SOURCE, OTHER].map(|index| Some(&world.known[index].id));
            let blamed = damages.iter().find(|damage| sound.contains(&damage.session.as_ref()));
            // What says that it is another's is taken for it.
            let is_given_away = matches!((table, &column[..], kind), ("content_use", "log", Poison::FromAnother));
            assert!(blamed.is_none() || is_given_away, "{about}: {blamed:?}");
        }
    }
    assert!(made > 0, "{table}");
}

/// A test for each table, so that they run side by side.
macro_rules! poisoned_tables {
    ($($name:ident: $table:literal,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                poison_table($table).await;
            }
        )*

        #[tokio::test(flavor = "multi_thread")]
        async fn every_table_is_poisoned() {
            let world = World::new().await;
            let mut tables = [$($table),*];
            tables.sort_unstable();
            assert_eq!(columns(&world.path()).into_keys().collect::<Vec<_>>(), tables);
        }
    };
}

poisoned_tables! {
    no_value_in_meta_hides_a_session: "meta",
    no_value_in_log_hides_another_session: "log",
    no_value_in_session_hides_another_session: "session",
    no_value_in_entry_hides_another_session: "entry",
    no_value_in_content_hides_another_session: "content",
    no_value_in_content_use_hides_another_session: "content_use",
    no_value_in_replay_hides_a_session: "replay",
    no_value_in_passage_hides_another_session: "passage",
    no_value_in_the_words_of_the_index_hides_a_session: "passage_text_data",
    no_value_in_the_terms_of_the_index_hides_a_session: "passage_text_idx",
    no_value_in_the_lengths_of_the_index_hides_a_session: "passage_text_docsize",
    no_value_in_the_configuration_of_the_index_hides_a_session: "passage_text_config",
}

const PAGE: u64 = 4096;
const PAGE_BYTES: usize = 4096;

/// Writes the two pages over each other.
fn swap_pages(path: &Path, one: u64, other: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut pages = [[0; PAGE_BYTES]; 2];
    for (page, number) in pages.iter_mut().zip([one, other]) {
        file.read_exact_at(page, (number - 1) * PAGE).unwrap();
    }
    for (page, number) in pages.iter().zip([other, one]) {
        file.write_all_at(page, (number - 1) * PAGE).unwrap();
    }
}

/// The pages of the tables and indexes in the file that hold rows, by table or index.
fn leaves(path: &Path) -> BTreeMap<String, Vec<u64>> {
    let bytes = fs::read(path).unwrap();
    let roots: BTreeMap<u64, String> = {
        let connection = Connection::open(path).unwrap();
        let mut statement = connection.prepare("SELECT rootpage, name FROM sqlite_schema WHERE rootpage > 0").unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let mut leaves = BTreeMap::<String, Vec<u64>>::new();
    for (root, name) in roots {
        let mut waiting = vec![root];
        while let Some(page) = waiting.pop() {
            let bytes = &bytes[usize::try_from((page - 1) * PAGE).unwrap()..][..PAGE_BYTES];
            let number = |at: usize| u64::from(u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()));
            match bytes[0] {
                // An inner page: its cells begin with the number of a page, and the last one stands in the header.
                2 | 5 => {
                    let count = usize::from(u16::from_be_bytes([bytes[3], bytes[4]]));
                    let cell = |index: usize| u16::from_be_bytes([bytes[12 + 2 * index], bytes[13 + 2 * index]]);
                    waiting.extend((0..count).map(|index| number(cell(index).into())));
                    waiting.push(number(8));
                }
                _ => leaves.entry(name.clone()).or_default().push(page),
            }
        }
    }
    leaves
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_to_an_end_on_a_tree_with_two_pages_swapped() {
    let world = World::new().await;
    let leaves = leaves(&world.path());
    assert!(leaves["entry"].len() > 3 && leaves["passage_text_data"].len() > 1, "{leaves:?}");
    for (name, pages) in leaves.iter().filter(|(_, pages)| pages.len() > 1) {
        for pair in pages.windows(2) {
            for undone in ["", "UPDATE log SET pending = 1, sealed = parent_upto; DELETE FROM replay"] {
                let (_folder, path) = world.copy();
                // A search reads the entries that are not projected yet.
                change(&path, undone);
                swap_pages(&path, pair[0], pair[1]);
                let about = format!("pages {pair:?} of {name} after `{undone}`");
                let outcome = world.survey(&path, &[], &about).await.unwrap();
                assert!(!outcome.verified.damages.is_empty(), "{about}");
            }
        }
    }
}

/// Numbers that look random, and are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// Damages the file in some way, and says how.
fn damage_at_random(path: &Path, random: &mut Random) -> String {
    let pages = fs::metadata(path).unwrap().len() / PAGE;
    let file = || fs::OpenOptions::new().write(true).open(path).unwrap();
    match random.below(8) {
        0 | 1 => {
            let tables: Vec<_> = columns(path).into_iter().collect();
            let (table, columns) = random.pick(&tables);
            let (column, kind) = (random.pick(columns), *random.pick(&POISONS));
            let row = random_row(path, table, random);
            let is_made = poison(path, table, column, &row, kind);
            format!("{table}.{column} where {row} := {kind:?} ({is_made})")
        }
        2 => {
            let tables: Vec<_> = columns(path).into_keys().collect();
            let table = random.pick(&tables);
            let row = random_row(path, table, random);
            let deleted = lawless(path).execute(&format!("DELETE FROM \"{table}\" WHERE {row}"), []);
            format!("{table} without {row} ({deleted:?})")
        }
        3 | 4 => {
            let places: Vec<u64> = (0..=random.below(4)).map(|_| random.below(pages * PAGE)).collect();
            for place in &places {
                file().write_all_at(&[u8::try_from(random.below(256)).unwrap()], *place).unwrap();
            }
            format!("bytes at {places:?}")
        }
        5 => {
            let (page, byte) = (random.below(pages), u8::try_from(random.below(256)).unwrap());
            file().write_all_at(&[byte; PAGE_BYTES], page * PAGE).unwrap();
            format!("page {} full of {byte}", page + 1)
        }
        6 => {
            let (one, other) = (1 + random.below(pages), 1 + random.below(pages));
            swap_pages(path, one, other);
            format!("pages {one} and {other} swapped")
        }
        _ => {
            let pages = 1 + random.below(pages - 1);
            file().set_len(pages * PAGE).unwrap();
            format!("only {pages} pages left")
        }
    }
}

/// A condition that fits one row of `table`.
fn random_row(path: &Path, table: &str, random: &mut Random) -> String {
    let connection = lawless(path);
    let count: u64 = connection.query_row(&format!("SELECT count(*) FROM \"{table}\""), [], |row| row.get(0)).unwrap();
    let offset = random.below(count.max(1));
    match table {
        "meta" => format!("key = (SELECT key FROM meta LIMIT 1 OFFSET {offset})"),
        "content_use" => format!("(log, address) = (SELECT log, address FROM content_use LIMIT 1 OFFSET {offset})"),
        "passage_text_idx" => {
            format!("(segid, term) = (SELECT segid, term FROM passage_text_idx LIMIT 1 OFFSET {offset})")
        }
        "passage_text_config" => format!("k = (SELECT k FROM passage_text_config LIMIT 1 OFFSET {offset})"),
        _ => format!("rowid = (SELECT rowid FROM \"{table}\" LIMIT 1 OFFSET {offset})"),
    }
}

/// How often something panicked, on whichever thread.
static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread")]
async fn random_damage_shows_nothing_wrong_as_right() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        usual(panic);
    }));
    let world = World::new().await;
    for seed in 0..damages().unwrap_or(20) {
        let mut random = Random(seed);
        random.below(1);
        let (_folder, path) = world.copy();
        let about = format!("seed {seed}: {}", damage_at_random(&path, &mut random));
        let outcome = world.survey(&path, &[], &about).await;
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{about}");
        // A file that can't be opened at all shows nothing.
        let is_named = outcome.is_none_or(|outcome| outcome.lost.is_empty() || !outcome.verified.damages.is_empty());
        assert!(is_named, "{about}: verify says nothing of it");
    }
}
