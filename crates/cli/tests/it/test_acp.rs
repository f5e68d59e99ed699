//! `rejoin acp`, with a client that does not read.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Transcript, World};

const ID: &str = "00000000000000000000000000000001";

/// How many bytes the history has at least.
const HISTORY: usize = 100 * 1024 * 1024;

/// How much more memory a client may cost that does not read.
const ROOM: u64 = 16 * 1024 * 1024;

#[test]
fn a_client_that_does_not_read_costs_little_memory_and_gets_everything_when_it_does() {
    let world = World::new();
    import_long_session(&world);
    let mut acp = Acp::start(&world);
    acp.send(1, "initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    acp.answer_to(1);
    let before = acp.peak_memory();

    acp.send(2, "session/load", &json!({ "sessionId": ID, "cwd": world.path("home"), "mcpServers": [] }));
    acp.wait_until_stalled();
    let stalled = acp.peak_memory();
    let (answer, n_bytes) = acp.answer_to(2);
    let read = acp.peak_memory();

    assert!(stalled < before + ROOM && read < before + ROOM, "{before} bytes, {stalled} stalled, {read} when read");
    assert!(answer["result"].is_object() && n_bytes > HISTORY, "{n_bytes} bytes, then {answer}");
}

/// A session of a hundred turns with a megabyte of text in each.
fn import_long_session(world: &World) {
    let (n_turns, text) = (100, noise(64 * 1024));
    let mut transcript = Transcript::new(ID).in_folder(&world.path("home"));
    for turn in 0..n_turns {
        transcript = transcript.prompt(&format!("part {turn}"));
        for _ in 0..=HISTORY / n_turns / text.len() {
            transcript = transcript.say(&text);
        }
        transcript = transcript.end_well();
    }
    transcript.import(world);
}

/// Text that is like no other.
fn noise(len: usize) -> String {
    let mut seed = 1_u64;
    let letter = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from(seed >> 58).unwrap())
    };
    (0..len).map(letter).collect()
}

/// The program, with an agent that can't be started.
struct Acp {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Acp {
    fn start(world: &World) -> Self {
        let mut command = world.command(&["acp", "--", "/does/not/exist"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    fn send(&mut self, id: u64, method: &str, params: &Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.stdin, "{request}").unwrap();
    }

    /// The answer to the request `id`, and how many bytes came before it.
    fn answer_to(&mut self, id: u64) -> (Value, usize) {
        let (mut n_bytes, mut line) = (0, String::new());
        loop {
            line.clear();
            assert_ne!(self.stdout.read_line(&mut line).unwrap(), 0, "the output ended");
            if line.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)) {
                return (serde_json::from_str(&line).unwrap(), n_bytes);
            }
            n_bytes += line.len();
        }
    }

    /// Waits until the program does nothing any more: it has read no more of the store for a while.
    fn wait_until_stalled(&self) {
        let (mut last, mut still) = (0, 0);
        while still < 10 {
            // The only sign of a program that waits is that nothing happens.
            thread::sleep(Duration::from_millis(50));
            let now = self.number_in("io", "rchar:") + self.number_in("io", "wchar:");
            still = if now == last { still + 1 } else { 0 };
            last = now;
        }
    }

    /// The most memory that the program has had, in bytes.
    fn peak_memory(&self) -> u64 {
        self.number_in("status", "VmHWM:") * 1024
    }

    fn number_in(&self, file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}

impl Drop for Acp {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
