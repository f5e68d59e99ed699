//! `rejoin acp` with no command: the built-in agent, without a model and without a key.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::acp::Acp;
use crate::world::World;

/// The user's settings.
const CONFIG: &str = "home/.config/rejoin/config.toml";

/// A client of the built-in agent.
pub(crate) struct Client {
    pub(crate) acp: Acp,
    next_id: u64,
    pub(crate) updates: Vec<Value>,
    /// The option that permissions are answered with, and how many were asked for.
    answer: &'static str,
    asked: usize,
}

impl Client {
    fn start(world: &World) -> Self {
        Self::start_with(world, &[])
    }

    /// The same, with `env` set.
    pub(crate) fn start_with(world: &World, env: &[(&str, &str)]) -> Self {
        let mut command = world.command(&["acp"]);
        command.envs(env.iter().copied());
        Self::of(command)
    }

    /// A client of what `command` starts.
    pub(crate) fn of(command: Command) -> Self {
        let mut client = Self { acp: Acp::of(command), next_id: 1, updates: Vec::new(), answer: "allow", asked: 0 };
        let capabilities = json!({ "session": { "notices": {} } });
        client.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": capabilities }));
        client
    }

    /// Asks, and gives the result.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        self.ask(method, params).unwrap()
    }

    /// Asks, and gives the result or the error.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.send(method, params);
        loop {
            if let Some(answer) = self.next() {
                return answer;
            }
        }
    }

    /// Asks, and does not wait.
    pub(crate) fn send(&mut self, method: &str, params: &Value) {
        self.next_id += 1;
        self.acp.send(self.next_id, method, params);
    }

    /// Takes the next message, and gives it if it answers what was asked.
    pub(crate) fn next(&mut self) -> Option<Result<Value, Value>> {
        let mut message = self.acp.next().unwrap();
        match message["method"].as_str() {
            Some("session/update") => self.updates.push(message["params"]["update"].take()),
            Some("session/request_permission") => {
                self.asked += 1;
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": self.answer } });
                self.acp.respond(&message["id"], &outcome);
            }
            method => {
                assert_eq!(method, None, "{message}");
                let error = message["error"].take();
                return Some(if error.is_null() { Ok(message["result"].take()) } else { Err(error) });
            }
        }
        None
    }

    pub(crate) fn new_session(&mut self, world: &World, mcp_servers: &Value) -> String {
        let made = self.call("session/new", &json!({ "cwd": world.path("home"), "mcpServers": mcp_servers }));
        made["sessionId"].as_str().unwrap().to_owned()
    }

    /// What the agent says to `text`.
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> String {
        let before = self.updates.len();
        let answer = self.call("session/prompt", &prompt(session, text));
        assert_eq!(answer["stopReason"], "end_turn");
        self.said(before).concat()
    }

    /// What the agent said, piece by piece, in all updates but the first `before`.
    pub(crate) fn said(&self, before: usize) -> Vec<&str> {
        let is_said = |update: &&Value| update["sessionUpdate"] == "agent_message_chunk";
        self.updates[before..].iter().filter(is_said).filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    fn notices(&self) -> Vec<String> {
        let title = |update: &Value| {
            (update["sessionUpdate"] == "notice").then(|| update["title"].as_str().unwrap().to_owned())
        };
        self.updates.iter().filter_map(title).collect()
    }

    /// The latest value of a tool call's member.
    pub(crate) fn last_of_call(&self, member: &str) -> Option<&Value> {
        self.updates.iter().rev().find_map(|update| update["toolCallId"].is_string().then(|| update.get(member))?)
    }

    fn commands(&self) -> Vec<String> {
        let told = self.updates.iter().rev().find_map(|update| update["availableCommands"].as_array());
        told.into_iter().flatten().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
    }
}

/// The parameters of a prompt.
pub(crate) fn prompt(session: &str, text: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] })
}

/// A server that is started with `args`.
fn server(name: &str, args: &[&str]) -> Value {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    let path = path.with_file_name("scripted-mcp");
    assert!(path.exists(), "build it first: cargo build -p rejoin-mcp");
    json!({ "name": name, "command": path, "args": args, "env": [{ "name": "KEY", "value": "marble" }] })
}

#[test]
fn without_a_model_it_repeats_what_it_hears_and_says_once_how_to_get_one() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([]));

    assert_eq!((client.prompt(&session, "hello"), client.prompt(&session, "again")), ("hello".into(), "again".into()));
    assert_eq!(client.notices(), ["No model is configured"]);
    client.acp.end();
    let mut client = Client::start(&world);
    client.call("session/load", &json!({ "sessionId": session, "cwd": world.path("home"), "mcpServers": [] }));
    client.updates.clear();
    assert_eq!(client.prompt(&session, "and now?"), "and now?");
    assert_eq!(client.notices(), [""; 0], "nothing was lost, and it was said before");
    client.acp.end();
}

#[test]
fn tools_of_mcp_servers_are_called_with_permission_and_shown() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &[])]));

    // This one only reads, and nobody is asked.
    assert_eq!(client.prompt(&session, r#"/call box.echo {"text": "marble"}"#), "echo: marble");
    assert_eq!((client.asked, client.last_of_call("status")), (0, Some(&json!("completed"))));
    assert_eq!(client.prompt(&session, "/call box.cwd"), world.path("home"));
    assert_eq!(client.asked, 1);
    client.answer = "reject";
    assert_eq!(client.prompt(&session, "/call box.cwd"), "the user did not allow it");
    assert_eq!((client.asked, client.last_of_call("status")), (2, Some(&json!("failed"))));
    client.answer = "always";
    client.prompt(&session, "/call box.cwd");
    client.prompt(&session, "/call box.cwd");
    assert_eq!(client.asked, 3, "always means: in this session");
    client.call("session/set_mode", &json!({ "sessionId": session, "modeId": "architect" }));
    let refused = client.prompt(&session, "/call box.cwd");
    assert!(refused.contains("architect"), "{refused}");
    assert!(client.prompt(&session, "/call box.nothing").contains("there is no tool"));
    assert!(client.prompt(&session, "/call").contains("box"), "it lists what there is");
    assert!(client.prompt(&session, "/call box.echo text").contains("no JSON object"));
    client.acp.end();
}

#[test]
fn a_server_that_fails_is_named_and_its_secrets_are_not() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("dying", &["exit"]), server("box", &[])]));

    let told = client.prompt(&session, "/mcp");

    assert!(told.contains("dying (stdio): failed") && told.contains("`echo`"), "{told}");
    assert!(client.notices()[0].contains("dying"), "{:?}", client.notices());
    assert!(!client.updates.iter().any(|update| update.to_string().contains("marble")), "the key is told");
    client.acp.end();
}

#[test]
fn commands_are_what_there_is_now() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &[])]));
    let help = client.prompt(&session, "/help");
    let before = client.commands();

    client.prompt(&session, "/call box.grow");
    while client.commands() == before {
        let mut message = client.acp.next().unwrap();
        client.updates.push(message["params"]["update"].take());
    }

    assert_eq!(before, ["help", "mcp", "call", "rename", "fork", "mode", "model", "compact", "box.greet"]);
    assert!(before.iter().all(|name| help.contains(&format!("`/{name}`"))), "{help}");
    assert_eq!(client.commands().last().unwrap(), "box.grown");
    client.acp.end();
}

#[test]
fn a_session_is_renamed_forked_and_switched_by_commands() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([]));
    client.prompt(&session, "hello");

    client.prompt(&session, "/rename The blue door");
    let fork = client.prompt(&session, "/fork");
    client.prompt(&session, "/mode code");

    let listed = client.call("session/list", &json!({}));
    let titles: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["The blue door", "The blue door"], "{fork}");
    let mode = |client: &Client| client.updates.iter().rev().find_map(|update| update.get("currentModeId").cloned());
    assert_eq!(mode(&client), Some(json!("code")));
    assert_eq!(client.prompt(&session, "/mode"), "The mode is code.\n");
    assert!(client.prompt(&session, "/mode dance").contains("There is no mode"));
    assert_eq!(client.prompt(&session, "/usr/bin is a path"), "/usr/bin is a path");
    client.acp.end();
}

#[test]
fn a_server_that_says_its_tool_only_reads_is_not_believed_where_nothing_may_change() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &[])]));
    let mut asked_in = |mode: &str, tools: &str| {
        client.prompt(&session, &format!("/mode {mode}"));
        let option = json!({ "sessionId": session, "configId": "tools", "value": tools });
        client.call("session/set_config_option", &option);
        let before = client.asked;
        let told = client.prompt(&session, r#"/call box__echo {"text": "hi"}"#);
        assert!(told.contains("echo: hi"), "{told}");
        client.asked - before
    };

    let asked = [asked_in("ask", "read-write"), asked_in("architect", "read-write"), asked_in("code", "read-only")];

    assert_eq!(asked, [0, 1, 1]);
    client.acp.end();
}

#[test]
fn always_ends_when_the_server_changes_the_tool() {
    let world = World::new();
    let mut client = Client::start(&world);
    client.answer = "always";
    let session = client.new_session(&world, &json!([server("box", &[])]));
    let mut call = |tool: &str| {
        client.prompt(&session, &format!(r#"/call {tool} {{"name": "KEY"}}"#));
        client.asked
    };

    assert_eq!([call("box__env"), call("box__env"), call("box__grow")], [1, 1, 2]);
    // What the server lists now is read when it has said so.
    let is_grown = (0..1000).any(|_| client.prompt(&session, "/call").contains("box__grown"));
    assert!(is_grown, "the server's new list was not read");
    client.prompt(&session, r#"/call box__env {"name": "KEY"}"#);

    assert_eq!(client.asked, 3);
    client.acp.end();
}

#[test]
fn what_an_mcp_server_says_too_much_of_is_cut() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &[])]));

    let told = client.prompt(&session, "/call box.huge");

    assert!(told.contains("bytes are left out") && told.len() < 200_000, "{} bytes", told.len());
    client.acp.end();
}

#[test]
fn progress_is_shown_and_a_flood_of_it_does_not_fill_the_record() {
    let world = World::new();
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &["flood"])]));

    assert_eq!(client.prompt(&session, "/call box.flood"), "done");

    let is_step = |update: &&Value| update["content"].to_string().contains("of 1000)");
    let n_steps = client.updates.iter().filter(is_step).count();
    assert!((1..40).contains(&n_steps), "{n_steps} steps were shown");
    client.acp.end();
}

#[test]
fn a_configured_server_gives_way_to_one_of_the_client_and_that_is_said() {
    let world = World::new();
    let path = server("box", &[])["command"].as_str().unwrap().to_owned();
    world
        .write(CONFIG, &format!("[mcp_servers.box]\ncommand = ['{path}']\n[mcp_servers.more]\ncommand = ['{path}']\n"));
    let mut client = Client::start(&world);
    let session = client.new_session(&world, &json!([server("box", &[])]));

    let told = client.prompt(&session, "/mcp");

    let starts: Vec<&str> =
        told.lines().filter(|line| line.starts_with("- ")).map(|line| line.split(", ").next().unwrap()).collect();
    let unused = "- box (of the configuration): not used";
    assert_eq!(
        starts,
        ["- box (stdio): connected to scripted 1.0", "- more (stdio): connected to scripted 1.0", unused]
    );
    client.acp.end();
}

#[test]
fn secrets_of_servers_and_providers_are_in_no_file() {
    let world = World::new();
    let (log, trace) = (world.path("log"), world.path("trace"));
    let files = [
        ("REJOIN_LOG", "trace"),
        ("REJOIN_LOG_FILE", log.to_str().unwrap()),
        ("REJOIN_TRACE", trace.to_str().unwrap()),
    ];
    let provider = [
        ("REJOIN_MODEL", "openai/alpha"),
        ("OPENAI_API_KEY", "sk-marble"),
        ("OPENAI_BASE_URL", "http://me:marble@127.0.0.1:1/v1?token=marble"),
    ];
    let mut client = Client::start_with(&world, &[files.as_slice(), &provider].concat());
    let remote = |kind: &str| {
        let url = "http://me:marble@127.0.0.1:1/mcp?key=marble";
        json!({ "type": kind, "name": kind, "url": url, "headers": [{ "name": "X-Key", "value": "marble" }] })
    };
    let servers = json!([server("box", &[]), server("dying", &["exit"]), remote("http"), remote("sse")]);
    let session = client.new_session(&world, &servers);
    client.prompt(&session, "/mcp");
    client.prompt(&session, "/call box.refuse");
    let error = client.ask("session/prompt", &prompt(&session, "hello")).unwrap_err();
    client.acp.end();

    assert!(error.to_string().contains("can't be reached at 127.0.0.1:1"), "{error}");
    let mut folders = vec![world.path("")];
    let mut n_files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            n_files += 1;
            let bytes = std::fs::read(&path).unwrap();
            let at = bytes.windows(6).position(|window| window == b"marble");
            let around = at.map(|at| String::from_utf8_lossy(&bytes[at.saturating_sub(200)..at + 6]).into_owned());
            assert_eq!(around, None, "{}", path.display());
        }
    }
    assert!(n_files >= 3, "store, log and trace: {n_files}");
}
