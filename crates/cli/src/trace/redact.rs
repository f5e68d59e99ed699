//! Messages without their secrets: everything else stays byte for byte as it was.
//!
//! A message is read once, from its beginning to its end, whatever its depth. Where a value stands (its [`Place`])
//! says whether it is a secret.

pub(crate) mod url;

use std::ops::Range;

use rejoin_transcript::json::{Members, read_string, string_end};
use serde_json::value::RawValue;

/// What stands in for a secret value.
const REDACTED: &str = "\"[redacted]\"";

/// `message`, one JSON value, with its secrets replaced: arguments, values of the environment and headers of MCP servers, the
/// environment of terminals, what an `authenticate` brings, and credentials in URLs. What is no JSON is left out whole.
pub(crate) fn redact(message: &str) -> String {
    if serde_json::from_str::<&RawValue>(message).is_err() {
        return REDACTED.to_owned();
    }
    let mut walk = Walk { text: message, redacted: String::with_capacity(message.len()), copied: 0 };
    walk.run();
    walk.redacted.push_str(&message[walk.copied..]);
    walk.redacted
}

/// Where a value stands in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the message, or one of several.
    Message,
    /// It is in a message with this method.
    In(Method),
    /// It is what an `authenticate` brings.
    Login,
    /// It is what a `terminal/create` brings.
    Terminal,
    /// It is all MCP servers: a list, or a table by their names.
    Servers,
    /// It is an MCP server.
    Server,
    /// It is an MCP server's URL.
    Url,
    /// It is an MCP server's arguments.
    Arguments,
    /// It is an environment or headers: a list of pairs, or a table.
    Pairs,
    /// It is a name with its value.
    Pair,
    /// It is a secret.
    Secret,
    /// It is anything else.
    Plain,
}

/// The methods whose parameters hold secrets of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Authenticate,
    CreateTerminal,
    Other,
}

impl Place {
    /// The place of the member `name` of an object that stands here.
    fn member(self, name: &str) -> Self {
        match (self, name) {
            (Self::In(Method::Authenticate), "params") => Self::Login,
            (Self::In(Method::CreateTerminal), "params") => Self::Terminal,
            (Self::Login, "methodId") => Self::Plain,
            (Self::Login | Self::Pairs, _) | (Self::Pair, "value") => Self::Secret,
            (Self::Server, "args") => Self::Arguments,
            (Self::Terminal, "env") | (Self::Server, "env" | "headers") => Self::Pairs,
            (Self::Server, "url") => Self::Url,
            (Self::Servers, _) => Self::Server,
            (_, "mcpServers") => Self::Servers,
            _ => Self::Plain,
        }
    }

    /// The place of an element of a list that stands here.
    fn element(self) -> Self {
        match self {
            Self::Message => Self::Message,
            Self::Servers => Self::Server,
            Self::Pairs => Self::Pair,
            Self::Login | Self::Pair | Self::Arguments | Self::Secret => Self::Secret,
            Self::In(_) | Self::Terminal | Self::Server | Self::Url | Self::Plain => Self::Plain,
        }
    }

    /// Whether a text or number that stands here is a secret.
    fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::Login | Self::Pairs | Self::Pair | Self::Arguments)
    }
}

/// An object or list that has begun.
struct Open {
    place: Place,
    /// The place of the next value in it; `None` where the next text is a member's name.
    next: Option<Place>,
    is_object: bool,
}

struct Walk<'a> {
    text: &'a str,
    redacted: String,
    /// How much of `text` is done.
    copied: usize,
}

impl Walk<'_> {
    fn run(&mut self) {
        let mut open: Vec<Open> = Vec::new();
        let mut at = 0;
        while let Some(&byte) = self.text.as_bytes().get(at) {
            let place = open.last().map_or(Some(Place::Message), |inner| inner.next);
            at = match (byte, place) {
                (b' ' | b'\t' | b'\n' | b'\r' | b':', _) => at + 1,
                (b',', _) => {
                    if let Some(inner) = open.last_mut() {
                        inner.next = (!inner.is_object).then(|| inner.place.element());
                    }
                    at + 1
                }
                (b'}' | b']', _) => {
                    open.pop();
                    at + 1
                }
                (b'"', None) => {
                    let end = string_end(self.text, at);
                    if let Some(inner) = open.last_mut() {
                        let name = read_string(&self.text[at..end]).unwrap_or_default();
                        inner.next = Some(inner.place.member(&name));
                    }
                    self.string(at..end, Place::Plain);
                    end
                }
                (b'{' | b'[', place) => {
                    let place = self.opened(at, place.unwrap_or(Place::Plain));
                    if place == Place::Secret {
                        let end = value_end(self.text, at);
                        self.replace(at..end, REDACTED);
                        end
                    } else {
                        let is_object = byte == b'{';
                        open.push(Open { place, next: (!is_object).then(|| place.element()), is_object });
                        at + 1
                    }
                }
                (b'"', Some(place)) => {
                    let end = string_end(self.text, at);
                    self.string(at..end, place);
                    end
                }
                (_, place) => {
                    let end = literal_end(self.text, at);
                    if place.is_some_and(Place::is_secret) && &self.text[at..end] != "null" {
                        self.replace(at..end, REDACTED);
                    }
                    end
                }
            };
        }
    }

    /// The place of what opens `at`, now that it is known to be an object or a list.
    fn opened(&self, at: usize, place: Place) -> Place {
        if place != Place::Message || self.text.as_bytes()[at] != b'{' {
            return place;
        }
        // The method may stand behind the parameters.
        match Members::read(&self.text[at..value_end(self.text, at)]) {
            Some(members) => Place::In(method(&members)),
            // What can't be looked into may hold anything.
            None => Place::Secret,
        }
    }

    /// Copies the text that stands at `range`, without what is secret in it.
    fn string(&mut self, range: Range<usize>, place: Place) {
        if place.is_secret() {
            self.replace(range, REDACTED);
            return;
        }
        let inside = range.start + 1..range.end - 1;
        for secret in url::secrets(&self.text[inside.clone()], place == Place::Url) {
            self.replace(inside.start + secret.start..inside.start + secret.end, "[redacted]");
        }
    }

    fn replace(&mut self, range: Range<usize>, by: &str) {
        self.redacted.push_str(&self.text[self.copied..range.start]);
        self.redacted.push_str(by);
        self.copied = range.end;
    }
}

/// The method of a message; should it have several, the one whose parameters hold secrets.
fn method(members: &Members<'_>) -> Method {
    let methods = members.iter().filter(|(name, _)| *name == "method").filter_map(|(_, value)| read_string(value));
    let with_secrets = methods.filter_map(|method| match method.as_ref() {
        "authenticate" => Some(Method::Authenticate),
        "terminal/create" => Some(Method::CreateTerminal),
        _ => None,
    });
    // Logging in hides more.
    with_secrets.min_by_key(|method| *method != Method::Authenticate).unwrap_or(Method::Other)
}

/// Where the object or list that starts `at` ends.
fn value_end(text: &str, at: usize) -> usize {
    let (mut end, mut depth) = (at, 0_usize);
    loop {
        match text.as_bytes().get(end) {
            Some(b'"') => {
                end = string_end(text, end);
                continue;
            }
            Some(b'{' | b'[') => depth += 1,
            Some(b'}' | b']') => depth -= 1,
            Some(_) => {}
            None => return text.len(),
        }
        end += 1;
        if depth == 0 {
            return end;
        }
    }
}

/// Where the number or word that starts `at` ends.
fn literal_end(text: &str, at: usize) -> usize {
    let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    text.as_bytes()[at..].iter().position(is_end).map_or(text.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn check(message: &str, expected: &str) {
        assert_eq!(redact(message), expected);
    }

    #[test]
    fn values_of_environments_and_headers_are_left_out() {
        check(
            r#"{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"a","command":"x","args":["v","--token=hush"],"env":[{"name":"K","value":"hush"}, {"value" : "a\"}]","name":"L"}]}]}}"#,
            r#"{"id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"a","command":"x","args":["[redacted]","[redacted]"],"env":[{"name":"K","value":"[redacted]"}, {"value" : "[redacted]","name":"L"}]}]}}"#,
        );
        check(
            r#"{"params":{"_meta":{"x":{"mcp\u0053ervers":[{"headers":[{"name":"A","value":"hush","_meta":1.0}],"url":"https://h/hush/sse?token=x&a=1"}]}}}}"#,
            r#"{"params":{"_meta":{"x":{"mcp\u0053ervers":[{"headers":[{"name":"A","value":"[redacted]","_meta":1.0}],"url":"https://h/[redacted]?token=[redacted]&a=1"}]}}}}"#,
        );
        check(
            r#"{"params":{"mcpServers":{"a":{"env":{"K":"hush","L":{"deep":["hush"]}},"headers":["K=hush",["K","hush"]]},"b":{"env":"K=hush"},"c":{"env":null}}}}"#,
            r#"{"params":{"mcpServers":{"a":{"env":{"K":"[redacted]","L":"[redacted]"},"headers":["[redacted]",["[redacted]","[redacted]"]]},"b":{"env":"[redacted]"},"c":{"env":null}}}}"#,
        );
        check(
            r#"{"method":"terminal/create","params":{"command":"x","env":[{"name":"K","value":"hush"}],"cwd":null}}"#,
            r#"{"method":"terminal/create","params":{"command":"x","env":[{"name":"K","value":"[redacted]"}],"cwd":null}}"#,
        );
    }

    #[test]
    fn what_a_login_brings_is_left_out() {
        check(
            r#"{"id":1,"method":"authenticate","params":{"methodId":"key","apiKey":"hush","pin":12,"_meta":{"a":[{"b":"}"}]},"no":null}}"#,
            r#"{"id":1,"method":"authenticate","params":{"methodId":"key","apiKey":"[redacted]","pin":"[redacted]","_meta":"[redacted]","no":null}}"#,
        );
        check(
            r#"[{"params":{"k":"hush"},"method":"authenticate"},{"params":{"k":"v"},"method":"initialize"}]"#,
            r#"[{"params":{"k":"[redacted]"},"method":"authenticate"},{"params":{"k":"v"},"method":"initialize"}]"#,
        );
        check(r#"{"method":"authenticate","params":["hush"]}"#, r#"{"method":"authenticate","params":["[redacted]"]}"#);
        check(r#"{"method":"authenticate","params":"hush"}"#, r#"{"method":"authenticate","params":"[redacted]"}"#);
    }

    #[test]
    fn callers_are_left_out_of_all_texts() {
        check(
            r#"{"result":["see https:\/\/anna:hush@host\n",{"ftp://u:p@h":1}]}"#,
            r#"{"result":["see https:\/\/[redacted]@host\n",{"ftp://[redacted]@h":1}]}"#,
        );
    }

    #[test]
    fn everything_else_stays_byte_for_byte() {
        for message in [
            r#" { "b" : 1.50e+400 , "a":"\ud800\u0040", "env":[{"name":"K","value":"v"}], "url":"http://h?token=x" } "#,
            r#"{"method":"initialize","params":{"value":"x","headers":{"a":"b"}},"params":{}}"#,
            r#"{"mcpServers":[{"name":"n","url":"https://h?page=1","env":[],"headers":null}, [], 1, {}]}"#,
            "[]",
            "12",
            r#""text""#,
        ] {
            check(message, message);
        }
    }

    #[test]
    fn a_message_that_can_not_be_looked_into_is_left_out_whole() {
        check(r#"{"\ud800":1,"method":"authenticate","params":{"k":"hush"}}"#, REDACTED);
    }

    #[test]
    fn deep_messages_are_read_too() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &deep);
    }

    /// Names that mean something here, and one that does not.
    fn name() -> impl Strategy<Value = String> {
        let names = ["mcpServers", "env", "headers", "args", "value", "url", "params", "method", "methodId", "x\"}"];
        prop::sample::select(names.to_vec()).prop_map(str::to_owned)
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec!["authenticate", "terminal/create", "session/new"]).prop_map(str::to_owned),
            "(https?://)?[a-z:@/?#&=\"\\\\ \n\u{1}é😀]{0,20}",
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![text().prop_map(Value::from), any::<i32>().prop_map(Value::from), Just(Value::Null)];
        leaf.prop_recursive(5, 40, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// `value` as JSON with each letter and sign of its texts escaped.
    fn escaped(value: &Value) -> String {
        let text = |text: &str| {
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            format!("\"{}\"", units.concat())
        };
        match value {
            Value::String(string) => text(string),
            Value::Array(list) => format!("[{}]", list.iter().map(escaped).collect::<Vec<_>>().join(",")),
            Value::Object(members) => {
                let members: Vec<_> =
                    members.iter().map(|(name, value)| format!("{}:{}", text(name), escaped(value))).collect();
                format!("{{{}}}", members.join(" , "))
            }
            other => other.to_string(),
        }
    }

    /// Messages that hold `secret` where secrets stand, among `other`.
    fn with_secret(secret: &str, other: &Value) -> Vec<Value> {
        let pairs = json!([other, { "name": "K", "x": other, "value": secret }]);
        let server = json!({ "x": other, "env": pairs, "headers": pairs, "args": [secret, [secret]], "url": format!("https://u:{secret}@h/{secret}/?a=b&api_token={secret}#c") });
        vec![
            json!({ "method": "session/new", "params": { "x": other, "mcpServers": [other, server] } }),
            json!({ "params": { "_meta": { "x": [{ "mcpServers": [server] }] } } }),
            json!({ "params": { "mcpServers": { "x": server } } }),
            json!({ "params": { "x": other, "y": { "z": [secret] } }, "method": "authenticate" }),
            json!({ "params": { "env": pairs }, "method": "terminal/create" }),
            json!({ "result": [other, format!("x https://{secret}@h, ssh://x:{secret}@h")] }),
        ]
    }

    proptest! {
        #[test]
        fn json_stays_json(value in value()) {
            for message in [value.to_string(), escaped(&value)] {
                prop_assert!(serde_json::from_str::<Value>(&redact(&message)).is_ok(), "{}", message);
            }
        }

        #[test]
        fn what_is_no_json_is_left_out(message in "[\\[{\"a:,\\\\ ]{1,8}") {
            if serde_json::from_str::<Value>(&message).is_err() {
                prop_assert_eq!(redact(&message), REDACTED);
            }
        }

        #[test]
        fn no_secret_is_left(secret in "[A-Z0-9._~!$'()*+,;=%@:-]{0,12}HUSH[A-Z]{1,8}", other in value()) {
            for message in with_secret(&secret, &other) {
                for text in [message.to_string(), escaped(&message)] {
                    let redacted: Value = serde_json::from_str(&redact(&text)).unwrap();
                    prop_assert!(!redacted.to_string().contains("HUSH"), "{} became {}", text, redacted);
                }
            }
        }
    }
}
