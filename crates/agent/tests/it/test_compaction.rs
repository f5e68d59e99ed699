//! Compaction: near the window, by command, and when the provider says that it is too much.

use serde_json::{Value, json};

use crate::wire::{Reply, chunk, says, says_with};
use crate::world::{of_kind, openai, roles, said};

/// More than eight tenths of the window of a model that nothing is known of.
const NEARLY_ALL: u64 = 110_000;

fn first_message(body: &Value) -> &str {
    body["messages"][1]["content"].as_str().unwrap()
}

#[tokio::test]
async fn near_the_window_the_model_goes_on_from_a_summary_also_after_a_restart() {
    let replies = vec![says_with("one", NEARLY_ALL), says("THE SUMMARY"), says("two"), says("three")];
    let mut world = openai(replies).await;
    let (client, session) = world.session_of(json!({ "session": { "compaction": {} } })).await;
    client.turn(&session, "first question").await;
    client.turn(&session, "second question").await;

    let asked = world.wire.asked();
    assert!(first_message(&asked[1].body).contains("first question"), "{}", asked[1].body);
    assert!(!first_message(&asked[1].body).contains("second question"), "{}", asked[1].body);
    let told = first_message(&asked[2].body);
    assert!(
        told.contains("THE SUMMARY") && told.contains("second question") && !told.contains("first question"),
        "{told}"
    );
    let updates = of_kind(&client, &session, "compaction_update");
    let states: Vec<&str> = updates.iter().map(|update| update["status"].as_str().unwrap()).collect();
    assert_eq!((states, &updates[0]["compactionId"]), (vec!["in_progress", "completed"], &updates[1]["compactionId"]));
    assert_eq!(of_kind(&client, &session, "compaction_summary_chunk")[0]["content"]["text"], "THE SUMMARY");
    assert_eq!(said(&client, &session), "onetwo");

    let client = world.restart(client, &session).await;
    assert!(said(&client, &session).contains("one"));
    client.turn(&session, "third question").await;
    let body = world.wire.last();
    assert_eq!(roles(&body), ["user", "assistant", "user"]);
    assert!(first_message(&body).contains("THE SUMMARY") && !body.to_string().contains("first question"), "{body}");
}

#[tokio::test]
async fn a_client_that_shows_no_compactions_is_told_in_words() {
    let world = openai(vec![says_with("one", NEARLY_ALL), says("THE SUMMARY"), says("two")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    client.turn(&session, "second").await;
    let said = said(&client, &session);
    assert!(said.contains("summarised") && !said.contains("THE SUMMARY"), "{said}");
    assert_eq!(of_kind(&client, &session, "compaction_update"), [json!(null); 0]);
}

#[tokio::test]
async fn a_user_can_ask_for_it() {
    let world = openai(vec![says("one"), says("THE SUMMARY"), says("two")]).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "/compact").await, "end_turn");
    client.turn(&session, "first question").await;
    assert_eq!(client.turn(&session, "/compact").await, "end_turn");
    client.turn(&session, "second question").await;
    let body = world.wire.last();
    assert_eq!((roles(&body), world.wire.asked().len()), (vec!["user"], 3));
    assert!(first_message(&body).contains("THE SUMMARY") && !body.to_string().contains("compact"), "{body}");
}

#[tokio::test]
async fn what_was_not_answered_is_summarised_too() {
    let refusal = Reply::error(404, &json!({ "error": { "message": "made up" } }));
    let world = openai(vec![says("one"), refusal, says("THE SUMMARY")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first question").await;
    client.prompt(&session, "second question").await.error().await;
    client.turn(&session, "/compact").await;
    let body = world.wire.last();
    let told = first_message(&body);
    assert!(told.contains("second question") && !told.contains("/compact"), "{told}");
}

#[tokio::test]
async fn a_summary_that_fails_is_told_to_who_asked_for_it_and_to_no_model() {
    let failure = Reply::error(404, &json!({ "error": { "message": "made up" } }));
    let world = openai(vec![says("one"), failure, says("two")]).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    let error = client.prompt(&session, "/compact").await.error().await;
    assert!(error.message().contains("made up"), "{}", error.message());
    client.turn(&session, "second").await;
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}

/// An answer that calls `name`, of which the provider counts so many tokens.
fn calls_with(id: &str, name: &str, prompt_tokens: u64) -> Reply {
    let usage = json!({ "prompt_tokens": prompt_tokens, "completion_tokens": 9 });
    let function = json!({ "name": name, "arguments": format!("{{\"of\": \"{id}\"}}") });
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    Reply::openai(&[
        chunk(&json!({ "tool_calls": [call] }), Some("tool_calls")),
        json!({ "id": "c", "choices": [], "usage": usage }),
    ])
}

#[tokio::test]
async fn a_long_turn_is_summarised_while_it_runs_and_the_model_sees_the_newest_results_also_after_a_restart() {
    let replies = vec![
        calls_with("one", "first_tool", 10),
        calls_with("two", "second_tool", NEARLY_ALL),
        says("HALF DONE"),
        says("done"),
        says("next"),
    ];
    let mut world = openai(replies).await;
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "do it").await, "end_turn");
    let asked = world.wire.asked();
    let summarised = first_message(&asked[2].body);
    assert!(summarised.contains("first_tool") && !summarised.contains("second_tool"), "{summarised}");
    let client = world.restart(client, &session).await;
    client.turn(&session, "and now?").await;

    let asked = world.wire.asked();
    assert_eq!(roles(&asked[3].body), ["user", "assistant", "tool"]);
    assert_eq!(roles(&asked[4].body), ["user", "assistant", "tool", "assistant", "user"]);
    for asked in &asked[3..] {
        let (body, told) = (&asked.body, first_message(&asked.body));
        assert!(told.contains("HALF DONE") && told.contains("do it") && !told.contains("first_tool"), "{body}");
        assert!(body["messages"][3]["content"].as_str().unwrap().contains("second_tool"), "{body}");
    }
}

#[tokio::test]
async fn a_window_that_is_too_small_for_a_turn_ends_it_with_an_error_that_says_so() {
    let step = |n: usize| calls_with(&n.to_string(), "look", 900);
    let replies = vec![step(1), step(2), says("S1"), step(3), says("S2"), step(4), says("S3"), says("fine")];
    let world = openai(replies).await;
    world.wire.list(&json!({ "data": [{ "id": "alpha", "context_length": 1000 }] }));
    let (client, session) = world.session().await;
    let error = client.prompt(&session, "do it").await.error().await;
    let text = error.message();
    assert!(text.contains("the window of openai/alpha") && text.contains("1000 tokens"), "{text}");
    assert!(text.contains("choose a model with a larger window"), "{text}");
    // The model saw all results but the last.
    for n in [4, 6] {
        let body = &world.wire.asked()[n - 1].body;
        assert_eq!(roles(body), ["user", "assistant", "tool"], "request {n}");
    }
    assert_eq!(client.turn(&session, "do less").await, "end_turn");
}

#[tokio::test]
async fn a_result_that_is_larger_than_the_window_is_shortened_and_seen() {
    let call = json!({ "index": 0, "id": "one", "function": { "name": "read_file", "arguments": "{\"path\": \"long.txt\"}" } });
    let calling = Reply::openai(&[chunk(&json!({ "tool_calls": [call] }), Some("tool_calls"))]);
    let mut world = openai(vec![calling, says("I see."), says("next")]).await;
    world.wire.list(&json!({ "data": [{ "id": "alpha", "context_length": 3000 }] }));
    let lines: Vec<String> = (0..2000).map(|n| format!("line number {n}\n")).collect();
    std::fs::write(format!("{}/long.txt", world.cwd()), lines.concat()).unwrap();
    let (client, session) = world.session().await;
    assert_eq!(client.turn(&session, "read").await, "end_turn");
    let told = world.wire.last()["messages"][3]["content"].clone();
    let text = told.as_str().unwrap();
    assert!(text.len() < 5000 && text.contains("line number 1\n") && text.contains("bytes are left out"), "{text}");
    let client = world.restart(client, &session).await;
    world.wire.list(&json!({}));
    client.turn(&session, "again").await;
    assert_eq!(world.wire.last()["messages"][3]["content"], told);
}

#[tokio::test]
async fn a_summary_that_is_too_long_is_shortened() {
    let world = openai(vec![says("one"), says(&"x".repeat(100_000)), says("two")]).await;
    world.wire.list(&json!({ "data": [{ "id": "alpha", "context_length": 4000 }] }));
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    client.turn(&session, "/compact").await;
    client.turn(&session, "second").await;
    let body = world.wire.last();
    assert!(first_message(&body).len() < 4000 && first_message(&body).contains("bytes are left out"), "{body}");
}

#[tokio::test]
async fn a_refusal_is_no_summary() {
    let refusal = Reply::openai(&[chunk(&json!({ "content": "I can't help with that." }), Some("content_filter"))]);
    let world = openai(vec![says("one"), refusal, says("two")]).await;
    let (client, session) = world.session_of(json!({ "session": { "compaction": {} } })).await;
    client.turn(&session, "first").await;
    let error = client.prompt(&session, "/compact").await.error().await;
    assert!(error.message().contains("refused"), "{}", error.message());
    assert_eq!(of_kind(&client, &session, "compaction_update")[1]["status"], "failed");
    client.turn(&session, "second").await;
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}

fn too_long() -> Reply {
    Reply::error(400, &json!({ "error": { "message": "too long", "code": "context_length_exceeded" } }))
}

#[tokio::test]
async fn a_summary_is_made_of_less_where_all_is_too_long() {
    let long = says(&"one ".repeat(1000));
    let world = openai(vec![long, says("two"), too_long(), too_long(), says("THE SUMMARY"), says("three")]).await;
    let (client, session) = world.session().await;
    for question in ["first question", "second question", "third question"] {
        assert_eq!(client.turn(&session, question).await, "end_turn");
    }
    let asked = world.wire.asked();
    let told = |n: usize| ["first", "second"].map(|one| first_message(&asked[n].body).contains(one));
    assert_eq!((told(3), told(4)), ([true, true], [false, true]));
    assert!(first_message(&world.wire.last()).contains("THE SUMMARY"));
}

#[tokio::test]
async fn a_turn_may_become_too_long_more_than_once() {
    let call = json!({ "index": 0, "id": "one", "type": "function", "function": { "name": "x", "arguments": "{}" } });
    let calling = Reply::openai(&[chunk(&json!({ "tool_calls": [call] }), Some("tool_calls"))]);
    let replies = vec![says("one"), too_long(), says("S1"), calling, too_long(), says("S2"), says("done")];
    let world = openai(replies).await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    assert_eq!(client.turn(&session, "second").await, "end_turn");
    assert!(first_message(&world.wire.last()).contains("S2"));
}

#[tokio::test]
async fn what_is_too_long_for_the_provider_is_summarised_once() {
    let world =
        openai(vec![says("one"), too_long(), says("THE SUMMARY"), says("two"), too_long(), says("S"), too_long()])
            .await;
    let (client, session) = world.session().await;
    client.turn(&session, "first").await;
    assert_eq!(client.turn(&session, "second").await, "end_turn");
    assert!(first_message(&world.wire.last()).contains("THE SUMMARY"));
    let error = client.prompt(&session, "third").await.error().await;
    assert!(error.message().contains("context_length_exceeded"), "{}", error.message());
}

#[tokio::test]
async fn a_summary_that_fails_does_not_end_the_turn() {
    let failure = Reply::error(404, &json!({ "error": { "message": "made up" } }));
    let world = openai(vec![says_with("one", NEARLY_ALL), failure, says("two")]).await;
    let (client, session) = world.session_of(json!({ "session": { "compaction": {}, "notices": {} } })).await;
    client.turn(&session, "first").await;
    assert_eq!(client.turn(&session, "second").await, "end_turn");
    let updates = of_kind(&client, &session, "compaction_update");
    assert_eq!((&updates[1]["status"], updates[1]["error"].is_string()), (&json!("failed"), true));
    assert_eq!(roles(&world.wire.last()), ["user", "assistant", "user"]);
}
