//! Commands: beside us or in the client's terminals, shown while they run, and ended whatever happens.

use rejoin_testing::{Event, updates_in};
use rejoin_wire::RpcError;
use serde_json::{Value, json};

use crate::project::{Project, choose, group_of, until_group_is_gone};

/// A command that says its group, and leaves somebody behind in it.
const LONG: &str = "echo group:$$; sleep 300 & sleep 300";

#[tokio::test]
async fn output_and_exit_code_are_told() {
    let project = Project::new().await;
    project.write("sub/a.txt", "");

    let done = project.call("run_command", json!({ "command": "ls; echo oops >&2; echo more", "cwd": "sub" })).await;
    let failed = project.call("run_command", json!({ "command": "echo no; exit 3" })).await;
    let killed = project.call("run_command", json!({ "command": "kill -9 $$" })).await;

    assert_eq!((done.status(), done.told.as_str()), ("completed", "a.txt\noops\nmore\n[exit code 0]"));
    assert_eq!(
        (&done.shown["kind"], &done.shown["title"]),
        (&json!("execute"), &json!("`ls; echo oops >&2; echo more`"))
    );
    assert_eq!(done.shown["rawOutput"]["exitCode"], 0);
    assert_eq!(failed.failure(), "no\n[exit code 3]");
    let raw = json!({ "exitCode": 3, "signal": null, "timedOut": false, "output": "no\n", "truncated": false });
    assert_eq!(failed.shown["rawOutput"], raw);
    assert_eq!(killed.failure(), "[ended by the signal 9]");
}

#[tokio::test]
async fn what_can_not_be_run_is_said() {
    let project = Project::new().await;
    project.write("a.txt", "");
    for (arguments, expected) in [
        (json!({ "command": " " }), "`command` is empty"),
        (json!({ "command": "ls", "cwd": "none" }), "there is no none"),
        (json!({ "command": "ls", "cwd": "a.txt" }), "a.txt is no folder, or leads through something that is none"),
    ] {
        assert_eq!(project.call("run_command", arguments.clone()).await.failure(), expected, "{arguments}");
    }
}

#[tokio::test]
async fn output_is_shown_while_it_comes_and_a_cancel_ends_the_whole_group() {
    let project = Project::new().await;
    let turn = project.begin("run_command", json!({ "command": LONG })).await;
    let group = until_shown(&project).await;
    assert_eq!(group_of(&group), 3);

    project.client.cancel(&project.session).await;

    assert_eq!(turn.result().await["stopReason"], "cancelled");
    until_group_is_gone(&group).await;
}

#[tokio::test]
async fn a_session_that_is_closed_leaves_no_process() {
    let project = Project::new().await;
    let turn = project.begin("run_command", json!({ "command": LONG })).await;
    let group = until_shown(&project).await;

    project.client.call("session/close", json!({ "sessionId": project.session })).await.unwrap();

    drop(turn);
    until_group_is_gone(&group).await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let project = Project::new().await;
    let called = project.call("run_command", json!({ "command": LONG, "timeout": 1 })).await;
    assert!(called.failure().ends_with("[ended by us, since it took longer than 1 s]"), "{}", called.told);
    let group = called.told.lines().next().unwrap().strip_prefix("group:").unwrap();
    until_group_is_gone(group).await;
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    let project = Project::new().await;
    let called = project.call("run_command", json!({ "command": "echo $$; sleep 300 &" })).await;
    assert_eq!(called.shown["rawOutput"]["exitCode"], 0);
    until_group_is_gone(called.told.lines().next().unwrap()).await;
}

#[tokio::test]
async fn long_output_is_bounded_and_what_is_cut_is_said() {
    let project = Project::new().await;
    let called = project.call("run_command", json!({ "command": "seq 1 100000" })).await;
    assert!(called.told.starts_with("1\n2\n") && called.told.ends_with("\n100000\n[exit code 0]"));
    assert!(called.told.contains(" bytes are left out …]") && called.told.len() < 40_000);
    assert_eq!(called.shown["rawOutput"]["truncated"], true);
}

#[tokio::test]
async fn a_command_runs_in_a_terminal_of_a_client_that_has_some() {
    let project = Project::with_client(json!({ "terminal": true }), "code").await;
    project.client.answer_with(|method, _| Some(answer_of_terminal(method, &json!({ "exitCode": 2 }))));
    let mark = project.client.mark();

    let called = project.call("run_command", json!({ "command": "make it" })).await;

    assert_eq!(called.failure(), "making\n[exit code 2]");
    assert_eq!(called.shown["content"], json!([{ "type": "terminal", "terminalId": "t1" }]));
    let (_, created) = project.client.until_asked("terminal/create").await;
    assert_eq!((&created["command"], &created["args"]), (&json!("/bin/sh"), &json!(["-c", "make it"])));
    assert_eq!(created["cwd"], json!(project.path("project")));
    let methods = ["create", "wait_for_exit", "output", "release"].map(|name| format!("terminal/{name}"));
    assert_eq!(project.asked_since(mark)[1..], methods);
}

#[tokio::test]
async fn how_a_command_ended_is_told_also_if_its_terminal_is_gone() {
    let project = Project::with_client(json!({ "terminal": true }), "code").await;
    let gone = || Err(RpcError::new(RpcError::INTERNAL, "no such terminal"));
    project.client.answer_with(move |method, _| match method {
        "terminal/output" | "terminal/release" => Some(gone()),
        _ => Some(answer_of_terminal(method, &json!({ "exitCode": 0 }))),
    });

    let called = project.call("run_command", json!({ "command": "make it" })).await;

    let told = "[its output can't be had: the client: no such terminal]\n[exit code 0]";
    assert_eq!((called.status(), called.told.as_str()), ("completed", told));
}

#[tokio::test]
async fn a_terminal_is_ended_by_the_limit_and_by_a_cancel() {
    let project = Project::with_client(json!({ "terminal": true }), "code").await;
    project.client.answer_with(|method, _| match method {
        "terminal/wait_for_exit" => None,
        _ => Some(answer_of_terminal(method, &Value::Null)),
    });
    let mark = project.client.mark();

    let called = project.call("run_command", json!({ "command": "make it", "timeout": 1 })).await;
    assert_eq!(called.failure(), "making\n[ended by us, since it took longer than 1 s]");
    let methods = project.asked_since(mark);
    assert!(
        methods.contains(&"terminal/kill".to_owned()) && methods.contains(&"terminal/release".to_owned()),
        "{methods:?}"
    );

    let mark = project.client.mark();
    let turn = project.begin("run_command", json!({ "command": "make it" })).await;
    project.client.until("the command", |events| asked(&events[mark..], "terminal/wait_for_exit")).await;
    project.client.cancel(&project.session).await;
    project.client.until("the release", |events| asked(&events[mark..], "terminal/release")).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
}

#[tokio::test]
async fn a_client_that_only_says_it_has_terminals_is_not_needed() {
    let project = Project::with_client(json!({ "terminal": true }), "code").await;
    let unknown = || Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "what?"));
    project
        .client
        .answer_with(move |method, _| Some(if method.starts_with("terminal/") { unknown() } else { choose("allow") }));
    assert_eq!(project.call("run_command", json!({ "command": "echo hi" })).await.told, "hi\n[exit code 0]");
}

fn answer_of_terminal(method: &str, exit: &Value) -> rejoin_testing::Answer {
    match method {
        "terminal/create" => Ok(json!({ "terminalId": "t1" })),
        "terminal/wait_for_exit" => Ok(exit.clone()),
        "terminal/output" => Ok(json!({ "output": "making\n", "truncated": false })),
        "terminal/kill" | "terminal/release" => Ok(Value::Null),
        _ => choose("allow"),
    }
}

fn asked(events: &[Event], method: &str) -> Option<()> {
    events.iter().any(|event| matches!(event, Event::Asked { method: asked, .. } if asked == method)).then_some(())
}

/// Waits until [`LONG`] has said its group, while it runs.
async fn until_shown(project: &Project) -> String {
    let find = |events: &[Event]| {
        let updates = updates_in(events, &project.session);
        let mut texts = updates.iter().filter_map(|update| update["content"][0]["content"]["text"].as_str());
        let group = |text: &str| Some(text.split_once("\ngroup:")?.1.lines().next()?.to_owned());
        texts.find_map(group)
    };
    project.client.until("the group", find).await
}
