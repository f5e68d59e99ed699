//! Why an agent did not open a session: what that means, and how it is told to people.

use rejoin_transcript::json::{Members, read_string};
use rejoin_wire::RpcError;

use super::opening::Opening;
use super::secrets::HIDDEN;
use crate::Error;

/// How much of a reason is told.
const LONGEST: usize = 200;

/// A word of this length that has digits in it may be a key.
const KEY: usize = 20;

/// What an agent's refusal to open a session means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Somebody else has it open: it may be free in a moment.
    InUse,
    /// It does not have the session, or can't open it like this: asked again, it would say the same.
    Final,
    /// Nobody can tell.
    Unclear,
}

impl Refusal {
    pub(super) fn of(error: &Error) -> Self {
        let Error::Agent(error) = error else { return Self::Final };
        let text = full_text(error).to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if says(&["in use", "locked", "another client", "another process"]) {
            Self::InUse
        } else if [-32_000, -32_002, RpcError::METHOD_NOT_FOUND, RpcError::INVALID_PARAMS].contains(&error.code())
            || says(&["not found", "no such", "unknown", "does not exist", "doesn't exist"])
            || (says(&["no "]) && says(&[" found"]))
        {
            Self::Final
        } else {
            Self::Unclear
        }
    }
}

/// Whether an agent refused a choice because it is in force already.
pub(super) fn is_already_so(error: &Error) -> bool {
    let Error::Agent(error) = error else { return false };
    let text = full_text(error).to_lowercase();
    ["already", "unchanged", "no change", "not changed"].iter().any(|word| text.contains(word))
}

/// Why `error` says that a session could not be opened by `opening`, for people: short, and without secrets.
pub(super) fn reason(error: &Error, opening: &Opening) -> String {
    let text = match error {
        Error::Agent(error) => full_text(error),
        other => other.to_string(),
    };
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for secret in opening.mcp.secrets() {
        text = text.replace(&secret, HIDDEN);
    }
    let text = without_keys(&text);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What the agent said, with what its `data` adds.
fn full_text(error: &RpcError) -> String {
    let message = error.message();
    let details = Members::read(error.as_json()).and_then(|error| {
        let data = error.get_some("data")?;
        let details = read_string(data).or_else(|| {
            let data = Members::read(data)?;
            ["details", "message", "error", "reason"].iter().find_map(|name| data.get_string(name))
        })?;
        Some(details.into_owned())
    });
    match details.filter(|details| !details.trim().is_empty() && !message.contains(details.trim())) {
        Some(details) => format!("{message}: {}", details.trim()),
        None => message.to_owned(),
    }
}

/// `text` without the words in it that may be keys.
fn without_keys(text: &str) -> String {
    let is_of_word = |c: char| c.is_alphanumeric() || "_-+=".contains(c);
    let is_key = |word: &str| word.len() >= KEY && word.contains(|c: char| c.is_ascii_digit());
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while !rest.is_empty() {
        let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        kept.push_str(if is_key(&rest[..end]) { HIDDEN } else { &rest[..end] });
        let next = rest[end..].find(is_of_word).map_or(rest.len(), |next| end + next);
        kept.push_str(&rest[end..next]);
        rest = &rest[next..];
    }
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::mcp_servers::McpServers;
    use crate::params::Params;

    fn agents(code: i64, message: &str, data: &Value) -> Error {
        Error::Agent(RpcError::new(code, message).with_data(data))
    }

    fn opening() -> Opening {
        let params = r#"{"mcpServers":[{"name":"a","command":"a","env":[{"name":"KEY","value":"hunter2"}]}]}"#;
        let mcp = McpServers::required(&Params::read(Some(params)).unwrap()).unwrap();
        Opening { cwd: "/".to_owned(), directories: Vec::new(), mcp, extra: None, made_with: None }
    }

    #[test]
    fn a_refusal_is_known_by_its_code_and_its_words() {
        let check = |code, message: &str, details: &str, expected| {
            let error = agents(code, message, &json!({ "details": details }));
            assert_eq!(Refusal::of(&error), expected, "{message} {details}");
        };
        check(-32_600, "This Codex session is in use by another Codex client", "", Refusal::InUse);
        check(-32_603, "Internal error", "database is locked", Refusal::InUse);
        check(-32_002, "Resource", "", Refusal::Final);
        check(-32_603, "Internal error", "No previous sessions found for this project.", Refusal::Final);
        check(-32_603, "Internal error", "thread 7 not found", Refusal::Final);
        check(-32_603, "Internal error", "", Refusal::Unclear);
        assert_eq!(Refusal::of(&Error::Ended), Refusal::Final);
    }

    #[test]
    fn a_choice_that_is_in_force_already_is_known_by_the_words_of_its_refusal() {
        for (message, details) in [("Already in plan mode", ""), ("Internal error", "mode is already `plan`")] {
            assert!(is_already_so(&agents(-32_603, message, &json!({ "details": details }))), "{message} {details}");
        }
        assert!(!is_already_so(&agents(-32_602, "unknown mode", &json!(null))));
        assert!(!is_already_so(&Error::Ended));
    }

    #[test]
    fn a_reason_has_what_the_data_adds() {
        let check = |data: Value, expected: &str| {
            assert_eq!(reason(&agents(-32_603, "Internal error", &data), &opening()), expected);
        };
        check(json!({ "details": "No rollout\nfound" }), "Internal error: No rollout found");
        check(json!({ "message": "gone", "code": 7 }), "Internal error: gone");
        check(json!("gone"), "Internal error: gone");
        check(json!({ "details": "Internal error" }), "Internal error");
        check(json!({ "details": 7 }), "Internal error");
        check(json!(null), "Internal error");
    }

    #[test]
    fn a_reason_is_short_and_without_secrets() {
        let check = |details: &str, expected: &str| {
            let told = reason(&agents(1, "no", &json!({ "details": details })), &opening());
            assert_eq!(told, format!("no: {expected}"));
        };
        check("KEY hunter2 is wrong", "KEY [hidden] is wrong");
        check("bad key sk-ant-api03-AbCdEf0123456789, sorry", "bad key [hidden], sorry");
        check("see https://u:p4ssw0rd4ssw0rd4ssw0rd@x.org", "see https://u:[hidden]@x.org");
        check(&"é ".repeat(300), &format!("{}…", "é ".repeat(98)));
    }
}
