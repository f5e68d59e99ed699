//! The bodies of HTTP answers, none longer than its limit.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use reqwest::Response;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};

use super::message::refusal_of;
use crate::Failure;

/// No JSON that is nested deeper is read.
const MOST_NESTED: usize = 100;

/// As much of a refusal is read.
const BEGINNING: usize = 64 * 1024;

/// As much of it is shown.
const SHOWN: usize = 200;

/// The events of a body. One that is longer than `limit` ends them; an answer that can't be understood becomes an error.
pub(crate) fn events(response: Response, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut size = EventSize::default();
    let chunks = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(|_| Failure::Disconnected { problem: "its stream broke off".to_owned() })?;
        if size.after(&chunk) > limit { Err(too_long(limit)) } else { Ok(chunk) }
    });
    SseStream::from_bytes_stream(chunks).map_ok(understood).boxed()
}

/// `event`, with an error in the place of an answer that can't be read. rmcp would drop it, and the call would wait for it.
fn understood(event: Sse) -> Sse {
    let is_broken = |data: &&String| serde_json::from_str::<ServerJsonRpcMessage>(data).is_err();
    // Most are read once, by rmcp: only one with so many brackets can be too deep.
    let may_be_deep = |data: &&String| data.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MOST_NESTED;
    let broken = event.data.as_ref().filter(may_be_deep).filter(is_broken);
    let refusal = broken.and_then(|data| serde_json::to_string(&refusal_of(data.as_bytes())?).ok());
    Sse { data: refusal.or(event.data), ..event }
}

/// A whole body of at most `limit` bytes.
pub(crate) async fn whole(response: Response, limit: usize) -> Result<Vec<u8>, Failure> {
    let mut chunks = response.bytes_stream();
    let mut body = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Failure::Disconnected { problem: "its answer broke off".to_owned() })?;
        if body.len() + chunk.len() > limit {
            return Err(too_long(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The beginning of a body, or as much of it as came.
pub(crate) async fn beginning(response: Response) -> Vec<u8> {
    let mut chunks = response.bytes_stream();
    let mut body = Vec::new();
    while body.len() < BEGINNING
        && let Some(Ok(chunk)) = chunks.next().await
    {
        body.extend_from_slice(&chunk);
    }
    body
}

/// The beginning of a body, for people: one line. What a program shows as a page says nothing.
pub(crate) fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') {
        return String::new();
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= SHOWN { line } else { line.chars().take(SHOWN).chain("…".chars()).collect() }
}

fn too_long(limit: usize) -> Failure {
    Failure::Protocol { problem: format!("a message of it is longer than {limit} bytes") }
}

/// Counts the bytes since the last blank line, which ends an event.
#[derive(Debug, Default)]
struct EventSize {
    n_bytes: usize,
    is_in_line: bool,
}

impl EventSize {
    fn after(&mut self, chunk: &[u8]) -> usize {
        let mut most = 0;
        for byte in chunk {
            match byte {
                b'\r' => {}
                b'\n' if self.is_in_line => self.is_in_line = false,
                b'\n' => self.n_bytes = 0,
                _ => {
                    self.is_in_line = true;
                    self.n_bytes += 1;
                    most = most.max(self.n_bytes);
                }
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_events_size_is_counted_across_chunks_and_starts_anew_after_a_blank_line() {
        let mut size = EventSize::default();
        let sizes = ["data: 1", "234\r\n", "\r\ndata", ": 1\n\n"].map(|chunk| size.after(chunk.as_bytes()));
        assert_eq!(sizes, [7, 10, 4, 7]);
    }

    #[test]
    fn what_is_shown_of_a_body_is_one_short_line_and_no_page() {
        assert_eq!(shown(b"server\n  is broken\n"), "server is broken");
        assert_eq!(shown(b" <!doctype html><p>Bad gateway"), "");
        assert_eq!(shown("é".repeat(300).as_bytes()).chars().count(), SHOWN + 1);
    }
}
