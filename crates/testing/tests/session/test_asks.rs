//! What an agent asks of a client.

use rejoin_testing::{Event, fold};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::world::plain_agent;

const YES: &str = r#"agent: permit -> {"outcome":{"outcome":"selected","optionId":"yes"}}"#;

/// The ids that the client was told to forget.
fn taken_back(events: &[Event]) -> Vec<String> {
    let id = |event: &Event| match event {
        Event::Told { method, params } if method == "$/cancel_request" => Some(params["requestId"].to_string()),
        _ => None,
    };
    events.iter().filter_map(id).collect()
}

#[tokio::test]
async fn a_permission_is_asked_of_the_one_who_prompted_and_its_answer_reaches_the_agent() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let other = world.client().await;
    other.load(&session, world.cwd()).await;

    other.turn(&session, "permit t1").await;

    let (_, params) = other.until_asked("session/request_permission").await;
    let asked = client.since(0).iter().filter(|event| matches!(event, Event::Asked { .. })).count();
    assert_eq!((params["sessionId"].as_str(), asked), (Some(&*session), 0));
    assert_eq!(fold(&other.updates(&session)), [YES]);
}

#[tokio::test]
async fn a_cancel_answers_a_permission_for_the_client_and_withdraws_it() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let turn = client.prompt(&session, "permit t1").await;
    let (id, _) = client.until_asked("session/request_permission").await;

    client.cancel(&session).await;

    assert_eq!(turn.result().await["stopReason"], "cancelled");
    assert_eq!(taken_back(&client.since(0)), [id.as_json()]);
    assert_eq!(fold(&client.updates(&session)), [r#"agent: permit -> {"outcome":{"outcome":"cancelled"}}"#]);
}

#[tokio::test]
async fn a_permission_that_the_agent_takes_back_is_withdrawn_from_the_client() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let ask = json!({ "toolCall": { "toolCallId": "t1" }, "options": [] });
    let turn = client.prompt(&session, &format!("retract session/request_permission {ask}")).await;
    let (id, _) = client.until_asked("session/request_permission").await;
    let is_told = |events: &[Event]| (taken_back(events) == [id.as_json()]).then_some(());
    client.until("the withdrawal", is_told).await;

    client.respond(&id, &json!({ "outcome": { "outcome": "cancelled" } })).await;

    assert_eq!(turn.result().await["stopReason"], "end_turn");
}

#[tokio::test]
async fn a_permission_that_nobody_was_there_for_is_asked_of_the_next_who_loads() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\npermit t1").await;
    client.until_said(&session, "one").await;
    let other = world.client().await;
    client.leave().await;
    drop(turn);
    other.go(&session).await;
    world.to_agents.until(Direction::In, "session/request_permission", 1).await;

    other.load(&session, world.cwd()).await;
    other.until_said(&session, "permit").await;

    assert_eq!(fold(&other.updates(&session))[1..], ["agent: one", YES]);
}

#[tokio::test]
async fn a_permission_that_a_client_left_open_is_asked_of_the_next_who_loads() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let turn = client.prompt(&session, "permit t1").await;
    client.until_asked("session/request_permission").await;
    client.leave().await;
    drop(turn);
    let other = world.client().await;

    other.load(&session, world.cwd()).await;
    other.until_said(&session, "permit").await;

    assert_eq!(fold(&other.updates(&session))[1..], [YES]);
}

#[tokio::test]
async fn a_permission_that_a_client_left_open_is_asked_of_another_that_is_there() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    let other = world.client().await;
    other.load(&session, world.cwd()).await;
    let turn = client.prompt(&session, "permit t1").await;
    client.until_asked("session/request_permission").await;

    client.leave().await;
    drop(turn);
    other.until_said(&session, "permit").await;

    assert_eq!(fold(&other.updates(&session)).last().unwrap(), YES);
}

#[tokio::test]
async fn files_and_extensions_are_asked_with_our_session_id() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    client
        .turn(&session, "call fs/read_text_file {\"path\":\"/f\"}\ncall _ext/ask {\"a\":1}\nnotify _ext/note {\"b\":2}")
        .await;

    let told = |event: &Event| match event {
        Event::Asked { method, params, .. } | Event::Told { method, params } => Some((method.clone(), params.clone())),
        _ => None,
    };
    let with = |mut params: Value| {
        params["sessionId"] = json!(session);
        params
    };
    let expected = [
        ("fs/read_text_file".to_owned(), with(json!({ "path": "/f" }))),
        ("_ext/ask".to_owned(), with(json!({ "a": 1 }))),
        ("_ext/note".to_owned(), with(json!({ "b": 2 }))),
    ];
    assert_eq!(client.since(0).iter().filter_map(told).collect::<Vec<_>>(), expected);
    assert_eq!(fold(&client.updates(&session))[0], r#"agent: fs/read_text_file -> {"content":"what is in \"/f\""}"#);
}

#[tokio::test]
async fn a_file_that_nobody_is_there_for_is_an_error_for_the_agent() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\ncall fs/read_text_file {\"path\":\"/f\"}").await;
    client.until_said(&session, "one").await;
    let other = world.client().await;
    client.leave().await;
    drop(turn);
    other.go(&session).await;
    world.to_agents.until(Direction::In, "fs/read_text_file", 1).await;

    other.load(&session, world.cwd()).await;
    other.until_said(&session, "fs/read_text_file").await;

    let said = fold(&other.updates(&session)).pop().unwrap();
    assert!(said.contains("no client is there"), "{said}");
}
