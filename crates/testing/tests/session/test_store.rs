//! When the store fails, and when two layers share one.

use std::sync::Arc;
use std::time::Duration;

use rejoin_store::{SessionStore, SqliteStore};
use rejoin_testing::{Event, FaultStore, TempStore, fold, read_all, replay_all};
use rejoin_transcript::{SessionId, StepKind};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::world::{agent_that_can, plain_agent};

#[tokio::test]
async fn what_cannot_be_kept_is_not_shown_and_the_next_prompt_works_when_the_store_does() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\nsay hidden").await;
    client.until_said(&session, "one").await;

    store.set_full(true);
    client.go(&session).await;
    let error = turn.error().await;
    let still = client.prompt(&session, "say two").await.error().await;
    store.set_full(false);
    let reason = client.turn(&session, "say three").await;

    assert_eq!((error.code(), still.code(), reason.as_str()), (-32012, -32012, "end_turn"));
    let replay = world.client().await.load(&session, world.cwd()).await;
    assert_eq!(said(&client.updates(&session)), ["agent: one", "agent: three"]);
    assert_eq!(said(&replay), ["agent: one", "agent: three"]);
}

/// What the agent said in `updates`.
fn said(updates: &[Value]) -> Vec<String> {
    let updates: Vec<Value> =
        updates.iter().filter(|one| one["_meta"]["rejoin"]["notice"].is_null()).cloned().collect();
    fold(&updates).into_iter().filter(|line| line.starts_with("agent")).collect()
}

#[tokio::test]
async fn a_prompt_that_cannot_be_kept_does_not_reach_the_agent() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;

    store.set_full(true);
    let error = client.prompt(&session, "say one").await.error().await;

    let data: Value = serde_json::from_str(error.as_json()).unwrap();
    assert_eq!((error.code(), data["data"]["kind"].as_str()), (-32012, Some("store_failed")));
    assert_eq!(world.agent_got("session/prompt").len(), 0);
}

#[tokio::test]
async fn an_end_that_cannot_be_kept_fails_the_prompt() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;

    store.set_full(true);
    client.go(&session).await;
    let error = turn.error().await;
    store.set_full(false);

    assert_eq!((error.code(), client.turn(&session, "say two").await.as_str()), (-32012, "end_turn"));
}

#[tokio::test]
async fn an_update_between_turns_that_cannot_be_kept_is_not_shown() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    store.set_full(true);
    client.notify("_say", json!({ "sessionId": session, "text": "hidden" })).await;
    world.to_agents.until(Direction::In, "session/update", 2).await;
    client.call("_ext/barrier", json!({ "sessionId": session })).await.unwrap();
    client.call("session/status", json!({ "sessionId": session })).await.unwrap();
    store.set_full(false);
    client.notify("_say", json!({ "sessionId": session, "text": "shown" })).await;
    client.until_said(&session, "shown").await;

    let replay = world.client().await.load(&session, world.cwd()).await;
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: shown"]);
    assert_eq!(fold(&replay)[1..], fold(&client.updates(&session)));
}

/// Two ways to one file, as two processes on two hosts have them.
pub(crate) fn two_hosts() -> (TempStore, Arc<dyn SessionStore>, Arc<dyn SessionStore>) {
    let kept = TempStore::new();
    let open = || Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let (here, there) = (FaultStore::elsewhere(open(), "a"), FaultStore::elsewhere(open(), "b"));
    (kept, here, there)
}

#[tokio::test]
async fn an_idle_owner_gives_way_and_learns_what_was_done_meanwhile() {
    let (_kept, here, there) = two_hosts();
    let (first, second) = (plain_agent().store(here).start(), plain_agent().store(there).start());
    let (client, session) = first.client_with_session().await;
    client.turn(&session, "say one").await;
    let other = second.client().await;
    other.load(&session, first.cwd()).await;

    other.turn(&session, "say two").await;
    client.turn(&session, "say three").await;

    let replay = second.client().await.load(&session, first.cwd()).await;
    let told: Vec<String> = fold(&replay).into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(told, ["user: say one", "user: say two", "user: say three"]);
    let briefing = first.prompts_to_agent().last().unwrap()[0].clone();
    assert!(briefing.contains("User: say two\nYou: two"), "{briefing}");
}

#[tokio::test]
async fn a_turn_that_runs_elsewhere_can_be_read_and_conflicts_with_a_prompt() {
    let (_kept, here, there) = two_hosts();
    let (first, second) = (plain_agent().store(here).start(), plain_agent().store(there).start());
    let (client, session) = first.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;
    let other = second.client().await;

    let replay = other.load(&session, first.cwd()).await;
    let error = other.prompt(&session, "say two").await.error().await;
    client.go(&session).await;
    turn.result().await;
    let reason = other.turn(&session, "say three").await;

    let data: Value = serde_json::from_str::<Value>(error.as_json()).unwrap()["data"].clone();
    assert_eq!(fold(&replay)[1..], ["agent: one"]);
    assert_eq!((error.code(), &data["kind"], &data["owner"]["host"]), (-32011, &json!("session_in_use"), &json!("a")));
    assert_eq!(reason, "end_turn");
}

/// Has a turn of the prompt `text`, which stands at a gate, fail in one of two processes on one host by `fault`, which
/// `mend` ends; then the other process prompts.
async fn check_gives_way(text: &str, fault: fn(&FaultStore), mend: fn(&FaultStore), stays: bool) {
    let kept = TempStore::new();
    let open = || Arc::new(SqliteStore::open(kept.store.path()).unwrap());
    let (here, there) = (FaultStore::elsewhere(open(), "a"), FaultStore::elsewhere(open(), "b"));
    let (first, second) = (plain_agent().store(here.clone()).start(), plain_agent().store(there).start());
    let (client, session) = first.client_with_session().await;
    let turn = client.prompt(&session, text).await;
    client.until_said(&session, "one").await;
    fault(&here);
    client.go(&session).await;
    let _failed = turn.error().await;
    let mut client = Some(client);
    if !stays && let Some(client) = client.take() {
        client.leave().await;
    }
    mend(&here);

    let other = second.client().await;
    other.load(&session, first.cwd()).await;
    let reason = other.turn(&session, "say two").await;

    let replay = second.client().await.load(&session, first.cwd()).await;
    assert_eq!((reason.as_str(), said(&replay)), ("end_turn", vec!["agent: one".to_owned(), "agent: two".to_owned()]));
}

#[tokio::test]
async fn an_owner_gives_way_whatever_ended_its_turn() {
    let (full, free) = (|store: &FaultStore| store.set_full(true), |store: &FaultStore| store.set_full(false));
    for stays in [true, false] {
        check_gives_way("say one\ngate\nsay hidden", full, free, stays).await;
        check_gives_way("say one\ngate", full, free, stays).await;
        check_gives_way("say one\ngate\nsay hidden", FaultStore::break_down, |_| {}, stays).await;
    }
}

#[tokio::test]
async fn a_session_whose_task_broke_down_goes_on() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\nsay hidden").await;
    client.until_said(&session, "one").await;

    store.break_down();
    client.go(&session).await;
    turn.error().await;
    client.load(&session, world.cwd()).await;

    assert_eq!(client.turn(&session, "say two").await, "end_turn");
}

#[tokio::test]
async fn a_turn_that_a_passing_failure_cut_off_ends_before_the_next_begins() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;
    for failures in [1, 2] {
        let turn = client.prompt(&session, &format!("say {failures} to come\ngate\nsay hidden")).await;
        client.until_said(&session, &format!("{failures} to come")).await;
        let next = client.prompt(&session, "say two").await;

        store.fail_appends(failures);
        client.go(&session).await;

        assert_eq!((turn.error().await.code(), next.result().await["stopReason"].clone()), (-32012, json!("end_turn")));
    }
    let entries = read_all(&*store, &SessionId::parse(&session).unwrap()).await;
    let is_edge = |kind: &StepKind| matches!(kind, StepKind::Prompt | StepKind::TurnEnded);
    let edges: Vec<StepKind> = entries.iter().map(|entry| entry.step.kind).filter(is_edge).collect();
    assert_eq!(edges, [StepKind::Prompt, StepKind::TurnEnded].repeat(4));
}

#[tokio::test]
async fn a_session_that_was_never_prompted_is_kept_and_not_listed() {
    let (_kept, here, there) = two_hosts();
    let (first, second) = (plain_agent().store(here).start(), plain_agent().store(there).start());
    let (client, session) = first.client_with_session().await;
    client.leave().await;
    let other = second.client().await;

    let rows = other.call("session/list", json!({})).await.unwrap()["sessions"].clone();
    let replay = other.load(&session, first.cwd()).await;

    assert_eq!((rows, replay.len()), (json!([]), 0));
}

#[tokio::test]
async fn a_delete_that_is_refused_leaves_the_agents_copy() {
    let (_kept, here, there) = two_hosts();
    let start = |store| agent_that_can(&["close", "delete"]).store(store).start();
    let (first, second) = (start(here), start(there));
    let (client, session) = first.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;
    let other = second.client().await;
    other.load(&session, first.cwd()).await;
    let of_session = json!({ "sessionId": session });

    let refused = other.call("session/delete", of_session.clone()).await.unwrap_err();
    client.go(&session).await;
    let reason = turn.result().await["stopReason"].clone();
    other.load(&session, first.cwd()).await;
    other.call("session/delete", of_session).await.unwrap();
    second.to_agents.until(Direction::Out, "session/delete", 1).await;

    let deleted = (first.agent_got("session/delete").len(), second.agent_got("session/delete").len());
    assert_eq!((refused.code(), reason, deleted), (-32011, json!("end_turn"), (0, 1)));
}

#[tokio::test]
async fn what_an_agent_says_of_a_session_that_nobody_knows_is_kept_unlisted_and_not_shown() {
    let store = FaultStore::new();
    let world = plain_agent().store(store.clone()).start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "say one\nstranger hello\nsay two").await;

    let kept = async {
        loop {
            if let [_, child] = store.created().as_slice()
                && !fold(&replayed(&*store, child).await).is_empty()
            {
                return child.clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let child = tokio::time::timeout(Duration::from_secs(30), kept).await.unwrap();
    let facts = store.session(&child).await.unwrap().facts;
    let rows = client.call("session/list", json!({ "archived": "include" })).await.unwrap();
    let is_foreign = |event: &Event| matches!(event, Event::Update { session: of, .. } if *of != session);
    assert_eq!(fold(&replayed(&*store, &child).await), ["agent: hello"]);
    assert_eq!((facts.child, rows["sessions"].as_array().unwrap().len()), (true, 1));
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: two"]);
    assert!(!client.since(0).iter().any(is_foreign), "{:?}", client.since(0));
}

/// The updates of a session's replay.
async fn replayed(store: &dyn SessionStore, session: &SessionId) -> Vec<Value> {
    let update = |line: &str| serde_json::from_str::<Value>(line).unwrap()["update"].clone();
    replay_all(store, session).await.lines().map(update).collect()
}

/// How many sessions an agent keeps in `state`.
fn n_kept(state: &tempfile::TempDir) -> usize {
    std::fs::read_dir(state.path()).unwrap().count()
}

#[tokio::test]
async fn a_session_that_is_deleted_right_before_the_end_is_deleted_by_the_agent_too() {
    let state = tempfile::tempdir().unwrap();
    let world = agent_that_can(&["close", "delete"]).with("--state", state.path().to_str().unwrap()).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let kept = n_kept(&state);

    client.call("session/delete", json!({ "sessionId": session })).await.unwrap();
    world.layer.end().await;

    assert_eq!((kept, n_kept(&state)), (1, 0));
}

#[tokio::test]
async fn a_session_whose_delete_waits_for_its_turn_at_the_end_is_deleted_by_the_agent_too() {
    let state = tempfile::tempdir().unwrap();
    let world = agent_that_can(&["close", "delete"]).with("--state", state.path().to_str().unwrap()).start();
    let (client, session) = world.client_with_session().await;
    let _turn = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;
    let kept = n_kept(&state);

    let _deleted = client.begin("session/delete", json!({ "sessionId": session })).await;
    world.to_agents.until(Direction::Out, "session/cancel", 1).await;
    world.layer.end().await;

    assert_eq!((kept, n_kept(&state)), (1, 0));
}

#[tokio::test]
async fn what_an_agent_keeps_of_earlier_sessions_goes_with_the_session() {
    let state = tempfile::tempdir().unwrap();
    let world = agent_that_can(&["delete"]).with("--state", state.path().to_str().unwrap()).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    for _ in 0..2 {
        client.prompt(&session, "crash 1").await.error().await;
        client.turn(&session, "say two").await;
    }
    // One that dies before it has taken the briefing leaves a session too.
    for _ in 0..2 {
        client.prompt(&session, "crash 1").await.error().await;
    }
    let kept = n_kept(&state);

    client.call("session/delete", json!({ "sessionId": session })).await.unwrap();
    world.layer.end().await;

    assert_eq!((kept, n_kept(&state)), (4, 0));
}
