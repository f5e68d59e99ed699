//! The program `rejoin acp`, and a client that speaks with it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

/// The program `rejoin acp`.
pub(crate) struct Acp {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Acp {
    /// Starts it with the agent that `agent` starts; with our own if it is empty.
    pub(crate) fn start(world: &World, agent: &[&str]) -> Self {
        Self::of(world.command(&[&["acp", "--"], agent].concat()))
    }

    /// Starts `command`, which is it.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, id: u64, method: &str, params: &Value) {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(self.stdin, "{request}").unwrap();
    }

    /// Tells it something.
    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        let notification = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        writeln!(self.stdin, "{notification}").unwrap();
    }

    /// Answers the program's own request `id`.
    pub(crate) fn respond(&mut self, id: &Value, result: &Value) {
        let response = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        writeln!(self.stdin, "{response}").unwrap();
    }

    /// The next message; nothing at the end of the output.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        // A line that was cut off is none that a client has seen.
        line.ends_with('\n').then(|| serde_json::from_str(&line).unwrap())
    }

    /// The answer to the request `id`, and how many bytes came before it.
    pub(crate) fn answer_to(&mut self, id: u64) -> (Value, usize) {
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

    /// Kills the program itself, at once.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends its input, and waits until it has ended.
    pub(crate) fn end(self) {
        let Self { mut child, stdin, stdout } = self;
        drop((stdin, stdout));
        child.wait().unwrap();
    }

    /// Waits until the program does nothing any more: it has had no time on a processor for a while.
    pub(crate) fn wait_until_stalled(&self) {
        let (mut last, mut still) = (Vec::new(), 0);
        while still < 10 {
            // The only sign of a program that waits is that nothing happens.
            thread::sleep(Duration::from_millis(50));
            let now = self.processor_ticks();
            still = if now == last { still + 1 } else { 0 };
            last = now;
        }
    }

    /// The most memory that the program has had, in bytes.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.number_in("status", "VmHWM:") * 1024
    }

    /// The ticks that its threads have run, in the program and in the kernel.
    fn processor_ticks(&self) -> Vec<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
        fields.skip(11).take(2).map(str::to_owned).collect()
    }

    fn number_in(&self, file: &str, name: &str) -> u64 {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }
}
