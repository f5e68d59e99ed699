//! The prompts of the session, to be called back with the arrow keys.
//!
//! They come from the session's record and from what is typed here. Nothing is written anywhere: the record has it.

use std::collections::VecDeque;

/// How many are kept.
const LIMIT: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct History {
    /// The oldest first.
    prompts: VecDeque<String>,
    /// Which one is shown.
    at: Option<usize>,
    /// What was being typed before one was called back.
    draft: String,
}

impl History {
    /// Notes a prompt.
    pub(crate) fn add(&mut self, prompt: &str) {
        self.at = None;
        if prompt.trim().is_empty() || self.prompts.back().is_some_and(|last| last == prompt) {
            return;
        }
        self.prompts.push_back(prompt.to_owned());
        self.prompts.drain(..self.prompts.len().saturating_sub(LIMIT));
    }

    /// The prompt before the one that is shown; `typed` is what is in the input.
    pub(crate) fn back(&mut self, typed: &str) -> Option<&str> {
        if self.at.is_none() {
            typed.clone_into(&mut self.draft);
        }
        let at = self.at.unwrap_or(self.prompts.len()).checked_sub(1)?;
        self.at = Some(at);
        self.prompts.get(at).map(String::as_str)
    }

    /// The prompt behind the one that is shown, and at last what was being typed.
    pub(crate) fn forward(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        self.at = (at < self.prompts.len()).then_some(at);
        Some(self.at.map_or(self.draft.as_str(), |at| self.prompts[at].as_str()))
    }

    /// What is in the input is not a prompt that was called back any more.
    pub(crate) fn leave(&mut self) {
        self.at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_come_back_in_turn_and_the_draft_is_not_lost() {
        let mut history = History::default();
        for prompt in ["one", "two", "two", " "] {
            history.add(prompt);
        }
        assert_eq!(history.back("draft"), Some("two"));
        assert_eq!(history.back("two"), Some("one"));
        assert_eq!(history.back("one"), None);
        assert_eq!(history.forward(), Some("two"));
        assert_eq!(history.forward(), Some("draft"));
        assert_eq!(history.forward(), None);
    }
}
