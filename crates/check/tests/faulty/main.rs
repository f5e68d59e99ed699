//! An agent that keeps every rule but the one that it is told to break: `faulty-agent STATE [RULE]`.
//!
//! It keeps its sessions in the folder STATE. It needs no model: it remembers a word, says it again, answers slowly where
//! it is asked to, and writes a file after permission. With the rule `bare` it can do nothing beyond the least, and with
//! `terminal` it asks for what its client has not.

#![expect(clippy::unwrap_used, reason = "this agent stops at what it did not expect")]

mod agent;
mod session;
mod turn;

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::Agent;

/// The longest line that an agent takes which takes no long ones.
const SHORT: usize = 1024 * 1024;

fn main() {
    let mut words = std::env::args().skip(1);
    let state = PathBuf::from(words.next().unwrap());
    let agent = Arc::new(Agent::new(state, words.next().unwrap_or_default()));
    if agent.breaks("wire.stdout-clean") {
        agent.write_line("npm WARN this is not JSON");
    }
    if agent.breaks("wire.no-leftovers") {
        leave_behind();
    }
    if agent.breaks("wire.term-ends") {
        ignore_term();
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let message = serde_json::from_str(&line);
        let is_too_much = agent.breaks("wire.long-line") && line.len() > SHORT;
        if is_too_much || (agent.breaks("wire.garbage") && message.is_err()) {
            std::process::abort();
        }
        if let Ok(message) = message {
            agent.receive(&message);
        }
    }
    agent.end_servers(None);
    if agent.breaks("wire.eof-ends") {
        std::thread::sleep(Duration::from_secs(60));
    }
}

/// Starts a process, and does not wait for it.
#[expect(clippy::zombie_processes, reason = "this process ends before it")]
fn leave_behind() {
    let null = std::process::Stdio::null;
    std::process::Command::new("sleep").arg("60").stdin(null()).stdout(null()).stderr(null()).spawn().unwrap();
}

/// From now on nothing happens when somebody says that this process should end.
fn ignore_term() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let signal = {
        let _entered = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
    };
    let mut signal = signal.unwrap();
    std::thread::spawn(move || runtime.block_on(async { while signal.recv().await.is_some() {} }));
}
