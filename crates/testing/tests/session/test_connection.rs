//! Connections: what comes first, what nobody knows, and what is broken.

use rejoin::Transport;
use rejoin_testing::{Event, TestClient, updates_in};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, BufReader};

use crate::raw::RawClient;
use crate::world::plain_agent;

#[tokio::test]
async fn a_request_before_initialize_is_an_error_and_the_connection_goes_on() {
    let world = plain_agent().start();
    let client = TestClient::connect(&world.layer);

    let early = client.call("session/list", json!({})).await.unwrap_err();
    client.initialize(json!({})).await;

    assert_eq!((early.code(), client.call("session/list", json!({})).await.is_ok()), (-32600, true));
}

#[tokio::test]
async fn what_comes_right_behind_initialize_waits_for_it() {
    let world = plain_agent().start();
    let client = TestClient::connect(&world.layer);

    let hello = client.begin("initialize", json!({ "protocolVersion": 1 })).await;
    let made = client.begin("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await;
    let list = client.begin("session/list", json!({})).await;

    let answers = (hello.answer().await.is_ok(), made.answer().await.is_ok(), list.answer().await.is_ok());
    assert_eq!(answers, (true, true, true));
}

#[tokio::test]
async fn a_second_initialize_is_answered_and_sessions_go_on() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    let again = client.initialize(json!({})).await;

    assert_eq!(
        (again["protocolVersion"].as_u64(), client.turn(&session, "say one").await.as_str()),
        (Some(1), "end_turn")
    );
}

#[tokio::test]
async fn a_version_that_is_missing_or_no_number_is_named() {
    let world = plain_agent().start();
    for params in [json!({}), json!({ "protocolVersion": "1" }), json!({ "protocolVersion": null })] {
        let client = TestClient::connect(&world.layer);

        let error = client.call("initialize", params.clone()).await.unwrap_err();

        assert!(error.code() == -32602 && error.message().contains("protocolVersion"), "{params}: {error:?}");
    }
}

#[tokio::test]
async fn a_newer_version_is_answered_with_ours() {
    let world = plain_agent().start();
    let client = TestClient::connect(&world.layer);

    let result = client.call("initialize", json!({ "protocolVersion": 9 })).await.unwrap();

    assert_eq!(
        (result["protocolVersion"].as_u64(), world.agent_got("initialize")[0]["protocolVersion"].as_u64()),
        (Some(1), Some(1))
    );
}

#[tokio::test]
async fn an_id_that_is_in_flight_is_refused_and_the_first_request_is_still_answered() {
    let world = plain_agent().start();
    let mut client = RawClient::connect(&world.layer);
    client.initialize().await;
    client.request(json!(1), "session/new", &json!({ "cwd": world.cwd(), "mcpServers": [] })).await;
    let session = client.answer_to(&json!(1)).await["result"]["sessionId"].clone();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "gate\nstop refusal" }] });
    client.request(json!(7), "session/prompt", &prompt).await;

    client.request(json!(7), "session/list", &json!({})).await;
    let refused = client.answer_to(&json!(7)).await;
    client.send(&json!({ "jsonrpc": "2.0", "method": "_go", "params": { "sessionId": session } }).to_string()).await;

    let answer = client.answer_to(&json!(7)).await;
    assert_eq!((&refused["error"]["code"], &answer["result"]["stopReason"]), (&json!(-32600), &json!("refusal")));
}

#[tokio::test]
async fn an_id_may_be_any_string_or_number_and_comes_back_as_it_was() {
    let world = plain_agent().start();
    let mut client = RawClient::connect(&world.layer);
    client.initialize().await;
    for id in ["0", "-1", "\"\"", "\"a\\u0000b\"", "1.50", "12345678901234567890123", "null"] {
        client.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"session/list"}}"#)).await;

        let answer = client.next().await;

        let sent: Value = serde_json::from_str(id).unwrap();
        assert_eq!((&answer["id"], answer["result"]["sessions"].is_array()), (&sent, true), "{id}");
    }
}

#[tokio::test]
async fn a_line_that_is_no_message_is_answered_and_ends_nothing() {
    let world = plain_agent().start();
    let mut client = RawClient::connect(&world.layer);
    client.initialize().await;
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"session/list"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"session/list"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
    ] {
        client.send(line).await;
        assert_eq!(client.next().await["error"]["code"], code, "{line}");
    }
    client.request(json!(9), "session/list", &json!({})).await;
    assert!(client.answer_to(&json!(9)).await["result"].is_object());
}

#[tokio::test]
async fn an_unknown_session_method_is_ours_to_refuse_and_others_go_to_the_agent() {
    let world = plain_agent().declare("the schema has no such method").start();
    let (client, session) = world.client_with_session().await;

    let ours = client.call("session/nothing", json!({ "sessionId": session })).await.unwrap_err();
    let theirs = client.call("nothing/at_all", json!({ "sessionId": session })).await.unwrap_err();

    assert_eq!((ours.code(), theirs.code()), (-32601, -32601));
    assert_eq!((world.agent_got("session/nothing").len(), world.agent_got("nothing/at_all").len()), (0, 1));
    assert_ne!(world.agent_got("nothing/at_all")[0]["sessionId"], json!(session));
}

#[tokio::test]
async fn extensions_reach_the_agent_with_its_own_session_id() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    let with = client.call("_ext/do", json!({ "sessionId": session, "n": 1.5 })).await.unwrap();
    let without = client.call("_ext/do", json!({ "n": 2 })).await.unwrap();

    let agents_id = world.agent_got("session/prompt")[0]["sessionId"].clone();
    assert_eq!(with["params"], json!({ "sessionId": agents_id, "n": 1.5 }));
    assert_eq!(without["params"], json!({ "n": 2 }));
}

#[tokio::test]
async fn an_extension_that_is_taken_back_is_taken_back_at_the_agent() {
    let world = plain_agent().with("--deaf-to", "_ext/slow").start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    let slow = client.begin("_ext/slow", json!({ "sessionId": session })).await;
    world.to_agents.until(rejoin_wire::Direction::Out, "_ext/slow", 1).await;
    let id: Value = serde_json::from_str(slow.id.as_json()).unwrap();

    client.notify("$/cancel_request", json!({ "requestId": id })).await;

    world.to_agents.until(rejoin_wire::Direction::Out, "$/cancel_request", 1).await;
}

#[tokio::test]
async fn an_agent_that_does_not_exist_keeps_nobody_from_the_sessions() {
    let world = plain_agent().program("/does/not/exist").start();
    let stored = rejoin_testing::create_with_turn(&*world.store, "hello", "there").await;
    let client = TestClient::connect(&world.layer);

    let hello = client.initialize(json!({})).await;
    let rows = client.call("session/list", json!({})).await.unwrap()["sessions"].as_array().unwrap().len();
    let replay = client.load(stored.as_str(), "/project").await;
    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap_err();

    assert_eq!((hello["agentCapabilities"]["loadSession"].as_bool(), rows, replay.len()), (Some(true), 1, 2));
    assert_eq!(made.code(), -32010);
}

#[tokio::test]
async fn an_agent_that_dies_at_its_start_is_quoted() {
    let world = plain_agent().with("--dies-on", "initialize").start();
    let client = world.client().await;

    let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap_err();

    let error: Value = serde_json::from_str(made.as_json()).unwrap();
    assert_eq!((made.code(), &error["data"]["kind"]), (-32010, &json!("agent_failed")));
    assert!(error["data"]["stderr"].as_str().unwrap().contains("told to die at initialize"), "{error}");
}

#[tokio::test]
async fn an_agent_that_dies_at_new_fails_that_and_is_started_again_for_the_next() {
    let world = plain_agent().with("--dies-on", "session/new").start();
    let client = world.client().await;
    let params = json!({ "cwd": world.cwd(), "mcpServers": [] });

    let first = client.call("session/new", params.clone()).await.unwrap_err();
    let second = client.call("session/new", params).await.unwrap_err();

    assert_eq!((first.code(), second.code(), world.agent_got("initialize").len()), (-32010, -32010, 2));
}

#[tokio::test]
async fn an_extension_that_waits_for_the_agent_is_answered_whatever_comes() {
    let world = plain_agent().start();
    let session = rejoin_testing::create_with_turn(&*world.store, "hello", "there").await;
    let client = world.client().await;

    let waiting = client.begin("_ext/do", json!({ "sessionId": session.as_str() })).await;
    let params = json!({
        "sessionId": session.as_str(), "cwd": "/project", "mcpServers": [], "additionalDirectories": ["/a"],
    });
    client.call("session/load", params).await.unwrap();

    waiting.result().await;
}

#[tokio::test]
async fn an_extension_behind_a_close_is_answered_whatever_comes() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;

    let close = client.begin("session/close", json!({ "sessionId": session })).await;
    let waiting = client.begin("_ext/do", json!({ "sessionId": session })).await;
    let servers = json!([{ "name": "one", "command": "one", "args": [], "env": [] }]);
    let params = json!({ "sessionId": session, "cwd": world.cwd(), "mcpServers": servers });
    let load = client.begin("session/load", params).await;
    turn.result().await;
    close.result().await;
    load.result().await;

    waiting.result().await;
}

#[tokio::test]
async fn what_was_asked_before_the_input_ended_is_answered() {
    let world = plain_agent().start();
    let mut client = RawClient::connect(&world.layer);
    client.request(json!(1), "initialize", &json!({ "protocolVersion": 1 })).await;
    client.request(json!(2), "session/list", &json!({})).await;

    let lines = client.end_input().await;

    let answers: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<&Value> = answers.iter().filter(|answer| answer["result"].is_object()).map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)], "{lines:?}");
}

#[tokio::test]
async fn what_an_only_client_asked_before_its_input_ended_is_answered() {
    let world = plain_agent().start();
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
    let input = format!("{hello}\n{}\n", r#"{"jsonrpc":"2.0","id":2,"method":"session/list"}"#);
    let (output, writer) = tokio::io::duplex(64 * 1024);

    let input = std::io::Cursor::new(input.into_bytes());
    world.layer.serve(Transport::new(input, writer)).await;

    let mut text = String::new();
    BufReader::new(output).read_to_string(&mut text).await.unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"result\"")).count(), 2, "{text}");
}

#[tokio::test]
async fn a_request_that_wants_no_answer_does_nothing() {
    let world = plain_agent().declare("Client In").start();
    let (client, session) = world.client_with_session().await;
    let blocks = json!([{ "type": "text", "text": "say ghost" }]);
    let of_session = json!({ "sessionId": session });

    client.notify("session/prompt", json!({ "sessionId": session, "prompt": blocks })).await;
    client.notify("session/delete", of_session.clone()).await;
    client.notify("session/close", of_session).await;
    client.notify("initialize", json!({ "protocolVersion": 1, "clientCapabilities": { "terminal": true } })).await;
    let reason = client.turn(&session, "say one").await;

    assert_eq!((reason.as_str(), world.agent_got("initialize").len()), ("end_turn", 1));
    assert_eq!(world.prompts_to_agent(), [["say one"]]);
}

#[tokio::test]
async fn the_answer_to_an_extension_comes_behind_what_was_said_before_it_and_names_our_session() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    let pending = client.begin("_talk", json!({ "sessionId": session })).await;
    let number = pending.number;
    let result = pending.result().await;

    let events = client.since(0);
    let answered = |event: &Event| matches!(event, Event::Answered(one) if *one == number);
    let before = events.split(answered).next().unwrap();
    assert_eq!((updates_in(before, &session).len(), &result), (50, &json!({ "sessionId": session })));
}

#[tokio::test]
async fn an_agent_that_gives_two_sessions_one_id_gets_only_the_first() {
    let world = plain_agent().with("--fault", "one-id").start();
    let (client, session) = world.client_with_session().await;

    let second = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap_err();

    assert_eq!((second.code(), client.turn(&session, "say one").await.as_str()), (-32010, "end_turn"));
}
