//! Holds every message against the published schema of the protocol.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin_check::schema::{Call, To, problem_with_error, problem_with_params, problem_with_result};
use rejoin_wire::{Direction, Tap};
use serde_json::Value;
use tokio::sync::watch;

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
            let to = if is_ours == (self.side == Side::Agent) { To::Agent } else { To::Client };
            let call = if id.is_some() { Call::Request } else { Call::Notification };
            let problem = problem_with_params(to, call, method, message.get("params"));
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
                None => message.get("error").and_then(problem_with_error),
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
        return problem_with_error(error);
    }
    let problem_of = |request: &Request| problem_with_result(&request.method, &message["result"]);
    let at = requests.iter().position(|request| problem_of(request).is_none()).unwrap_or(0);
    let request = requests.remove(at);
    request.problem.clone().or_else(|| problem_of(&request).map(|problem| format!("{}: {problem}", request.method)))
}

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
