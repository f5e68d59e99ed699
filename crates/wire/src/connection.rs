//! One link to the other side: requests, notifications and answers in both directions.
//!
//! Each request of ours ends in exactly one way: with its answer, abandoned when the input ends, forgotten, or refused
//! with [`Closed`] before it was sent. No line that comes in ends the connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::lock::lock;
use crate::message::{Message, NoMessage};
use crate::reader::{CHUNK, Line, LineSplitter};
use crate::writer::Writer;
use crate::{Closed, Outcome, RawValue, RequestId, RpcError, notification_line, request_line, response_line};

/// One thing that came in.
#[derive(Debug)]
pub enum Received<T> {
    /// The other side asks for something, and waits for the answer.
    Request {
        /// What to answer to.
        id: RequestId,
        /// What is asked for.
        method: String,
        /// With what; `None` if there was nothing or null.
        params: Option<Box<RawValue>>,
    },
    /// The other side tells something.
    Notification {
        /// What it is about.
        method: String,
        /// What it says; `None` if there was nothing or null.
        params: Option<Box<RawValue>>,
    },
    /// The answer to a request of ours.
    Response {
        /// The tag that the request was sent with.
        tag: T,
        /// How it ended.
        outcome: Outcome,
    },
    /// The input ended before the answer came.
    Abandoned {
        /// The tag that the request was sent with.
        tag: T,
    },
    /// A line that is no message.
    Unreadable {
        /// The id it had, if that could be read; the answer goes to null if not.
        id: Option<RequestId>,
        /// What to answer. Never holds any part of the line.
        error: RpcError,
        /// How the line began, if it was too long: what it was about is mostly in there. Else empty.
        head: String,
    },
}

/// What becomes of a line that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidUtf8 {
    /// It is unreadable.
    Refuse,
    /// What is no text in it becomes U+FFFD.
    Repair,
}

/// The way a line goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To us.
    In,
    /// To the other side.
    Out,
}

/// Someone who looks on.
pub trait Tap: Send + Sync {
    /// Sees `line`, without its line break, when it came in or is about to be written.
    fn line(&self, direction: Direction, line: &str);
}

/// The limits of a connection.
#[derive(Clone)]
pub struct Options {
    /// A longer line, in bytes, is unreadable.
    pub line_limit: usize,
    /// What becomes of a line that is not UTF-8.
    pub invalid_utf8: InvalidUtf8,
    /// How many bytes may wait to be written before those who send have to wait.
    pub room: usize,
    /// Sees each line in both directions.
    pub tap: Option<Arc<dyn Tap>>,
}

impl Default for Options {
    fn default() -> Self {
        Self { line_limit: 64 * 1024 * 1024, invalid_utf8: InvalidUtf8::Refuse, room: 1024 * 1024, tap: None }
    }
}

/// Sends to the other side. The output is closed when the last clone is dropped and all is written.
pub struct Connection<T> {
    writer: Writer,
    open: Arc<Mutex<OpenRequests<T>>>,
}

impl<T> Clone for Connection<T> {
    fn clone(&self) -> Self {
        Self { writer: self.writer.clone(), open: Arc::clone(&self.open) }
    }
}

impl<T: Send + 'static> Connection<T> {
    /// Connects to the other side, which writes to `reader` and reads from `writer`.
    ///
    /// Must be called inside a Tokio runtime, on which a task then writes.
    pub fn open<R, W>(reader: R, writer: W, options: Options) -> (Self, Incoming<R, T>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let writer = Writer::start(writer, &options);
        let open = Arc::new(Mutex::new(OpenRequests { next_id: 1, has_ended: false, tags: BTreeMap::new() }));
        let splitter = LineSplitter::new(options.line_limit);
        let chunk = vec![0; CHUNK].into_boxed_slice();
        let incoming = Incoming { reader, splitter, chunk, open: Arc::clone(&open), options };
        (Self { writer, open }, incoming)
    }

    /// Registers a request and gives its line, which the caller sends with [`Connection::send_lines`].
    ///
    /// If the input has ended already, the tag is abandoned at the next [`Incoming::next`].
    pub fn begin(&self, method: &str, params: &str, tag: T) -> (RequestId, String) {
        let mut open = lock(&self.open);
        let number = open.take_number();
        open.tags.insert(number, tag);
        drop(open);
        let id = RequestId::from_number(number);
        let line = request_line(&id, method, params);
        (id, line)
    }

    /// Sends a request, whose answer comes as [`Received::Response`] with `tag`.
    ///
    /// If this fails, or is dropped before it ends, the request was not sent and its tag never comes.
    pub async fn request(&self, method: &str, params: &str, tag: T) -> Result<RequestId, Closed> {
        let number = lock(&self.open).take_number();
        let id = RequestId::from_number(number);
        let line = request_line(&id, method, params);
        let room = self.writer.room(line.len()).await?;
        {
            let mut open = lock(&self.open);
            if open.has_ended {
                return Err(Closed);
            }
            open.tags.insert(number, tag);
        }
        match room.write(line) {
            Ok(()) => Ok(id),
            // The input may have ended in between: then the tag has come, as abandoned.
            Err(Closed) => {
                if self.forget(&id).is_some() {
                    Err(Closed)
                } else {
                    Ok(id)
                }
            }
        }
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: &str) -> Result<(), Closed> {
        self.send_lines(notification_line(method, params)).await
    }

    /// Answers the request `id` of the other side.
    pub async fn respond(&self, id: &RequestId, outcome: Result<&str, &RpcError>) -> Result<(), Closed> {
        self.send_lines(response_line(id, outcome)).await
    }

    /// Sends one or more whole lines, each with its line break, together; waits until there is room for them.
    ///
    /// If this is dropped before it ends, nothing was sent.
    pub async fn send_lines(&self, lines: String) -> Result<(), Closed> {
        self.writer.room(lines.len()).await?.write(lines)
    }

    /// Gives back the tag of a request that was not answered yet; an answer that comes later is ignored.
    pub fn forget(&self, id: &RequestId) -> Option<T> {
        lock(&self.open).take(id)
    }

    /// Has the answer to the request `id` come with `tag`; gives the tag that it had, or nothing if it is not waited for.
    pub fn retag(&self, id: &RequestId, tag: T) -> Option<T> {
        let mut open = lock(&self.open);
        let former = open.tags.get_mut(&id.to_number()?)?;
        Some(std::mem::replace(former, tag))
    }

    /// Gives back the tags of all requests that were not answered yet, for when nobody will answer any more although
    /// the input has not ended.
    pub fn abandon(&self) -> Vec<T> {
        let mut open = lock(&self.open);
        open.has_ended = true;
        std::mem::take(&mut open.tags).into_values().collect()
    }

    /// Whether an answer is waited for.
    pub fn has_open_requests(&self) -> bool {
        !lock(&self.open).tags.is_empty()
    }

    /// Writes and flushes everything that was sent, then closes the output; what is sent later is [`Closed`].
    ///
    /// Takes as long as the other side takes to read, or to go away.
    pub async fn finish(&self) {
        self.writer.finish().await;
    }
}

/// Receives from the other side.
pub struct Incoming<R, T> {
    reader: R,
    splitter: LineSplitter,
    chunk: Box<[u8]>,
    open: Arc<Mutex<OpenRequests<T>>>,
    options: Options,
}

impl<R: AsyncRead + Unpin, T> Incoming<R, T> {
    /// Gives what comes next; `None` when the input has ended and each open request was reported as abandoned.
    ///
    /// Nothing is lost if this is dropped before it ends.
    pub async fn next(&mut self) -> Option<Received<T>> {
        loop {
            while let Some(read) = self.read(LineSplitter::next_line) {
                if let Some(received) = receive(read, &self.open) {
                    return Some(received);
                }
            }
            if lock(&self.open).has_ended {
                return lock(&self.open).take_first().map(|tag| Received::Abandoned { tag });
            }
            let n_bytes = self.reader.read(&mut self.chunk).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "reading failed, which ends the input");
                0
            });
            if n_bytes > 0 {
                self.splitter.feed(&self.chunk[..n_bytes]);
                continue;
            }
            lock(&self.open).has_ended = true;
            if let Some(received) = self.read(LineSplitter::end).and_then(|read| receive(read, &self.open)) {
                return Some(received);
            }
        }
    }

    /// Reads the line that `next` gives.
    fn read(&mut self, next: fn(&mut LineSplitter) -> Option<Line<'_>>) -> Option<Result<Message, NoMessage>> {
        Some(match next(&mut self.splitter)? {
            Line::Whole(bytes) => read_line(bytes, &self.options),
            Line::TooLong => {
                let head = String::from_utf8_lossy(self.splitter.left_out());
                Err(NoMessage::too_long(self.options.line_limit, &head))
            }
        })
    }
}

/// What was `read`; `None` if it is an answer that nobody waits for.
fn receive<T>(read: Result<Message, NoMessage>, open: &Mutex<OpenRequests<T>>) -> Option<Received<T>> {
    Some(match read {
        Ok(Message::Request { id, method, params }) => Received::Request { id, method, params },
        Ok(Message::Notification { method, params }) => Received::Notification { method, params },
        Ok(Message::Response { id, outcome }) => {
            let tag = lock(open).take(&id);
            if tag.is_none() {
                tracing::debug!(id = id.as_json(), "an answer came that nobody waits for");
            }
            Received::Response { tag: tag?, outcome }
        }
        Err(NoMessage { id, error, reply, head }) => {
            let answered = reply.and_then(|reply| Some((lock(open).take(&reply.0)?, reply.1)));
            match answered {
                Some((tag, outcome)) => Received::Response { tag, outcome },
                None => Received::Unreadable { id, error, head },
            }
        }
    })
}

fn read_line(bytes: &[u8], options: &Options) -> Result<Message, NoMessage> {
    let see = |line: &str| {
        if let Some(tap) = &options.tap {
            tap.line(Direction::In, line);
        }
    };
    match (str::from_utf8(bytes), options.invalid_utf8) {
        (Ok(line), _) => {
            see(line);
            Message::parse(line)
        }
        (Err(_), InvalidUtf8::Repair) => {
            let line = String::from_utf8_lossy(bytes);
            see(&line);
            Message::parse(&line)
        }
        (Err(error), InvalidUtf8::Refuse) => {
            let line = String::from_utf8_lossy(bytes);
            see(&line);
            Err(NoMessage::not_utf8(error.valid_up_to()).seen_in(&line))
        }
    }
}

/// Our requests that are not answered yet, by number.
struct OpenRequests<T> {
    next_id: u64,
    /// No answer comes any more.
    has_ended: bool,
    tags: BTreeMap<u64, T>,
}

impl<T> OpenRequests<T> {
    fn take_number(&mut self) -> u64 {
        let number = self.next_id;
        self.next_id += 1;
        number
    }

    fn take(&mut self, id: &RequestId) -> Option<T> {
        self.tags.remove(&id.to_number()?)
    }

    fn take_first(&mut self) -> Option<T> {
        self.tags.pop_first().map(|(_, tag)| tag)
    }
}
