//! Messages of Anthropic.

use rejoin_agent::ProviderKind;
use serde_json::{Value, json};

use crate::wire::Reply;
use crate::world::{KEY, World, cancel_once_said, of_kind, roles, said, text_of, world};

fn start() -> Value {
    let usage = json!({ "input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 1 });
    json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": usage } })
}

/// A block, by its start and its deltas.
fn block(index: u32, block: &Value, deltas: &[Value]) -> Vec<Value> {
    let begin = json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |delta: &Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let end = json!({ "type": "content_block_stop", "index": index });
    [begin].into_iter().chain(deltas.iter().map(delta)).chain([end]).collect()
}

fn stop(reason: &str) -> Vec<Value> {
    let delta = json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 7 } });
    vec![delta, json!({ "type": "message_stop" })]
}

fn text(index: u32, text: &str) -> Vec<Value> {
    block(index, &json!({ "type": "text", "text": "" }), &[json!({ "type": "text_delta", "text": text })])
}

fn thinking(index: u32) -> Vec<Value> {
    let deltas = [
        json!({ "type": "thinking_delta", "thinking": "Let me " }),
        json!({ "type": "thinking_delta", "thinking": "see." }),
        json!({ "type": "signature_delta", "signature": "sig-" }),
        json!({ "type": "signature_delta", "signature": "one" }),
    ];
    block(index, &json!({ "type": "thinking", "thinking": "", "signature": "" }), &deltas)
}

fn call(index: u32, id: &str, pieces: &[&str]) -> Vec<Value> {
    let deltas: Vec<Value> =
        pieces.iter().map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })).collect();
    block(index, &json!({ "type": "tool_use", "id": id, "name": "no_such_tool", "input": {} }), &deltas)
}

fn reply(blocks: &[Vec<Value>], reason: &str) -> Reply {
    let ping = json!({ "type": "ping" });
    let events: Vec<Value> =
        [start(), ping].into_iter().chain(blocks.iter().flatten().cloned()).chain(stop(reason)).collect();
    Reply::anthropic(&events)
}

async fn anthropic(replies: Vec<Reply>) -> World {
    world(ProviderKind::Anthropic, "claude-sonnet-4-5", replies).await
}

#[tokio::test]
async fn a_request_has_what_the_api_wants() {
    let world = anthropic(vec![reply(&[text(0, "hello")], "end_turn")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");

    assert_eq!(said(&client, &session), "hello");
    let asked = &world.wire.asked()[0];
    assert_eq!(asked.line, "POST /v1/messages");
    assert!(asked.headers.contains(&format!("x-api-key: {KEY}")), "{}", asked.headers);
    assert!(asked.headers.contains("anthropic-version: 2023-06-01"), "{}", asked.headers);
    assert_eq!((&asked.body["model"], &asked.body["temperature"]), (&json!("claude-sonnet-4-5"), &json!(0.7)));
    assert!(asked.body["max_tokens"].as_u64().unwrap() > 1000 && asked.body["system"].is_string(), "{}", asked.body);
    let used = &of_kind(&client, &session, "usage_update")[0];
    assert_eq!((&used["used"], &used["size"]), (&json!(42), &json!(200_000)));
}

#[tokio::test]
async fn signed_thoughts_are_shown_and_sent_back_also_after_a_restart() {
    let redacted = block(1, &json!({ "type": "redacted_thinking", "data": "opaque" }), &[]);
    let calls =
        [thinking(0), redacted, text(2, "I look."), call(3, "toolu_1", &["{\"a\"", ": 1}"]), call(4, "toolu_2", &[])];
    let replies = vec![
        reply(&calls, "tool_use"),
        reply(&[text(0, "Done.")], "end_turn"),
        reply(&[text(0, "Again.")], "end_turn"),
    ];
    let mut world = anthropic(replies).await;
    let (client, session) = world.session().await;
    client.turn(&session, "look").await;
    assert_eq!(text_of(&client.updates(&session), "agent_thought_chunk"), "Let me see.");
    let shown = json!(client.updates(&session)).to_string();
    assert!(!shown.contains("sig-one") && !shown.contains("opaque"), "{shown}");
    let client = world.restart(client, &session).await;
    client.turn(&session, "again").await;

    for asked in &world.wire.asked()[1..] {
        let messages = &asked.body["messages"];
        let said = json!([
            { "type": "thinking", "thinking": "Let me see.", "signature": "sig-one" },
            { "type": "redacted_thinking", "data": "opaque" },
            { "type": "text", "text": "I look." },
            { "type": "tool_use", "id": "toolu_1", "name": "no_such_tool", "input": { "a": 1 } },
            { "type": "tool_use", "id": "toolu_2", "name": "no_such_tool", "input": {} },
        ]);
        assert_eq!(messages[1]["content"], said);
        let results = &messages[2]["content"];
        assert_eq!((&results[0]["tool_use_id"], &results[1]["tool_use_id"]), (&json!("toolu_1"), &json!("toolu_2")));
        assert_eq!((&results[0]["is_error"], results.as_array().unwrap().len()), (&json!(true), 2));
    }
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user", "assistant", "user"]);
}

#[tokio::test]
async fn thoughts_are_not_sent_to_another_model() {
    let replies = vec![reply(&[thinking(0), text(1, "Hm.")], "end_turn"), reply(&[text(0, "Yes.")], "end_turn")];
    let world = anthropic(replies).await;
    let (client, session) = world.session().await;
    client.turn(&session, "think").await;
    let choice = json!({ "sessionId": session, "configId": "model", "value": "anthropic/beta" });
    client.call("session/set_config_option", choice).await.unwrap();
    client.turn(&session, "and you?").await;
    assert_eq!(world.wire.last()["model"], "beta");
    assert!(!world.wire.last().to_string().contains("sig-one"));
}

#[tokio::test]
async fn how_much_it_thinks_can_be_chosen() {
    let world = anthropic(vec![reply(&[text(0, "Yes.")], "end_turn")]).await;
    let (client, session) = world.session().await;
    let choice = json!({ "sessionId": session, "configId": "thinking", "value": "high" });
    client.call("session/set_config_option", choice).await.unwrap();
    client.turn(&session, "think").await;
    let body = world.wire.last();
    let is_asked = body.get("thinking").is_some() || body.get("output_config").is_some();
    assert!(is_asked && body.get("temperature").is_none(), "{body}");
}

#[tokio::test]
async fn why_an_answer_ended_is_told() {
    for (reason, expected) in [("end_turn", "end_turn"), ("max_tokens", "max_tokens"), ("refusal", "refusal")] {
        let world = anthropic(vec![reply(&[text(0, "well")], reason)]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "tell me").await, expected);
    }
}

#[tokio::test]
async fn an_error_in_the_stream_is_tried_again_if_nothing_was_shown() {
    let overloaded = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    let early = Reply::anthropic(&[start(), overloaded.clone()]);
    let late: Vec<Value> = [start()].into_iter().chain(text(0, "half")).chain([overloaded]).collect();
    let world = anthropic(vec![early, reply(&[text(0, "fine")], "end_turn"), Reply::anthropic(&late)]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "first").await, "end_turn");
    let error = client.prompt(&session, "second").await.error().await;
    assert!(error.message().contains("Overloaded"), "{}", error.message());
    assert!(said(&client, &session).ends_with("finehalf"), "{}", said(&client, &session));
    assert_eq!(world.wire.asked().len(), 3);
}

#[tokio::test]
async fn nothing_of_an_answer_is_lost_silently() {
    let events: Vec<Value> = [vec![start()], text(0, "half"), stop("end_turn")].concat();
    let torn = Reply::anthropic(&events).without_name(2);
    let world = anthropic(vec![torn, reply(&[text(0, "whole")], "end_turn")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "tell me").await, "end_turn");
    assert!(said(&client, &session).ends_with("whole"), "{}", said(&client, &session));
}

#[tokio::test]
async fn images_are_sent() {
    let world = anthropic(vec![reply(&[text(0, "A cat.")], "end_turn")]).await;
    let (client, session) = world.session().await;
    let prompt =
        json!([{ "type": "text", "text": "look" }, { "type": "image", "mimeType": "image/png", "data": "AAAA" }]);
    client.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await.unwrap();
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "AAAA" });
    assert_eq!(world.wire.last()["messages"][0]["content"][1]["source"], source);
}

#[tokio::test]
async fn a_cancel_ends_the_request_and_what_was_said_is_told_again() {
    let begun: Vec<Value> = [start()].into_iter().chain(thinking(0)).chain(text(1, "first")).collect();
    let silent = Reply::anthropic(&begun).silent_after(begun.len());
    let world = anthropic(vec![silent, reply(&[text(0, "next")], "end_turn")]).await;
    let (client, session) = world.session().await;
    cancel_once_said(&world, &client, &session, "first").await;
    client.turn(&session, "go on").await;
    assert_eq!(world.wire.last()["messages"][1]["content"], "first");
}

#[tokio::test]
async fn a_call_that_is_cut_off_by_the_limit_is_not_made() {
    let cut = [text(0, "I write."), call(1, "toolu_1", &["{\"path\": \"a"])];
    let world = anthropic(vec![reply(&cut, "max_tokens"), reply(&[text(0, "Sorry.")], "end_turn")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "write").await, "max_tokens");
    assert_eq!(of_kind(&client, &session, "tool_call").len(), 0);
    client.turn(&session, "go on").await;
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}
