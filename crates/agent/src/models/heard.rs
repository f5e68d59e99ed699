//! What was heard of an answer so far, in the terms that all APIs share.
//!
//! The readers of the APIs write here. Text and thoughts can be shown at once; calls, usage and the end are whole when the
//! answer is.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use super::failure::Excess;
use super::limits::{MAX_ANSWER_BYTES, MAX_ARGUMENT_DEPTH, MAX_CALL_ID_BYTES, MAX_CALLS, MAX_TOOL_NAME_BYTES};
use super::thoughts::{Block, Thoughts};
use super::{End, Event, ModelId, ToolUse, Usage};
use crate::shorten::beginning;

/// How much of arguments that can't be read is quoted to the model.
const MAX_QUOTED_CHARS: usize = 200;

/// A call as the provider wrote it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct WrittenCall {
    pub(super) id: String,
    pub(super) name: String,
    /// An object, or a text that should be one.
    pub(super) arguments: Value,
    /// What the provider wants back with it.
    pub(super) signature: Option<String>,
}

/// Why an answer is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop<'a> {
    Complete,
    MaxTokens,
    Refused,
    /// The model wants a call, and there is none that can be read.
    MalformedCall,
    /// The provider says that it failed, and why.
    Failed(&'a str),
    /// The provider has not said why.
    Unknown,
}

/// What was heard so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    events: VecDeque<Event>,
    n_bytes: usize,
    calls: Vec<WrittenCall>,
    blocks: Vec<Block>,
    /// Thoughts without a signature that the provider wants back with the results of the calls.
    plain_thoughts: String,
    pub(super) usage: Usage,
    /// Why the answer ended, as the provider says it.
    pub(super) reason: Option<String>,
    pub(super) is_refused: bool,
    /// The provider has marked the end.
    pub(super) is_over: bool,
    is_finished: bool,
}

impl Heard {
    /// The next event that is ready.
    pub(super) fn next_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether all events of the answer have been made.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Adds to what the model says.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Excess> {
        self.hold(text.len())?;
        if !text.is_empty() {
            self.events.push_back(Event::Text(text.to_owned()));
        }
        Ok(())
    }

    /// Adds to what the model thinks.
    pub(super) fn think(&mut self, text: &str) -> Result<(), Excess> {
        self.hold(text.len())?;
        if !text.is_empty() {
            self.events.push_back(Event::Thought(text.to_owned()));
        }
        Ok(())
    }

    /// Adds to what the model thinks, which the provider wants back.
    pub(super) fn think_plainly(&mut self, text: &str) -> Result<(), Excess> {
        self.think(text)?;
        self.plain_thoughts.push_str(text);
        Ok(())
    }

    /// Keeps a block of thoughts, which the provider wants back.
    pub(super) fn keep(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// The model calls this. What names no tool is not a call.
    pub(super) fn call(&mut self, call: WrittenCall) {
        if !call.name.is_empty() {
            self.calls.push(call);
        }
    }

    /// How many calls there are.
    pub(super) fn n_calls(&self) -> usize {
        self.calls.len()
    }

    /// Makes sure that there is room for one call or block more than `n`.
    pub(super) fn has_room_for_another(n: usize) -> Result<(), Excess> {
        if n < MAX_CALLS { Ok(()) } else { Err(Excess::Calls(MAX_CALLS)) }
    }

    /// Makes sure that there is room for `n_bytes` more of the answer, and takes it.
    pub(super) fn hold(&mut self, n_bytes: usize) -> Result<(), Excess> {
        self.n_bytes += n_bytes;
        if self.n_bytes > MAX_ANSWER_BYTES { Err(Excess::Answer(MAX_ANSWER_BYTES)) } else { Ok(()) }
    }

    /// Why the answer is over.
    pub(super) fn stop(&self) -> Stop<'_> {
        if self.is_refused && (self.is_over || self.reason.is_some()) {
            return Stop::Refused;
        }
        let Some(reason) = self.reason.as_deref() else { return Stop::Unknown };
        match reason {
            "length" | "max_tokens" | "MAX_TOKENS" | "model_context_window_exceeded" | "model_length" => {
                Stop::MaxTokens
            }
            "content_filter"
            | "refusal"
            | "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
            | "LANGUAGE" => Stop::Refused,
            "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => Stop::MalformedCall,
            "tool_calls" | "tool_use" | "function_call" if self.calls.is_empty() => Stop::MalformedCall,
            // Gemini, and gateways to many models.
            "OTHER" | "MALFORMED_RESPONSE" | "MISSING_THOUGHT_SIGNATURE" | "TOO_MANY_TOOL_CALLS" | "error" => {
                Stop::Failed(reason)
            }
            _ => Stop::Complete,
        }
    }

    /// Makes the last events of an answer of `model`.
    pub(super) fn finish(&mut self, end: End, model: &ModelId) {
        let calls = std::mem::take(&mut self.calls);
        let plain = Some(std::mem::take(&mut self.plain_thoughts)).filter(|text| !text.is_empty() && !calls.is_empty());
        let signatures = calls.iter().map(|call| call.signature.clone());
        let thoughts = Thoughts::new(model, std::mem::take(&mut self.blocks), signatures, plain);
        self.events.extend(thoughts.map(|thoughts| Event::Kept(thoughts.to_kept())));
        self.events.extend(calls.into_iter().map(event_of));
        if self.usage.input + self.usage.output > 0 {
            self.events.push_back(Event::Usage(self.usage));
        }
        self.events.push_back(Event::End(end));
        self.is_finished = true;
    }
}

/// The call, or why it can't be made.
fn event_of(written: WrittenCall) -> Event {
    let WrittenCall { mut id, name, arguments, .. } = written;
    // Without one, it gets one of ours.
    if id.len() > MAX_CALL_ID_BYTES {
        id.clear();
    }
    let name = beginning(&name, MAX_TOOL_NAME_BYTES).to_owned();
    match read_arguments(arguments) {
        Ok(arguments) => Event::Call(ToolUse { id, name, arguments }),
        Err(problem) => Event::BrokenCall { call: ToolUse { id, name, arguments: Map::new() }, problem },
    }
}

/// The arguments as an object, or what the model is told.
fn read_arguments(arguments: Value) -> Result<Map<String, Value>, String> {
    const NOT_CALLED: &str = "The arguments are no JSON object, so nothing was called";
    let not_an_object = |text: &str| format!("{NOT_CALLED}: it is something else. They were: {}", quoted(text));
    let arguments = match arguments {
        Value::Null => Map::new(),
        Value::Object(arguments) => arguments,
        Value::String(text) if text.trim().is_empty() => Map::new(),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) => arguments,
            Ok(_) => return Err(not_an_object(&text)),
            Err(error) => return Err(format!("{NOT_CALLED}: {error}. They were: {}", quoted(&text))),
        },
        other => return Err(not_an_object(&other.to_string())),
    };
    if arguments.values().any(|value| is_deeper_than(value, MAX_ARGUMENT_DEPTH - 1)) {
        return Err(format!("The arguments are nested deeper than {MAX_ARGUMENT_DEPTH} levels, so nothing was called"));
    }
    Ok(arguments)
}

/// Whether `value` has more than `levels` levels of lists and objects.
fn is_deeper_than(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper_than(value, below)),
        Value::Object(members) => members.values().any(|value| is_deeper_than(value, below)),
        _ => false,
    }
}

fn quoted(text: &str) -> String {
    let start: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(arguments: Value) -> Event {
        event_of(WrittenCall { id: "1".into(), name: "f".into(), arguments, signature: None })
    }

    fn check(arguments: Value, expected: Option<&Value>) {
        let found = match event(arguments) {
            Event::Call(call) => Some(Value::Object(call.arguments)),
            _ => None,
        };
        assert_eq!(found.as_ref(), expected);
    }

    fn nested(levels: usize) -> String {
        format!("{}{}", "{\"a\":".repeat(levels - 1) + "{", "}".repeat(levels))
    }

    #[test]
    fn arguments_are_an_object_or_a_problem() {
        check(json!({ "a": 1 }), Some(&json!({ "a": 1 })));
        check(json!("{\"a\": 1}"), Some(&json!({ "a": 1 })));
        check(json!(""), Some(&json!({})));
        check(Value::Null, Some(&json!({})));
        check(json!("{\"a\": "), None);
        check(json!("[1]"), None);
        check(json!([1]), None);
        check(json!("{\"a\": 1e999}"), None);
    }

    #[test]
    fn arguments_that_are_nested_too_deep_are_a_problem() {
        assert!(matches!(event(json!(nested(MAX_ARGUMENT_DEPTH))), Event::Call(_)));
        for levels in [MAX_ARGUMENT_DEPTH + 1, 127, 100_000] {
            assert!(matches!(event(json!(nested(levels))), Event::BrokenCall { .. }), "{levels}");
        }
    }

    #[test]
    fn names_and_ids_have_a_limit() {
        let written = WrittenCall { id: "x".repeat(300), name: "\u{e4}".repeat(500), ..WrittenCall::default() };
        let Event::Call(call) = event_of(written) else { panic!("it is a call") };
        assert_eq!((call.id.as_str(), call.name), ("", "\u{e4}".repeat(64)));
    }

    #[test]
    fn an_answer_has_a_limit() {
        let mut heard = Heard::default();
        let text = "x".repeat(MAX_ANSWER_BYTES / 4);
        let said = [heard.say(&text), heard.think(&text), heard.think_plainly(&text), heard.hold(text.len())];
        assert_eq!(said, [Ok(()); 4]);
        assert_eq!(heard.say("x"), Err(Excess::Answer(MAX_ANSWER_BYTES)));
    }
}
