//! The scripted server over HTTP: streamable at `/mcp`, with server-sent events at `/sse`. Each connection has a
//! thread and is for one request, so that none is left when the server is started again.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::script::Script;

/// A server that runs until it is stopped or dropped.
pub(crate) struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Condvar,
    faults: Faults,
}

/// What is wrong with the server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults {
    /// A header that requests must carry.
    pub(crate) header: Option<(&'static str, &'static str)>,
    /// A status line with headers, in place of every answer; and a body.
    pub(crate) refusal: Option<(&'static str, &'static str)>,
    /// The address for messages, in place of its own.
    pub(crate) endpoint: Option<&'static str>,
}

#[derive(Default)]
struct Inner {
    script: Script,
    outbox: Vec<Value>,
    sessions: HashSet<String>,
    n_sessions: usize,
    n_streams: usize,
    connections: Vec<TcpStream>,
    is_stopped: bool,
}

struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Value,
}

impl HttpServer {
    pub(crate) fn start(faults: Faults) -> Self {
        Self::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), faults)
    }

    /// The same server, started again at the same address: it knows none of its sessions.
    pub(crate) fn restart(self) -> Self {
        let (address, faults) = (self.address, self.shared.faults.clone());
        drop(self);
        Self::at(address, faults)
    }

    fn at(address: SocketAddr, faults: Faults) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { faults, ..Shared::default() });
        let serving = Arc::clone(&shared);
        let listener = thread::spawn(move || {
            for connection in listener.incoming() {
                let connection = connection.unwrap();
                let mut inner = serving.inner.lock().unwrap();
                if inner.is_stopped {
                    return;
                }
                inner.connections.push(connection.try_clone().unwrap());
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(connection));
            }
        });
        Self { address, shared, listener: Some(listener) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Forgets all sessions, as a server does that was started again.
    pub(crate) fn forget_sessions(&self) {
        self.shared.inner.lock().unwrap().sessions.clear();
    }

    /// Waits until the server has heard a call of `slow`, and dies.
    pub(crate) fn die_in_call(self) {
        let mut inner = self.shared.inner.lock().unwrap();
        while !inner.outbox.contains(&Value::from("slow")) {
            inner = self.shared.changed.wait(inner).unwrap();
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let mut inner = self.shared.inner.lock().unwrap();
        inner.is_stopped = true;
        for connection in inner.connections.drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(inner);
        self.shared.changed.notify_all();
        // Wakes the listener, which then ends.
        drop(TcpStream::connect(self.address));
        self.listener.take().unwrap().join().unwrap();
    }
}

impl Shared {
    fn serve(&self, connection: TcpStream) {
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let mut writer = connection;
        if let Some(request) = read(&mut reader) {
            // Who asked may be gone.
            let _ = self.answer(&request, &mut writer);
            let _ = writer.shutdown(Shutdown::Both);
        }
    }

    fn answer(&self, request: &Request, writer: &mut TcpStream) -> std::io::Result<()> {
        if let Some((status, body)) = self.faults.refusal {
            return write!(
                writer,
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
        }
        if let Some((name, value)) = self.faults.header
            && request.header(name) != Some(value)
        {
            return write!(writer, "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/sse") => self.stream(writer),
            ("POST", "/messages") => {
                self.hear(&request.body);
                write!(writer, "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            }
            ("POST", "/mcp") => self.post(request, writer),
            ("DELETE", "/mcp") => write!(writer, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
            ("GET", "/mcp") => {
                write!(writer, "HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            }
            _ => write!(writer, "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
        }
    }

    fn hear(&self, message: &Value) {
        let mut inner = self.inner.lock().unwrap();
        let answers = inner.script.hear(message);
        inner.outbox.extend(answers);
        if message["params"]["name"] == "slow" {
            inner.outbox.push("slow".into());
        }
        drop(inner);
        self.changed.notify_all();
    }

    /// The stream of legacy servers.
    fn stream(&self, writer: &mut TcpStream) -> std::io::Result<()> {
        write!(writer, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")?;
        write!(writer, ": hello\n\nevent: endpoint\ndata: {}\n\n", self.faults.endpoint.unwrap_or("/messages"))?;
        let mut inner = self.inner.lock().unwrap();
        inner.n_streams += 1;
        let number = inner.n_streams;
        self.changed.notify_all();
        // A client that comes again has left its former stream.
        while !inner.is_stopped && inner.n_streams == number {
            for message in inner.outbox.extract_if(.., |message| message.is_object()) {
                write!(writer, "event: message\ndata: {message}\n\n")?;
            }
            inner = self.changed.wait(inner).unwrap();
        }
        Ok(())
    }

    /// Answers a call with a stream of events, and everything else with JSON.
    fn post(&self, request: &Request, writer: &mut TcpStream) -> std::io::Result<()> {
        let accept = request.header("accept").unwrap();
        assert!(accept.contains("application/json") && accept.contains("text/event-stream"), "{accept}");
        let message = &request.body;
        let mut session = request.header("mcp-session-id").unwrap_or_default().to_owned();
        {
            let mut inner = self.inner.lock().unwrap();
            if message["method"] == "initialize" {
                inner.n_sessions += 1;
                session = format!("session-{}", inner.n_sessions);
                inner.sessions.insert(session.clone());
            } else if !inner.sessions.contains(&session) {
                let body = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no valid session"}}"#;
                let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json";
                return write!(writer, "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            } else {
                assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
            }
        }
        self.hear(message);
        if message["id"].is_null() || message["method"].is_null() {
            return write!(writer, "HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        let is_call = message["method"] == "tools/call";
        let id = &message["id"];
        if is_call {
            write!(writer, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")?;
        }
        let mut inner = self.inner.lock().unwrap();
        while !inner.is_stopped {
            let is_mine = |message: &mut Value| message["id"] == *id || (is_call && message["method"].is_string());
            let mine: Vec<_> = inner.outbox.extract_if(.., is_mine).collect();
            let is_done = mine.iter().any(|message| message["id"] == *id);
            if !is_call && is_done {
                let (head, body) = ("HTTP/1.1 200 OK\r\nContent-Type: application/json", mine[0].to_string());
                let length = body.len();
                return write!(
                    writer,
                    "{head}\r\nMcp-Session-Id: {session}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
            for message in mine {
                write!(writer, "data: {message}\n\n")?;
            }
            if is_done {
                return Ok(());
            }
            inner = self.changed.wait(inner).unwrap();
        }
        Ok(())
    }
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut lines = reader.by_ref().lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let path = path.split('?').next().unwrap().to_owned();
    let mut headers = Vec::new();
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_owned(), value.to_owned()));
    }
    let mut request = Request { method, path, headers, body: Value::Null };
    if let Some(length) = request.header("content-length") {
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).ok()?;
        request.body = serde_json::from_slice(&body).unwrap_or_default();
    }
    Some(request)
}
