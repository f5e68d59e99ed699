//! What is in a provider's frames that genai does not tell.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use genai::chat::{ChatOptions, RawFrameRef};

use super::ProviderKind;

/// What was seen in the frames of one answer.
#[derive(Default)]
pub(super) struct Frames {
    /// Whether Gemini said that it does not answer this, which genai takes for an error.
    is_blocked: AtomicBool,
    /// Why an answer of chat completions ended, which genai tells only with the mark of the end.
    reason: Mutex<Option<String>>,
}

impl Frames {
    /// Has the frames of an answer to a request with `options` looked at.
    pub(super) fn watch(kind: ProviderKind, options: ChatOptions) -> (Arc<Self>, ChatOptions) {
        let frames = Arc::new(Self::default());
        let seen = Arc::clone(&frames);
        let options = match kind {
            ProviderKind::OpenAi => options.with_raw_frame_fn(move |_, frame| seen.look_for_reason(&frame)),
            ProviderKind::Gemini => options.with_raw_frame_fn(move |_, frame| seen.look_for_block(&frame)),
            ProviderKind::Anthropic => options,
        };
        (frames, options)
    }

    /// Whether the provider said that it does not answer.
    pub(super) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Relaxed)
    }

    /// Why the answer ended, if that was said; once.
    pub(super) fn take_reason(&self) -> Option<String> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn look_for_reason(&self, frame: &RawFrameRef<'_>) {
        // A look at the text is enough for nearly all frames.
        if !frame.data.contains("finish_reason") || frame.data.contains("\"finish_reason\":null") {
            return;
        }
        let reason = frame.json().and_then(|json| json["choices"][0]["finish_reason"].as_str().map(str::to_owned));
        if reason.is_some() {
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = reason;
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
