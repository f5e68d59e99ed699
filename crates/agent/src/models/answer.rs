//! An answer that arrives: bytes → events of the provider's API → ours.

use std::collections::VecDeque;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::task::yield_now;

use super::api::{AnswerReader, Unreadable};
use super::body::Body;
use super::failure::{Excess, Failures};
use super::heard::{Heard, Stop};
use super::limits::MAX_EVENT_BYTES;
use super::sse::{SseError, SseEvent, SseReader};
use super::{End, Event, ModelError, ModelId};

/// How many bytes of events are read before others can run.
const BYTES_AT_ONCE: usize = 128 << 10;

/// Reads an answer.
pub(super) struct Answer {
    body: Body,
    sse: SseReader,
    /// Events that have arrived and are not read yet.
    arrived: VecDeque<SseEvent>,
    /// Why nothing can be read behind those.
    broken: Option<ModelError>,
    has_ended: bool,
    /// Whether there was any event.
    has_begun: bool,
    /// How many bytes were read since others could run.
    n_read: usize,
    reader: Box<dyn AnswerReader>,
    heard: Heard,
    model: ModelId,
    failures: Failures,
}

impl Answer {
    pub(super) fn new(body: Body, reader: Box<dyn AnswerReader>, model: ModelId, failures: Failures) -> Self {
        Self {
            body,
            sse: SseReader::default(),
            arrived: VecDeque::new(),
            broken: None,
            has_ended: false,
            has_begun: false,
            n_read: 0,
            reader,
            heard: Heard::default(),
            model,
            failures,
        }
    }

    /// The answer's events, the first of which is `first`. Dropping them ends the request.
    pub(super) fn events(self, first: Event) -> BoxStream<'static, Result<Event, ModelError>> {
        let rest = stream::unfold(Some(self), |answer| async {
            let mut answer = answer?;
            match answer.next().await {
                Ok(event) => Some((Ok(event?), Some(answer))),
                Err(error) => Some((Err(error), None)),
            }
        });
        stream::iter([Ok(first)]).chain(rest).boxed()
    }

    /// What comes next; nothing behind the end.
    pub(super) async fn next(&mut self) -> Result<Option<Event>, ModelError> {
        loop {
            if let Some(event) = self.heard.next_event() {
                return Ok(Some(event));
            }
            if self.heard.is_finished() {
                return Ok(None);
            }
            if let Some(event) = self.arrived.pop_front() {
                self.give_way(event.data.len()).await;
                self.take(&event)?;
            } else if let Some(error) = self.broken.take() {
                return Err(error);
            } else if self.has_ended {
                self.finish()?;
            } else {
                self.receive().await?;
            }
        }
    }

    /// Lets others run, such as a cancel, before `n_bytes` are read: many events may have arrived that say nothing.
    async fn give_way(&mut self, n_bytes: usize) {
        self.n_read += n_bytes;
        if self.n_read > BYTES_AT_ONCE {
            self.n_read = 0;
            yield_now().await;
        }
    }

    /// Waits for more bytes, or for the end.
    async fn receive(&mut self) -> Result<(), ModelError> {
        let piece = self.body.next().await.map_err(|error| self.failures.of_body(&error))?;
        let read = if let Some(piece) = piece {
            self.sse.read(piece.as_ref(), &mut self.arrived)
        } else {
            self.has_ended = true;
            self.sse.finish().map(|last| self.arrived.extend(last))
        };
        self.broken = read.err().map(|error| match error {
            SseError::TooLong => self.failures.too_much(Excess::Event(MAX_EVENT_BYTES)),
            SseError::NotText => self.failures.torn(),
        });
        Ok(())
    }

    fn take(&mut self, event: &SseEvent) -> Result<(), ModelError> {
        self.has_begun = true;
        let read = self.reader.read(event, &mut self.heard);
        read.map_err(|unreadable| match unreadable {
            // What the connection broke off in can't be read, and that is not the provider's mistake.
            Unreadable::NotJson(_) if self.has_ended && self.arrived.is_empty() => self.failures.cut(),
            Unreadable::NotJson(error) => self.failures.not_json(&error),
            Unreadable::Torn => self.failures.torn(),
            Unreadable::Failed(body) => self.failures.of_error_event(&body),
            Unreadable::TooMuch(excess) => self.failures.too_much(excess),
        })?;
        if self.heard.is_over { self.finish() } else { Ok(()) }
    }

    /// The answer is over, or the stream has ended. Some servers mark no end, but say why the answer ended.
    fn finish(&mut self) -> Result<(), ModelError> {
        self.reader.finish(&mut self.heard);
        let failures = &self.failures;
        let end = match self.heard.stop() {
            Stop::Refused => End::Refused,
            Stop::MaxTokens => End::MaxTokens,
            Stop::Complete => End::Complete,
            Stop::MalformedCall => return Err(failures.unreadable_call()),
            Stop::Failed(reason) => return Err(failures.ended_badly(reason)),
            Stop::Unknown if self.has_begun => return Err(failures.cut()),
            Stop::Unknown => return Err(failures.no_stream()),
        };
        self.heard.finish(end, &self.model);
        Ok(())
    }
}
