//! Permission: asked for as the mode says, with all that is needed to decide, and remembered for the session only.

use std::sync::{Arc, Mutex};

use rejoin_testing::Event;
use serde_json::{Value, json};

use crate::world::{World, choose};

#[tokio::test]
async fn in_ask_mode_nothing_is_written_before_the_user_agreed() {
    let world = World::with_client(json!({}), "ask").await;
    world.write("a.txt", "old");
    world.client.answer_with(|_, _| Some(choose("reject")));

    let written = world.call("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    let edited = world.call("edit_file", json!({ "path": "a.txt", "old_text": "old", "new_text": "new" })).await;
    let run = world.call("run_command", json!({ "command": "touch b.txt" })).await;

    for called in [&written, &edited, &run] {
        assert_eq!(called.failure(), "the user did not allow it");
    }
    assert_eq!((world.read("a.txt"), world.read("b.txt")), (Some("old".into()), None));
    world.client.answer_with(|_, _| Some(choose("allow")));
    world.call("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!(world.read("a.txt").unwrap(), "new");
}

#[tokio::test]
async fn the_request_shows_the_change() {
    let world = World::with_client(json!({}), "ask").await;
    world.write("a.txt", "one\ntwo\n");

    world.call("edit_file", json!({ "path": "a.txt", "old_text": "two", "new_text": "2" })).await;

    let (_, asked) = world.client.until_asked("session/request_permission").await;
    let path = world.path("project/a.txt");
    let expected = json!({
        "toolCallId": asked["toolCall"]["toolCallId"],
        "title": "Edit a.txt",
        "kind": "edit",
        "status": "pending",
        "content": [{ "type": "diff", "path": path, "oldText": "one\ntwo\n", "newText": "one\n2\n" }],
        "locations": [{ "path": path, "line": 2 }],
        "rawInput": { "path": "a.txt", "old_text": "two", "new_text": "2" },
    });
    assert_eq!(asked["toolCall"], expected);
    let kinds: Vec<&Value> = asked["options"].as_array().unwrap().iter().map(|option| &option["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
}

#[tokio::test]
async fn always_is_for_the_tool_or_the_program_and_for_this_session() {
    let world = World::with_client(json!({}), "ask").await;
    world.client.answer_with(|_, _| Some(choose("always")));
    let write = |name: &str| ("write_file", json!({ "path": name, "content": "x" }));
    let run = |command: &str| ("run_command", json!({ "command": command }));
    for ((tool, arguments), is_asked) in [
        (write("a"), true),
        (write("b"), false),
        (("edit_file", json!({ "path": "a", "old_text": "x", "new_text": "y" })), true),
        (run("echo one"), true),
        (run("echo two"), false),
        (run("printf three"), true),
        (run("echo four; printf four"), true),
        (run("echo $(printf five)"), true),
        (run("echo six > c"), true),
    ] {
        let mark = world.client.mark();
        let called = world.call(tool, arguments.clone()).await;
        // What can't be always allowed is not allowed by saying so.
        let offers_always = !arguments["command"].as_str().unwrap_or_default().contains([';', '$', '>']);
        assert_eq!(called.status() == "completed", offers_always, "{arguments}");
        assert_eq!(!world.asked_since(mark).is_empty(), is_asked, "{arguments}");
    }
    let other = world.client.new_session(&world.path("project").display().to_string()).await;
    let mark = world.client.mark();
    world.client.turn(&other, "/call write_file {\"path\": \"d\", \"content\": \"x\"}").await;
    assert_eq!(world.asked_since(mark), ["session/request_permission"]);
}

#[tokio::test]
async fn a_file_that_changed_while_the_user_was_asked_is_left_alone() {
    let world = World::with_client(json!({}), "ask").await;
    world.write("a.txt", "old");
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a.txt", "content": "new" })),
        ("edit_file", json!({ "path": "a.txt", "old_text": "o", "new_text": "n" })),
    ] {
        let path = world.path("project/a.txt");
        let other = Arc::new(Mutex::new(format!("other {tool}")));
        world.client.answer_with(move |_, _| {
            std::fs::write(&path, other.lock().unwrap().as_str()).unwrap();
            Some(choose("allow"))
        });
        let called = world.call(tool, arguments).await;
        assert!(called.failure().contains("was changed meanwhile"), "{}", called.told);
        assert_eq!(world.read("a.txt").unwrap(), format!("other {tool}"));
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_the_user_is_asked_changes_nothing() {
    let world = World::with_client(json!({}), "ask").await;
    world.client.answer_with(|_, _| None);
    let turn = world.begin("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    world.client.until_asked("session/request_permission").await;
    world.client.cancel(&world.session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
    assert_eq!(world.read("a.txt"), None);
    let is_failed = |events: &[Event]| {
        let updates = rejoin_testing::updates_in(events, &world.session);
        updates.iter().any(|update| update["status"] == "failed").then_some(())
    };
    world.client.until("the end of the call", is_failed).await;
}
