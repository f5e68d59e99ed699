//! What stands at the other end: an agent that costs next to nothing, and a file that is written as it is.

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::texts::Texts;

/// The text of an update is about this long: a dozen words.
const TEXT_BYTES: usize = 60;

/// So many different updates are sent, over and over.
const UPDATES: usize = 100;

/// As many bytes are copied at once.
const COPY_BYTES: usize = 64 * 1024;

/// An agent that has nothing but new and prompt, and answers each prompt with the same updates.
#[derive(Debug, clap::Args)]
pub(crate) struct StubAgent {
    /// How many updates it sends in a turn.
    updates: u32,
    /// How many it sends in a second; as many as the pipe takes, if not given.
    #[arg(long)]
    rate: Option<u32>,
}

impl StubAgent {
    /// Runs until the input ends.
    pub(crate) fn run(&self) -> Result<()> {
        let mut output = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let request: Value = serde_json::from_str(&line?)?;
            let result = match request["method"].as_str() {
                Some("initialize") => json!({ "protocolVersion": 1, "agentCapabilities": {}, "authMethods": [] }),
                Some("session/new") => json!({ "sessionId": "stub" }),
                Some("session/prompt") => {
                    self.send_updates(&mut output)?;
                    json!({ "stopReason": "end_turn" })
                }
                _ => continue,
            };
            writeln!(output, "{}", json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))?;
        }
        Ok(())
    }

    /// Sends each update in a write of its own, as agents do.
    fn send_updates(&self, output: &mut impl Write) -> Result<()> {
        let mut texts = Texts::new(1);
        let lines: Vec<String> = (0..UPDATES).map(|_| update_line(&texts.text(TEXT_BYTES))).collect();
        let begun = Instant::now();
        for (number, line) in (0..self.updates).zip(lines.iter().cycle()) {
            if let Some(rate) = self.rate {
                let due = Duration::from_secs(1) * number / rate;
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
            output.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

fn update_line(text: &str) -> String {
    let content = json!({ "type": "text", "text": text });
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    let params = json!({ "sessionId": "stub", "update": update });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }).to_string() + "\n"
}

/// Answers `initialize`, and anything after it with the bytes of a file.
#[derive(Debug, clap::Args)]
pub(crate) struct CopyFile {
    file: PathBuf,
}

impl CopyFile {
    /// Runs until the input ends.
    pub(crate) fn run(&self) -> Result<()> {
        let mut output = std::io::stdout().lock();
        let mut lines = std::io::stdin().lock().lines();
        let mut bytes = vec![0; COPY_BYTES];
        if lines.next().transpose()?.is_some() {
            output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")?;
        }
        while lines.next().transpose()?.is_some() {
            let mut file = File::open(&self.file)?;
            loop {
                let count = file.read(&mut bytes)?;
                if count == 0 {
                    break;
                }
                output.write_all(&bytes[..count])?;
            }
            output.flush()?;
        }
        Ok(())
    }
}
