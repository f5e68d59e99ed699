//! Sessions that were kept elsewhere.

use futures::stream;
use rejoin_store::{Likeness, MemoryStore, Owner, SessionStore, StoreError, Taken, agent_sessions, take_in};
use rejoin_testing::{at, chunk, end, prompt, read_all, session_in};
use rejoin_transcript::{AgentSession, EntryNumber, Fact, Json, Session, SessionId, Step, Turn};

fn told() -> Session {
    let mut session = session_in("/p");
    session.facts.session_id = SessionId::parse("kept").unwrap();
    session
}

async fn take(store: &MemoryStore, likeness: Likeness, steps: &[Step]) -> Taken {
    let steps = stream::iter(steps.iter().cloned().map(Ok::<_, StoreError>));
    take_in(store, &told(), likeness, steps).await.unwrap()
}

async fn kinds(store: &MemoryStore) -> Vec<(&'static str, i64)> {
    let entries = read_all(store, &told().facts.session_id).await;
    entries.iter().map(|entry| (entry.step.kind.name(), entry.step.turn.code())).collect()
}

fn tool(turn: Turn, status: &str) -> Step {
    let update = format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":"x","status":"{status}"}}"#);
    Step::update(at(1), turn, Json::parse(update).unwrap()).unwrap()
}

#[tokio::test]
async fn a_session_comes_in_whole_and_then_only_what_is_new() {
    for likeness in [Likeness::Exact, Likeness::Retold] {
        let store = MemoryStore::default();
        let first = [prompt(1, "one"), chunk(1, "m", "a"), end(1)];
        let more = [&first[..], &[prompt(2, "two"), chunk(2, "m", "b"), end(2)]].concat();
        assert_eq!(take(&store, likeness, &first).await, Taken::All);
        assert_eq!(take(&store, likeness, &first).await, Taken::Nothing);
        assert_eq!(take(&store, likeness, &more).await, Taken::More);
        let entries = read_all(&store, &told().facts.session_id).await;
        assert_eq!(entries.into_iter().map(|entry| entry.step).collect::<Vec<_>>(), more);
    }
}

#[tokio::test]
async fn one_that_went_its_own_way_is_left_alone() {
    for likeness in [Likeness::Exact, Likeness::Retold] {
        let store = MemoryStore::default();
        take(&store, likeness, &[prompt(1, "one"), chunk(1, "m", "here"), end(1)]).await;
        let other = [prompt(1, "one"), chunk(1, "m", "there"), end(1), prompt(2, "two"), end(2)];
        assert_eq!(take(&store, likeness, &other).await, Taken::Nothing);
        assert_eq!(kinds(&store).await.len(), 3);
    }
}

#[tokio::test]
async fn a_turn_that_was_closed_here_and_went_on_elsewhere_goes_on_behind_its_end() {
    let store = MemoryStore::default();
    take(&store, Likeness::Retold, &[prompt(1, "one"), tool(Turn::In(1), "pending")]).await;
    let closed = [("prompt", 1), ("update", 1), ("update", 1), ("turn_ended", 1)];
    assert_eq!(kinds(&store).await, closed);

    let more =
        [prompt(1, "one"), tool(Turn::In(1), "pending"), chunk(1, "m", "done"), end(1), prompt(2, "two"), end(2)];
    assert_eq!(take(&store, Likeness::Retold, &more).await, Taken::More);
    let added = [("update", -1), ("prompt", 2), ("turn_ended", 2)];
    assert_eq!(kinds(&store).await, [&closed[..], &added].concat());
    assert_eq!(take(&store, Likeness::Retold, &more).await, Taken::Nothing);
}

#[tokio::test]
async fn the_modes_of_others_are_not_in_force_and_the_users_own_are() {
    let store = MemoryStore::default();
    let id = told().facts.session_id;
    let mode = |mode: &str| {
        let update = format!(r#"{{"sessionUpdate":"current_mode_update","currentModeId":"{mode}"}}"#);
        Step::update(at(1), Turn::In(1), Json::parse(update).unwrap()).unwrap()
    };
    let first = [prompt(1, "one"), mode("code"), end(1)];
    let whole = [&first[..], &[prompt(2, "two"), mode("code"), end(2)]].concat();
    for (steps, n_entries) in [(&first[..], 3), (&whole, 6)] {
        take(&store, Likeness::Exact, steps).await;
        let session = store.session(&id).await.unwrap();
        assert_eq!((session.facts.imported.get(), session.settings.in_force.mode), (n_entries, None));
    }

    let lease = store.acquire(&id, &Owner::this_process()).await.unwrap();
    store.append(&lease, lease.head, vec![mode("code")], Vec::new()).await.unwrap();
    assert_eq!(store.session(&id).await.unwrap().settings.in_force.mode.as_deref(), Some("code"));

    let fork = SessionId::parse("fork").unwrap();
    store.fork(&id, EntryNumber::new(3), fork.clone(), at(9), Vec::new()).await.unwrap();
    let forked = store.session(&fork).await.unwrap();
    assert_eq!((forked.facts.imported.get(), forked.settings.in_force.mode), (3, None));
}

#[tokio::test]
async fn what_fails_on_the_way_leaves_nothing_behind() {
    let store = MemoryStore::default();
    let failure = || StoreError::SessionNotFound { id: "elsewhere".to_owned() };
    let steps = stream::iter([Ok(prompt(1, "one")), Err(failure())]);
    assert!(take_in(&store, &told(), Likeness::Exact, steps).await.is_err());
    assert!(store.session(&told().facts.session_id).await.is_err());

    take(&store, Likeness::Exact, &[prompt(1, "one"), end(1)]).await;
    let steps = stream::iter([Ok(prompt(1, "one")), Err(failure())]);
    assert!(take_in(&store, &told(), Likeness::Exact, steps).await.is_err());
    assert_eq!(kinds(&store).await.len(), 2);
}

#[tokio::test]
async fn agents_own_sessions_are_found_archived_ones_too() {
    let store = MemoryStore::default();
    take(&store, Likeness::Exact, &[prompt(1, "one"), end(1)]).await;
    let id = told().facts.session_id;
    let own = |id: &str| Fact::AgentSession(Some(AgentSession { id: id.to_owned(), generation: 1, lacks: 0 }));
    store.tell(&id, vec![own("mine"), Fact::Archived(true)]).await.unwrap();
    let found = agent_sessions(&store, "").await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id.as_str(), &found[0].session_id), ("mine", &id));
    assert!(agent_sessions(&store, "somebody else").await.unwrap().is_empty());
}
