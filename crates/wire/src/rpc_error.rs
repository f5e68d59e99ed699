//! The error object of JSON-RPC, ours and the other side's.
//!
//! An error of the other side is kept as the text it came as, so that it can be passed on whole. One that is not an
//! error by JSON-RPC's rules becomes one, without any of its text: what it holds is unknown.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::message::{quote, read_string};

/// A JSON-RPC error object, kept whole: members that JSON-RPC does not know survive.
#[derive(Debug, Clone)]
pub struct RpcError {
    code: i64,
    message: String,
    json: Box<str>,
}

/// How a request ended.
pub type Outcome = Result<Box<RawValue>, RpcError>;

impl RpcError {
    /// What came is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// What came is JSON, but not a message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The method can't be called like this.
    pub const INVALID_PARAMS: i64 = -32602;
    /// Something went wrong that the caller did not cause.
    pub const INTERNAL: i64 = -32603;
    /// A line was longer than the receiver keeps.
    pub const LINE_TOO_LONG: i64 = -32014;
    /// The request was cancelled.
    pub const CANCELLED: i64 = -32800;

    /// An error of ours.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        let message = message.into();
        let json = format!(r#"{{"code":{code},"message":{}}}"#, quote(&message)).into_boxed_str();
        Self { code, message, json }
    }

    /// The same error with `data`, instead of any it had; without any if `data` has no JSON form.
    #[must_use]
    pub fn with_data(mut self, data: &impl Serialize) -> Self {
        let mut others: BTreeMap<String, &RawValue> = serde_json::from_str(&self.json).unwrap_or_default();
        others.retain(|name, _| !["code", "message", "data"].contains(&name.as_str()));
        let data = to_raw_value(data).map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        let others = others.iter().flat_map(|(name, value)| [",".to_owned(), quote(name), format!(":{value}")]);
        let others: String = others.collect();
        self.json =
            format!(r#"{{"code":{},"message":{}{data}{others}}}"#, self.code, quote(&self.message)).into_boxed_str();
        self
    }

    /// The error that the other side answered with.
    ///
    /// One without a code or without a message becomes an [`RpcError::INTERNAL`] that holds nothing of it.
    pub fn from_raw(raw: Box<RawValue>) -> Self {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        let code = members.get("code").and_then(|code| code.get().parse().ok());
        let message = members.get("message").and_then(|message| read_string(message.get()));
        match (code, message) {
            (Some(code), Some(message)) => Self { code, message, json: raw.into() },
            _ => Self::new(Self::INTERNAL, "the other side answered with an error that has no message"),
        }
    }

    /// What kind of error it is.
    pub fn code(&self) -> i64 {
        self.code
    }

    /// What went wrong, for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The whole object.
    pub fn as_json(&self) -> &str {
        &self.json
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RpcError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: &str, code: i64, message: &str, json: &str) {
        let error = RpcError::from_raw(RawValue::from_string(raw.to_owned()).unwrap());
        assert_eq!((error.code(), error.to_string().as_str(), error.as_json()), (code, message, json));
    }

    #[test]
    fn an_error_of_the_other_side_is_kept_whole() {
        let raw = r#"{"x":12345678901234567890123,"code":-1,"message":"a\nb","data":[ 1 ]}"#;
        check(raw, -1, "a\nb", raw);
        let cut = r#"{"code":2,"message":"half an emoji \ud83d"}"#;
        check(cut, 2, "half an emoji \u{fffd}\u{fffd}\u{fffd}", cut);
    }

    #[test]
    fn what_is_not_an_error_becomes_one_without_its_text() {
        let message = "the other side answered with an error that has no message";
        let json = format!(r#"{{"code":-32603,"message":"{message}"}}"#);
        for raw in
            ["null", "7", r#""secret""#, r#"{"code":1}"#, r#"{"message":"secret"}"#, r#"{"code":"1","message":2}"#]
        {
            check(raw, -32603, message, &json);
        }
    }

    #[test]
    fn data_is_replaced_and_other_members_stay() {
        let raw = r#"{"data":1,"x":1e400,"code":-1,"message":"m"}"#.to_owned();
        let error = RpcError::from_raw(RawValue::from_string(raw).unwrap()).with_data(&["a"]);
        assert_eq!(error.as_json(), r#"{"code":-1,"message":"m","data":["a"],"x":1e400}"#);
    }
}
