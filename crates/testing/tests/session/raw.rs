//! A client that sends lines as they are, and reads lines.

use std::sync::Arc;
use std::time::Duration;

use rejoin::{SessionLayer, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

pub(crate) struct RawClient {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl RawClient {
    /// Connects to `layer`, and says nothing yet.
    pub(crate) fn connect(layer: &Arc<SessionLayer>) -> Self {
        // Whoever sends a batch before it reads must not be blocked.
        Self::connect_with_room(layer, 16 * 1024 * 1024)
    }

    /// The same, with `room` bytes in each direction between the two.
    pub(crate) fn connect_with_room(layer: &Arc<SessionLayer>, room: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(room);
        let (reader, writer) = tokio::io::split(theirs);
        let layer = Arc::clone(layer);
        tokio::spawn(async move { layer.attach(Transport::new(reader, writer)).await });
        let (reader, writer) = tokio::io::split(ours);
        Self { lines: BufReader::new(reader).lines(), writer }
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn initialize(&mut self) {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.request(json!("initialize"), "initialize", &params).await;
        self.answer_to(&json!("initialize")).await;
    }

    pub(crate) async fn request(&mut self, id: Value, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_line().await).unwrap()
    }

    /// The next line.
    pub(crate) async fn next_line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(60), self.lines.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("nothing came")).unwrap();
        line.unwrap_or_else(|| panic!("the connection ended"))
    }

    /// Sends nothing more, and gives all lines until the layer sends nothing more either.
    pub(crate) async fn end_input(mut self) -> Vec<String> {
        self.writer.shutdown().await.unwrap();
        let mut lines = Vec::new();
        while let Some(line) =
            tokio::time::timeout(Duration::from_secs(60), self.lines.next_line()).await.unwrap().unwrap()
        {
            lines.push(line);
        }
        lines
    }

    /// The answer to the request `id`; what comes before it is dropped.
    pub(crate) async fn answer_to(&mut self, id: &Value) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == *id && message.get("method").is_none() {
                return message;
            }
        }
    }
}
