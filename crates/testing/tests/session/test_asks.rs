//! What an agent asks of a client.

use rejoin::LayerOptions;
use rejoin::deny::DenyList;
use rejoin_testing::{Event, fold, read_all};
use rejoin_transcript::{SessionId, StepKind};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::world::{agent_that_can, plain_agent};

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

#[tokio::test]
async fn what_an_agent_asks_before_it_has_opened_a_session_is_an_error_at_once() {
    for abilities in [&["load"][..], &["resume"], &["fork"], &[]] {
        let world = agent_that_can(abilities).with("--fault", "asks").with_memory().start();
        let (client, session) = world.client_with_session().await;
        client.turn(&session, "say one").await;
        let made = client.call("session/fork", json!({ "sessionId": session, "cwd": world.cwd() })).await.unwrap();
        client.turn(made["sessionId"].as_str().unwrap(), "say two").await;
        client.prompt(&session, "crash 1").await.error().await;

        client.turn(&session, "say three").await;

        let asked = client.since(0).iter().filter(|event| matches!(event, Event::Asked { .. })).count();
        let got = world.to_agents.params_of(Direction::In, "fs/read_text_file").len();
        assert_eq!((got, asked), (3, 0), "{abilities:?}");
    }
}

#[tokio::test]
async fn a_close_settles_what_was_asked_outside_of_a_turn() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.answer_with(|_, _| None);
    client.turn(&session, "say one").await;
    client.notify("_permit", json!({ "sessionId": session })).await;
    let (id, _) = client.until_asked("session/request_permission").await;

    client.call("session/close", json!({ "sessionId": session })).await.unwrap();

    let is_told = |events: &[Event]| (taken_back(events) == [id.as_json()]).then_some(());
    client.until("the withdrawal", is_told).await;
    client.call("_ext/barrier", json!({})).await.unwrap();
    assert_eq!(world.to_agents.results(Direction::Out), [json!({ "outcome": { "outcome": "cancelled" } })]);
}

#[tokio::test]
async fn a_clients_terminal_is_shown_live_and_its_last_output_is_in_the_replay() {
    let world = plain_agent().start();
    let client = world.client_that_can(json!({ "terminal": true })).await;
    client.answer_with(|method, _| match method {
        "terminal/create" => Some(Ok(json!({ "terminalId": "T" }))),
        "terminal/output" => Some(Ok(json!({ "output": "a\nb", "truncated": false }))),
        _ => None,
    });
    let session = client.new_session(world.cwd()).await;
    let shown = json!([{ "type": "terminal", "terminalId": "T" }]);
    let call = json!({ "sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls", "content": shown });

    let script = format!(
        "call terminal/create {{\"command\":\"ls\"}}\nemit {call}\ncall terminal/output {{\"terminalId\":\"T\"}}"
    );
    client.turn(&session, &script).await;

    let contents = |updates: &[Value]| -> Vec<Value> {
        let of_tools = updates.iter().filter(|update| update["toolCallId"] == "c" && !update["content"].is_null());
        of_tools.map(|update| update["content"].clone()).collect()
    };
    let replay = world.client().await.load(&session, world.cwd()).await;
    let text = json!([{ "type": "content", "content": { "type": "text", "text": "a\nb" } }]);
    assert_eq!((contents(&client.updates(&session)), contents(&replay).pop()), (vec![shown], Some(text)));
}

#[tokio::test]
async fn what_the_user_denies_is_declined_by_the_agents_own_option_and_nobody_is_asked() {
    let deny = |options: &mut LayerOptions| options.deny.add(DenyList::Paths, ".env").unwrap();
    let world = plain_agent().options(deny).start();
    let (client, session) = world.client_with_session().await;
    let options = json!([
        { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
        { "optionId": "never", "name": "Never", "kind": "reject_always" },
        { "optionId": "no", "name": "No", "kind": "reject_once" },
    ]);
    let ask = |path: &str| {
        let call = json!({ "toolCallId": "t1", "title": "Read", "locations": [{ "path": path }] });
        let params = json!({ "toolCall": call, "options": options });
        format!("call session/request_permission {params}")
    };

    client.turn(&session, &ask("/p/.env")).await;
    client.turn(&session, "call fs/read_text_file {\"path\":\"/p/.env\"}").await;

    let said = fold(&client.updates(&session)).join("\n");
    assert!(said.contains(r#"{"outcome":{"outcome":"selected","optionId":"no"}}"#), "{said}");
    assert!(said.contains("denies it: `.env` in deny.paths"), "{said}");
    assert!(!client.since(0).iter().any(|event| matches!(event, Event::Asked { .. })));
    let entries = read_all(&*world.store, &SessionId::parse(&*session).unwrap()).await;
    let answer = entries.iter().find(|entry| entry.step.kind == StepKind::PermissionAnswered).unwrap();
    let answer: Value = serde_json::from_str(answer.step.body.as_str()).unwrap();
    assert_eq!(answer["_meta"]["rejoin"]["deniedBy"], json!({ "list": "paths", "pattern": ".env" }));

    client.turn(&session, &ask("/p/other")).await;
    client.until_asked("session/request_permission").await;
}
