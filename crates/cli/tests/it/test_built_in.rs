//! `rejoin acp` with no command: the built-in agent, without a model and without a key.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::acp::Acp;
use crate::world::World;

/// A client of the built-in agent.
struct Client {
    acp: Acp,
    next_id: u64,
    updates: Vec<Value>,
    /// The option that permissions are answered with, and how many were asked for.
    answer: &'static str,
    asked: usize,
}

impl Client {
    fn start(world: &World) -> Self {
        let mut client =
            Self { acp: Acp::start(world, &[]), next_id: 1, updates: Vec::new(), answer: "allow", asked: 0 };
        let capabilities = json!({ "session": { "notices": {} } });
        client.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": capabilities }));
        client
    }

    /// Asks, and gives the result.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        self.acp.send(self.next_id, method, params);
        loop {
            let mut message = self.acp.next().unwrap();
            match message["method"].as_str() {
                Some("session/update") => self.updates.push(message["params"]["update"].take()),
                Some("session/request_permission") => {
                    self.asked += 1;
                    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": self.answer } });
                    self.acp.respond(&message["id"], &outcome);
                }
                method => {
                    assert!(method.is_none() && message["error"].is_null(), "{message}");
                    return message["result"].take();
                }
            }
        }
    }

    fn new_session(&mut self, world: &World, mcp_servers: &Value) -> String {
        let made = self.call("session/new", &json!({ "cwd": world.path("home"), "mcpServers": mcp_servers }));
        made["sessionId"].as_str().unwrap().to_owned()
    }

    /// What the agent says to `text`.
    fn prompt(&mut self, session: &str, text: &str) -> String {
        let (blocks, before) = (json!([{ "type": "text", "text": text }]), self.updates.len());
        let answer = self.call("session/prompt", &json!({ "sessionId": session, "prompt": blocks }));
        assert_eq!(answer["stopReason"], "end_turn");
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
    fn last_of_call(&self, member: &str) -> Option<&Value> {
        self.updates.iter().rev().find_map(|update| update["toolCallId"].is_string().then(|| update.get(member))?)
    }

    fn commands(&self) -> Vec<String> {
        let told = self.updates.iter().rev().find_map(|update| update["availableCommands"].as_array());
        told.into_iter().flatten().map(|command| command["name"].as_str().unwrap().to_owned()).collect()
    }
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
