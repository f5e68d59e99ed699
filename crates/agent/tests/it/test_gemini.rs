//! Generated content of Gemini.

use rejoin_agent::ProviderKind;
use serde_json::{Value, json};

use crate::wire::Reply;
use crate::world::{KEY, World, cancel_once_said, of_kind, said, text_of, world};

fn chunk(parts: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    let usage = json!({ "promptTokenCount": 20, "candidatesTokenCount": 4, "totalTokenCount": 24 });
    json!({ "candidates": [candidate], "usageMetadata": usage })
}

fn says(text: &str) -> Reply {
    Reply::gemini(&[chunk(&json!([{ "text": text }]), None), chunk(&json!([{ "text": "" }]), Some("STOP"))])
}

async fn gemini(replies: Vec<Reply>) -> World {
    world(ProviderKind::Gemini, "gemini-2.5-pro", replies).await
}

#[tokio::test]
async fn a_request_has_what_the_api_wants() {
    let world = gemini(vec![says("hello")]).await;
    let (client, session) = world.session().await;
    let prompt =
        json!([{ "type": "text", "text": "hi" }, { "type": "image", "mimeType": "image/png", "data": "AAAA" }]);
    let answer = client.call("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await.unwrap();

    assert_eq!((answer["stopReason"].as_str().unwrap(), said(&client, &session).as_str()), ("end_turn", "hello"));
    let asked = &world.wire.asked()[0];
    assert_eq!(asked.line, "POST /v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert!(asked.headers.contains(&format!("x-goog-api-key: {KEY}")), "{}", asked.headers);
    assert_eq!(asked.body["generationConfig"]["temperature"], 0.7);
    assert!(asked.body["systemInstruction"]["parts"][0]["text"].is_string(), "{}", asked.body);
    let image = json!({ "inline_data": { "mime_type": "image/png", "data": "AAAA" } });
    assert_eq!(asked.body["contents"][0]["parts"], json!([{ "text": "hi" }, image]));
    assert_eq!(of_kind(&client, &session, "usage_update")[0]["used"], 24);
}

#[tokio::test]
async fn calls_keep_their_signatures_and_get_ids_of_their_own() {
    let call = |signature: &str| {
        let function = json!({ "name": "no_such_tool", "args": { "a": 1 } });
        let parts =
            json!([{ "text": "Hm.", "thought": true }, { "functionCall": function, "thoughtSignature": signature }]);
        Reply::gemini(&[chunk(&parts, Some("STOP"))])
    };
    let mut world = gemini(vec![call("sig-1"), call("sig-2"), says("Done."), says("Again.")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "look").await;
    assert_eq!(text_of(&client.updates(&session), "agent_thought_chunk"), "Hm.Hm.");
    let ids: Vec<Value> =
        of_kind(&client, &session, "tool_call").iter().map(|call| call["toolCallId"].clone()).collect();
    assert_eq!(ids, ["call#no_such_tool#0", "call#no_such_tool#1"]);
    let client = world.restart(client, &session).await;
    client.turn(&session, "again").await;

    let contents = world.wire.last()["contents"].clone();
    let roles: Vec<&str> =
        contents.as_array().unwrap().iter().map(|content| content["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user", "model", "user", "model", "user"]);
    let signatures = [&contents[1]["parts"][0]["thoughtSignature"], &contents[3]["parts"][0]["thoughtSignature"]];
    assert_eq!(signatures, ["sig-1", "sig-2"]);
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["name"], "no_such_tool");
}

#[tokio::test]
async fn the_signature_of_a_text_is_sent_back_with_it() {
    let signed = [
        chunk(&json!([{ "text": "Well." }]), None),
        chunk(&json!([{ "text": "", "thoughtSignature": "sig" }]), Some("STOP")),
    ];
    let mut world = gemini(vec![Reply::gemini(&signed), says("Again.")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "think").await;
    let client = world.restart(client, &session).await;
    client.turn(&session, "again").await;
    let said = json!([{ "text": "Well.", "thoughtSignature": "sig" }]);
    assert_eq!(world.wire.last()["contents"][1]["parts"], said);
}

#[tokio::test]
async fn how_much_it_thinks_can_be_chosen() {
    for (model, name, value) in
        [("gemini-2.5-pro", "thinkingBudget", json!(24_000)), ("gemini-3-pro", "thinkingLevel", json!("HIGH"))]
    {
        let world = world(ProviderKind::Gemini, model, vec![says("Yes.")]).await;
        let (client, session) = world.session().await;
        let choice = json!({ "sessionId": session, "configId": "thinking", "value": "high" });
        client.call("session/set_config_option", choice).await.unwrap();
        client.turn(&session, "think").await;
        let expected = json!({ "includeThoughts": true, name: value });
        assert_eq!(world.wire.last()["generationConfig"]["thinkingConfig"], expected);
    }
}

#[tokio::test]
async fn calls_that_come_one_after_the_other_are_all_made() {
    let call = |path: &str| json!([{ "functionCall": { "name": "read_file", "args": { "path": path } } }]);
    let both = Reply::gemini(&[chunk(&call("a"), None), chunk(&call("b"), Some("STOP"))]);
    let world = gemini(vec![both, says("Done.")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "read").await;
    let inputs: Vec<Value> =
        of_kind(&client, &session, "tool_call").iter().map(|call| call["rawInput"]["path"].clone()).collect();
    assert_eq!(inputs, ["a", "b"]);
    let contents = world.wire.last()["contents"].clone();
    let n_parts = [&contents[1]["parts"], &contents[2]["parts"]].map(|parts| parts.as_array().unwrap().len());
    assert_eq!(n_parts, [2, 2]);
}

#[tokio::test]
async fn a_call_that_the_model_could_not_write_is_an_error() {
    let world = gemini(vec![Reply::gemini(&[chunk(&json!([{ "text": "" }]), Some("MALFORMED_FUNCTION_CALL"))])]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "read").await.error().await;
    assert!(error.message().contains("wants a call"), "{}", error.message());
}

#[tokio::test]
async fn an_answer_that_came_to_nothing_is_an_error() {
    for finish in ["OTHER", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"] {
        let world = gemini(vec![Reply::gemini(&[chunk(&json!([{ "text": "" }]), Some(finish))])]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.prompt(&session, "read").await.error().await.code(), -32603, "{finish}");
    }
}

#[tokio::test]
async fn a_chunk_that_only_counts_is_passed_over() {
    let counted = json!({ "usageMetadata": { "promptTokenCount": 3 }, "modelVersion": "g" });
    let world = gemini(vec![Reply::gemini(&[counted, chunk(&json!([{ "text": "well" }]), Some("STOP"))])]).await;
    let (client, session) = world.session().await;
    assert_eq!(
        (client.turn(&session, "tell me").await.as_str(), said(&client, &session).as_str()),
        ("end_turn", "well")
    );
}

#[tokio::test]
async fn why_an_answer_ended_is_told() {
    for (finish, expected) in [("STOP", "end_turn"), ("MAX_TOKENS", "max_tokens"), ("SAFETY", "refusal")] {
        let world = gemini(vec![Reply::gemini(&[chunk(&json!([{ "text": "well" }]), Some(finish))])]).await;
        let (client, session) = world.session().await;
        assert_eq!(client.turn(&session, "tell me").await, expected);
    }
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 3 } });
    let world = gemini(vec![Reply::gemini(&[blocked])]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "bad").await, "refusal");
}

#[tokio::test]
async fn a_stream_that_ends_without_a_reason_was_cut() {
    let world = gemini(vec![Reply::gemini(&[chunk(&json!([{ "text": "half" }]), None)])]).await;
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "tell me").await.error().await;
    assert!(error.message().contains("broke off"), "{}", error.message());
}

#[tokio::test]
async fn a_refused_key_is_a_missing_login_although_the_status_is_another() {
    let reason = json!([{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID" }]);
    for message in ["API key not valid. Please pass a valid API key.", "API key expired. Please renew the API key."] {
        let error = json!({ "code": 400, "message": message, "status": "INVALID_ARGUMENT", "details": reason });
        let world = gemini(vec![Reply::error(400, &json!({ "error": error }))]).await;
        let (client, session) = world.session().await;
        let error = client.prompt(&session, "hi").await.error().await;
        assert_eq!((error.code(), error.message().contains("GEMINI_API_KEY")), (-32000, true), "{}", error.message());
    }
}

#[tokio::test]
async fn a_cancel_ends_the_request() {
    let silent = Reply::gemini(&[chunk(&json!([{ "text": "first" }]), None)]).silent_after(1);
    let world = gemini(vec![silent]).await;
    let (client, session) = world.session().await;
    cancel_once_said(&world, &client, &session, "first").await;
}
