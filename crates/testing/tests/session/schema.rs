//! Holds every message against the published schema of the protocol.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use agent_client_protocol_schema::v1 as acp;
use jsonschema::Validator;
use rejoin_wire::{Direction, Tap};
use serde_json::Value;
use tokio::sync::watch;

/// What we send or take on purpose though the schema does not have it: the method, and why.
const EXCEPTIONS: [(&str, &str); 1] =
    [("session/set_model", "older clients and agents have it; the newest schema no longer does")];

/// Which side of the layer a tap is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Agent,
}

/// Sees the traffic of one side, keeps it, and notes what breaks the schema.
pub(crate) struct SchemaTap {
    side: Side,
    seen: Mutex<Seen>,
    /// Tells of every line.
    news: watch::Sender<()>,
}

#[derive(Default)]
struct Seen {
    lines: Vec<(Direction, Value)>,
    /// The requests that are not answered yet: the methods, by who asked and with which id. Several connections may use
    /// one id at once, so there may be several.
    open: HashMap<(bool, String), Vec<Request>>,
    violations: Vec<String>,
}

struct Request {
    method: String,
    /// What is wrong with it; to send such a thing is fine if it is refused.
    problem: Option<String>,
}

impl SchemaTap {
    pub(crate) fn new(side: Side) -> Arc<Self> {
        Arc::new(Self { side, seen: Mutex::default(), news: watch::Sender::new(()) })
    }

    /// The params of every message with `method` that went `direction`.
    pub(crate) fn params_of(&self, direction: Direction, method: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let is_meant = |(way, message): &&(Direction, Value)| *way == direction && message["method"] == method;
        seen.lines.iter().filter(is_meant).map(|(_, message)| message["params"].clone()).collect()
    }

    /// The results of every answer that went `direction`.
    pub(crate) fn results(&self, direction: Direction) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        let result = |(way, message): &(Direction, Value)| message.get("result").filter(|_| *way == direction).cloned();
        seen.lines.iter().filter_map(result).collect()
    }

    /// Waits until `method` went `direction` `times` times.
    pub(crate) async fn until(&self, direction: Direction, method: &str, times: usize) {
        let mut news = self.news.subscribe();
        let enough = news.wait_for(|()| self.params_of(direction, method).len() >= times);
        tokio::time::timeout(Duration::from_secs(30), enough).await.unwrap().unwrap();
    }

    /// What broke the schema, except what holds one of the words in `declared`.
    pub(crate) fn violations(&self, declared: &[String]) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let is_declared = |violation: &&String| declared.iter().any(|word| violation.contains(word));
        seen.violations.iter().filter(|violation| !is_declared(violation)).cloned().collect()
    }
}

impl Tap for SchemaTap {
    fn line(&self, direction: Direction, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            assert_eq!(direction, Direction::In, "a line of ours is no JSON: {line}");
            return;
        };
        let is_ours = direction == Direction::Out;
        let mut seen = self.seen.lock().unwrap();
        let id = message.get("id").map(Value::to_string);
        if let Some(method) = message["method"].as_str() {
            // What a client says to us, and we to an agent, is one half of the protocol; the rest is the other.
            let is_to_agent = is_ours == (self.side == Side::Agent);
            let problem = check_params(is_to_agent, method, message.get("params"), id.is_some());
            let problem = problem.map(|problem| format!("{:?} {direction:?} {method}: {problem}: {line}", self.side));
            match id {
                Some(id) => {
                    let request = Request { method: method.to_owned(), problem };
                    seen.open.entry((is_ours, id)).or_default().push(request);
                }
                None => seen.violations.extend(problem),
            }
        } else if let Some(id) = id {
            let requests = seen.open.get_mut(&(!is_ours, id)).filter(|requests| !requests.is_empty());
            let problem = match requests {
                Some(requests) => settle(requests, &message),
                // An answer to a line that was no request.
                None => message.get("error").and_then(|error| check(ERROR, error)),
            };
            let problem = problem.map(|problem| format!("{:?} {direction:?} answer: {problem}: {line}", self.side));
            seen.violations.extend(problem);
        }
        seen.lines.push((direction, message));
        drop(seen);
        self.news.send_replace(());
    }
}

/// Takes the request out that `message` answers, and says what is wrong with it or its answer.
fn settle(requests: &mut Vec<Request>, message: &Value) -> Option<String> {
    if let Some(error) = message.get("error") {
        // A bad request is refused: that is how it should be. So is one whose id is in use.
        let at = requests.iter().position(|request| request.problem.is_some()).unwrap_or(requests.len() - 1);
        requests.remove(at);
        return check(ERROR, error);
    }
    let problem_of = |request: &Request| check_result(&request.method, &message["result"]);
    let at = requests.iter().position(|request| problem_of(request).is_none()).unwrap_or(0);
    let request = requests.remove(at);
    request.problem.clone().or_else(|| problem_of(&request).map(|problem| format!("{}: {problem}", request.method)))
}

fn check_params(is_to_agent: bool, method: &str, params: Option<&Value>, is_request: bool) -> Option<String> {
    let half = if is_to_agent { TO_AGENT } else { TO_CLIENT };
    let known = half.iter().find(|known| known.name == method && known.result.is_some() == is_request);
    match known {
        Some(known) => check(known.params, params.unwrap_or(&Value::Object(serde_json::Map::new()))),
        None if method.starts_with('_') || EXCEPTIONS.iter().any(|(exception, _)| *exception == method) => None,
        None => Some("the schema has no such method".to_owned()),
    }
}

fn check_result(method: &str, result: &Value) -> Option<String> {
    let known = TO_AGENT.iter().chain(TO_CLIENT).find(|known| known.name == method)?;
    // Nothing at all is an empty result.
    let empty = Value::Object(serde_json::Map::new());
    check(known.result?, if result.is_null() { &empty } else { result })
}

/// How to get the schema of a type.
type SchemaOf = fn() -> schemars::Schema;

fn check(schema: SchemaOf, value: &Value) -> Option<String> {
    static VALIDATORS: LazyLock<Mutex<HashMap<usize, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut validators = VALIDATORS.lock().unwrap();
    let compile = || Arc::new(jsonschema::validator_for(schema().as_value()).unwrap());
    let validator = Arc::clone(validators.entry(schema as usize).or_insert_with(compile));
    drop(validators);
    let problems: Vec<String> =
        validator.iter_errors(value).map(|error| format!("{error} at {}", error.instance_path())).collect();
    (!problems.is_empty()).then(|| problems.join("; "))
}

struct Method {
    name: &'static str,
    params: SchemaOf,
    /// None for a notification.
    result: Option<SchemaOf>,
}

const ERROR: SchemaOf = || schemars::schema_for!(acp::Error);

macro_rules! methods {
    ($($name:literal $params:ident $($result:ident)?;)*) => {
        &[$(Method { name: $name, params: || schemars::schema_for!(acp::$params), result: methods!(@ $($result)?) },)*]
    };
    (@ $result:ident) => { Some(|| schemars::schema_for!(acp::$result)) };
    (@) => { None };
}

const TO_AGENT: &[Method] = methods! {
    "initialize" InitializeRequest InitializeResponse;
    "authenticate" AuthenticateRequest AuthenticateResponse;
    "logout" LogoutRequest LogoutResponse;
    "session/new" NewSessionRequest NewSessionResponse;
    "session/load" LoadSessionRequest LoadSessionResponse;
    "session/resume" ResumeSessionRequest ResumeSessionResponse;
    "session/list" ListSessionsRequest ListSessionsResponse;
    "session/fork" ForkSessionRequest ForkSessionResponse;
    "session/close" CloseSessionRequest CloseSessionResponse;
    "session/delete" DeleteSessionRequest DeleteSessionResponse;
    "session/prompt" PromptRequest PromptResponse;
    "session/set_mode" SetSessionModeRequest SetSessionModeResponse;
    "session/set_config_option" SetSessionConfigOptionRequest SetSessionConfigOptionResponse;
    "session/set_title" SetSessionTitleRequest SetSessionTitleResponse;
    "session/archive" ArchiveSessionRequest ArchiveSessionResponse;
    "session/unarchive" UnarchiveSessionRequest UnarchiveSessionResponse;
    "session/status" SessionStatusRequest SessionStatusResponse;
    "session/cancel" CancelNotification;
    "$/cancel_request" CancelRequestNotification;
};

const TO_CLIENT: &[Method] = methods! {
    "session/update" SessionNotification;
    "session/request_permission" RequestPermissionRequest RequestPermissionResponse;
    "fs/read_text_file" ReadTextFileRequest ReadTextFileResponse;
    "fs/write_text_file" WriteTextFileRequest WriteTextFileResponse;
    "terminal/create" CreateTerminalRequest CreateTerminalResponse;
    "terminal/output" TerminalOutputRequest TerminalOutputResponse;
    "terminal/release" ReleaseTerminalRequest ReleaseTerminalResponse;
    "terminal/wait_for_exit" WaitForTerminalExitRequest WaitForTerminalExitResponse;
    "terminal/kill" KillTerminalRequest KillTerminalResponse;
    "elicitation/create" CreateElicitationRequest CreateElicitationResponse;
    "elicitation/complete" CompleteElicitationNotification;
    "$/cancel_request" CancelRequestNotification;
};

#[test]
fn what_breaks_the_schema_is_noted() {
    let tap = SchemaTap::new(Side::Client);
    tap.line(Direction::In, r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}"#);
    tap.line(Direction::Out, r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#);
    tap.line(Direction::In, r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}"#);
    tap.line(Direction::Out, r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":9}}"#);
    tap.line(Direction::Out, r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}"#);
    tap.line(Direction::Out, r#"{"jsonrpc":"2.0","method":"session/bogus"}"#);

    assert_eq!(tap.violations(&[]).len(), 4, "{:#?}", tap.violations(&[]));
}

#[test]
fn a_bad_request_may_be_sent_if_it_is_refused() {
    let tap = SchemaTap::new(Side::Client);
    tap.line(Direction::In, r#"{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}"#);
    tap.line(Direction::Out, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}"#);

    assert_eq!(tap.violations(&[]), Vec::<String>::new());
}
