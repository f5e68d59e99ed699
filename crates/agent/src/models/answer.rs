//! An answer that arrives: genai's events → ours.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use genai::chat::{ChatStream, ChatStreamEvent, StopReason, StreamEnd, ToolCall};
use serde_json::{Map, Value};

use super::failure::Failures;
use super::frames::Frames;
use super::thoughts::Thoughts;
use super::{End, Event, ModelError, ModelId, ProviderKind, ToolUse, Usage};

/// As much of arguments that can't be read is told back to the model.
const MOST_QUOTED: usize = 200;

/// What Gemini says of a call that it could not write itself.
const MALFORMED_CALLS: [&str; 2] = ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"];

/// What servers say of an answer that came to nothing: Gemini, and gateways to many models.
const FAILED: [&str; 5] = ["OTHER", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS", "error"];

/// Reads an answer.
pub(super) struct Answer {
    stream: ChatStream,
    kind: ProviderKind,
    model: ModelId,
    failures: Failures,
    /// What genai does not tell.
    frames: Arc<Frames>,
    waiting: VecDeque<Event>,
    is_over: bool,
}

impl Answer {
    pub(super) fn new(
        stream: ChatStream,
        kind: ProviderKind,
        model: ModelId,
        failures: Failures,
        frames: Arc<Frames>,
    ) -> Self {
        Self { stream, kind, model, failures, frames, waiting: VecDeque::new(), is_over: false }
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
            if let Some(event) = self.waiting.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.stream.next().await {
                Some(_) if self.frames.are_torn() => return Err(self.failures.torn()),
                Some(Ok(event)) => self.take(event)?,
                Some(Err(_)) if self.frames.is_blocked() => {
                    self.is_over = true;
                    self.waiting.push_back(Event::End(End::Refused));
                }
                Some(Err(error)) if says_nothing(&error) => {}
                Some(Err(error)) => return Err(self.failures.read(&error)),
                None => self.end_without_mark()?,
            }
        }
    }

    /// The stream is over without the mark of an end. Some servers send none, but say why the answer ended.
    fn end_without_mark(&mut self) -> Result<(), ModelError> {
        if !self.frames.are_there() {
            return Err(self.failures.no_stream());
        }
        let Some(reason) = self.frames.take_reason() else { return Err(self.failures.cut()) };
        let captured_usage = self.frames.take_usage();
        let captured_stop_reason = Some(StopReason::from(reason));
        self.end(&StreamEnd { captured_stop_reason, captured_usage, ..StreamEnd::default() })
    }

    fn take(&mut self, event: ChatStreamEvent) -> Result<(), ModelError> {
        match event {
            ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                self.waiting.push_back(Event::Text(chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) if !chunk.content.is_empty() => {
                self.waiting.push_back(Event::Thought(chunk.content));
            }
            ChatStreamEvent::End(end) => self.end(&end)?,
            // Signatures and calls are whole in the end.
            ChatStreamEvent::Chunk(_)
            | ChatStreamEvent::ReasoningChunk(_)
            | ChatStreamEvent::ToolCallChunk(_)
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat => {}
        }
        Ok(())
    }

    fn end(&mut self, end: &StreamEnd) -> Result<(), ModelError> {
        let refusal = self.frames.take_refusal();
        let is_refused = self.frames.is_blocked() || !refusal.is_empty();
        if !refusal.is_empty() {
            self.waiting.push_back(Event::Text(refusal));
        }
        let how = match &end.captured_stop_reason {
            _ if is_refused => End::Refused,
            Some(StopReason::MaxTokens(_)) => End::MaxTokens,
            Some(StopReason::ContentFilter(_)) => End::Refused,
            Some(StopReason::Other(reason)) if MALFORMED_CALLS.contains(&reason.as_str()) => {
                return Err(self.failures.unreadable_call());
            }
            Some(StopReason::Other(reason)) if FAILED.contains(&reason.as_str()) => {
                return Err(self.failures.ended_badly(reason));
            }
            Some(
                StopReason::Completed(_) | StopReason::ToolCall(_) | StopReason::StopSequence(_) | StopReason::Other(_),
            ) => End::Complete,
            // A stream without a word of why it ended was cut: genai ends Gemini's so.
            None if self.frames.are_there() => return Err(self.failures.cut()),
            None => return Err(self.failures.no_stream()),
        };
        let calls: Vec<ToolCall> = match self.kind {
            ProviderKind::OpenAi => self.frames.take_chat_calls(),
            ProviderKind::Anthropic | ProviderKind::Gemini => {
                end.captured_tool_calls().into_iter().flatten().cloned().collect()
            }
        };
        if calls.is_empty() && matches!(&end.captured_stop_reason, Some(StopReason::ToolCall(_))) {
            return Err(self.failures.unreadable_call());
        }
        if let Some(thoughts) = Thoughts::of(end, &calls, &self.model) {
            let kept = serde_json::to_value(thoughts).map_err(|error| ModelError::Failed(error.to_string()))?;
            self.waiting.push_back(Event::Kept(kept));
        }
        self.waiting.extend(calls.into_iter().map(event_of));
        let count = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
        if let Some(usage) = &end.captured_usage {
            let (input, output) = (count(usage.prompt_tokens), count(usage.completion_tokens));
            let cached = count(usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens));
            if input + output > 0 {
                self.waiting.push_back(Event::Usage(Usage { input, cached, output, cost: self.frames.cost() }));
            }
        }
        self.waiting.push_back(Event::End(how));
        self.is_over = true;
        Ok(())
    }
}

/// Whether this is genai's error for a piece of Gemini's that has neither words nor an end, and counts tokens only.
fn says_nothing(error: &genai::Error) -> bool {
    let genai::Error::ChatResponse { body, .. } = error else { return false };
    let is_null = |name: &str| body.get(name).is_some_and(Value::is_null);
    is_null("finishReason") && is_null("usageMetadata")
}

/// The call, or why it can't be made.
fn event_of(call: ToolCall) -> Event {
    let (arguments, problem) = match call.fn_arguments {
        Value::Object(arguments) => (arguments, None),
        Value::Null => (Map::new(), None),
        Value::String(text) if text.trim().is_empty() => (Map::new(), None),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(arguments)) => (arguments, None),
            Ok(_) => (Map::new(), Some(not_an_object(&text))),
            Err(error) => (Map::new(), Some(format!("{error}. They were: {}", quoted(&text)))),
        },
        other => (Map::new(), Some(not_an_object(&other.to_string()))),
    };
    let call = ToolUse { id: call.call_id, name: call.fn_name, arguments };
    match problem {
        None => Event::Call(call),
        Some(problem) => {
            let problem = format!("The arguments are no JSON object, so nothing was called: {problem}");
            Event::BrokenCall { call, problem }
        }
    }
}

fn not_an_object(text: &str) -> String {
    format!("it is something else. They were: {}", quoted(text))
}

fn quoted(text: &str) -> String {
    let start: String = text.chars().take(MOST_QUOTED).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(arguments: Value, expected: Option<&Value>) {
        let call =
            ToolCall { call_id: "1".into(), fn_name: "f".into(), fn_arguments: arguments, thought_signatures: None };
        let found = match event_of(call) {
            Event::Call(call) => Some(Value::Object(call.arguments)),
            _ => None,
        };
        assert_eq!(found.as_ref(), expected);
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
    }
}
