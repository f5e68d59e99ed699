//! In which order a client gets what.

use rejoin_testing::{Event, TestClient, fold, updates_in};
use serde_json::{Value, json};

use crate::raw::RawClient;
use crate::world::{World, agent_that_can, plain_agent};

/// A barrier: what was sent to the client before its answer has come when it is there.
async fn settle(client: &TestClient, session: &str) {
    client.call("session/status", json!({ "sessionId": session })).await.unwrap();
}

/// The updates of any session before and behind the answer to the request `number`.
fn around(events: &[Event], number: usize, session: &str) -> (Vec<Value>, Vec<Value>) {
    let at = events.iter().position(|event| matches!(event, Event::Answered(one) if *one == number)).unwrap();
    (updates_in(&events[..at], session), updates_in(&events[at..], session))
}

#[tokio::test]
async fn nothing_of_a_new_session_comes_before_its_answer() {
    let world = agent_that_can(&["commands"]).with("--fault", "early").start();
    let client = world.client().await;

    let pending = client.begin("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await;
    let number = pending.number;
    let made = pending.result().await;

    let session = made["sessionId"].as_str().unwrap();
    let find = |events: &[Event]| (updates_in(events, session).len() == 2).then_some(());
    client.until("the early update and the commands", find).await;
    let (before, behind) = around(&client.since(0), number, session);
    let kinds: Vec<&Value> = behind.iter().map(|update| &update["sessionUpdate"]).collect();
    assert_eq!((before.len(), kinds), (0, vec![&json!("agent_message_chunk"), &json!("available_commands_update")]));
}

#[tokio::test]
async fn nothing_of_a_forked_session_comes_before_its_answer() {
    let world = agent_that_can(&["commands", "fork"]).start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say hello").await;
    let from = client.mark();

    let pending = client.begin("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await;
    let number = pending.number;
    let made = pending.result().await;

    let fork = made["sessionId"].as_str().unwrap();
    client.turn(fork, "say there").await;
    let (before, behind) = around(&client.since(from), number, fork);
    assert_eq!((before.len(), fold(&behind)), (0, vec!["agent: there".to_owned()]));
}

#[tokio::test]
async fn all_of_a_turn_comes_before_its_answer() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    let pending = client.prompt(&session, "stream 500\ntool t1 Edit\nprogress t1 completed").await;
    let number = pending.number;
    pending.result().await;
    settle(&client, &session).await;

    let (before, behind) = around(&client.since(0), number, &session);
    let chunks = before.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk").count();
    assert_eq!((chunks, fold(&before).last().unwrap().as_str(), behind.len()), (500, "tool t1: completed", 0));
}

#[tokio::test]
async fn what_comes_after_a_turn_is_shown_and_kept() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    client.turn(&session, "say one\nlate two").await;
    client.until_said(&session, "two").await;

    let replay = world.client().await.load(&session, world.cwd()).await;
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: two"]);
    assert_eq!(fold(&replay)[1..], fold(&client.updates(&session)));
}

#[tokio::test]
async fn all_of_a_replay_comes_before_the_answer() {
    let world = agent_that_can(&["commands"]).start();
    let (client, session) = world.client_with_session().await;
    for _ in 0..3 {
        client.turn(&session, "stream 300\nthink hm\ntool t1 Edit").await;
    }
    let other = world.client().await;

    let replay = other.load(&session, world.cwd()).await;
    settle(&other, &session).await;

    assert_eq!((fold(&replay).len(), other.updates(&session).len()), (10, replay.len()));
}

#[tokio::test]
async fn a_replay_folds_to_what_was_seen_live_also_without_message_ids() {
    let script = "think a\nsay b\nemit {\"sessionUpdate\":\"usage_update\",\"used\":1,\"size\":2}\nstream 20\ntool t1 Edit\nsay c\nprogress t1 completed\nthink d\nstream 5";
    for fault in ["no-ids", "echo"] {
        let world = plain_agent().with("--fault", fault).start();
        let (client, session) = world.client_with_session().await;
        let witness = world.client().await;
        witness.load(&session, world.cwd()).await;
        client.turn(&session, script).await;
        client.turn(&session, script).await;
        settle(&witness, &session).await;

        let replay = world.client().await.load(&session, world.cwd()).await;

        assert_eq!(fold(&replay), fold(&witness.updates(&session)), "{fault}");
    }
}

#[tokio::test]
async fn one_that_loads_in_mid_stream_misses_nothing_and_gets_nothing_twice() {
    const CHUNKS: usize = 240;
    let world = plain_agent().start();
    let client = world.client().await;
    for round in 0..40 {
        let session = client.new_session(world.cwd()).await;
        let other = world.client().await;
        let point = round * CHUNKS / 40;
        let turn = client.prompt(&session, &format!("stream {CHUNKS}")).await;
        let find = |events: &[Event]| (updates_in(events, &session).len() >= point).then_some(());
        client.until("the point", find).await;

        other.load(&session, world.cwd()).await;
        turn.result().await;

        other.until_said(&session, &format!("{} ", CHUNKS - 1)).await;
        let all = streamed(CHUNKS);
        let expected = [format!("user: stream {CHUNKS}"), format!("agent: {all}")];
        assert_eq!(fold(&other.updates(&session)), expected, "joined at {point}");
    }
}

#[tokio::test]
async fn one_that_loads_at_a_gate_gets_the_first_half_before_the_answer_and_the_rest_behind() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\nsay two").await;
    client.until_said(&session, "one").await;
    let other = world.client().await;

    let replay = other.load(&session, world.cwd()).await;
    other.go(&session).await;
    turn.result().await;
    other.until_said(&session, "two").await;

    assert_eq!(fold(&replay), ["user: say one\ngate\nsay two", "agent: one"]);
    assert_eq!(fold(&other.updates(&session)[replay.len()..]), ["agent: two"]);
}

#[tokio::test]
async fn a_prompt_is_shown_to_the_others_and_not_to_its_sender() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let other = world.client().await;
    other.load(&session, world.cwd()).await;

    client.turn(&session, "say one").await;
    other.turn(&session, "say two").await;
    settle(&client, &session).await;

    let seen = |one: &TestClient| fold(&one.updates(&session));
    assert_eq!(seen(&client), ["agent: one", "user: say two", "agent: two"]);
    assert_eq!(seen(&other), ["user: say one", "agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_fork_in_a_turn_begins_at_the_last_ended_one_and_goes_its_own_way() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let turn = client.prompt(&session, "say two\ngate").await;
    client.until_said(&session, "two").await;

    let made = client.call("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
    let fork = made["sessionId"].as_str().unwrap();
    client.turn(fork, "say three").await;
    client.go(&session).await;
    turn.result().await;

    assert_eq!(said_by_agent(&world, fork).await, ["agent: one", "agent: three"]);
    assert_eq!(said_by_agent(&world, &session).await, ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_fork_can_begin_at_an_earlier_message() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    for text in ["say one", "say two", "say three"] {
        client.turn(&session, text).await;
    }
    let updates = client.updates(&session);
    let second = updates.iter().find(|update| update["content"]["text"] == "two").unwrap()["messageId"].clone();

    let params = json!({ "sessionId": session, "cwd": world.cwd(), "_meta": { "rejoin": { "at": second } } });
    let made = client.call("session/fork", params).await.unwrap();

    let fork = made["sessionId"].as_str().unwrap();
    assert_eq!(said_by_agent(&world, fork).await, ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_client_that_reads_late_gets_everything_in_order() {
    const CHUNKS: usize = 40_000;
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let mut late = RawClient::connect_with_room(&world.layer, 1024);
    late.initialize().await;
    late.request(json!(1), "session/resume", &json!({ "sessionId": session, "cwd": world.cwd() })).await;
    late.answer_to(&json!(1)).await;

    client.turn(&session, &format!("stream {CHUNKS}")).await;
    client.turn(&session, "say done").await;

    let mut updates: Vec<Value> = Vec::new();
    while updates.last().is_none_or(|update| update["content"]["text"] != "done") {
        updates.push(late.next().await["params"]["update"].clone());
    }
    let all = streamed(CHUNKS);
    let expected = [
        format!("user: stream {CHUNKS}"),
        format!("agent: {all}"),
        "user: say done".to_owned(),
        "agent: done".to_owned(),
    ];
    assert!(fold(&updates) == expected, "{} updates, not what was sent", updates.len());
}

/// The message of the step `stream N`.
fn streamed(n_chunks: usize) -> String {
    (0..n_chunks).flat_map(|number| [number.to_string(), " ".to_owned()]).collect()
}

/// What the agent said, by a replay, without our remarks.
async fn said_by_agent(world: &World, session: &str) -> Vec<String> {
    let mut replay = world.client().await.load(session, world.cwd()).await;
    replay.retain(|update| update["_meta"]["rejoin"]["notice"].is_null());
    fold(&replay).into_iter().filter(|line| line.starts_with("agent")).collect()
}
