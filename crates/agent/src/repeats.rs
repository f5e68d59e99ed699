//! Notices a model that makes the same calls again and again.
//!
//! A step is an answer with its calls and their results. It is a repetition if each of its calls was made before in the turn,
//! with the same arguments and the same result. Waiting for something that changes is not one, since the result changes.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::calls::CallResult;
use crate::models::{ModelId, Part, ToolUse};

/// After so many repetitions in a row, the model is told.
const TELL_AFTER: usize = 3;

/// After so many repetitions in a row, the turn ends.
const STOP_AFTER: usize = 7;

/// What a turn has seen of calls.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seen: HashSet<u64>,
    /// Whether the step that runs has something new.
    is_new: bool,
    /// How many steps in a row had nothing new.
    n_in_a_row: usize,
}

impl Repeats {
    /// Takes a call of the step that runs.
    pub(crate) fn see(&mut self, call: &ToolUse, result: &CallResult) {
        let mut hasher = DefaultHasher::new();
        (&call.name, Value::Object(call.arguments.clone()).to_string(), result.is_error).hash(&mut hasher);
        for part in &result.parts {
            match part {
                Part::Text(text) => text.hash(&mut hasher),
                Part::Image { mime_type, data } => (mime_type, data).hash(&mut hasher),
            }
        }
        self.is_new |= self.seen.insert(hasher.finish());
    }

    /// Ends the step that runs. Returns what the model is to be told besides the results, if it repeats itself.
    pub(crate) fn end_step(&mut self) -> Option<String> {
        self.n_in_a_row = if std::mem::take(&mut self.is_new) { 0 } else { self.n_in_a_row + 1 };
        (self.n_in_a_row == TELL_AFTER).then(|| {
            format!(
                "Your last {TELL_AFTER} steps made only calls that were made before, with the same results. Try something \
                 else, or end your turn and say what you need. If you go on like this, the turn will be ended."
            )
        })
    }

    /// Whether the turn should end.
    pub(crate) fn are_too_many(&self) -> bool {
        self.n_in_a_row >= STOP_AFTER
    }

    /// Why the turn ends.
    pub(crate) fn told_to_users(&self, model: &ModelId) -> String {
        let n_steps = self.n_in_a_row;
        format!(
            "In {n_steps} steps in a row, {model} made only calls that it had made before, with the same results. Say how it \
             should go on, or choose another model."
        )
    }

    /// Forgets all calls. A model that goes on from a summary may have to make some again.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use rejoin::schema::ToolCallUpdateFields;
    use serde_json::json;

    use super::*;

    /// Takes steps, each of calls given by name and result, and returns after which the model was told, and after which the
    /// turn ended.
    fn check(steps: impl IntoIterator<Item = Vec<(&'static str, String)>>) -> (Option<usize>, Option<usize>) {
        let (mut repeats, mut told) = (Repeats::default(), None);
        for (n, step) in steps.into_iter().enumerate() {
            for (name, result) in step {
                let arguments = json!({ "path": "a" }).as_object().unwrap().clone();
                let call = ToolUse { id: n.to_string(), name: name.to_owned(), arguments };
                let shown = ToolCallUpdateFields::new();
                let parts = vec![Part::Text(result)];
                repeats.see(&call, &CallResult { parts, is_error: false, shown });
            }
            if repeats.end_step().is_some() {
                assert_eq!(told, None, "it is told once");
                told = Some(n);
            }
            if repeats.are_too_many() {
                return (told, Some(n));
            }
        }
        (told, None)
    }

    fn same(name: &'static str) -> Vec<(&'static str, String)> {
        vec![(name, "same".to_owned())]
    }

    #[test]
    fn a_model_that_repeats_a_call_is_told_and_then_stopped() {
        assert_eq!(check((0..100).map(|_| same("a"))), (Some(3), Some(7)));
    }

    #[test]
    fn a_model_that_goes_in_circles_is_too() {
        assert_eq!(check((0..100).map(|n| same(["a", "b", "c"][n % 3]))), (Some(5), Some(9)));
    }

    #[test]
    fn waiting_for_a_change_is_not_a_repetition() {
        assert_eq!(check((0..100).map(|n| vec![("poll", format!("{n} % done"))])), (None, None));
        assert_eq!(check((0..100).map(|n| [same("a"), vec![("poll", n.to_string())]].concat())), (None, None));
        let now_and_then = (0..100).map(|n| if n % 3 == 0 { vec![("poll", n.to_string())] } else { same("a") });
        assert_eq!(check(now_and_then), (None, None));
    }
}
