//! One line, one message: reading it as raw parts, and writing it.
//!
//! A payload is never parsed, only cut out, so it is passed on byte for byte. What is said about a line that is no
//! message never holds any part of that line: it may hold secrets.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::{Outcome, RpcError};

/// The id of a request, kept as the JSON text it came as: a string, a number of any size, or null.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// Takes `json` as an id; `None` if it is not JSON, or of a kind that can't be one.
    pub fn parse(json: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(json).ok()?;
        Self::from_value(raw)
    }

    /// The id as JSON.
    pub fn as_json(&self) -> &str {
        &self.0
    }

    /// The id that is `number`.
    pub fn from_number(number: u64) -> Self {
        Self(number.to_string().into())
    }

    /// The number that this is, or that it spells: some answer `"1"` to the request `1`.
    pub(crate) fn to_number(&self) -> Option<u64> {
        self.0.trim_matches('"').parse().ok()
    }

    fn null() -> Self {
        Self("null".into())
    }

    fn from_value(raw: &RawValue) -> Option<Self> {
        let json = raw.get();
        let fits = matches!(json.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9')) || json == "null";
        fits.then(|| Self(json.into()))
    }
}

/// The line of a request, with its line break.
///
/// `params` is JSON on one line; if it is empty, the message has none.
pub fn request_line(id: &RequestId, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":{}{}}}\n", id.0, quote(method), Params(params))
}

/// The line of a notification, with its line break.
///
/// `params` is JSON on one line; if it is empty, the message has none.
pub fn notification_line(method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":{}{}}}\n", quote(method), Params(params))
}

/// The line of an answer to the request `id`, with its line break. A result is JSON on one line.
pub fn response_line(id: &RequestId, outcome: Result<&str, &RpcError>) -> String {
    match outcome {
        Ok(result) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n", id.0),
        Err(error) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{}}}\n", id.0, error.as_json()),
    }
}

/// What a line says.
#[derive(Debug)]
pub(crate) enum Message {
    Request { id: RequestId, method: String, params: Option<Box<RawValue>> },
    Notification { method: String, params: Option<Box<RawValue>> },
    Response { id: RequestId, outcome: Outcome },
}

/// A line that is no message, and what to answer.
#[derive(Debug)]
pub(crate) struct NoMessage {
    pub(crate) id: Option<RequestId>,
    pub(crate) error: RpcError,
    /// The request that it seems to answer, and how that ends if somebody waits for it: nothing else will come.
    pub(crate) reply: Option<Box<(RequestId, Outcome)>>,
    /// How the line began, if it was too long; else empty.
    pub(crate) head: String,
}

impl Message {
    /// Reads the message in `line`.
    pub(crate) fn parse(line: &str) -> Result<Self, NoMessage> {
        let members: Members =
            serde_json::from_str(line).map_err(|_| NoMessage::instead_of_object(line).seen_in(line))?;
        let id = members.id.and_then(RequestId::from_value);
        if id.is_none() && members.id.is_some() {
            return Err(NoMessage::invalid(None, "an id is a string, a number or null"));
        }
        if members.jsonrpc.and_then(|version| read_string(version.get())).is_none_or(|version| version != "2.0") {
            return Err(NoMessage::invalid(id, "`jsonrpc` is not \"2.0\"").seen_in(line));
        }
        if let Some(method) = members.method {
            let Some(method) = read_string(method.get()) else {
                return Err(NoMessage::invalid(id, "`method` is not a string"));
            };
            let params = members.params.filter(|params| params.get() != "null").map(ToOwned::to_owned);
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let outcome = match (members.error, members.result) {
            (None, None) => {
                // Some leave out a result that is nothing.
                let reply = id.clone().map(|id| Box::new((id, Ok(RawValue::NULL.to_owned()))));
                let neither = NoMessage::invalid(id, "a message has a `method`, a `result` or an `error`");
                return Err(NoMessage { reply, ..neither });
            }
            (None, Some(result)) => Ok(result.to_owned()),
            (Some(error), Some(result)) if error.get() == "null" => Ok(result.to_owned()),
            (Some(error), _) => Err(RpcError::from_raw(error.to_owned())),
        };
        // An answer to nobody gets no answer: two sides that complain about each other's complaints would never end.
        Ok(Self::Response { id: id.unwrap_or_else(RequestId::null), outcome })
    }
}

impl NoMessage {
    /// A line that is not UTF-8 from the byte at `valid_up_to` on.
    pub(crate) fn not_utf8(valid_up_to: usize) -> Self {
        let message = format!("the line is not UTF-8 at byte {}", valid_up_to + 1);
        Self { id: None, error: RpcError::new(RpcError::PARSE_ERROR, message), reply: None, head: String::new() }
    }

    /// A line of more than `limit` bytes, which begins with `head`.
    pub(crate) fn too_long(limit: usize, head: &str) -> Self {
        let data = serde_json::json!({ "kind": "line_too_long", "limit": limit });
        let message = format!("the line is longer than {limit} bytes");
        let error = |message: String| RpcError::new(RpcError::LINE_TOO_LONG, message).with_data(&data);
        let (id, reply) = match Glimpse::of(head) {
            Some(Glimpse::Request(id)) => (Some(id), None),
            Some(Glimpse::Answer(id)) => (None, Some(Box::new((id, Err(error(unreadable(&message))))))),
            None => (None, None),
        };
        Self { id, error: error(message), reply, head: head.to_owned() }
    }

    /// The same, with what can be seen in `line` of the request that it answers.
    pub(crate) fn seen_in(self, line: &str) -> Self {
        let Some(Glimpse::Answer(id)) = Glimpse::of(line) else { return self };
        let error = RpcError::new(RpcError::INTERNAL, unreadable(self.error.message()));
        Self { reply: Some(Box::new((id, Err(error)))), ..self }
    }

    fn invalid(id: Option<RequestId>, message: &str) -> Self {
        Self { id, error: RpcError::new(RpcError::INVALID_REQUEST, message), reply: None, head: String::new() }
    }

    /// What is wrong with `line`, which is not an object.
    fn instead_of_object(line: &str) -> Self {
        let is_array = line.trim_start().starts_with('[');
        match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) if is_array => Self::invalid(None, "batches are not part of ACP: send each message on its own line"),
            Ok(_) => Self::invalid(None, "a message is a JSON object"),
            Err(error) => {
                // Only the place is taken from the error, whose text may quote the line.
                let message = format!("the line is not JSON at column {}", error.column());
                Self {
                    id: None,
                    error: RpcError::new(RpcError::PARSE_ERROR, message),
                    reply: None,
                    head: String::new(),
                }
            }
        }
    }
}

/// What is said of an answer in a line of which `problem` is said.
fn unreadable(problem: &str) -> String {
    format!("the answer can't be read: {problem}")
}

/// What a line that can't be read whole was to be.
#[derive(Debug, PartialEq, Eq)]
enum Glimpse {
    /// A request with this id.
    Request(RequestId),
    /// The answer to the request with this id.
    Answer(RequestId),
}

impl Glimpse {
    /// Looks at the members of the object that `text` begins with, as far as they can be told apart.
    fn of(text: &str) -> Option<Self> {
        let (mut id, mut is_answer) = (None, None);
        let mut rest = text.trim_start().strip_prefix('{')?;
        while id.is_none() || is_answer.is_none() {
            let (name, behind) = split_value(rest)?;
            let value = behind.trim_start().strip_prefix(':')?;
            match name.trim() {
                r#""method""# => is_answer = Some(false),
                r#""result""# | r#""error""# => is_answer = Some(true),
                _ => {}
            }
            match split_value(value) {
                Some((value, behind)) => {
                    if name.trim() == r#""id""# {
                        id = RequestId::parse(value);
                    }
                    rest = behind.strip_prefix(',').unwrap_or_default();
                }
                None => rest = "",
            }
            if rest.is_empty() {
                break;
            }
        }
        Some(if is_answer? { Self::Answer(id?) } else { Self::Request(id?) })
    }
}

/// Splits `text` behind the value that it begins with, whether that is JSON or not; `None` if it has no end.
fn split_value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut is_in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_in_string => is_escaped = true,
            b'"' => is_in_string = !is_in_string,
            _ if is_in_string => {}
            b'{' | b'[' => depth += 1,
            b',' | b':' | b'}' | b']' if depth == 0 => return Some(text.split_at(at)),
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// `text` as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    Value::from(text).to_string()
}

/// The text of a JSON string; `None` if `json` is another kind of value.
///
/// A lone surrogate, which JSON can write and text cannot hold, becomes U+FFFD.
pub(crate) fn read_string(json: &str) -> Option<String> {
    struct Text(String);

    impl<'de> Deserialize<'de> for Text {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct TextVisitor;

            impl Visitor<'_> for TextVisitor {
                type Value = Text;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a string")
                }

                fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
                    Ok(Text(String::from_utf8_lossy(bytes).into_owned()))
                }
            }

            // Only as bytes does a string with a lone surrogate come at all.
            deserializer.deserialize_bytes(TextVisitor)
        }
    }

    serde_json::from_str(json).ok().map(|Text(text)| text)
}

/// The member `params` with the comma before it, or nothing.
struct Params<'a>(&'a str);

impl fmt::Display for Params<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, r#","params":{}"#, self.0) }
    }
}

/// The members of a message, each as its text; the last one where there are several of a name.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(name) = map.next_key()? {
                    let member = match name {
                        Name::Jsonrpc => &mut members.jsonrpc,
                        Name::Id => &mut members.id,
                        Name::Method => &mut members.method,
                        Name::Params => &mut members.params,
                        Name::Result => &mut members.result,
                        Name::Error => &mut members.error,
                        Name::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    *member = Some(map.next_value()?);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

enum Name {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl Visitor<'_> for NameVisitor {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_bytes<E: de::Error>(self, name: &[u8]) -> Result<Name, E> {
                Ok(match name {
                    b"jsonrpc" => Name::Jsonrpc,
                    b"id" => Name::Id,
                    b"method" => Name::Method,
                    b"params" => Name::Params,
                    b"result" => Name::Result,
                    b"error" => Name::Error,
                    _ => Name::Other,
                })
            }
        }

        // As bytes, since a name with a lone surrogate, which is not text, must not spoil the message.
        deserializer.deserialize_bytes(NameVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `line` and compares what was read, or what would be answered, in short form.
    fn check(line: &str, expected: &str) {
        assert_eq!(read(line), expected, "{line}");
    }

    fn read(line: &str) -> String {
        let text =
            |params: Option<Box<RawValue>>| params.map_or_else(|| "-".to_owned(), |params| params.get().to_owned());
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                format!("request {} {method} {}", id.as_json(), text(params))
            }
            Ok(Message::Notification { method, params }) => format!("notification {method} {}", text(params)),
            Ok(Message::Response { id, outcome: Ok(result) }) => format!("result {} {result}", id.as_json()),
            Ok(Message::Response { id, outcome: Err(error) }) => format!("error {} {}", id.as_json(), error.as_json()),
            Err(NoMessage { id, error, .. }) => {
                format!("unreadable {} {} {error}", id.as_ref().map_or("-", RequestId::as_json), error.code())
            }
        }
    }

    #[test]
    fn messages_are_cut_into_their_parts() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a": 1}}"#, r#"request 1 m {"a": 1}"#);
        check(r#" { "method" : "\u006d" , "id":"x\"", "jsonrpc":"2.0" } "#, r#"request "x\"" m -"#);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"m","params":null}"#, "request null m -");
        check(r#"{"jsonrpc":"2.0","method":"m","params":17}"#, "notification m 17");
        check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "result 1 null");
        check(r#"{"jsonrpc":"2.0","id":1,"result":2,"error":null}"#, "result 1 2");
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":2,"error":{"code":3,"message":"no"}}"#,
            r#"error 1 {"code":3,"message":"no"}"#,
        );
        check(r#"{"jsonrpc":"2.0","error":{"code":3,"message":"no"}}"#, r#"error null {"code":3,"message":"no"}"#);
    }

    #[test]
    fn ids_of_any_size_are_kept_as_they_came() {
        for id in ["0", "-7", "1.5", "9223372036854775808", "1e400", "123456789012345678901234567890", r#""\u0041""#] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#), &format!("request {id} m -"));
        }
    }

    #[test]
    fn the_last_member_of_a_name_wins() {
        check(r#"{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}"#, "request 2 b -");
    }

    #[test]
    fn strange_members_do_not_spoil_a_message() {
        check(
            r#"{"\ud800":{},"jsonrpc":"2.0","x":[1e999],"method":"m","params":["\ud800"]}"#,
            r#"notification m ["\ud800"]"#,
        );
    }

    #[test]
    fn json_that_is_no_message_is_refused_with_its_id() {
        let version = r#"-32600 `jsonrpc` is not "2.0""#;
        check(r#"{"id":1,"method":"m"}"#, &format!("unreadable 1 {version}"));
        check(r#"{"jsonrpc":"1.0","id":"a","method":"m"}"#, &format!("unreadable \"a\" {version}"));
        check(r#"{"jsonrpc":2.0,"method":"m"}"#, &format!("unreadable - {version}"));
        for id in ["{}", "[]", "true"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            check(&line, "unreadable - -32600 an id is a string, a number or null");
        }
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "unreadable 1 -32600 `method` is not a string");
        let neither = "-32600 a message has a `method`, a `result` or an `error`";
        check(r#"{"jsonrpc":"2.0","id":1}"#, &format!("unreadable 1 {neither}"));
        check("{}", r#"unreadable - -32600 `jsonrpc` is not "2.0""#);
        check("17", "unreadable - -32600 a message is a JSON object");
        check("[]", "unreadable - -32600 batches are not part of ACP: send each message on its own line");
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place_and_none_of_its_text() {
        check(r#"{"secret": nope}"#, "unreadable - -32700 the line is not JSON at column 13");
        check(r#"{"a":1} x"#, "unreadable - -32700 the line is not JSON at column 9");
        check(r#"["secret""#, "unreadable - -32700 the line is not JSON at column 9");
        check("secret", "unreadable - -32700 the line is not JSON at column 1");
    }

    #[test]
    fn what_a_line_was_to_be_is_seen_in_what_can_be_read_of_it() {
        let id = |json| RequestId::parse(json).unwrap();
        let check = |text: &str, expected: Option<Glimpse>| assert_eq!(Glimpse::of(text), expected, "{text}");
        let answer = || Some(Glimpse::Answer(id("7")));
        check(r#"{"jsonrpc":"2.0","id":7,"result":{"usage":NaN}}"#, answer());
        check(r#" { "id" : 7 , "error" : {"code":1,"mess"#, answer());
        check(r#"{"result":{"a":["\"}",{}]},"id":7}"#, answer());
        check(r#"{"jsonrpc":"2.0","id":7,"result":"{\"method\":1"#, answer());
        check(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"#, Some(Glimpse::Request(id("\"a\""))));
        check(r#"{"method":"m","params":{"id":7,"result":1},"id":8"#, None);
        for nothing in [
            "",
            "{",
            "{}",
            "[7]",
            r#"{"id":7}"#,
            r#"{"id":7,"params":{}}"#,
            r#"{"id":7,"resu"#,
            r#"{"result":{},"id":tru}"#,
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"id":7,"result":1"#,
            r#"{"x":"\"#,
            r#"{"é":"é",é"#,
            "{]}",
            "{:,}",
        ] {
            check(nothing, None);
        }
    }

    #[test]
    fn deep_nesting_is_kept() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        check(&format!(r#"{{"jsonrpc":"2.0","method":"m","params":{deep}}}"#), &format!("notification m {deep}"));
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let id = RequestId::parse(r#" "a" "#).unwrap();
        check(&request_line(&id, "m\"", "{}"), "request \"a\" m\" {}");
        check(&request_line(&id, "m", ""), "request \"a\" m -");
        check(&notification_line("m", "[1]"), "notification m [1]");
        check(&response_line(&id, Ok("null")), "result \"a\" null");
        check(&response_line(&id, Err(&RpcError::new(1, "no"))), r#"error "a" {"code":1,"message":"no"}"#);
        assert_eq!(request_line(&RequestId::from_number(1), "m", "{}").matches('\n').count(), 1);
    }

    #[test]
    fn only_strings_numbers_and_null_are_ids() {
        let ids = ["1", "null", r#""x""#, "true", "{}", "1 2", "", "x"].map(|json| RequestId::parse(json).is_some());
        assert_eq!(ids, [true, true, true, false, false, false, false, false]);
    }
}
