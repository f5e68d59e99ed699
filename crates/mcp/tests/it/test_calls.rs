//! Calls: their progress, their limits, their end.

use std::time::Duration;

use rejoin_mcp::{CallError, Options, Progress};
use serde_json::{Map, json};
use tokio::sync::mpsc;

use crate::session::{SECRET, Session, scripted};

#[tokio::test]
async fn progress_is_shown_and_dropping_a_call_tells_the_server() {
    let session = Session::start(vec![scripted("s", "")]).await;

    cancelled_after_progress(&session).await;
}

/// Calls a tool that never answers, and drops the call once it has shown progress.
pub(crate) async fn cancelled_after_progress(session: &Session) {
    let (sender, mut progress) = mpsc::unbounded_channel();
    let call = session.servers.call("s__progress", Map::new(), move |step| sender.send(step).unwrap());
    let first = tokio::select! {
        result = call => panic!("{result:?}"),
        first = progress.recv() => first.unwrap(),
    };
    assert_eq!(first, Progress { progress: 1.0, total: Some(2.0), message: Some("half".to_owned()) });

    // The server answers this when it was told of a cancelled request, with its id.
    let cancelled = session.call("s__cancelled", json!({})).await.unwrap();
    assert!(cancelled.parse::<u64>().is_ok(), "{cancelled}");
}

#[tokio::test]
async fn calls_can_be_made_in_tasks_of_their_own() {
    let session = std::sync::Arc::new(Session::start(vec![scripted("s", "")]).await);
    let calls = std::array::from_fn::<_, 20, _>(|_| {
        let session = std::sync::Arc::clone(&session);
        tokio::spawn(async move { session.echo("s").await })
    });
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), "echo: marble");
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_and_the_server_is_told() {
    let options = Options { call_limit: Duration::from_millis(100), ..Options::default() };
    let session = Session::with(vec![scripted("s", "")], options).await;

    let slow = session.call("s__slow", json!({})).await;

    assert_eq!(slow.unwrap_err().to_string(), "MCP server `s` did not answer within 0.1 s");
    session.call("s__cancelled", json!({})).await.unwrap();
}

#[tokio::test]
async fn no_progress_lets_a_call_exceed_its_last_limit() {
    let limit = Duration::from_millis(100);
    let options = Options { call_total_limit: limit, ..Options::default() };
    let session = Session::with(vec![scripted("s", "")], options).await;

    let slow = session.call("s__progress", json!({})).await;

    assert_eq!(slow, Err(CallError::TooSlow { server: "s".to_owned(), limit }));
}

#[tokio::test]
async fn a_refusal_says_why_without_secrets() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let refused = session.call("s__refuse", json!({})).await.unwrap_err().to_string();

    assert_eq!(refused, "MCP server `s` says: the key [hidden] is not valid (-32000)");
    assert!(!refused.contains(SECRET));
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_an_error_at_once_and_the_server_goes_on() {
    let options = Options { message_limit: 1 << 16, ..Options::default() };
    let session = Session::with(vec![scripted("s", "")], options).await;

    let huge = session.call("s__huge", json!({})).await.unwrap_err();

    assert_eq!(huge.to_string(), "MCP server `s` says: its answer is longer than 65536 bytes (-32603)");
    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn an_answer_that_is_nested_too_deeply_is_an_error_at_once_and_the_server_goes_on() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let deep = session.call("s__huge", json!({ "levels": 200 })).await.unwrap_err();

    let expected = "MCP server `s` says: its answer is not understood, or nested too deeply (-32603)";
    assert_eq!(deep.to_string(), expected);
    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let session = Session::start(vec![scripted("s", "")]).await;

    let tool = session.call("s__absent", json!({})).await.unwrap_err();
    let server = session.servers.read_resource("absent", "note://one").await.unwrap_err();

    assert_eq!(tool.to_string(), "there is no MCP tool `s__absent`");
    assert_eq!(server.to_string(), "there is no MCP server `absent`");
}
