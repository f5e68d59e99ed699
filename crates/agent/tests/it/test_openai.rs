//! Chat completions.

use serde_json::{Value, json};

use crate::wire::{Reply, calls, chunk, says, says_with};
use crate::world::{KEY, cancel_once_said, of_kind, openai, roles, said, text_of};

#[tokio::test]
async fn a_request_has_what_the_api_wants() {
    let world = openai(vec![says("hello")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");

    assert_eq!(said(&client, &session), "hello");
    let asked = &world.wire.asked()[0];
    assert_eq!(asked.line, "POST /v1/chat/completions");
    assert!(asked.headers.contains(&format!("authorization: bearer {KEY}")), "{}", asked.headers);
    let body = &asked.body;
    let wanted = json!(["alpha", true, 0.7, { "include_usage": true }]);
    assert_eq!(json!([body["model"], body["stream"], body["temperature"], body["stream_options"]]), wanted);
    assert_eq!(body["messages"][1], json!({ "role": "user", "content": "hi" }));
    assert!(body["messages"][0]["content"].as_str().unwrap().contains(world.cwd()), "{body}");
    assert!(body.get("reasoning_effort").is_none() && body.get("tools").is_none_or(Value::is_array), "{body}");
}

#[tokio::test]
async fn text_is_shown_while_the_answer_goes_on() {
    let reply =
        Reply::openai(&[chunk(&json!({ "content": "first " }), None), chunk(&json!({ "content": "second" }), None)]);
    let world = openai(vec![reply.silent_after(1), says("next")]).await;
    let (client, session) = world.session().await;
    cancel_once_said(&world, &client, &session, "first").await;
    client.turn(&session, "go on").await;
    let body = world.wire.last();
    assert_eq!(roles(&body), ["user", "assistant", "user"]);
    assert_eq!(body["messages"][2]["content"], "first ");
}

#[tokio::test]
async fn a_name_is_sent_as_it_is() {
    for name in ["qwen3-max", "some/model-high", "a::b"] {
        let world = crate::world::world(rejoin_agent::ProviderKind::OpenAi, name, vec![says("hello")]).await;
        let (client, session) = world.session().await;
        client.turn(&session, "hi").await;
        let body = world.wire.last();
        assert_eq!((body["model"].as_str().unwrap(), body.get("reasoning_effort")), (name, None));
    }
}

#[tokio::test]
async fn calls_are_made_and_their_results_sent() {
    let call = |index: u32, id: &str, arguments: &str| {
        let function = json!({ "name": "no_such_tool", "arguments": arguments });
        json!({ "index": index, "id": id, "type": "function", "function": function })
    };
    let more = |index: u32, arguments: &str| json!({ "index": index, "function": { "arguments": arguments } });
    let both = Reply::openai(&[
        chunk(&json!({ "content": "Let me look." }), None),
        chunk(&json!({ "tool_calls": [call(0, "one", "{\"a\""), call(1, "two", "")] }), None),
        chunk(&json!({ "tool_calls": [more(0, ": 1}")] }), None),
        chunk(&json!({}), Some("tool_calls")),
    ]);
    let world = openai(vec![both, says("I see.")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "look").await, "end_turn");

    let body = world.wire.last();
    assert_eq!(roles(&body), ["user", "assistant", "tool", "tool"]);
    let assistant = &body["messages"][2];
    assert_eq!(assistant["content"], "Let me look.");
    assert_eq!(assistant["tool_calls"][0]["function"]["arguments"], "{\"a\":1}");
    assert_eq!(assistant["tool_calls"][1]["function"]["arguments"], "{}");
    let results: Vec<&str> = (3..5).map(|n| body["messages"][n]["tool_call_id"].as_str().unwrap()).collect();
    assert_eq!(results, ["one", "two"]);
    assert!(body["messages"][3]["content"].as_str().unwrap().contains("no_such_tool"), "{body}");
    let shown = of_kind(&client, &session, "tool_call");
    assert_eq!(shown[0]["rawInput"], json!({ "a": 1 }));
}

#[tokio::test]
async fn arguments_that_come_in_many_pieces_are_whole() {
    let text = "x".repeat(200_000);
    let arguments = json!({ "text": text }).to_string();
    let pieces: Vec<String> =
        arguments.as_bytes().chunks(500).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).collect();
    let begin =
        json!({ "index": 0, "id": "big", "type": "function", "function": { "name": "no_such_tool", "arguments": "" } });
    let mut chunks = vec![chunk(&json!({ "tool_calls": [begin] }), None)];
    chunks.extend(
        pieces
            .iter()
            .map(|piece| chunk(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] }), None)),
    );
    chunks.push(chunk(&json!({}), Some("tool_calls")));
    let world = openai(vec![Reply::openai(&chunks), says("ok")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "write").await;
    assert_eq!(of_kind(&client, &session, "tool_call")[0]["rawInput"]["text"], text);
}

#[tokio::test]
async fn broken_arguments_are_told_to_the_model() {
    let world = openai(vec![calls("one", "read", "{\"path\": \"a"), says("sorry")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "read").await, "end_turn");

    let body = world.wire.last();
    let told = body["messages"][3]["content"].as_str().unwrap();
    assert!(told.contains("no JSON object") && told.contains("{\"path\": \"a"), "{told}");
    let ended = of_kind(&client, &session, "tool_call_update");
    assert_eq!(ended[0]["status"], "failed");
}

#[tokio::test]
async fn a_server_that_marks_no_end_is_understood() {
    let call = calls("one", "no_such_tool", "{\"a\": 1}").first(2);
    let world = openai(vec![call, says("fine").first(2)]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");
    assert_eq!(of_kind(&client, &session, "tool_call")[0]["rawInput"], json!({ "a": 1 }));
    assert_eq!(said(&client, &session), "fine");
}

#[tokio::test]
async fn a_call_that_can_not_be_read_is_an_error() {
    let nameless = json!({ "index": 0, "id": "one", "type": "function", "function": { "arguments": "{}" } });
    let reply = Reply::openai(&[chunk(&json!({ "tool_calls": [nameless] }), Some("tool_calls"))]);
    let world = openai(vec![reply]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "read").await.error().await;
    assert!(error.message().contains("wants a call"), "{}", error.message());
}

#[tokio::test]
async fn calls_of_a_server_that_does_not_number_them_are_made() {
    let call = |path: &str| {
        let function = json!({ "name": "read_file", "arguments": format!("{{\"path\": \"{path}\"}}") });
        json!({ "tool_calls": [{ "id": path, "type": "function", "function": function }] })
    };
    let both =
        Reply::openai(&[chunk(&call("a"), None), chunk(&call("b"), None), chunk(&json!({}), Some("tool_calls"))]);
    let world = openai(vec![both, says("done")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "read").await, "end_turn");
    let inputs: Vec<Value> =
        of_kind(&client, &session, "tool_call").iter().map(|call| call["rawInput"]["path"].clone()).collect();
    assert_eq!(inputs, ["a", "b"]);
}

#[tokio::test]
async fn calls_with_the_same_id_are_told_apart() {
    let replies = vec![calls("call_0", "x", "{}"), calls("call_0", "x", "{}"), says("done")];
    let world = openai(replies).await;
    let (client, session) = world.session().await;
    client.turn(&session, "twice").await;
    let ids: Vec<Value> =
        of_kind(&client, &session, "tool_call").iter().map(|call| call["toolCallId"].clone()).collect();
    assert_eq!(ids, ["call_0", "call_0_1"]);
    let body = world.wire.last();
    let sent = [&body["messages"][4]["tool_calls"][0]["id"], &body["messages"][5]["tool_call_id"]];
    assert_eq!(sent, ["call_0_1", "call_0_1"]);
}

#[tokio::test]
async fn why_an_answer_ended_is_told() {
    for (finish, expected) in [("stop", "end_turn"), ("length", "max_tokens"), ("content_filter", "refusal")] {
        let reply = Reply::openai(&[chunk(&json!({ "content": "well" }), None), chunk(&json!({}), Some(finish))]);
        let world = openai(vec![reply, says("next")]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "tell me").await, expected);
        client.turn(&session, "next").await;
        // What was refused is not told again.
        let expected = if expected == "refusal" { vec!["user"] } else { vec!["user", "assistant", "user"] };
        assert_eq!(roles(&world.wire.last()), expected, "{finish}");
    }
}

#[tokio::test]
async fn thoughts_are_shown_as_thoughts_and_usage_is_reported() {
    let usage = json!({ "id": "c", "choices": [], "usage": { "prompt_tokens": 30, "completion_tokens": 12, "total_tokens": 42 } });
    let reply = Reply::openai(&[
        chunk(&json!({ "reasoning_content": "Hm." }), None),
        chunk(&json!({ "content": "Yes." }), Some("stop")),
        usage,
    ]);
    let world = openai(vec![reply, says_with("again", 50)]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "is it?").await;
    client.turn(&session, "sure?").await;
    let updates = client.updates(&session);
    assert_eq!(text_of(&updates, "agent_thought_chunk"), "Hm.");
    let used: Vec<Value> =
        of_kind(&client, &session, "usage_update").iter().map(|update| update["used"].clone()).collect();
    assert_eq!(used, [42, 55]);
    assert!(world.wire.last()["messages"][2].get("reasoning_content").is_none());
}

#[tokio::test]
async fn images_and_files_are_sent() {
    let mut world = openai(vec![says("I see"), says("still")]).await;
    let (client, session) = world.session().await;
    let prompt = json!([
        { "type": "text", "text": "look" },
        { "type": "image", "mimeType": "image/png", "data": "AAAA" },
        { "type": "resource", "resource": { "uri": "file:///a.txt", "text": "inside" } },
        { "type": "resource", "resource": { "uri": "file:///b.gif", "blob": "BBBB", "mimeType": "image/gif" } },
        { "type": "resource", "resource": { "uri": "file:///c.zip", "blob": "CCCC", "mimeType": "application/zip" } },
    ]);
    client.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await.unwrap();
    let client = world.restart(client, &session).await;
    client.turn(&session, "and now?").await;
    for asked in world.wire.asked() {
        let content = &asked.body["messages"][1]["content"];
        assert_eq!(content[1], json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }));
        assert!(content[2]["text"].as_str().unwrap().contains("inside"), "{content}");
        assert_eq!(content[3]["image_url"]["url"], "data:image/gif;base64,BBBB");
        assert_eq!(content[4]["text"], "[file file:///c.zip]");
    }
}

#[tokio::test]
async fn words_of_refusal_are_shown_and_the_turn_is_refused() {
    let reply = Reply::openai(&[
        chunk(&json!({ "role": "assistant", "content": "", "refusal": null }), None),
        chunk(&json!({ "refusal": "I can't " }), None),
        chunk(&json!({ "refusal": "help with that." }), None),
        chunk(&json!({}), Some("stop")),
    ]);
    let world = openai(vec![reply, says("next")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "bad").await, "refusal");
    assert_eq!(said(&client, &session), "I can't help with that.");
    client.turn(&session, "next").await;
    assert_eq!(roles(&world.wire.last()), ["user"]);
}

#[tokio::test]
async fn what_was_counted_is_told_also_without_the_mark_of_the_end() {
    let world = openai(vec![says_with("one", 10).first(3)]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    assert_eq!(of_kind(&client, &session, "usage_update").pop().unwrap()["used"], 15);
}

#[tokio::test]
async fn a_call_may_have_any_number() {
    let function = json!({ "name": "no_such_tool", "arguments": "{}" });
    let call = json!({ "index": 400_000_000, "id": "one", "type": "function", "function": function });
    let reply = Reply::openai(&[chunk(&json!({ "tool_calls": [call] }), Some("tool_calls"))]);
    let world = openai(vec![reply, says("done")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "end_turn");
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "tool"]);
}

#[tokio::test]
async fn a_model_that_calls_without_end_is_stopped() {
    let call = |n: usize| calls(&format!("call{n}"), "no_such_tool", &json!({ "n": n }).to_string());
    let world = openai((0..201).map(call).collect()).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "max_turn_requests");
    assert_eq!(world.wire.asked().len(), 200);
}

#[tokio::test]
async fn a_model_that_repeats_a_failing_call_is_told_once_and_then_stopped() {
    let replies: Vec<Reply> = (0..8).map(|n| calls(&format!("call{n}"), "no_such_tool", "{}")).collect();
    let mut world = openai(replies.into_iter().chain([says("sorry")]).collect()).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "max_turn_requests");
    assert!(said(&client, &session).contains("openai/alpha made only calls that it had made before"));
    let client = world.restart(client, &session).await;
    assert_eq!(client.turn(&session, "do it otherwise").await, "end_turn");

    let asked = world.wire.asked();
    let n_told: Vec<usize> =
        asked.iter().map(|asked| asked.body.to_string().matches("Try something else").count()).collect();
    assert_eq!(n_told, [0, 0, 0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(roles(&world.wire.last()).len(), 1 + 8 * 2 + 1);
}

#[tokio::test]
async fn what_it_cost_is_told_where_the_price_is_known_also_after_a_restart() {
    let said_by_provider = Reply::openai(&[
        chunk(&json!({ "content": "dear" }), Some("stop")),
        json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 5, "cost": 0.25 } }),
    ]);
    let mut world = openai(vec![says_with("one", 10), said_by_provider, says_with("two", 10)]).await;
    let pricing = json!({ "prompt": "0.05", "completion": "0.1" });
    world.wire.list(&json!({ "data": [{ "id": "alpha", "pricing": pricing, "context_length": 1000 }] }));
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    client.turn(&session, "second").await;
    let costs: Vec<Value> =
        of_kind(&client, &session, "usage_update").iter().map(|update| update["cost"].clone()).collect();
    assert_eq!(costs, [json!({ "amount": 1.0, "currency": "USD" }), json!({ "amount": 1.25, "currency": "USD" })]);
    let client = world.restart(client, &session).await;
    client.turn(&session, "third").await;
    let last = of_kind(&client, &session, "usage_update").pop().unwrap();
    assert_eq!((&last["cost"]["amount"], &last["size"]), (&json!(2.25), &json!(1000)));
}
