//! The APIs that providers have. Each is one file: how a request is written, and how an answer is read.

use serde_json::Value;

use super::failure::Excess;
use super::heard::Heard;
use super::sse::SseEvent;
use super::{ProviderKind, Request, anthropic, gemini, openai};

/// Reads the events of one answer.
pub(super) trait AnswerReader: Send {
    /// Reads `event` into `heard`. Events of unknown kinds say nothing.
    fn read(&mut self, event: &SseEvent, heard: &mut Heard) -> Result<(), Unreadable>;

    /// Writes into `heard` what is known only at the end of the answer.
    fn finish(&mut self, heard: &mut Heard);
}

/// Why an event can't be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    NotJson(serde_json::Error),
    /// Something that should have come before is missing.
    Torn,
    /// The provider says that it failed, in this body.
    Failed(Value),
    TooMuch(Excess),
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        Self::NotJson(error)
    }
}

impl From<Excess> for Unreadable {
    fn from(excess: Excess) -> Self {
        Self::TooMuch(excess)
    }
}

/// The body of `request`; without a temperature for a model that takes none.
pub(super) fn body_of(request: &Request, kind: ProviderKind, has_temperature: bool) -> Value {
    match kind {
        ProviderKind::OpenAi => openai::body_of(request, has_temperature),
        ProviderKind::Anthropic => anthropic::body_of(request, has_temperature),
        ProviderKind::Gemini => gemini::body_of(request, has_temperature),
    }
}

/// What reads an answer of this kind of provider.
pub(super) fn reader_of(kind: ProviderKind) -> Box<dyn AnswerReader> {
    match kind {
        ProviderKind::OpenAi => Box::new(openai::Reader::default()),
        ProviderKind::Anthropic => Box::new(anthropic::Reader::default()),
        ProviderKind::Gemini => Box::new(gemini::Reader),
    }
}
