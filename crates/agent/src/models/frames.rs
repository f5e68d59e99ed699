//! What is in a provider's frames that genai does not tell.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatOptions, RawFrameRef, ToolCall, Usage};
use serde::Deserialize as _;

use super::ProviderKind;
use super::chat_calls::ChatCalls;

/// What was seen in the frames of one answer.
#[derive(Default)]
pub(super) struct Frames {
    are_there: AtomicBool,
    /// Whether one of Anthropic's has no name, which genai passes over: its line was cut in two.
    are_torn: AtomicBool,
    /// Whether Gemini said that it does not answer this, which genai takes for an error.
    is_blocked: AtomicBool,
    /// What of an answer of chat completions it leaves out.
    chat: Mutex<Chat>,
}

/// What chat completions say besides.
#[derive(Default)]
struct Chat {
    /// Why the answer ended, which genai tells only with the mark of the end.
    reason: Option<String>,
    /// The words with which the model refuses, which stand in a place of their own.
    refusal: String,
    /// What the model calls, which genai mixes up where a server counts otherwise.
    calls: ChatCalls,
    /// What the answer cost, in US dollars, where the provider says it.
    cost: Option<f64>,
    /// What was counted, which genai tells only with the mark of the end.
    usage: Option<Usage>,
}

impl Frames {
    /// Has the frames of an answer to a request with `options` looked at.
    pub(super) fn watch(kind: ProviderKind, options: ChatOptions) -> (Arc<Self>, ChatOptions) {
        let frames = Arc::new(Self::default());
        let seen = Arc::clone(&frames);
        let options = options.with_raw_frame_fn(move |_, frame| {
            seen.are_there.fetch_or(!frame.data.is_empty(), Ordering::Relaxed);
            match kind {
                ProviderKind::OpenAi => seen.look_at_chat(&frame),
                ProviderKind::Gemini => seen.look_for_block(&frame),
                ProviderKind::Anthropic => seen.look_for_tear(&frame),
            }
        });
        (frames, options)
    }

    /// Whether there were any that say something.
    pub(super) fn are_there(&self) -> bool {
        self.are_there.load(Ordering::Relaxed)
    }

    /// Whether something of the answer was passed over.
    pub(super) fn are_torn(&self) -> bool {
        self.are_torn.load(Ordering::Relaxed)
    }

    /// Whether the provider said that it does not answer.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }

    /// Why the answer ended, if that was said; once.
    pub(super) fn take_reason(&self) -> Option<String> {
        self.chat().reason.take()
    }

    /// The words with which the model refused; empty if it did not.
    pub(super) fn take_refusal(&self) -> String {
        std::mem::take(&mut self.chat().refusal)
    }

    /// What the model calls by chat completions; once.
    pub(super) fn take_chat_calls(&self) -> Vec<ToolCall> {
        self.chat().calls.finish()
    }

    /// What was counted by chat completions, if anything was; once.
    pub(super) fn take_usage(&self) -> Option<Usage> {
        self.chat().usage.take()
    }

    /// What the answer cost, if that was said.
    pub(super) fn cost(&self) -> Option<f64> {
        self.chat().cost
    }

    fn chat(&self) -> MutexGuard<'_, Chat> {
        self.chat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_at_chat(&self, frame: &RawFrameRef<'_>) {
        let has = |name: &str| frame.data.contains(name);
        // A look at the text is enough for nearly all frames.
        let ends = has("finish_reason") && !has("\"finish_reason\":null");
        if !ends && !["\"tool_calls\"", "\"refusal\"", "\"cost\"", "\"prompt_tokens\""].into_iter().any(has) {
            return;
        }
        let Some(json) = frame.json() else { return };
        let (choice, mut chat) = (&json["choices"][0], self.chat());
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            chat.reason = Some(reason.to_owned());
        }
        chat.calls.take(&choice["delta"]["tool_calls"]);
        chat.refusal.push_str(choice["delta"]["refusal"].as_str().unwrap_or_default());
        chat.cost = json["usage"]["cost"].as_f64().or(chat.cost);
        if json["usage"].is_object() {
            chat.usage = Usage::deserialize(&json["usage"]).ok();
        }
    }

    fn look_for_tear(&self, frame: &RawFrameRef<'_>) {
        if frame.event.is_none() && frame.data.starts_with('{') {
            self.are_torn.store(true, Ordering::Relaxed);
        }
    }

    fn look_for_block(&self, frame: &RawFrameRef<'_>) {
        let is_blocked = frame.data.contains("blockReason")
            && frame.json().is_some_and(|json| !json["promptFeedback"]["blockReason"].is_null());
        if is_blocked {
            self.is_blocked.store(true, Ordering::Relaxed);
        }
    }
}
