//! The secrets that an agent process was given, with MCP servers and in its environment. An agent may quote them where it
//! says what went wrong, and that is logged and recorded: without them.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use rejoin_transcript::json::write_string;
use rejoin_wire::{Direction, RawValue, RpcError, Tap};

use crate::lock::lock;

/// What stands in a secret's place.
pub(super) const HIDDEN: &str = "[hidden]";

/// A shorter value is found in any text, and keeps nothing secret.
const SHORTEST: usize = 4;

/// The secrets that an agent process knows.
#[derive(Default)]
pub(crate) struct Secrets(Mutex<BTreeSet<String>>);

impl Secrets {
    /// The agent is given `values`.
    pub(crate) fn learn(&self, values: Vec<String>) {
        lock(&self.0).extend(values.into_iter().filter(|value| value.len() >= SHORTEST));
    }

    /// `text` without any of them, be it plain or as part of a JSON string.
    pub(crate) fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        let values = lock(&self.0);
        // A value that holds others goes first.
        let mut values: Vec<&String> = values.iter().collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        for value in values {
            let quoted = write_string(value);
            for form in [value.as_str(), quoted.trim_matches('"')] {
                if text.contains(form) {
                    text = text.replace(form, HIDDEN).into();
                }
            }
        }
        text
    }

    /// `error` without any of them.
    pub(crate) fn hide_in(&self, error: RpcError) -> RpcError {
        let hidden = match self.hide(error.as_json()) {
            Cow::Borrowed(_) => return error,
            Cow::Owned(hidden) => hidden,
        };
        let plain = || RpcError::new(error.code(), self.hide(error.message()));
        RawValue::from_string(hidden).map_or_else(|_| plain(), RpcError::from_raw)
    }
}

/// Shows somebody what an agent says, without its secrets. What it is told, they know how to look at.
pub(super) struct HidingTap {
    tap: Arc<dyn Tap>,
    secrets: Arc<Secrets>,
}

impl HidingTap {
    pub(super) fn over(tap: Arc<dyn Tap>, secrets: &Arc<Secrets>) -> Arc<dyn Tap> {
        Arc::new(Self { tap, secrets: Arc::clone(secrets) })
    }
}

impl Tap for HidingTap {
    fn line(&self, direction: Direction, line: &str) {
        match direction {
            Direction::In => self.tap.line(direction, &self.secrets.hide(line)),
            Direction::Out => self.tap.line(direction, line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Secrets {
        let secrets = Secrets::default();
        secrets.learn(["hunter2", "hunter2-and-more", "a\"b\\c", "1", ""].map(str::to_owned).to_vec());
        secrets
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let check = |text: &str, expected: &str| assert_eq!(secrets().hide(text), expected, "{text}");
        check("nothing to hide, 1 time", "nothing to hide, 1 time");
        check("KEY=hunter2,hunter2", "KEY=[hidden],[hidden]");
        check("hunter2-and-more", "[hidden]");
        check(r#"a"b\c and {"value":"a\"b\\c"}"#, r#"[hidden] and {"value":"[hidden]"}"#);
    }

    #[test]
    fn an_error_keeps_what_is_not_secret() {
        let error = |message: &str| RpcError::new(-32000, message).with_data(&serde_json::json!({ "n": 7 }));
        let hidden = secrets().hide_in(error("no hunter2"));
        assert_eq!(hidden.as_json(), error("no [hidden]").as_json());
        assert_eq!(secrets().hide_in(error("no")).as_json(), error("no").as_json());
    }
}
