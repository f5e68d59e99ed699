//! A server's standard input and output, one message on a line.
//!
//! rmcp has such a transport. Ours differs in what servers do wrong: what is no message is left out without an answer, and
//! when a line was too long the calls that may wait for it are told, instead of waiting until their limit.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use rejoin_wire::{Line, LineSplitter};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdout;
use tokio::sync::Mutex;

use super::message::Messages;
use crate::Failure;

/// As much is read at once.
const CHUNK: usize = 64 * 1024;

/// The pipes to a program and from it.
pub(crate) struct Stdio {
    stdin: Stdin,
    stdout: ChildStdout,
    chunk: Box<[u8]>,
    lines: LineSplitter,
    limit: usize,
    messages: Messages,
    queue: VecDeque<ServerJsonRpcMessage>,
}

/// A program's standard input, which can be closed from outside.
#[derive(Clone)]
pub(crate) struct Stdin(Arc<Mutex<Option<rejoin_wire::Stdin>>>);

impl Stdin {
    /// Closes it, unless something is being written: then the program does not read it anyway.
    pub(crate) fn close(&self) {
        if let Ok(mut stdin) = self.0.try_lock() {
            stdin.take();
        }
    }
}

impl Stdio {
    pub(crate) fn new(stdin: rejoin_wire::Stdin, stdout: ChildStdout, limit: usize) -> (Self, Stdin) {
        let stdin = Stdin(Arc::new(Mutex::new(Some(stdin))));
        let pipes = Self {
            stdin: stdin.clone(),
            stdout,
            chunk: vec![0; CHUNK].into_boxed_slice(),
            lines: LineSplitter::new(limit),
            limit,
            messages: Messages::default(),
            queue: VecDeque::new(),
        };
        (pipes, stdin)
    }

    fn read_lines(&mut self) {
        while let Some(line) = self.lines.next_line() {
            match line {
                Line::Whole(line) => self.messages.read(line, &mut self.queue),
                Line::TooLong => self.messages.too_long(self.limit, &mut self.queue),
            }
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = Failure;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.messages.sent(&message);
        let stdin = self.stdin.clone();
        async move {
            let mut line = serde_json::to_vec(&message)
                .map_err(|error| Failure::Protocol { problem: format!("a message can't be written: {error}") })?;
            line.push(b'\n');
            let mut stdin = stdin.0.lock().await;
            let written = match stdin.as_mut() {
                Some(stdin) => write(stdin, &line).await,
                None => Err(io::ErrorKind::NotConnected.into()),
            };
            written.map_err(|_| Failure::Disconnected { problem: "it closed its input".to_owned() })
        }
    }

    /// Can be cancelled at any time: what was read is kept.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.queue.pop_front() {
                return Some(message);
            }
            let n_bytes = self.stdout.read(&mut self.chunk).await.ok().filter(|n_bytes| *n_bytes > 0)?;
            self.lines.feed(&self.chunk[..n_bytes]);
            self.read_lines();
        }
    }

    async fn close(&mut self) -> Result<(), Failure> {
        self.stdin.close();
        Ok(())
    }
}

async fn write(stdin: &mut rejoin_wire::Stdin, line: &[u8]) -> io::Result<()> {
    stdin.write_all(line).await?;
    stdin.flush().await
}
