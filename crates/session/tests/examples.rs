//! The examples, driven as a client would: what `docs/agent-authors.md` says of them is true.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// An example that runs, and a client that has introduced itself to it.
struct Example {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    updates: Vec<Value>,
}

impl Example {
    fn start(name: &str, folder: &Path) -> Self {
        let mut built = std::env::current_exe().unwrap();
        built.pop();
        let built: PathBuf = built.with_file_name("examples").join(name);
        let mut command = Command::new(built);
        let mut child = command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut example = Self { child, stdin, stdout, updates: Vec::new() };
        example.call("initialize", &json!({ "protocolVersion": 1 }));
        example
    }

    /// Asks, allows everything meanwhile, and gives the result.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": "ours", "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the example has ended");
            let mut message: Value = serde_json::from_str(&line).unwrap();
            match message["method"].as_str() {
                Some("session/update") => self.updates.push(message["params"]["update"].take()),
                Some("session/request_permission") => {
                    let result = json!({ "outcome": { "outcome": "selected", "optionId": "yes" } });
                    self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }));
                }
                Some(other) => panic!("asked for {other}"),
                None => {
                    assert!(message["error"].is_null(), "{message}");
                    return message["result"].take();
                }
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    fn prompt(&mut self, session: &str, text: &str) {
        let prompt = json!([{ "type": "text", "text": text }]);
        let answer = self.call("session/prompt", &json!({ "sessionId": session, "prompt": prompt }));
        assert_eq!(answer["stopReason"], "end_turn");
    }

    /// What the user and the agent said.
    fn said(&self) -> Vec<&str> {
        self.updates.iter().filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// Ends without a word, as a crash does.
    fn crash(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// What is said with the example `name` in these prompts, with a crash before the last one.
fn talk(name: &str, folder: &TempDir, prompts: &[&str], last: &str) -> (Vec<String>, Vec<String>) {
    let cwd = folder.path().to_str().unwrap();
    let mut example = Example::start(name, folder.path());
    let made = example.call("session/new", &json!({ "cwd": cwd, "mcpServers": [] }));
    let session = made["sessionId"].as_str().unwrap().to_owned();
    for prompt in prompts {
        example.prompt(&session, prompt);
    }
    example.crash();
    let mut example = Example::start(name, folder.path());
    example.call("session/load", &json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] }));
    let replayed = example.said().into_iter().map(str::to_owned).collect();
    example.updates.clear();
    example.prompt(&session, last);
    let said = example.said().into_iter().map(str::to_owned).collect();
    example.crash();
    (replayed, said)
}

#[test]
fn echo_says_what_it_hears_and_its_sessions_outlive_it() {
    let folder = tempfile::tempdir().unwrap();
    let (replayed, said) = talk("echo", &folder, &["hello"], "again");
    assert_eq!((replayed, said), (vec!["hello".to_owned(), "hello".to_owned()], vec!["again".to_owned()]));
}

#[test]
fn tools_writes_notes_and_counts_them_in_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let (_, said) = talk("tools", &folder, &["note buy wood", "note paint it"], "/count");
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.md")).unwrap(), "- buy wood\n- paint it\n");
    assert_eq!(said, ["2 so far."]);
}
