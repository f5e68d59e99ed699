//! A provider that sends too much, nothing that makes sense, or no end: the turn ends with an error that says so, a cancel is
//! answered, and the session goes on.

use rejoin_agent::ProviderKind;
use serde_json::{Value, json};

use crate::wire::{Reply, calls, chunk, says};
use crate::world::{of_kind, openai, roles, said, world};

const MIB: usize = 1 << 20;

/// An answer of one word, compressed with gzip.
const COMPRESSED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03KI,I\xb4R\xa8VJ\xce\xc8\xcfLN-V\xb2\x8a\xaeVJI\xcd)IT\xb2\x02\n\
    \xe6\xe7\x95\xa4\xe6\x95(Y)ed*\xd5\xea(\xa5e\xe6e\x16g\xc4\x17\xa5&\x16\xe7\xe7\x01E\x8bK\xf2\x0b\x94jck\xb9\xb8R\xc0\xc6D\xbb\
    \xf8\xfb\xb9\xc6rq\x01\x00h\xfa\xea\x00U\x00\x00\x00";

/// The beginning of a stream, after which anything may come.
fn nothing() -> Reply {
    Reply::bytes(b": begin\n\n")
}

fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

fn text(text: &str) -> String {
    event(&chunk(&json!({ "content": text }), None))
}

fn arguments(piece: &str) -> String {
    let call = json!({ "index": 0, "id": "one", "function": { "name": "x", "arguments": piece } });
    event(&chunk(&json!({ "tool_calls": [call] }), None))
}

/// The turn fails with an error that has these words, and the next one works.
async fn check(kind: ProviderKind, replies: Vec<Reply>, words: &[&str]) {
    let n_replies = replies.len();
    let world = world(kind, "alpha", replies.into_iter().chain([answer_of(kind, "fine")]).collect()).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    for word in [&[kind.name()], words].concat() {
        assert!(error.message().contains(word), "{} has no {word:?}", error.message());
    }
    assert_eq!(client.turn(&session, "and now?").await, "end_turn", "after {words:?}");
    assert!(said(&client, &session).ends_with("fine"));
    assert_eq!(world.wire.asked().len(), n_replies + 1, "{words:?}");
}

fn answer_of(kind: ProviderKind, text: &str) -> Reply {
    match kind {
        ProviderKind::OpenAi => says(text),
        ProviderKind::Anthropic => Reply::anthropic(&[
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": text } }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }),
            json!({ "type": "message_stop" }),
        ]),
        ProviderKind::Gemini => {
            let content = json!({ "parts": [{ "text": text }] });
            Reply::gemini(&[json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] })])
        }
    }
}

#[tokio::test]
async fn a_long_line_is_an_error_with_each_kind_of_provider() {
    let line = vec![b'x'; 8 * MIB];
    for kind in ProviderKind::ALL {
        check(kind, vec![Reply::bytes(&line)], &["a line or an event of more than 4 MiB"]).await;
    }
}

#[tokio::test]
async fn what_has_no_end_is_an_error() {
    let long = &["a line or an event of more than 4 MiB"];
    check(ProviderKind::OpenAi, vec![nothing().then_endless("data: x".repeat(1000))], long).await;
    check(ProviderKind::OpenAi, vec![nothing().then_endless("data: {\n".repeat(1000))], long).await;
    let empty = event(&chunk(&json!({}), None)).repeat(1000) + ":" + &"x".repeat(2 * MIB) + "\n";
    check(ProviderKind::OpenAi, vec![nothing().then_endless(empty)], &["more than 256 MiB for one answer"]).await;
}

#[tokio::test]
async fn an_answer_without_end_is_an_error_and_the_model_goes_on_from_a_summary_of_it() {
    let endless = nothing().then_endless(text(&"x".repeat(MIB)));
    let world = openai(vec![endless, says("THE SUMMARY"), says("fine")]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "hi").await.error().await;
    assert!(error.message().contains("an answer of more than 16 MiB"), "{}", error.message());
    assert_eq!(client.turn(&session, "and now?").await, "end_turn");
    assert!(world.wire.last()["messages"][1]["content"].as_str().unwrap().contains("THE SUMMARY"));
}

#[tokio::test]
async fn calls_have_limits_with_each_kind_of_provider() {
    let many = |n: usize| json!({ "index": n, "id": n.to_string(), "function": { "name": "x", "arguments": "{}" } });
    let many: Vec<Value> = (0..300).map(many).collect();
    let many = Reply::openai(&[chunk(&json!({ "tool_calls": many }), Some("tool_calls"))]);
    check(ProviderKind::OpenAi, vec![many], &["more than 256 calls"]).await;
    let long = nothing().then_endless(arguments(&"[".repeat(MIB)));
    check(ProviderKind::OpenAi, vec![long], &["a call with arguments of more than 4 MiB"]).await;

    let begin = |n: usize| {
        let block = json!({ "type": "tool_use", "id": "one", "name": "x", "input": {} });
        json!({ "type": "content_block_start", "index": n, "content_block": block })
    };
    let more = json!({ "type": "input_json_delta", "partial_json": "[".repeat(MIB) });
    let more = json!({ "type": "content_block_delta", "index": 0, "delta": more });
    let long = Reply::anthropic(&[begin(0)]).then_endless(format!("event: content_block_delta\ndata: {more}\n\n"));
    check(ProviderKind::Anthropic, vec![long], &["a call with arguments of more than 4 MiB"]).await;
    let many: Vec<Value> = (0..300).map(begin).collect();
    check(ProviderKind::Anthropic, vec![Reply::anthropic(&many)], &["more than 256 calls"]).await;

    let call = json!({ "functionCall": { "name": "x", "args": { "a": "x".repeat(MIB) } } });
    let long = json!({ "candidates": [{ "content": { "parts": [call] } }] });
    check(ProviderKind::Gemini, vec![nothing().then_endless(event(&long))], &["an answer of more than 16 MiB"]).await;
    let calls = vec![json!({ "functionCall": { "name": "x" } }); 300];
    let many = Reply::gemini(&[json!({ "candidates": [{ "content": { "parts": calls } }] })]);
    check(ProviderKind::Gemini, vec![many], &["more than 256 calls"]).await;
}

#[tokio::test]
async fn a_compressed_answer_is_refused() {
    let compressed = Reply::bytes(COMPRESSED).header("content-encoding: gzip");
    check(ProviderKind::OpenAi, vec![compressed], &["compressed with gzip"]).await;
}

#[tokio::test]
async fn an_error_is_told_however_long_its_body_is() {
    let error = |status| Reply::error(status, &json!({ "error": { "message": "made up" } }));
    for reply in [
        error(404).then_endless("x".repeat(MIB)),
        error(404).then_drip("x"),
        error(404).header("content-encoding: gzip"),
    ] {
        check(ProviderKind::OpenAi, vec![reply], &["404"]).await;
    }
    let nested = Reply::page("application/json", &"[".repeat(30_000));
    check(ProviderKind::OpenAi, vec![nested.status(400)], &["400"]).await;
}

#[tokio::test]
async fn what_can_not_be_read_is_an_error() {
    let nested = format!("data: {}\n\n", "[".repeat(100_000));
    check(ProviderKind::OpenAi, vec![Reply::bytes(nested.as_bytes())], &["sent what can't be read"]).await;
    let large = Reply::openai(&[]).header(&format!("x-large: {}", "x".repeat(MIB)));
    check(ProviderKind::OpenAi, vec![large; 3], &["did not answer"]).await;
    check(ProviderKind::OpenAi, vec![Reply::bytes(b"data: \xff\xfe\n\n"); 3], &["can't be read"]).await;
}

#[tokio::test]
async fn a_cancel_is_answered_whatever_is_sent() {
    let empty = event(&chunk(&json!({}), None));
    let error = Reply::error(500, &json!({ "error": { "message": "made up" } }));
    let replies = [
        nothing().then_endless(b"x"),
        nothing().then_endless("data: x".repeat(100)),
        nothing().then_endless(": ping\n\n"),
        nothing().then_endless(empty.repeat(100)),
        nothing().then_endless(text("word ")),
        nothing().then_endless(arguments("[")),
        nothing().then_endless(format!("data: {{\"junk\": [0{}]}}\n\n", ",0".repeat(MIB))),
        nothing().then_drip(b"x"),
        nothing().then_drip(empty.as_bytes()),
        error.clone().then_endless("x".repeat(100)),
        error.then_drip(b"x"),
    ];
    for (n, reply) in replies.into_iter().enumerate() {
        let world = openai(vec![reply, says("fine")]).await;
        let (client, session) = world.session().await;
        let turn = client.prompt(&session, "hi").await;
        world.wire.until_asked(1).await;
        client.cancel(&session).await;
        assert_eq!(turn.result().await["stopReason"], "cancelled", "reply {n}");
        world.wire.until_left().await;
        assert_eq!(client.turn(&session, "go on").await, "end_turn", "reply {n}");
    }
}

#[tokio::test]
async fn a_hundred_thousand_tiny_events_are_read() {
    let empty = event(&chunk(&json!({}), None)).repeat(50_000);
    let whole = json!({ "text": "x".repeat(50_000) }).to_string();
    let pieces: String = whole.chars().map(|piece| arguments(&piece.to_string())).collect();
    let end = event(&chunk(&json!({}), Some("tool_calls")));
    let world = openai(vec![Reply::bytes([empty, pieces, end].concat().as_bytes()), says("done")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "end_turn");
    assert_eq!(of_kind(&client, &session, "tool_call")[0]["rawInput"]["text"].as_str().unwrap().len(), 50_000);
}

#[tokio::test]
async fn a_list_of_models_stops_nothing() {
    let many: Vec<Value> = (0..5_000).map(|n| json!({ "id": format!("m{n}"), "context_length": u64::MAX })).collect();
    let lists = [
        Reply::page("application/json", "").then_endless("[".repeat(MIB)),
        Reply::page("application/json", &"[".repeat(100_000)),
        Reply::page("application/json", &json!({ "data": [{ "id": "x".repeat(MIB) }] }).to_string()),
        Reply::page("application/json", &json!({ "data": many }).to_string()),
        Reply::bytes(COMPRESSED).header("content-encoding: gzip"),
    ];
    for list in lists {
        let world = openai(vec![says("fine")]).await;
        world.wire.list_with(list);
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "hi").await, "end_turn");
        let made = client.call("session/new", json!({ "cwd": world.cwd(), "mcpServers": [] })).await.unwrap();
        assert!(made.to_string().len() < MIB, "{}", made.to_string().len());
    }
}

#[tokio::test]
async fn counts_that_can_not_be_are_not_believed() {
    for count in [json!(-5), json!(u64::MAX), json!(1e300), json!("12"), json!(null), json!([1])] {
        let usage = json!({ "prompt_tokens": count, "completion_tokens": count, "cost": count });
        let counted = json!({ "choices": [], "usage": usage });
        let reply = Reply::openai(&[chunk(&json!({ "content": "fine" }), Some("stop")), counted]);
        let world = openai(vec![reply, says("next")]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "hi").await, "end_turn", "{count}");
        assert_eq!(client.turn(&session, "again").await, "end_turn", "{count}");
        let used: Vec<Value> =
            of_kind(&client, &session, "usage_update").iter().map(|update| update["used"].clone()).collect();
        assert_eq!(used, [15], "{count}");
    }
}

#[tokio::test]
async fn nulls_and_unknown_fields_say_nothing() {
    let odd = [
        json!(null),
        json!([]),
        json!("text"),
        json!({ "choices": null, "usage": null, "error": null }),
        json!({ "choices": [null] }),
        json!({ "choices": [{ "delta": null, "finish_reason": null }] }),
        chunk(&json!({ "role": "villain", "content": null, "tool_calls": null, "refusal": null }), None),
        chunk(&json!({ "content": 7, "tool_calls": {}, "reasoning": [] }), None),
        chunk(&json!({ "tool_calls": [null, 7, { "function": null }, { "id": null, "index": -1 }] }), None),
        chunk(&json!({ "content": "fine" }), Some("stop")),
    ];
    let world = openai(vec![Reply::openai(&odd)]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "hi").await, "end_turn");
    assert_eq!(said(&client, &session), "fine");
}

#[tokio::test]
async fn a_call_without_a_name_is_an_error_with_each_kind_of_provider() {
    let nameless = json!({ "index": 0, "id": "one", "function": { "arguments": "{}" } });
    let chat = Reply::openai(&[chunk(&json!({ "tool_calls": [nameless] }), Some("tool_calls"))]);
    check(ProviderKind::OpenAi, vec![chat], &["wants a call"]).await;
    let block = json!({ "type": "tool_use", "id": "one", "input": {} });
    let messages = Reply::anthropic(&[
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ]);
    check(ProviderKind::Anthropic, vec![messages], &["wants a call"]).await;
}

#[tokio::test]
async fn blocks_that_have_no_end_are_read() {
    let begin = |id: &str| {
        let block = json!({ "type": "tool_use", "id": id, "name": "x", "input": { "a": id } });
        json!({ "type": "content_block_start", "index": 0, "content_block": block })
    };
    let both = Reply::anthropic(&[
        begin("one"),
        begin("two"),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" } }),
        json!({ "type": "message_stop" }),
    ]);
    let world = world(ProviderKind::Anthropic, "alpha", vec![both, answer_of(ProviderKind::Anthropic, "done")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "end_turn");
    let inputs: Vec<Value> =
        of_kind(&client, &session, "tool_call").iter().map(|call| call["rawInput"]["a"].clone()).collect();
    assert_eq!(inputs, ["one", "two"]);
}

#[tokio::test]
async fn a_call_of_what_can_not_be_a_tool_does_not_spoil_the_session() {
    let replies = vec![calls("one", "do it!\n", "{}"), says("sorry"), says("fine")];
    let mut world = openai(replies).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "go").await, "end_turn");
    let client = world.restart(client, &session).await;
    assert_eq!(client.turn(&session, "again").await, "end_turn");
    assert_eq!(world.wire.last()["messages"][2]["tool_calls"][0]["function"]["name"], "do_it__");
}

#[tokio::test]
async fn arguments_that_are_nested_deep_are_told_to_the_model_and_the_session_loads() {
    let nested = |levels: usize| format!("{}{}", "{\"a\":".repeat(levels - 1) + "{", "}".repeat(levels));
    for (levels, is_made) in [(64, true), (65, false), (126, false)] {
        let mut world = openai(vec![calls("one", "x", &nested(levels)), says("sorry"), says("fine")]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "go").await, "end_turn", "{levels}");
        let told = world.wire.last()["messages"][3]["content"].as_str().unwrap().to_owned();
        assert_eq!(told.contains("no tool"), is_made, "{told}");
        assert_eq!(told.contains("nested deeper than 64 levels"), !is_made, "{told}");
        let client = world.restart(client, &session).await;
        assert_eq!(client.turn(&session, "again").await, "end_turn", "{levels}");
        assert_eq!(roles(&world.wire.last()), ["user", "assistant", "tool", "assistant", "user"]);
    }
}
