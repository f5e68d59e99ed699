//! Turns: one at a time, and each ends.

use std::time::Duration;

use rejoin::WhileBusy;
use rejoin_testing::{Event, TestClient, fold};
use rejoin_wire::Direction;
use serde_json::{Value, json};

use crate::raw::RawClient;
use crate::world::{agent_that_can, plain_agent};

/// Sends a prompt, and waits until the session has taken it.
async fn queue(client: &TestClient, session: &str, text: &str) -> rejoin_testing::Pending {
    let pending = client.prompt(session, text).await;
    client.call("session/status", json!({ "sessionId": session })).await.unwrap();
    pending
}

async fn stop_reason(pending: rejoin_testing::Pending) -> String {
    pending.result().await["stopReason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_prompt_in_a_turn_waits_for_its_end() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let first = client.prompt(&session, "say one\ngate").await;
    client.until_said(&session, "one").await;
    let second = queue(&client, &session, "say two").await;
    let asked_meanwhile = world.agent_got("session/prompt").len();

    client.go(&session).await;
    let reasons = (stop_reason(first).await, stop_reason(second).await);

    assert_eq!(reasons, ("end_turn".to_owned(), "end_turn".to_owned()));
    assert_eq!((asked_meanwhile, fold(&client.updates(&session))), (1, vec!["agent: one".into(), "agent: two".into()]));
}

#[tokio::test]
async fn at_most_32_prompts_wait() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let mut prompts = vec![client.prompt(&session, "gate").await];
    for number in 0..32 {
        prompts.push(client.prompt(&session, &format!("say {number}")).await);
    }

    let refused = client.prompt(&session, "say no").await.error().await;
    client.go(&session).await;
    for prompt in prompts {
        assert_eq!(stop_reason(prompt).await, "end_turn");
    }

    assert_eq!((refused.code(), data(&refused)["kind"].as_str()), (-32011, Some("busy")));
}

#[tokio::test]
async fn under_reject_a_prompt_in_a_turn_is_refused() {
    let world = plain_agent().options(|options| options.while_busy = WhileBusy::Reject).start();
    let (client, session) = world.client_with_session().await;
    let first = client.prompt(&session, "gate").await;

    let refused = client.prompt(&session, "say two").await.error().await;
    client.go(&session).await;

    assert_eq!((refused.code(), stop_reason(first).await.as_str()), (-32011, "end_turn"));
}

#[tokio::test]
async fn a_cancel_ends_the_turn_and_everything_that_waits() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "tool t1 Edit\nsay one\nwait").await;
    client.until_said(&session, "one").await;
    let waiting = queue(&client, &session, "say two").await;

    client.cancel(&session).await;

    assert_eq!((stop_reason(running).await, stop_reason(waiting).await), ("cancelled".into(), "cancelled".into()));
    assert_eq!(fold(&client.updates(&session)), ["tool t1: failed", "agent: one"]);
}

#[tokio::test]
async fn whatever_an_agent_answers_to_a_cancel_it_means_that() {
    let world = plain_agent().with("--fault", "cancel-error").start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;

    client.cancel(&session).await;

    assert_eq!(stop_reason(running).await, "cancelled");
}

#[tokio::test]
async fn a_waiting_prompt_can_be_taken_back_alone() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "gate").await;
    let taken_back = queue(&client, &session, "say two").await;
    let waiting = queue(&client, &session, "say three").await;
    let id: Value = serde_json::from_str(taken_back.id.as_json()).unwrap();

    client.notify("$/cancel_request", json!({ "requestId": id })).await;
    let reason = stop_reason(taken_back).await;
    client.go(&session).await;

    let others = (stop_reason(running).await, stop_reason(waiting).await);
    assert_eq!((reason.as_str(), others), ("cancelled", ("end_turn".into(), "end_turn".into())));
    assert_eq!(fold(&client.updates(&session)), ["agent: three"]);
}

#[tokio::test]
async fn the_running_prompt_can_be_taken_back_alone() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;
    let waiting = queue(&client, &session, "say two").await;
    let id: Value = serde_json::from_str(running.id.as_json()).unwrap();

    client.notify("$/cancel_request", json!({ "requestId": id })).await;

    assert_eq!((stop_reason(running).await, stop_reason(waiting).await), ("cancelled".into(), "end_turn".into()));
}

#[tokio::test]
async fn an_agent_that_ignores_cancel_is_replaced() {
    let limit = Duration::from_millis(100);
    let world =
        plain_agent().with("--fault", "ignore-cancel").options(|options| options.cancel_deadline = limit).start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "tool t1 Edit\nsay one\nhang").await;
    client.until_said(&session, "one").await;

    client.cancel(&session).await;
    let reasons = (stop_reason(running).await, client.turn(&session, "say two").await);

    assert_eq!(reasons, ("cancelled".into(), "end_turn".into()));
    assert_eq!(world.agent_got("initialize").len(), 2);
}

#[tokio::test]
async fn when_an_agent_is_replaced_other_sessions_go_on_in_it() {
    let limit = Duration::from_millis(100);
    let world =
        plain_agent().with("--fault", "ignore-cancel").options(|options| options.cancel_deadline = limit).start();
    let (client, stuck) = world.client_with_session().await;
    let other = client.new_session(world.cwd()).await;
    let running = client.prompt(&stuck, "hang").await;
    let innocent = client.prompt(&other, "say one\ngate\nsay two").await;
    client.until_said(&other, "one").await;

    client.cancel(&stuck).await;
    let reason = stop_reason(running).await;
    client.go(&other).await;

    assert_eq!((reason, stop_reason(innocent).await), ("cancelled".into(), "end_turn".into()));
    assert_eq!(fold(&client.updates(&other)), ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_close_in_a_turn_ends_the_turn_first() {
    let world = agent_that_can(&["close"]).start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;
    let from = client.mark();

    let close = client.begin("session/close", json!({ "sessionId": session })).await;
    let (prompt_number, close_number) = (running.number, close.number);
    let reason = stop_reason(running).await;
    close.result().await;

    let answers: Vec<usize> = client.since(from).iter().filter_map(number_of).collect();
    assert_eq!((reason.as_str(), answers), ("cancelled", vec![prompt_number, close_number]));
}

fn number_of(event: &Event) -> Option<usize> {
    match event {
        Event::Answered(number) => Some(*number),
        _ => None,
    }
}

#[tokio::test]
async fn a_delete_in_a_turn_ends_the_turn_and_the_session() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let running = client.prompt(&session, "say one\nwait").await;
    client.until_said(&session, "one").await;

    client.call("session/delete", json!({ "sessionId": session })).await.unwrap();

    let gone = client.prompt(&session, "say two").await.error().await;
    assert_eq!((stop_reason(running).await.as_str(), gone.code()), ("cancelled", -32002));
}

#[tokio::test]
async fn an_agent_that_dies_fails_the_turn_with_its_last_words_and_the_next_prompt_works() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    let failed = client.prompt(&session, "say one\ntool t1 Edit\ncrash 7").await.error().await;
    let reason = client.turn(&session, "say two").await;

    let stderr = data(&failed)["stderr"].as_str().unwrap_or_default().to_owned();
    assert_eq!((failed.code(), reason.as_str()), (-32010, "end_turn"));
    assert!(stderr.contains("told to die at crash"), "{failed:?}");
    assert_eq!(fold(&client.updates(&session))[..2], ["agent: one", "tool t1: failed"]);
}

#[tokio::test]
async fn an_agents_error_and_stop_reason_are_passed_on() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;

    let failed = client.prompt(&session, "fail -32050 no luck").await.error().await;
    let reason = client.turn(&session, "stop max_tokens").await;

    assert_eq!((failed.code(), failed.message(), reason.as_str()), (-32050, "no luck", "max_tokens"));
}

#[tokio::test]
async fn a_turn_goes_on_when_its_client_goes_away() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let turn = client.prompt(&session, "say one\ngate\nsay two").await;
    client.until_said(&session, "one").await;
    client.leave().await;
    drop(turn);
    let other = world.client().await;

    other.load(&session, world.cwd()).await;
    other.go(&session).await;
    other.until_said(&session, "two").await;

    assert_eq!(fold(&other.updates(&session))[1..], ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_prompt_that_waits_survives_the_death_of_the_agent() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let dies = client.prompt(&session, "gate\ncrash 1").await;
    let waits = queue(&client, &session, "say two").await;

    client.go(&session).await;

    assert_eq!((dies.error().await.code(), stop_reason(waits).await.as_str()), (-32010, "end_turn"));
}

#[tokio::test]
async fn a_prompt_can_be_cancelled_while_the_agent_opens_the_session() {
    let world = agent_that_can(&["load"]).with("--deaf-to", "session/load").with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;
    client.prompt(&session, "crash 1").await.error().await;
    let prompt = client.prompt(&session, "say two").await;
    world.to_agents.until(Direction::Out, "session/load", 1).await;

    client.cancel(&session).await;

    assert_eq!(stop_reason(prompt).await, "cancelled");
    assert_eq!(world.prompts_to_agent().len(), 2);
}

#[tokio::test]
async fn an_agent_that_does_not_start_in_time_is_said_to() {
    let limit = Duration::from_millis(100);
    let world =
        plain_agent().with("--deaf-to", "initialize").options(|options| options.agent_start_limit = limit).start();
    let client = world.client().await;

    let error = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap_err();

    assert_eq!((error.code(), data(&error)["kind"].as_str()), (-32010, Some("agent_start_timeout")));
}

fn data(error: &rejoin_wire::RpcError) -> Value {
    serde_json::from_str::<Value>(error.as_json()).unwrap()["data"].clone()
}

#[tokio::test]
async fn an_agent_that_dies_fails_the_turn_also_if_something_it_started_has_its_output() {
    let world = agent_that_can(&["load"]).with_memory().start();
    let (client, session) = world.client_with_session().await;
    client.turn(&session, "say one").await;

    let began = std::time::Instant::now();
    let failed = client.prompt(&session, "orphan 3").await.error().await;
    let reason = client.turn(&session, "say two").await;

    assert_eq!((failed.code(), reason.as_str()), (-32010, "end_turn"));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_prompt_can_be_taken_back_in_the_same_write() {
    let world = plain_agent().start();
    let mut client = RawClient::connect(&world.layer);
    client.initialize().await;
    client.request(json!(1), "session/new", &json!({ "cwd": world.cwd(), "mcpServers": [] })).await;
    let session = client.answer_to(&json!(1)).await["result"]["sessionId"].clone();
    let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "wait" }] });
    let prompt = json!({ "jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": params });
    let back = json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": { "requestId": 2 } });

    client.send(&format!("{prompt}\n{back}")).await;

    assert_eq!(client.answer_to(&json!(2)).await["result"]["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_cancel_while_no_turn_runs_never_reaches_the_agent() {
    let world = agent_that_can(&["close"]).start();
    let (client, session) = world.client_with_session().await;

    client.cancel(&session).await;
    client.turn(&session, "say one").await;
    client.cancel(&session).await;
    client.turn(&session, "say two").await;
    client.call("session/close", json!({ "sessionId": session })).await.unwrap();

    assert_eq!(world.agent_got("session/cancel"), Vec::<Value>::new());
    assert_eq!(fold(&client.updates(&session)), ["agent: one", "agent: two"]);
}

#[tokio::test]
async fn a_cancel_behind_a_prompt_that_waits_for_a_close_is_not_lost() {
    for is_request in [false, true] {
        let world = agent_that_can(&["load"]).with_memory().start();
        let (client, session) = world.client_with_session().await;
        let running = client.prompt(&session, "say one\nwait").await;
        client.until_said(&session, "one").await;

        let closed = client.begin("session/close", json!({ "sessionId": session })).await;
        let waiting = client.prompt(&session, "say two\nwait").await;
        if is_request {
            let id: Value = serde_json::from_str(waiting.id.as_json()).unwrap();
            client.notify("$/cancel_request", json!({ "requestId": id })).await;
        } else {
            client.cancel(&session).await;
        }

        closed.result().await;
        let reasons = (stop_reason(running).await, stop_reason(waiting).await);
        assert_eq!(reasons, ("cancelled".into(), "cancelled".into()), "by its id: {is_request}");
    }
}

#[tokio::test]
async fn a_client_is_told_in_the_turn_of_a_message_that_is_too_long() {
    let world = plain_agent().start();
    let (client, session) = world.client_with_session().await;
    let noticing = world.client_that_can(json!({ "session": { "notices": {} } })).await;
    noticing.load(&session, world.cwd()).await;

    let reason = client.turn(&session, "say one\nbig 65\nsay two").await;

    let said = fold(&client.updates(&session));
    let remark = "A message of the agent was left out. It is neither shown nor kept: the line is longer than 67108864 \
                  bytes. Everything else is.";
    assert_eq!((reason.as_str(), said.len(), said[1].contains(remark)), ("end_turn", 3, true), "{said:?}");
    assert_eq!((said[0].as_str(), said[2].as_str()), ("agent: one", "agent: two"));
    let is_notice = |update: &&Value| update["sessionUpdate"] == "notice";
    let notices: Vec<Value> = noticing.updates(&session).iter().filter(is_notice).cloned().collect();
    assert_eq!((notices.len(), &notices[0]["title"]), (1, &json!("A message of the agent was left out")));
}
