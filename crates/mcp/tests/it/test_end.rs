//! Nothing that was started is left: not by a close, not by a drop.

use rejoin_mcp::{CallError, Failure, ServerSpec};
use serde_json::json;
use tokio::net::unix::pipe::Receiver;

use crate::session::{Session, pipe, stdio};
use crate::test_start::ended;

/// A server that obeys neither the end of its input nor a signal to end, as does what it starts.
fn stubborn(session_folder: &std::path::Path) -> (ServerSpec, Receiver) {
    let (path, reader) = pipe(session_folder);
    let server = env!("CARGO_BIN_EXE_scripted-mcp");
    let script = format!("exec 3>{}; trap '' TERM; sleep 1000 & exec {server} stubborn", path.display());
    (stdio("s", "sh", &["-c", &script], &[]), reader)
}

#[tokio::test]
async fn a_close_ends_a_stubborn_server_and_what_it_started() {
    let folder = tempfile::TempDir::new().unwrap();
    let (spec, reader) = stubborn(folder.path());
    let session = Session::start(vec![spec]).await;
    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");

    session.servers.close().await;

    ended(reader).await;
    let closed = session.echo("s").await;
    assert_eq!(closed, Err(CallError::NotConnected { server: "s".to_owned(), reason: Failure::Closed }));
}

#[tokio::test]
async fn dropping_the_servers_ends_them() {
    let folder = tempfile::TempDir::new().unwrap();
    let (spec, reader) = stubborn(folder.path());
    let session = Session::start(vec![spec]).await;
    assert_eq!(session.echo("s").await.unwrap(), "echo: marble");

    drop(session);

    ended(reader).await;
}

#[tokio::test]
async fn a_close_ends_the_calls_that_wait() {
    let folder = tempfile::TempDir::new().unwrap();
    let (spec, _reader) = stubborn(folder.path());
    let session = Session::start(vec![spec]).await;

    let (waiting, ()) = tokio::join!(session.call("s__slow", json!({})), session.servers.close());

    let reasons = [
        Err(CallError::Lost { server: "s".to_owned(), reason: Failure::Closed }),
        Err(CallError::NotConnected { server: "s".to_owned(), reason: Failure::Closed }),
    ];
    assert!(reasons.contains(&waiting), "{waiting:?}");
}
