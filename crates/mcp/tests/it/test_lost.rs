//! A server that dies in the middle: who waits is told at once, and the next call reaches it again.

use rejoin_mcp::{CallError, Failure, State};
use serde_json::json;

use crate::session::{Session, is_connected, scripted, stdio};

#[tokio::test]
async fn calls_to_a_server_that_dies_end_at_once_and_say_how_it_died() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let (waiting, deadly) = tokio::join!(session.call("s__slow", json!({})), session.call("s__die", json!({})));

    let expected = "MCP server `s` was lost before it answered: it exited with status 9; its stderr ends with:\n\
                    scripted: out of memory";
    assert_eq!([waiting, deadly].map(|result| result.unwrap_err().to_string()), [expected, expected]);
}

#[tokio::test]
async fn a_server_that_died_is_there_again_for_the_next_call() {
    let session = Session::start(vec![scripted("s", "")]).await;
    session.call("s__die", json!({})).await.unwrap_err();

    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn a_server_that_died_is_there_again_without_a_call() {
    let session = Session::start(vec![scripted("s", "")]).await;
    session.call("s__die", json!({})).await.unwrap_err();

    session.until(|session| !is_connected(&session.state("s"))).await;
    session.until(|session| is_connected(&session.state("s"))).await;
}

#[tokio::test]
async fn one_that_dies_while_something_holds_its_output_is_lost_too() {
    let command = format!("sleep 1000 & exec {}", env!("CARGO_BIN_EXE_scripted-mcp"));
    let session = Session::start(vec![stdio("s", "sh", &["-c", &command], &[])]).await;

    let died = session.call("s__die", json!({})).await;

    assert!(matches!(died, Err(CallError::Lost { reason: Failure::Exited { .. }, .. })), "{died:?}");
}

#[tokio::test]
async fn one_that_can_not_be_started_again_keeps_its_tools_and_says_why_they_fail() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("server");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scripted-mcp"), &path).unwrap();
    let session = Session::start(vec![stdio("s", path.to_str().unwrap(), &[], &[])]).await;
    std::fs::remove_file(&path).unwrap();
    session.call("s__die", json!({})).await.unwrap_err();

    let failed = session.echo("s").await.unwrap_err();

    assert!(failed.to_string().starts_with("MCP server `s` is not connected: there is no program"), "{failed}");
    assert!(matches!(session.state("s"), State::Failed { .. }));
    assert_eq!(session.servers.tools().len(), 11);
}
