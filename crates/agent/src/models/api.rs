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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::limits::MAX_TOKENS;
    use super::super::{End, Event, ModelId};
    use super::*;

    /// One event of each shape that an API has.
    fn events_of(kind: ProviderKind) -> Vec<Value> {
        let usage =
            json!({ "prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": { "cached_tokens": 1 } });
        let call = json!({ "index": 0, "id": "a", "function": { "name": "x", "arguments": "{}" } });
        let delta = json!({ "content": "a", "reasoning": "b", "refusal": "c", "tool_calls": [call] });
        let signed = json!({ "functionCall": { "name": "x", "args": {} }, "thoughtSignature": "s" });
        let parts = json!([{ "text": "a", "thought": true }, signed]);
        let counts = json!({ "promptTokenCount": 1, "candidatesTokenCount": 2, "thoughtsTokenCount": 3 });
        let block = |block: Value| json!({ "type": "content_block_start", "index": 0, "content_block": block });
        let add = |delta: Value| json!({ "type": "content_block_delta", "index": 0, "delta": delta });
        match kind {
            ProviderKind::OpenAi => vec![
                json!({ "choices": [{ "delta": delta, "finish_reason": null }] }),
                json!({ "choices": [{ "delta": { "content": [{ "type": "text", "text": "a" }, { "thinking": [{ "text": "b" }] }] } }] }),
                json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": usage }),
            ],
            ProviderKind::Anthropic => vec![
                json!({ "type": "message_start", "message": { "usage": { "input_tokens": 1, "cache_read_input_tokens": 2 } } }),
                block(json!({ "type": "thinking", "thinking": "a", "signature": "b" })),
                add(json!({ "type": "signature_delta", "signature": "c" })),
                block(json!({ "type": "tool_use", "id": "a", "name": "x", "input": {} })),
                add(json!({ "type": "input_json_delta", "partial_json": "{}" })),
                block(json!({ "type": "redacted_thinking", "data": "d" })),
                json!({ "type": "content_block_stop", "index": 0 }),
                json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 7 } }),
            ],
            ProviderKind::Gemini => vec![
                json!({ "candidates": [{ "content": { "parts": parts } }], "usageMetadata": counts }),
                json!({ "promptFeedback": { "blockReason": null } }),
                json!({ "candidates": [{ "content": { "parts": [{ "text": "a" }] }, "finishReason": "STOP" }] }),
            ],
        }
    }

    /// Values that are not what is expected anywhere.
    fn odd_values() -> Vec<Value> {
        let deep = (0..100).fold(json!(null), |inner, _| json!([inner]));
        let numbers = [json!(-1), json!(u64::MAX), json!(i64::MIN), json!(1e308), json!(0.5)];
        let others =
            [json!(null), json!(true), json!(""), json!("\u{0}\u{1b}[31m\u{202e}"), json!([]), json!({}), deep];
        numbers.into_iter().chain(others).collect()
    }

    /// The places of all values in `value`.
    fn places(value: &Value, place: &str, all: &mut Vec<String>) {
        all.push(place.to_owned());
        match value {
            Value::Array(values) => {
                values.iter().enumerate().for_each(|(n, value)| places(value, &format!("{place}/{n}"), all));
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| places(value, &format!("{place}/{name}"), all));
            }
            _ => {}
        }
    }

    /// Reads the events up to the first that can't be, and ends the answer.
    fn read(kind: ProviderKind, events: &[Value]) {
        let (mut reader, mut heard) = (reader_of(kind), Heard::default());
        for event in events {
            let name = event["type"].as_str().map(str::to_owned);
            let event = SseEvent { name, data: event.to_string() };
            if reader.read(&event, &mut heard).is_err() {
                break;
            }
        }
        reader.finish(&mut heard);
        heard.stop();
        heard.finish(End::Complete, &ModelId::offline());
        while let Some(event) = heard.next_event() {
            if let Event::Usage(usage) = event {
                assert!(usage.input + usage.output <= 4 * MAX_TOKENS, "{usage:?}");
            }
        }
    }

    #[test]
    fn any_value_may_be_anything() {
        for kind in ProviderKind::ALL {
            let events = events_of(kind);
            for n in 0..events.len() {
                let mut all = Vec::new();
                places(&events[n], "", &mut all);
                for place in all {
                    for odd in odd_values() {
                        let mut events = events.clone();
                        *events[n].pointer_mut(&place).unwrap() = odd;
                        read(kind, &events);
                    }
                }
            }
        }
    }
}
