//! Sessions in a store.

use futures::TryStreamExt;
use rejoin_store::{
    Lease, Owner, ReplayPlace, SearchOrder, SearchQuery, SessionStore, entries, new_session_id, replay_pages,
};
use rejoin_transcript::{AgentInfo, Cwd, Entry, EntryNumber, Session, SessionId};

use crate::steps::{at, chunk, end, prompt};

/// A process on a host where nobody can look whether it lives.
pub fn owner(name: &str) -> Owner {
    Owner { host: name.to_owned(), boot: name.to_owned(), pid: 1, started: 1, lease_millis: 15_000 }
}

/// A session that works in `cwd`, which a client wrote with a slash behind it.
pub fn session_in(cwd: &str) -> Session {
    let cwd = Cwd { raw: format!("{cwd}/"), canonical: cwd.to_owned() };
    let agent = AgentInfo { name: "agent-a".to_owned(), command: vec!["agent-a".to_owned()], version: None };
    Session::new(new_session_id(), cwd, agent, at(1_000))
}

/// Makes a session without entries.
pub async fn create(store: &dyn SessionStore) -> SessionId {
    let session = session_in("/project");
    let id = session.facts.session_id.clone();
    store.create(session).await.unwrap();
    id
}

/// Makes a session, and takes the lease.
pub async fn create_and_acquire(store: &dyn SessionStore) -> (SessionId, Lease) {
    let session = create(store).await;
    let lease = store.acquire(&session, &owner("a")).await.unwrap();
    (session, lease)
}

/// Makes a session of one turn in which `prompt` is answered with `answer`.
pub async fn create_with_turn(store: &dyn SessionStore, prompt_text: &str, answer: &str) -> SessionId {
    let (session, lease) = create_and_acquire(store).await;
    append_turn(store, &lease, 1, prompt_text, answer).await;
    store.release(&lease).await.unwrap();
    session
}

/// Appends a whole turn, and gives its last entry.
pub async fn append_turn(
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

/// All entries of a session.
pub async fn read_all(store: &dyn SessionStore, session: &SessionId) -> Vec<Entry> {
    entries(store, session, EntryNumber::START).try_collect().await.unwrap()
}

/// The numbers of all entries of a session.
pub async fn numbers(store: &dyn SessionStore, session: &SessionId) -> Vec<u32> {
    read_all(store, session).await.iter().map(|entry| entry.number.get()).collect()
}

/// All lines of a session's replay.
pub async fn replay_all(store: &dyn SessionStore, session: &SessionId) -> String {
    let pages: Vec<String> = replay_pages(store, session, ReplayPlace::all()).try_collect().await.unwrap();
    pages.concat()
}

/// What a replay of `entries` must be.
pub fn replay_of(entries: &[Entry]) -> String {
    rejoin_transcript::replay(entries).iter().flat_map(|one| [one.params.as_str(), "\n"]).collect()
}

/// A search for `text` in everyone's sessions, the best first.
pub fn query(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), owner: String::new(), order: SearchOrder::Best, limit: 50 }
}

/// The sessions found, in their order.
pub async fn found(store: &dyn SessionStore, text: &str) -> Vec<SessionId> {
    store.search(&query(text)).await.unwrap().into_iter().map(|hit| hit.session_id).collect()
}

/// Checks which sessions are found, in their order.
pub async fn finds(store: &dyn SessionStore, text: &str, expected: &[&SessionId]) {
    assert_eq!(found(store, text).await.iter().collect::<Vec<_>>(), expected, "{text}");
}
