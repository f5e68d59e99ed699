//! A process that speaks ACP on its standard input and output, seen by a client that does as little as it can.
//!
//! Every contender is read by this one client: each line is split off and read as a message, whose larger parts stay text.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Result;
use crate::process::{anonymous_memory, cpu_time, peak_memory};

/// As many bytes are read at once, at most: as many as a pipe holds.
const READ_BYTES: usize = 64 * 1024;

/// A process that has not run for this long has nothing left to do.
const REST: Duration = Duration::from_millis(300);

/// A process has this long to end, or to come to rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process.
pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    requests: u64,
}

/// The answer to a request, and what came before it.
pub(crate) struct Answer {
    /// The result.
    pub(crate) result: String,
    /// How many updates came before it.
    pub(crate) updates: u32,
    /// How long after the request the first of them came.
    pub(crate) first_update: Duration,
    /// How long after the request it came itself.
    pub(crate) time: Duration,
}

/// A request that was sent.
struct Request {
    id: String,
    method: String,
    sent_at: Instant,
}

/// A line, as far as a client must look into it.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Peer {
    /// Starts `command`.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{} can't be started: {error}", command.get_program().display()))?;
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or("the process has no output")?);
        let output = BufReader::with_capacity(READ_BYTES, output);
        Ok(Self { child, input, output, line: Vec::new(), requests: 0 })
    }

    /// Does what every client does first.
    pub(crate) fn initialize(&mut self) -> Result<Answer> {
        let client = json!({ "name": "bench", "version": "1" });
        self.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {}, "clientInfo": client }))
    }

    /// Makes a session in the folder `cwd`, and gives its id.
    pub(crate) fn new_session(&mut self, cwd: &Path) -> Result<String> {
        let answer = self.call("session/new", &json!({ "cwd": cwd, "mcpServers": [] }))?;
        let result: Value = serde_json::from_str(&answer.result)?;
        Ok(result["sessionId"].as_str().ok_or("the answer to session/new has no session id")?.to_owned())
    }

    /// Calls `method` and reads what comes, up to the answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Result<Answer> {
        self.call_seen(method, params, |_| Ok(()))
    }

    /// The same, and shows every line to `see`, with its line break.
    pub(crate) fn call_seen(
        &mut self,
        method: &str,
        params: &Value,
        see: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<Answer> {
        let request = self.send(method, params)?;
        self.receive(&request, see)
    }

    /// The same, for a client that begins to read only when the process has nothing left to do until it does.
    pub(crate) fn call_late(&mut self, method: &str, params: &Value) -> Result<Answer> {
        let request = self.send(method, params)?;
        self.wait_for_rest()?;
        self.receive(&request, |_| Ok(()))
    }

    /// Calls `method`, whose answer must be the next line, and gives what `read` makes of that.
    pub(crate) fn call_once<T>(
        &mut self,
        method: &str,
        params: &Value,
        read: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
        self.send(method, params)?;
        self.read_line(method)?;
        read(&self.line)
    }

    fn send(&mut self, method: &str, params: &Value) -> Result<Request> {
        self.requests += 1;
        let id = self.requests.to_string();
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#) + "\n";
        let sent_at = Instant::now();
        self.input.as_mut().ok_or("the input is closed")?.write_all(line.as_bytes())?;
        Ok(Request { id, method: method.to_owned(), sent_at })
    }

    fn receive(&mut self, request: &Request, mut see: impl FnMut(&[u8]) -> Result<()>) -> Result<Answer> {
        let Request { id, method, sent_at } = request;
        let (mut updates, mut first_update) = (0, Duration::ZERO);
        loop {
            self.read_line(method)?;
            see(&self.line)?;
            let message: Message<'_> = serde_json::from_slice(&self.line)?;
            if message.id.is_some_and(|it| it.get() == id) {
                let time = sent_at.elapsed();
                let refusal = || format!("{method} was refused: {}", message.error.map_or("", RawValue::get));
                let result = message.result.ok_or_else(refusal)?.get().to_owned();
                return Ok(Answer { result, updates, first_update, time });
            }
            if message.method.as_deref() == Some("session/update") {
                if updates == 0 {
                    first_update = sent_at.elapsed();
                }
                std::hint::black_box(message.params);
                updates += 1;
            }
        }
    }

    /// Reads the next line, while `method` waits for its answer.
    fn read_line(&mut self, method: &str) -> Result<()> {
        self.line.clear();
        match self.output.read_until(b'\n', &mut self.line)? {
            0 => Err(format!("the process ended before it answered {method}").into()),
            _ => Ok(()),
        }
    }

    /// How long it has run on the processors; see [`cpu_time`].
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        cpu_time(self.child.id())
    }

    /// The most memory it has used; see [`peak_memory`].
    pub(crate) fn peak_memory(&self) -> Result<u64> {
        peak_memory(self.child.id())
    }

    /// The memory it has for itself; see [`anonymous_memory`].
    pub(crate) fn anonymous_memory(&self) -> Result<u64> {
        anonymous_memory(self.child.id())
    }

    /// Waits until it does nothing any more of its own accord.
    pub(crate) fn wait_for_rest(&self) -> Result<()> {
        let begun = Instant::now();
        let (mut ran, mut resting_since) = (self.cpu_time()?, begun);
        while resting_since.elapsed() < REST {
            if begun.elapsed() > PATIENCE {
                return Err("the process does not come to rest".into());
            }
            std::thread::sleep(REST / 10);
            let runs = self.cpu_time()?;
            if runs != ran {
                (ran, resting_since) = (runs, Instant::now());
            }
        }
        Ok(())
    }

    /// Closes its input, waits for its end, and says how long it ran on the processors in all.
    pub(crate) fn end(mut self) -> Result<Duration> {
        drop(self.input.take());
        let id = Pid::from_child(&self.child);
        let begun = Instant::now();
        // It is only looked at until its time is known, which goes when it is waited for.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(id), look)?.is_none() {
            if begun.elapsed() > PATIENCE {
                self.child.kill()?;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let time = self.cpu_time()?;
        self.child.wait()?;
        Ok(time)
    }
}
