//! The built-in agent with llama.cpp's server and a model that is made for this; see `peers/README.md`.
//!
//! Only where `REJOIN_MODEL_SERVER` is set. The model answers "." with four words, "!" without an end, and "?" with a call.

use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rejoin_testing::Peers;
use serde_json::{Value, json};

use crate::test_built_in::{Client, prompt};
use crate::world::World;

/// The key that the server wants.
const KEY: &str = "sk-heron";

/// What does not come within this time does not come: the model would go on for minutes.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn an_answer_of_a_model_server_is_streamed_word_by_word() {
    let Some(server) = ModelServer::start() else { return };
    let (mut client, session) = server.session();

    client.call("session/prompt", &prompt(&session, "Count to four."));

    assert_eq!(client.said(0), ["one", " two", " three", " four"]);
    let usage = client.updates.iter().find(|update| update["sessionUpdate"] == "usage_update").unwrap();
    assert_eq!((usage["used"].as_u64().unwrap() > 100, &usage["size"]), (true, &json!(65536)));
    client.acp.end();
}

#[test]
fn a_tool_that_a_model_of_a_model_server_calls_is_called() {
    let Some(server) = ModelServer::start() else { return };
    let (mut client, session) = server.session();
    server.world.write("home/heron.txt", "grey");

    assert_eq!(client.prompt(&session, "What is here?"), "done");

    assert_eq!(client.last_of_call("status"), Some(&json!("completed")));
    assert!(client.last_of_call("rawOutput").unwrap().as_str().unwrap().contains("heron.txt"));
    client.acp.end();
}

#[test]
fn a_cancel_ends_the_work_of_a_model_server_and_the_session_goes_on() {
    let Some(server) = ModelServer::start() else { return };
    let (mut client, session) = server.session();
    client.send("session/prompt", &prompt(&session, "On and on!"));
    while client.said(0).len() < 3 {
        assert_eq!(client.next(), None);
    }
    assert!(server.is_busy());

    client.acp.notify("session/cancel", &json!({ "sessionId": session }));

    let answer = std::iter::from_fn(|| Some(client.next())).flatten().next().unwrap();
    assert_eq!(answer.unwrap()["stopReason"], "cancelled");
    let begun = Instant::now();
    while server.is_busy() {
        assert!(begun.elapsed() < PATIENCE, "the server goes on");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(client.prompt(&session, "Count to four."), "one two three four");
    client.acp.end();
}

#[test]
fn a_key_that_a_model_server_refuses_is_named() {
    let Some(server) = ModelServer::start() else { return };
    let mut client = server.client("sk-other");
    let session = client.new_session(&server.world, &json!([]));

    let error = client.ask("session/prompt", &prompt(&session, "Count to four.")).unwrap_err();

    let text = error["message"].as_str().unwrap();
    assert_eq!(error["code"], -32000, "{text}");
    assert!(
        text.contains("OPENAI_API_KEY") && text.contains("Invalid API Key") && !text.contains("sk-other"),
        "{text}"
    );
    client.acp.end();
}

/// A server that runs until this is dropped.
struct ModelServer {
    world: World,
    process: Child,
    input: Option<ChildStdin>,
    /// Host and port.
    address: String,
}

impl ModelServer {
    /// Starts it where it is asked for, else says how to.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
    fn start() -> Option<Self> {
        if env::var_os("REJOIN_MODEL_SERVER").is_none() {
            eprintln!("skipped: to run it, ./setup --model-server and set REJOIN_MODEL_SERVER=1");
            return None;
        }
        let peers = Peers::folder();
        let python = peers.path(".model-server/bin/python");
        assert!(python.exists(), "the model server is not installed: ./setup --model-server");
        let world = World::new();
        let mut command = Command::new(python);
        command.arg(peers.path("model_server.py")).arg(world.path("")).arg(KEY);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let input = process.stdin.take();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Some(Self { world, process, input, address })
    }

    /// The built-in agent, which knows the server and has this key.
    fn client(&self, key: &str) -> Client {
        let url = format!("http://{}/v1", self.address);
        let env = [("REJOIN_MODEL", "openai/chain"), ("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", key)];
        Client::start_with(&self.world, &env)
    }

    /// The same with the right key and a session.
    fn session(&self) -> (Client, String) {
        let mut client = self.client(KEY);
        let session = client.new_session(&self.world, &json!([]));
        (client, session)
    }

    /// Whether it works on an answer.
    fn is_busy(&self) -> bool {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("GET /slots HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {KEY}", self.address);
        write!(stream, "{head}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let slots: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        slots.as_array().unwrap().iter().any(|slot| slot["is_processing"] == true)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.input.take());
        self.process.wait().unwrap();
    }
}
