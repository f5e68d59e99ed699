//! Sessions, steps and stores for the tests.

use futures::TryStreamExt;
use rejoin_store::{
    Lease, Owner, ReplayPlace, SearchOrder, SearchQuery, SessionStore, SqliteStore, entries, new_session_id,
    replay_pages,
};
use rejoin_transcript::{
    AgentInfo, Cwd, Entry, EntryNumber, Json, MessageId, Session, SessionId, Step, Timestamp, Turn, TurnEnd,
};
use tempfile::TempDir;

/// A SQLite store in a folder of its own, which goes with it.
pub(crate) struct TempStore {
    pub(crate) store: SqliteStore,
    pub(crate) folder: TempDir,
}

impl TempStore {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
        Self { store, folder }
    }

    /// Closes the store and opens it again, as another process would.
    pub(crate) fn reopen(self) -> Self {
        let Self { store, folder } = self;
        let path = store.path().to_owned();
        drop(store);
        Self { store: SqliteStore::open(path).unwrap(), folder }
    }

    /// Whether any file of the store holds `word`.
    pub(crate) fn files_hold(&self, word: &str) -> bool {
        let files = std::fs::read_dir(self.folder.path()).unwrap();
        files.map(|file| std::fs::read(file.unwrap().path()).unwrap()).any(|bytes| holds(&bytes, word.as_bytes()))
    }
}

pub(crate) fn holds(bytes: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(bytes, word).is_some()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn number(number: u32) -> EntryNumber {
    EntryNumber::new(number)
}

/// A process on a host where nobody can look whether it lives.
pub(crate) fn owner(name: &str) -> Owner {
    Owner { host: name.to_owned(), boot: name.to_owned(), pid: 1, started: 1 }
}

pub(crate) fn session_in(cwd: &str) -> Session {
    let cwd = Cwd { raw: format!("{cwd}/"), canonical: cwd.to_owned() };
    let agent = AgentInfo { name: "agent-a".to_owned(), command: vec!["agent-a".to_owned()], version: None };
    Session::new(new_session_id(), cwd, agent, at(1_000))
}

/// Makes a session without entries.
pub(crate) async fn create(store: &dyn SessionStore) -> SessionId {
    let session = session_in("/project");
    let id = session.facts.session_id.clone();
    store.create(session).await.unwrap();
    id
}

/// Makes a session, and takes the lease.
pub(crate) async fn create_and_acquire(store: &dyn SessionStore) -> (SessionId, Lease) {
    let session = create(store).await;
    let lease = store.acquire(&session, &owner("a")).await.unwrap();
    (session, lease)
}

/// Makes a session of one turn in which `prompt` is answered with `answer`.
pub(crate) async fn create_with_turn(store: &dyn SessionStore, prompt_text: &str, answer: &str) -> SessionId {
    let (session, lease) = create_and_acquire(store).await;
    append_turn(store, &lease, 1, prompt_text, answer).await;
    store.release(&lease).await.unwrap();
    session
}

/// Appends a whole turn, and gives its last entry.
pub(crate) async fn append_turn(
    store: &dyn SessionStore,
    lease: &Lease,
    turn: u32,
    prompt_text: &str,
    answer: &str,
) -> EntryNumber {
    let after = store.head(&lease.session).await.unwrap();
    let steps = vec![prompt(turn, prompt_text), chunk(turn, "m", answer), end(turn)];
    store.append(lease, after, steps, Vec::new()).await.unwrap()
}

pub(crate) fn prompt(turn: u32, text: &str) -> Step {
    let blocks = Json::from_value(&serde_json::json!([{ "type": "text", "text": text }])).unwrap();
    Step::prompt(at(i64::from(turn) * 10_000), turn, MessageId::new(format!("u{turn}")), blocks).unwrap()
}

pub(crate) fn chunk(turn: u32, id: &str, text: &str) -> Step {
    let content = serde_json::json!({ "type": "text", "text": text });
    update(turn, &format!(r#"{{"sessionUpdate":"agent_message_chunk","messageId":"{id}{turn}","content":{content}}}"#))
}

pub(crate) fn update(turn: u32, update: &str) -> Step {
    Step::update(at(i64::from(turn) * 10_000 + 1), Turn::In(turn), Json::parse(update).unwrap()).unwrap()
}

pub(crate) fn end(turn: u32) -> Step {
    Step::turn_ended(at(i64::from(turn) * 10_000 + 2), turn, &TurnEnd::Stopped { reason: "end_turn".to_owned() })
}

/// All entries of a session.
pub(crate) async fn read_all(store: &dyn SessionStore, session: &SessionId) -> Vec<Entry> {
    entries(store, session, EntryNumber::START).try_collect().await.unwrap()
}

/// The numbers of all entries of a session.
pub(crate) async fn numbers(store: &dyn SessionStore, session: &SessionId) -> Vec<u32> {
    read_all(store, session).await.iter().map(|entry| entry.number.get()).collect()
}

/// All lines of a session's replay.
pub(crate) async fn replay_all(store: &dyn SessionStore, session: &SessionId) -> String {
    let pages: Vec<String> = replay_pages(store, session, ReplayPlace::all()).try_collect().await.unwrap();
    pages.concat()
}

/// What a replay of `entries` must be.
pub(crate) fn replay_of(entries: &[Entry]) -> String {
    rejoin_transcript::replay(entries).iter().flat_map(|one| [one.params.as_str(), "\n"]).collect()
}

pub(crate) fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), owner: String::new(), order: SearchOrder::Best, limit: 50 }
}

/// The sessions found, in their order.
pub(crate) async fn found(store: &dyn SessionStore, text: &str) -> Vec<SessionId> {
    store.search(&query(text)).await.unwrap().into_iter().map(|hit| hit.session_id).collect()
}

/// Checks which sessions are found, in their order.
pub(crate) async fn finds(store: &dyn SessionStore, text: &str, expected: &[&SessionId]) {
    assert_eq!(found(store, text).await.iter().collect::<Vec<_>>(), expected, "{text}");
}
