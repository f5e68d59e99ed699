//! A session with servers: how tests name them, call them and look at them.

use std::path::Path;
use std::time::Duration;

use rejoin_mcp::model::{CallToolResult, ContentBlock};
use rejoin_mcp::{CallError, Options, ServerSpec, ServerStatus, Servers, State, Transport};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A secret that no text may show.
pub(crate) const SECRET: &str = "marble-secret";

/// The servers of a session, and its folder.
pub(crate) struct Session {
    pub(crate) servers: Servers,
    pub(crate) folder: TempDir,
}

impl Session {
    pub(crate) async fn start(specs: Vec<ServerSpec>) -> Self {
        Self::with(specs, Options::default()).await
    }

    pub(crate) async fn with(specs: Vec<ServerSpec>, options: Options) -> Self {
        let folder = TempDir::new().unwrap();
        let servers = Servers::connect(specs, folder.path().to_owned(), options).await;
        Self { servers, folder }
    }

    /// Calls a tool that answers with one text.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, CallError> {
        let Value::Object(arguments) = arguments else { panic!("{arguments} is no object") };
        self.servers.call(tool, arguments, drop).await.map(|result| text(&result))
    }

    pub(crate) async fn echo(&self, server: &str) -> Result<String, CallError> {
        self.call(&format!("{server}__echo"), json!({ "text": "marble" })).await
    }

    pub(crate) fn state(&self, server: &str) -> State {
        self.status(server).state
    }

    pub(crate) fn status(&self, server: &str) -> ServerStatus {
        self.servers.status().into_iter().find(|status| status.server == server).unwrap()
    }

    /// Why a server failed.
    pub(crate) fn failure(&self, server: &str) -> String {
        let State::Failed { reason } = self.state(server) else { panic!("{:?}", self.state(server)) };
        let shown = format!("{reason}\n{:?}\n{:?}", self.servers, self.servers.status());
        assert!(!shown.contains(SECRET), "{shown}");
        reason.to_string()
    }

    pub(crate) fn tool_names(&self) -> Vec<String> {
        self.servers.tools().into_iter().map(|tool| tool.name).collect()
    }

    /// Waits until `is_so` holds, looking at each change.
    pub(crate) async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let mut changes = self.servers.changes();
        while !is_so(self) {
            changes.changed().await.unwrap();
        }
    }
}

/// The scripted server with this fault.
pub(crate) fn scripted(name: &str, fault: &str) -> ServerSpec {
    stdio(name, env!("CARGO_BIN_EXE_scripted-mcp"), &[fault], &[("KEY", SECRET)])
}

pub(crate) fn stdio(name: &str, command: &str, args: &[&str], env: &[(&str, &str)]) -> ServerSpec {
    let args = args.iter().map(ToString::to_string).collect();
    ServerSpec {
        name: name.to_owned(),
        transport: Transport::Stdio { command: command.to_owned(), args, env: pairs(env) },
    }
}

pub(crate) fn http(name: &str, url: &str, headers: &[(&str, &str)]) -> ServerSpec {
    ServerSpec { name: name.to_owned(), transport: Transport::Http { url: url.to_owned(), headers: pairs(headers) } }
}

pub(crate) fn sse(name: &str, url: &str, headers: &[(&str, &str)]) -> ServerSpec {
    ServerSpec { name: name.to_owned(), transport: Transport::Sse { url: url.to_owned(), headers: pairs(headers) } }
}

/// Options under which what hangs at the start hangs for a short time.
pub(crate) fn hasty() -> Options {
    Options { start_limit: Duration::from_secs(3), ..Options::default() }
}

pub(crate) fn text(result: &CallToolResult) -> String {
    let [ContentBlock::Text(text)] = result.content.as_slice() else { panic!("{result:?}") };
    text.text.clone()
}

pub(crate) fn is_connected(state: &State) -> bool {
    matches!(state, State::Connected { .. })
}

/// A named pipe in `folder`. Whoever has it open for writing keeps its reader waiting for the end.
pub(crate) fn pipe(folder: &Path) -> (std::path::PathBuf, tokio::net::unix::pipe::Receiver) {
    let path = folder.join("alive");
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let reader = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&path).unwrap();
    (path, reader)
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}
