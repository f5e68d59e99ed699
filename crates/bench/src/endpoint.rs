//! An endpoint of models that has no model: it answers each request at once with the same words, streamed as chat completions
//! are. It remembers the last request, so that the same can be sent again without anything in between.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;

/// What is said, a chunk for each.
const WORDS: [&str; 4] = ["There", " is", " no", " model."];

/// What ends an answer on the wire.
const LAST_CHUNK: &str = "0\r\n\r\n";

/// The endpoint. It is there until the program ends.
pub(crate) struct Endpoint {
    address: SocketAddr,
    last: Arc<Mutex<Vec<u8>>>,
}

impl Endpoint {
    /// Begins to listen on this machine.
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let (address, last) = (listener.local_addr()?, Arc::default());
        let remembered = Arc::clone(&last);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let remembered = Arc::clone(&remembered);
                // A client that goes ends its own connection, and nothing else.
                thread::spawn(move || drop(serve(client, &remembered)));
            }
        });
        Ok(Self { address, last })
    }

    /// Where it is, for those who ask models.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// A connection that [`Endpoint::ask_again`] can use over and over, as clients with a pool of connections do.
    pub(crate) fn connect(&self) -> Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }

    /// Sends the last request once more, byte for byte, and says how long it took until the first words were there.
    pub(crate) fn ask_again(&self, connection: &mut BufReader<TcpStream>) -> Result<Duration> {
        let request = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let begun = Instant::now();
        connection.get_mut().write_all(&request)?;
        let (mut line, mut first_words) = (String::new(), None);
        loop {
            line.clear();
            if connection.read_line(&mut line)? == 0 {
                return Err("the endpoint went away".into());
            }
            if first_words.is_none() && has_words(&line)? {
                first_words = Some(begun.elapsed());
            }
            if line == "0\r\n" {
                connection.read_line(&mut line)?;
                return first_words.ok_or_else(|| "the endpoint said nothing".into());
            }
        }
    }
}

/// Whether `line` of an answer holds something that is said.
fn has_words(line: &str) -> Result<bool> {
    let Some(data) = line.strip_prefix("data: ").filter(|data| data.starts_with('{')) else { return Ok(false) };
    let chunk: Value = serde_json::from_str(data)?;
    Ok(chunk["choices"][0]["delta"]["content"].is_string())
}

/// Answers the requests of one client, one after the other.
fn serve(client: TcpStream, last: &Mutex<Vec<u8>>) -> Result<()> {
    client.set_nodelay(true)?;
    let mut client = BufReader::new(client);
    while let Some(request) = read_request(&mut client)? {
        if request.starts_with(b"POST ") {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = request;
            answer(client.get_mut())?;
        } else {
            let models = json!({ "object": "list", "data": [{ "id": "stub", "object": "model" }] }).to_string();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}", models.len());
            client.get_mut().write_all(format!("{head}\r\n\r\n{models}").as_bytes())?;
        }
    }
    Ok(())
}

/// A request as it came; nothing if the client has none any more.
fn read_request(client: &mut BufReader<TcpStream>) -> Result<Option<Vec<u8>>> {
    let (mut request, mut length) = (Vec::new(), 0);
    loop {
        let begin = request.len();
        if client.read_until(b'\n', &mut request)? == 0 {
            return Ok(None);
        }
        let line = std::str::from_utf8(&request[begin..])?.trim().to_lowercase();
        if let Some(number) = line.strip_prefix("content-length:") {
            length = number.trim().parse()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let head = request.len();
    request.resize(head + length, 0);
    client.read_exact(&mut request[head..])?;
    Ok(Some(request))
}

/// Each chunk is a write of its own, as with a model that takes its time.
fn answer(client: &mut TcpStream) -> Result<()> {
    client.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")?;
    let chunk = |choices: Value| json!({ "id": "stub", "object": "chat.completion.chunk", "choices": choices });
    let choice = |delta: Value, finish: Option<&str>| json!([{ "index": 0, "delta": delta, "finish_reason": finish }]);
    let mut chunks: Vec<Value> = WORDS.map(|word| chunk(choice(json!({ "content": word }), None))).to_vec();
    chunks.push(chunk(choice(json!({}), Some("stop"))));
    for data in chunks.iter().map(Value::to_string).chain(["[DONE]".to_owned()]) {
        let event = format!("data: {data}\n\n");
        client.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())?;
    }
    Ok(client.write_all(LAST_CHUNK.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_and_can_be_sent_again() {
        let endpoint = Endpoint::start().unwrap();
        let mut client = endpoint.connect().unwrap();
        let request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
        client.get_mut().write_all(request).unwrap();
        let mut line = String::new();
        while line != "0\r\n" {
            line.clear();
            client.read_line(&mut line).unwrap();
        }
        client.read_line(&mut line).unwrap();

        endpoint.ask_again(&mut client).unwrap();

        assert_eq!(*endpoint.last.lock().unwrap(), request);
    }
}
