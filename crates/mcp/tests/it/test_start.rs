//! Whatever a server does at its start, the session has the others, and says what is wrong.

use rejoin_mcp::{Failure, State};
use serde_json::json;

use crate::session::{SECRET, Session, hasty, is_connected, pipe, scripted, stdio};

#[tokio::test]
async fn a_server_is_connected_and_counted() {
    let session = Session::start(vec![scripted("good", "")]).await;

    let expected = "good (stdio): connected to scripted 1.0, 11 tools, 3 resources, 1 prompt";
    assert_eq!(session.status("good").to_string(), expected);
    assert_eq!(session.echo("good").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn one_that_hangs_is_ended_and_named() {
    let folder = tempfile::TempDir::new().unwrap();
    let (path, reader) = pipe(folder.path());
    let script = format!("exec 3>{}; while :; do sleep 1000; done", path.display());
    let specs = vec![scripted("good", ""), stdio("hanging", "sh", &["-c", &script], &[])];

    let session = Session::with(specs, hasty()).await;

    assert!(session.failure("hanging").starts_with("it did not answer `initialize` within 3 s, so it is not used"));
    assert_eq!(session.echo("good").await.unwrap(), "echo: marble");
    ended(reader).await;
}

#[tokio::test]
async fn one_that_exits_is_named_with_what_it_said_last_but_not_with_its_secrets() {
    let session = Session::start(vec![scripted("good", ""), scripted("dying", "exit")]).await;

    let expected = "it exited with status 3; its stderr ends with:\nscripted: the licence [hidden] has expired";
    assert_eq!(session.failure("dying"), expected);
    assert!(is_connected(&session.state("good")));
}

#[tokio::test]
async fn one_that_is_not_there_is_named() {
    let session = Session::start(vec![stdio("absent", "no-such-server", &[], &[("KEY", SECRET)])]).await;

    let expected = "there is no program `no-such-server`: install it, or give its full path as `command`";
    assert_eq!(session.failure("absent"), expected);
}

#[tokio::test]
async fn what_is_no_message_before_and_between_its_lines_does_not_matter() {
    let session = Session::start(vec![scripted("noisy", "garbage")]).await;

    assert_eq!(session.echo("noisy").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn one_that_never_lists_its_tools_is_named() {
    let session = Session::with(vec![scripted("silent", "silent-tools"), scripted("good", "")], hasty()).await;

    assert!(session.failure("silent").starts_with("it did not answer `tools/list` within 3 s, so it is not used"));
    assert!(is_connected(&session.state("good")));
}

#[tokio::test]
async fn one_that_never_lists_its_resources_has_its_tools() {
    let session = Session::with(vec![scripted("silent", "silent-resources")], hasty()).await;

    assert_eq!(session.echo("silent").await.unwrap(), "echo: marble");
    assert_eq!(session.status("silent").left_out[0].what, "resources/list");
}

#[tokio::test]
async fn a_tool_with_a_broken_schema_is_left_out_and_the_others_work() {
    let session = Session::start(vec![scripted("broken", "broken-schema")]).await;

    let left_out = session.status("broken").left_out;
    let names: Vec<_> = left_out.iter().map(|it| it.what.as_str()).collect();
    assert_eq!(names, ["tool `no_schema`", "tool `bad_schema`", "tool `text_schema`", "tool `(without name)`"]);
    assert_eq!(left_out[1].why, "its input schema/properties is no object");
    assert_eq!(session.servers.tools().len(), 11);
    assert_eq!(session.echo("broken").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn a_server_of_an_older_version_works() {
    let session = Session::start(vec![scripted("old", "old")]).await;

    assert_eq!(session.echo("old").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn a_server_has_its_env_the_sessions_folder_and_is_found_on_its_path() {
    let folder = tempfile::TempDir::new().unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scripted-mcp"), folder.path().join("only-here")).unwrap();
    let env = [("PATH", folder.path().to_str().unwrap()), ("COLOUR", "teal")];
    let session = Session::start(vec![stdio("s", "only-here", &[], &env)]).await;

    assert_eq!(session.call("s__env", json!({ "name": "COLOUR" })).await.unwrap(), "teal");
    let cwd = session.folder.path().canonicalize().unwrap();
    assert_eq!(session.call("s__cwd", json!({})).await.unwrap(), cwd.to_str().unwrap());
    assert_eq!(session.call("s__env", json!({ "name": "HOME" })).await.unwrap(), std::env::var("HOME").unwrap());
}

#[tokio::test]
async fn a_server_is_told_the_sessions_folders() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let roots = session.call("s__roots", json!({})).await.unwrap();

    assert!(roots.contains(&format!("file://{}", session.folder.path().display())), "{roots}");
}

#[tokio::test]
async fn one_that_failed_is_tried_again_when_somebody_wants_it() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("late");
    let session = Session::start(vec![stdio("late", path.to_str().unwrap(), &[], &[])]).await;
    assert!(matches!(session.state("late"), State::Failed { reason: Failure::NotFound { .. } }));

    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scripted-mcp"), &path).unwrap();
    let status = session.servers.retry("late").await.unwrap();

    assert!(is_connected(&status.state), "{status}");
    assert_eq!(session.echo("late").await.unwrap(), "echo: marble");
}

/// Waits until nobody holds the pipe open any more.
pub(crate) async fn ended(mut reader: tokio::net::unix::pipe::Receiver) {
    let mut said = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut said).await.unwrap();
}
