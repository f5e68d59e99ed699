//! What went wrong with a request, in words that name the provider and its host, and hold no secret.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::ModelError;
use super::body::{BodyError, SILENCE_LIMIT};
use super::keys::Secret;

/// As much of what a provider says is passed on.
const MOST_SAID: usize = 600;

/// What providers say of a conversation that is too long.
const TOO_LONG: [&str; 11] = [
    "context_length_exceeded",
    "context length",
    "context limit",
    "context size",
    "context window",
    "maximum prompt length",
    "reduce the length",
    "prompt is too long",
    "too many tokens",
    "maximum number of tokens",
    "input is too long",
];

/// What providers say of a key, where the status does not: Gemini refuses one with 400.
const BAD_KEY: [&str; 3] = ["api key not valid", "api key expired", "api key not found"];

/// What providers say of an account that has nothing left, with the status of one that asks too often.
const NOTHING_LEFT: &str = "insufficient_quota";

/// Dates in headers are like those of mail.
const HTTP_DATE: DateTimeParser = DateTimeParser::new();

/// What a provider sent too much of, with the limit that it passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excess {
    /// Bytes of one event.
    Event(usize),
    /// Bytes of the arguments of one call.
    Arguments(usize),
    /// Bytes of text, thoughts and calls.
    Answer(usize),
    /// Bytes of anything.
    Received(usize),
    /// Calls or blocks in one answer.
    Calls(usize),
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: &usize| bytes >> 20;
        match self {
            Self::Event(most) => write!(f, "a line or an event of more than {} MiB", mib(most)),
            Self::Arguments(most) => write!(f, "a call with arguments of more than {} MiB", mib(most)),
            Self::Answer(most) => write!(f, "an answer of more than {} MiB", mib(most)),
            Self::Received(most) => write!(f, "more than {} MiB for one answer", mib(most)),
            Self::Calls(most) => write!(f, "an answer of more than {most} calls"),
        }
    }
}

/// Reads what went wrong with one provider.
#[derive(Clone)]
pub(super) struct Failures {
    /// The provider's name.
    pub(super) provider: String,
    pub(super) host: String,
    /// What the user is told to set.
    pub(super) key_name: String,
    pub(super) key: Option<Secret>,
}

impl Failures {
    /// There is no key.
    pub(super) fn no_key(&self) -> ModelError {
        let Self { provider, key_name, .. } = self;
        ModelError::Auth(format!("{provider} needs a key: set {key_name}"))
    }

    /// The key is none that could be sent.
    pub(super) fn broken_key(&self) -> ModelError {
        let Self { provider, key_name, .. } = self;
        ModelError::Auth(format!("the key of {provider} has characters that no key has; set {key_name}"))
    }

    /// The connection broke off.
    pub(super) fn cut(&self) -> ModelError {
        ModelError::Lost(format!("{} ({}) broke off before its answer was complete", self.provider, self.host))
    }

    /// There was an answer, but not one of a model.
    pub(super) fn no_stream(&self) -> ModelError {
        let Self { provider, host, .. } = self;
        ModelError::Lost(format!("{provider} ({host}) answered with no stream of events; is its address right?"))
    }

    /// The model wants to call something, but nobody can tell what.
    pub(super) fn unreadable_call(&self) -> ModelError {
        ModelError::Failed(format!("{} ({}) wants a call, and sent none that can be read", self.provider, self.host))
    }

    /// Something of the answer is missing.
    pub(super) fn torn(&self) -> ModelError {
        ModelError::Lost(format!("{} ({}) sent a part of its answer that can't be read", self.provider, self.host))
    }

    /// The answer ended, and not because it was complete.
    pub(super) fn ended_badly(&self, reason: &str) -> ModelError {
        let Self { provider, host, .. } = self;
        ModelError::Failed(format!("{provider} ({host}) ended its answer with {}", self.hide(reason)))
    }

    /// An event of the answer is not JSON.
    pub(super) fn not_json(&self, error: &serde_json::Error) -> ModelError {
        ModelError::Failed(format!("{} ({}) sent what can't be read: {error}", self.provider, self.host))
    }

    /// The provider sent more than it may.
    pub(super) fn too_much(&self, excess: Excess) -> ModelError {
        let Self { provider, host, .. } = self;
        let what = format!("{provider} ({host}) sent {excess}, so the request was ended");
        ModelError::Failed(format!("{what}; send the prompt again, or choose another model"))
    }

    /// Why the body of an answer can't be read on.
    pub(super) fn of_body(&self, error: &BodyError) -> ModelError {
        let Self { provider, host, .. } = self;
        match error {
            BodyError::Network(error) => self.of_network(error),
            BodyError::Silent => self.silent(),
            BodyError::TooLong(limit) => self.too_much(Excess::Received(*limit)),
            BodyError::Compressed(encoding) => ModelError::Failed(format!(
                "{provider} ({host}) sent an answer compressed with {}, which was not asked for; \
                 turn compression off there, or in the proxy before it",
                self.hide(encoding)
            )),
        }
    }

    /// Nothing came for too long.
    pub(super) fn silent(&self) -> ModelError {
        let seconds = SILENCE_LIMIT.as_secs();
        ModelError::Lost(format!("{} ({}) sent nothing for {seconds} seconds", self.provider, self.host))
    }

    /// The request could not be sent, or its answer not be received.
    pub(super) fn of_network(&self, error: &reqwest::Error) -> ModelError {
        let what = if error.is_connect() { "can't be reached" } else { "did not answer to the end" };
        let text = format!("{} {what} at {}: {}", self.provider, self.host, self.hide(&cause_of(error)));
        if error.is_builder() { ModelError::Failed(text) } else { ModelError::Lost(text) }
    }

    /// The provider answered with a status of failure.
    pub(super) fn of_status(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
        let Self { provider, host, key_name, .. } = self;
        let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
        let said = self.said(&body);
        let text = format!("{provider} ({host}) answered with HTTP status {status}{said}");
        let auth = || {
            let what = if self.key.is_some() { "refuses the key" } else { "wants a key" };
            ModelError::Auth(format!("{provider} ({host}) {what}, with HTTP status {status}{said}; set {key_name}"))
        };
        match status.as_u16() {
            401 | 403 => auth(),
            400 if says(&said, &BAD_KEY) => auth(),
            429 if said.contains(NOTHING_LEFT) => ModelError::Failed(text),
            408 | 409 | 425 | 429 | 500..=599 => {
                let retry_after = retry_after(headers, Timestamp::now()).or_else(|| retry_delay(&body));
                ModelError::Busy { text, retry_after }
            }
            400 | 413 | 422 if says(&said, &TOO_LONG) || status == StatusCode::PAYLOAD_TOO_LARGE => {
                ModelError::TooLong(text)
            }
            _ => ModelError::Failed(text),
        }
    }

    /// An error in the midst of an answer.
    pub(super) fn of_error_event(&self, body: &Value) -> ModelError {
        let error = body.get("error").unwrap_or(body);
        let kind = error["type"].as_str().or_else(|| error["status"].as_str()).unwrap_or_default();
        // It is a number, or a text that may be one.
        let code = error["code"].as_str().unwrap_or_default();
        let status = error["code"].as_u64().or_else(|| code.parse().ok()).unwrap_or_default();
        let said = self.said(body);
        let text = format!("{} ({}) failed{said}", self.provider, self.host);
        let is_busy = |kind: &str| {
            ["overloaded", "rate_limit", "server_error", "api_error", "timeout", "UNAVAILABLE", "RESOURCE_EXHAUSTED"]
                .iter()
                .any(|busy| kind.contains(busy))
        };
        if (is_busy(kind) || is_busy(code) || matches!(status, 429 | 500..=599)) && !said.contains(NOTHING_LEFT) {
            return ModelError::Busy { text, retry_after: retry_delay(body) };
        }
        if says(&said, &TOO_LONG) { ModelError::TooLong(text) } else { ModelError::Failed(text) }
    }

    /// What `body` says in words, behind a colon.
    fn said(&self, body: &Value) -> String {
        let error = body.get("error").unwrap_or(body);
        let words = error["message"].as_str().or_else(|| error.as_str()).or_else(|| body["message"].as_str());
        let code = error["code"].as_str().map(|code| format!(" ({code})")).unwrap_or_default();
        let words = match words {
            Some(words) if !words.trim().is_empty() => format!("{}{code}", words.trim()),
            _ => return code,
        };
        // A page of HTML says nothing.
        if words.starts_with('<') { String::new() } else { format!(": {}", self.hide(&words)) }
    }

    /// `text` without the key, and not too long.
    fn hide(&self, text: &str) -> String {
        let text = self.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text));
        let start: String = text.chars().take(MOST_SAID).collect();
        if start.len() < text.len() { format!("{start}…") } else { start }
    }
}

/// Whether `said` holds one of `phrases`, which are in lower case.
fn says(said: &str, phrases: &[&str]) -> bool {
    let said = said.to_lowercase();
    phrases.iter().any(|phrase| said.contains(phrase))
}

/// How long to wait from `now` on, where a provider says that, or until when.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |name: &str| text(name)?.parse::<f64>().ok();
    if let Some(seconds) = number("retry-after-ms").map(|millis| millis / 1000.0).or_else(|| number("retry-after")) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = HTTP_DATE.parse_timestamp(text("retry-after")?).ok()?;
    Some(Duration::try_from(now.until(until).ok()?).unwrap_or_default())
}

/// How long to wait, where Gemini says it: `"3.5s"` among the details of an error.
fn retry_delay(body: &Value) -> Option<Duration> {
    let details = body.get("error").unwrap_or(body)["details"].as_array()?;
    let seconds = details.iter().find_map(|detail| detail["retryDelay"].as_str())?.strip_suffix('s')?;
    Duration::try_from_secs_f64(seconds.parse().ok()?).ok()
}

/// What lies behind `error`, without the address, which the outermost text of reqwest holds.
pub(super) fn cause_of(error: &reqwest::Error) -> String {
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if error.source().is_some() { innermost.to_string() } else { "the request failed".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures() -> Failures {
        let key = Some(Secret::new("hush"));
        Failures { provider: "openai".into(), host: "h:1".into(), key_name: "OPENAI_API_KEY".into(), key }
    }

    fn check(status: u16, body: &str, expected: &str) {
        let status = StatusCode::from_u16(status).unwrap();
        let error = failures().of_status(status, &HeaderMap::new(), body);
        let kind = match &error {
            ModelError::Auth(_) => "auth",
            ModelError::Busy { .. } => "busy",
            ModelError::TooLong(_) => "too long",
            _ => "failed",
        };
        assert_eq!(format!("{kind}: {error}"), expected);
    }

    #[test]
    fn a_status_says_what_to_do_and_hides_the_key() {
        check(
            401,
            r#"{"error":{"message":"the key hush is wrong"}}"#,
            "auth: openai (h:1) refuses the key, with HTTP status 401 Unauthorized: the key … is wrong; set OPENAI_API_KEY",
        );
        check(
            400,
            r#"{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT"}}"#,
            "auth: openai (h:1) refuses the key, with HTTP status 400 Bad Request: API key expired. Please renew the API key.; \
             set OPENAI_API_KEY",
        );
        check(
            429,
            r#"{"error":{"message":"You have no credit.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "failed: openai (h:1) answered with HTTP status 429 Too Many Requests: You have no credit. (insufficient_quota)",
        );
        check(500, "<html>", "busy: openai (h:1) answered with HTTP status 500 Internal Server Error");
        check(529, "{}", "busy: openai (h:1) answered with HTTP status 529 <unknown status code>");
        check(
            400,
            r#"{"error":{"message":"prompt is too long: 9 tokens"}}"#,
            "too long: openai (h:1) answered with HTTP status 400 Bad Request: prompt is too long: 9 tokens",
        );
        check(
            404,
            r#"{"error":"no such model"}"#,
            "failed: openai (h:1) answered with HTTP status 404 Not Found: no such model",
        );
    }

    #[test]
    fn the_wait_that_a_provider_wants_is_read() {
        let check = |name: &'static str, value: &str, expected: Option<u64>| {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]);
            let now = "2026-10-21T07:27:50Z".parse().unwrap();
            assert_eq!(retry_after(&headers, now), expected.map(Duration::from_millis), "{name}: {value}");
        };
        check("retry-after", "2", Some(2000));
        check("retry-after-ms", "150", Some(150));
        check("retry-after", "-1", None);
        check("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT", Some(10_000));
        check("retry-after", "Wed, 21 Oct 2026 07:27:00 GMT", Some(0));
        check("retry-after", "soon", None);
    }

    #[test]
    fn an_error_in_an_answer_is_read_by_its_kind_and_its_code() {
        let check = |body: &str, expected: Option<Option<u64>>| {
            let error = failures().of_error_event(&serde_json::from_str(body).unwrap());
            let wait = match error {
                ModelError::Busy { retry_after, .. } => Some(retry_after.map(|wait| wait.as_secs())),
                _ => None,
            };
            assert_eq!(wait, expected, "{body}");
        };
        check(r#"{"error":{"type":"overloaded_error"}}"#, Some(None));
        check(r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#, Some(None));
        check(r#"{"error":{"code":"503"}}"#, Some(None));
        check(r#"{"error":{"code":429,"details":[{},{"retryDelay":"3s"}]}}"#, Some(Some(3)));
        check(r#"{"error":{"code":429,"message":"insufficient_quota"}}"#, None);
        check(r#"{"error":{"type":"invalid_request_error","code":"bad"}}"#, None);
    }
}
