//! Real servers, pinned in `peers/`: the reference server over each transport, and the one for files.

use std::process::Stdio;
use std::time::Duration;

use rejoin_mcp::{Options, ServerSpec, State};
use rejoin_testing::Peers;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use crate::session::{Session, http, sse, stdio, text};

#[tokio::test]
async fn the_reference_server_works_over_stdio() {
    let Some(peers) = Peers::find() else { return };
    let [node, script] = command(&peers, "everything");

    check_everything(stdio("e", &node, &[&script, "stdio"], &[("COLOUR", "teal")])).await;
}

#[tokio::test]
async fn the_reference_server_works_over_streamable_http() {
    let Some(peers) = Peers::find() else { return };
    let (_server, port) = serve_everything(&peers, "streamableHttp").await;

    check_everything(http("e", &format!("http://127.0.0.1:{port}/mcp"), &[])).await;
}

#[tokio::test]
async fn the_reference_server_works_over_sse() {
    let Some(peers) = Peers::find() else { return };
    let (_server, port) = serve_everything(&peers, "sse").await;

    check_everything(sse("e", &format!("http://127.0.0.1:{port}/sse"), &[])).await;
}

#[tokio::test]
async fn progress_restarts_the_limit_of_a_call() {
    let Some(peers) = Peers::find() else { return };
    let [node, script] = command(&peers, "everything");
    let options = Options { call_limit: Duration::from_secs(2), ..Options::default() };
    let session = Session::with(vec![stdio("e", &node, &[&script, "stdio"], &[])], options).await;

    let long = session.call("e__trigger-long-running-operation", json!({ "duration": 3, "steps": 6 })).await;

    assert!(long.unwrap().starts_with("Long running operation completed"));
}

#[tokio::test]
async fn the_server_for_files_works_in_the_sessions_folder() {
    let Some(peers) = Peers::find() else { return };
    let [node, script] = command(&peers, "filesystem");
    // It is given no folder: those it may use are the session's.
    let session = Session::start(vec![stdio("files", &node, &[&script], &[])]).await;
    let folder = session.folder.path().canonicalize().unwrap();
    let file = folder.join("note.txt");
    // It asks for them once it is connected, and refuses everything until it has the answer.
    while !session.call("files__list_allowed_directories", json!({})).await.unwrap().contains(folder.to_str().unwrap())
    {
    }

    let Value::Object(text_file) = json!({ "path": file, "content": "a note" }) else { unreachable!() };
    let written = session.servers.call("files__write_file", text_file, drop).await.unwrap();
    let Value::Object(read) = json!({ "path": file }) else { unreachable!() };
    let read = session.servers.call("files__read_text_file", read, drop).await.unwrap();

    assert_ne!(written.is_error, Some(true), "{written:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "a note");
    assert_eq!(text(&read), "a note");
    let tools = session.servers.tools();
    let tool = |name: &str| tools.iter().find(|tool| tool.own_name == name).unwrap();
    assert!(tool("read_text_file").is_read_only() && tool("write_file").is_destructive());
    session.servers.close().await;
}

/// Has the reference server show all that it can do.
async fn check_everything(spec: ServerSpec) {
    let session = Session::start(vec![spec]).await;
    let State::Connected { n_tools, n_resources, n_prompts, .. } = session.state("e") else {
        panic!("{}", session.status("e"));
    };
    assert!(n_tools >= 10 && n_resources >= 1 && n_prompts >= 3, "{}", session.status("e"));
    assert_eq!(session.status("e").left_out, []);

    let echo = session.call("e__echo", json!({ "message": "marble" })).await.unwrap();
    assert_eq!(echo, "Echo: marble");

    // It lists this tool once it knows that there are roots.
    session.until(|session| session.tool_names().contains(&"e__get-roots-list".to_owned())).await;
    let roots = session.call("e__get-roots-list", json!({})).await.unwrap();
    assert!(roots.contains(session.folder.path().to_str().unwrap()), "{roots}");

    let (sender, mut progress) = mpsc::unbounded_channel();
    let Value::Object(short) = json!({ "duration": 0.4, "steps": 2 }) else { unreachable!() };
    let on_progress = move |step: rejoin_mcp::Progress| sender.send(step.progress).unwrap();
    let done = session.servers.call("e__trigger-long-running-operation", short, on_progress).await.unwrap();
    assert!(text(&done).starts_with("Long running operation completed"), "{done:?}");
    assert_eq!(progress.recv().await, Some(1.0));

    let Value::Object(place) = json!({ "location": "Chicago" }) else { unreachable!() };
    let structured = session.servers.call("e__get-structured-content", place, drop).await.unwrap();
    assert!(structured.structured_content.unwrap()["temperature"].is_number());

    let prompt = session.servers.get_prompt("e", "simple-prompt", Map::new()).await.unwrap();
    assert_eq!(prompt.messages.len(), 1);
    let resource = session.servers.resources().remove(0).item;
    let read = session.servers.read_resource("e", &resource.uri).await.unwrap();
    assert_eq!(read.contents.len(), 1);
    session.servers.close().await;
}

/// How a server is run.
fn command(peers: &Peers, server: &str) -> [String; 2] {
    let script = peers.path(&format!("node_modules/@modelcontextprotocol/server-{server}/dist/index.js"));
    [peers.bin("node"), script].map(|path| path.to_str().unwrap().to_owned())
}

/// Runs the reference server on a port of its own, until it is dropped.
async fn serve_everything(peers: &Peers, transport: &str) -> (Child, u16) {
    let [node, script] = command(peers, "everything");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(node);
    command.args([&script, transport]).env("PORT", port.to_string()).kill_on_drop(true);
    let mut server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if line.ends_with(&format!("port {port}")) {
            // The rest is read too, so that it can be written.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return (server, port);
        }
    }
    panic!("the server ended: {:?}", server.wait().await);
}
