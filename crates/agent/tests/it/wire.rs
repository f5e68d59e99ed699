//! A provider of models on this machine: it answers requests in order with what a test has written, byte for byte.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Whatever does not come within this time does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// How far the pieces of a slow answer are apart.
const DRIP: Duration = Duration::from_millis(20);

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The method and the path, with its query.
    pub(crate) line: String,
    /// The headers' lines, in lower case.
    pub(crate) headers: String,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    /// 0 for none.
    status: u16,
    headers: String,
    pieces: Vec<Vec<u8>>,
    end: End,
}

/// What happens to the connection behind the pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// The body is complete.
    Whole,
    /// The body breaks off.
    Cut,
    /// Nothing more comes, until the other side goes.
    Silence,
    /// This comes again and again, until the other side goes.
    Endless(Vec<u8>),
    /// The same, slowly.
    Drip(Vec<u8>),
}

impl Reply {
    /// An error.
    pub(crate) fn error(status: u16, body: &Value) -> Self {
        Self { status, headers: json_type(), pieces: vec![body.to_string().into()], end: End::Whole }
    }

    fn events(pieces: Vec<String>) -> Self {
        let pieces = pieces.into_iter().map(String::into_bytes).collect();
        let headers = "content-type: text/event-stream\r\n".to_owned();
        Self { status: 200, headers, pieces, end: End::Whole }
    }

    /// Something else than events, with the status of success.
    pub(crate) fn page(kind: &str, body: &str) -> Self {
        let headers = format!("content-type: {kind}\r\n");
        Self { status: 200, headers, pieces: vec![body.into()], end: End::Whole }
    }

    /// Events, byte for byte.
    pub(crate) fn bytes(body: &[u8]) -> Self {
        Self { pieces: vec![body.to_vec()], ..Self::events(Vec::new()) }
    }

    /// Not even a status.
    pub(crate) fn nothing() -> Self {
        Self { status: 0, headers: String::new(), pieces: Vec::new(), end: End::Silence }
    }

    /// Chat completions: these chunks, and the mark of the end.
    pub(crate) fn openai(chunks: &[Value]) -> Self {
        let done = "data: [DONE]\n\n".to_owned();
        Self::events(chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).chain([done]).collect())
    }

    /// Messages: these events.
    pub(crate) fn anthropic(events: &[Value]) -> Self {
        let event = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
        Self::events(events.iter().map(event).collect())
    }

    /// Generated content: these chunks.
    pub(crate) fn gemini(chunks: &[Value]) -> Self {
        Self::events(chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect())
    }

    pub(crate) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn header(mut self, line: &str) -> Self {
        self.headers.extend([line, "\r\n"]);
        self
    }

    /// The `n`th piece is an event without its name.
    pub(crate) fn without_name(mut self, n: usize) -> Self {
        let name_ends = self.pieces[n].iter().position(|byte| *byte == b'\n').unwrap();
        self.pieces[n].drain(..=name_ends);
        self
    }

    /// Only the first `n` pieces come, and the connection breaks off.
    pub(crate) fn cut_after(mut self, n: usize) -> Self {
        self.pieces.truncate(n);
        self.end = End::Cut;
        self
    }

    /// Only the first `n` pieces come, and that is all.
    pub(crate) fn first(mut self, n: usize) -> Self {
        self.pieces.truncate(n);
        self
    }

    /// After the pieces comes `more`, without end.
    pub(crate) fn then_endless(mut self, more: impl Into<Vec<u8>>) -> Self {
        self.end = End::Endless(more.into());
        self
    }

    /// After the pieces comes `more`, without end and slowly.
    pub(crate) fn then_drip(mut self, more: impl Into<Vec<u8>>) -> Self {
        self.end = End::Drip(more.into());
        self
    }

    /// Only the first `n` pieces come, and then nothing.
    pub(crate) fn silent_after(mut self, n: usize) -> Self {
        self.pieces.truncate(n);
        self.end = End::Silence;
        self
    }
}

/// One chunk of chat completions.
pub(crate) fn chunk(delta: &Value, finish: Option<&str>) -> Value {
    json!({ "id": "c", "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] })
}

/// The answer `text` of chat completions, of which so many tokens were the prompt's.
pub(crate) fn says_with(text: &str, prompt_tokens: u64) -> Reply {
    let usage = json!({ "prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5 });
    let usage = json!({ "id": "c", "choices": [], "usage": usage });
    Reply::openai(&[
        chunk(&json!({ "role": "assistant", "content": text }), None),
        chunk(&json!({}), Some("stop")),
        usage,
    ])
}

/// The answer `text` of chat completions.
pub(crate) fn says(text: &str) -> Reply {
    says_with(text, 10)
}

/// An answer of chat completions that calls `name` with `arguments`.
pub(crate) fn calls(id: &str, name: &str, arguments: &str) -> Reply {
    let call =
        json!({ "index": 0, "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
    Reply::openai(&[chunk(&json!({ "tool_calls": [call] }), None), chunk(&json!({}), Some("tool_calls"))])
}

/// A provider.
pub(crate) struct Wire {
    /// Where it is.
    pub(crate) url: String,
    models: Arc<Mutex<Reply>>,
    asked: watch::Receiver<Vec<Asked>>,
    left: watch::Receiver<usize>,
}

impl Wire {
    /// A provider that answers with `replies`, one after the other.
    pub(crate) async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answers = Arc::new(Mutex::new(VecDeque::from(replies)));
        let models = Reply::page("application/json", r#"{ "data": [{ "id": "alpha" }, { "id": "beta" }] }"#);
        let models = Arc::new(Mutex::new(models));
        let ((asked_to, asked), (left_to, left)) = (watch::channel(Vec::new()), watch::channel(0));
        let listed = Arc::clone(&models);
        tokio::spawn(async move {
            let (asked_to, left_to) = (Arc::new(asked_to), Arc::new(left_to));
            while let Ok((stream, _)) = listener.accept().await {
                let (answers, listed) = (Arc::clone(&answers), Arc::clone(&listed));
                let (asked_to, left_to) = (Arc::clone(&asked_to), Arc::clone(&left_to));
                tokio::spawn(async move { serve(stream, &answers, &listed, &asked_to, &left_to).await });
            }
        });
        Self { url, models, asked, left }
    }

    /// Lists these models.
    pub(crate) fn list(&self, models: &Value) {
        self.list_with(Reply::page("application/json", &models.to_string()));
    }

    /// Answers with this when it is asked for its models.
    pub(crate) fn list_with(&self, reply: Reply) {
        *self.models.lock().unwrap() = reply;
    }

    /// What models were asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.borrow().clone()
    }

    /// Waits until models were asked `n` times.
    pub(crate) async fn until_asked(&self, n: usize) {
        let mut asked = self.asked.clone();
        tokio::time::timeout(PATIENCE, asked.wait_for(|asked| asked.len() >= n)).await.unwrap().unwrap();
    }

    /// The body of the last request.
    pub(crate) fn last(&self) -> Value {
        self.asked.borrow().last().unwrap().body.clone()
    }

    /// Waits until the other side has left an answer that is not over.
    pub(crate) async fn until_left(&self) {
        let mut left = self.left.clone();
        tokio::time::timeout(PATIENCE, left.wait_for(|left| *left > 0)).await.unwrap().unwrap();
    }
}

async fn serve(
    mut stream: TcpStream,
    replies: &Mutex<VecDeque<Reply>>,
    models: &Mutex<Reply>,
    asked: &watch::Sender<Vec<Asked>>,
    left: &watch::Sender<usize>,
) {
    let Some(request) = read(&mut stream).await else { return };
    let reply = if request.line.starts_with("GET") {
        models.lock().unwrap().clone()
    } else {
        let reply = replies.lock().unwrap().pop_front();
        asked.send_modify(|asked| asked.push(request));
        reply.unwrap_or_else(|| Reply::error(418, &json!({ "error": { "message": "the test has no answer to this" } })))
    };
    let Reply { status, headers, pieces, end } = reply;
    let head = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\ntransfer-encoding: chunked\r\n{headers}\r\n");
    if status > 0 {
        let _ = stream.write_all(head.as_bytes()).await;
    }
    for piece in pieces {
        let _ = write_chunk(&mut stream, &piece).await;
    }
    match end {
        End::Whole => drop(stream.write_all(b"0\r\n\r\n").await),
        End::Cut => {}
        End::Silence => {
            while !matches!(stream.read(&mut [0; 64]).await, Ok(0) | Err(_)) {}
            left.send_modify(|left| *left += 1);
        }
        End::Endless(more) => {
            while write_chunk(&mut stream, &more).await.is_ok() {}
            left.send_modify(|left| *left += 1);
        }
        End::Drip(more) => {
            while write_chunk(&mut stream, &more).await.is_ok() {
                tokio::time::sleep(DRIP).await;
            }
            left.send_modify(|left| *left += 1);
        }
    }
}

async fn write_chunk(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
    stream.write_all(piece).await?;
    stream.write_all(b"\r\n").await
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_len].to_vec()).unwrap();
    let (line, headers) = head.split_once("\r\n").unwrap();
    let headers = headers.to_lowercase();
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head_len + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[head_len..]).unwrap_or(Value::Null);
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    Some(Asked { line, headers, body, at: Instant::now() })
}

fn json_type() -> String {
    "content-type: application/json\r\n".to_owned()
}
