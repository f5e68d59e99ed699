//! Permission: asked for as the mode says, with all that is needed to decide, and remembered for the session only.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use rejoin_testing::Event;
use rejoin_wire::RpcError;
use serde_json::{Value, json};

use crate::project::{Project, choose, tool_call};

#[tokio::test]
async fn in_ask_mode_nothing_is_written_before_the_user_agreed() {
    let project = Project::with_client(json!({}), "ask").await;
    project.write("a.txt", "old");
    project.client.answer_with(|_, _| Some(choose("reject")));

    let written = project.call("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    let edited = project.call("edit_file", json!({ "path": "a.txt", "old_text": "old", "new_text": "new" })).await;
    let run = project.call("run_command", json!({ "command": "touch b.txt" })).await;

    for called in [&written, &edited, &run] {
        assert_eq!(called.failure(), "the user did not allow it");
    }
    assert_eq!((project.read("a.txt"), project.read("b.txt")), (Some("old".into()), None));
    project.client.answer_with(|_, _| Some(choose("allow")));
    project.call("write_file", json!({ "path": "a.txt", "content": "new" })).await;
    assert_eq!(project.read("a.txt").unwrap(), "new");
}

#[tokio::test]
async fn a_client_that_can_not_ask_has_not_agreed() {
    let project = Project::with_client(json!({}), "ask").await;
    let answers = [
        (
            Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "what?")),
            "the user could not be asked for permission: the client: what?",
        ),
        (choose("something else"), "the user did not allow it"),
        (
            Ok(json!({})),
            "the user could not be asked for permission: the client's answer to session/request_permission: missing field \
             `outcome` at line 1 column 2",
        ),
    ];
    for (answer, expected) in answers {
        project.client.answer_with(move |_, _| Some(answer.clone()));
        let called = project.call("write_file", json!({ "path": "a.txt", "content": "x" })).await;
        assert_eq!((called.failure(), project.read("a.txt")), (expected, None));
    }
}

#[tokio::test]
async fn a_client_that_cancels_the_question_ends_the_turn() {
    let project = Project::with_client(json!({}), "ask").await;
    project.client.answer_with(|_, _| Some(Ok(json!({ "outcome": { "outcome": "cancelled" } }))));
    let mark = project.client.mark();
    let turn = project.begin("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    assert_eq!((turn.result().await["stopReason"].clone(), project.read("a.txt")), (json!("cancelled"), None));
    assert_eq!(tool_call(&project.client.updates_since(mark, &project.session))["status"], "failed");
}

#[tokio::test]
async fn the_request_shows_the_change() {
    let project = Project::with_client(json!({}), "ask").await;
    project.write("a.txt", "one\ntwo\n");

    project.call("edit_file", json!({ "path": "a.txt", "old_text": "two", "new_text": "2" })).await;

    let (_, asked) = project.client.until_asked("session/request_permission").await;
    let path = project.path("project/a.txt");
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
async fn always_reaches_as_far_as_it_says_and_for_this_session() {
    let project = Project::with_client(json!({}), "ask").await;
    project.client.answer_with(|_, _| Some(choose("always")));
    for script in ["x.sh", "sub/x.sh"] {
        project.write(script, "#!/bin/sh\n");
        let path = project.path("project").join(script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
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
        (run("./x.sh"), true),
        (run("./x.sh"), false),
        (run("./x.sh again"), true),
        (("run_command", json!({ "command": "./x.sh", "cwd": "sub" })), true),
        (run("find . -name a"), true),
        (run("find . -name a"), false),
        (run("find . -name a -exec touch c {} +"), true),
        (run("sort a"), true),
        (run("sort a -o c"), true),
        (run("env touch c"), true),
        (run("env touch c"), true),
    ] {
        let mark = project.client.mark();
        let called = project.call(tool, arguments.clone()).await;
        // What can't be always allowed is not allowed by saying so.
        let command = arguments["command"].as_str().unwrap_or_default();
        let offers_always = !command.contains([';', '$', '>', '{']) && !command.starts_with("env");
        assert_eq!(called.status() == "completed", offers_always, "{arguments}");
        assert_eq!(!project.asked_since(mark).is_empty(), is_asked, "{arguments}");
    }
    let other = project.client.new_session(&project.path("project").display().to_string()).await;
    let mark = project.client.mark();
    project.client.turn(&other, "/call write_file {\"path\": \"d\", \"content\": \"x\"}").await;
    assert_eq!(project.asked_since(mark), ["session/request_permission"]);
}

#[tokio::test]
async fn a_file_that_changed_while_the_user_was_asked_is_left_alone() {
    let project = Project::with_client(json!({}), "ask").await;
    project.write("a.txt", "old");
    for (tool, arguments) in [
        ("write_file", json!({ "path": "a.txt", "content": "new" })),
        ("edit_file", json!({ "path": "a.txt", "old_text": "o", "new_text": "n" })),
    ] {
        let path = project.path("project/a.txt");
        let other = Arc::new(Mutex::new(format!("other {tool}")));
        project.client.answer_with(move |_, _| {
            std::fs::write(&path, other.lock().unwrap().as_str()).unwrap();
            Some(choose("allow"))
        });
        let called = project.call(tool, arguments).await;
        assert!(called.failure().contains("was changed meanwhile"), "{}", called.told);
        assert_eq!(project.read("a.txt").unwrap(), format!("other {tool}"));
    }
}

#[tokio::test]
async fn a_turn_that_is_cancelled_while_the_user_is_asked_changes_nothing() {
    let project = Project::with_client(json!({}), "ask").await;
    project.client.answer_with(|_, _| None);
    let turn = project.begin("write_file", json!({ "path": "a.txt", "content": "x" })).await;
    project.client.until_asked("session/request_permission").await;
    project.client.cancel(&project.session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
    assert_eq!(project.read("a.txt"), None);
    let is_failed = |events: &[Event]| {
        let updates = rejoin_testing::updates_in(events, &project.session);
        updates.iter().any(|update| update["status"] == "failed").then_some(())
    };
    project.client.until("the end of the call", is_failed).await;
}
