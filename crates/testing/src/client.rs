//! A client of a session layer in this process, which remembers everything that it was sent, in order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::{SessionLayer, Transport};
use rejoin_wire::{Connection, Options, RawValue, Received, RequestId, RpcError};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// Whatever does not come within this time does not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a request ended.
pub type Answer = Result<Value, RpcError>;

/// One thing that a client was sent.
#[derive(Debug, Clone)]
pub enum Event {
    /// An update of a session.
    Update {
        /// The session.
        session: String,
        /// The member `update`.
        update: Value,
        /// All params.
        params: Value,
    },
    /// A request.
    Asked {
        /// What to answer to.
        id: RequestId,
        /// The method.
        method: String,
        /// Its params.
        params: Value,
    },
    /// Any other notification.
    Told {
        /// The method.
        method: String,
        /// Its params.
        params: Value,
    },
    /// The answer to the client's request with this number.
    Answered(usize),
    /// The connection ended.
    Ended,
}

/// How a client answers what it is asked; `None` leaves the question open.
type Answerer = Box<dyn Fn(&str, &Value) -> Option<Answer> + Send>;

/// The number of a request, and where its answer goes.
type Tag = (usize, oneshot::Sender<Answer>);

/// A client.
pub struct TestClient {
    connection: Connection<Tag>,
    n_requests: AtomicUsize,
    events: watch::Receiver<Vec<Event>>,
    answerer: Arc<Mutex<Answerer>>,
    reading: JoinHandle<()>,
    serving: JoinHandle<()>,
}

/// A request that was sent.
pub struct Pending {
    /// Its id.
    pub id: RequestId,
    /// Its number among the client's requests.
    pub number: usize,
    answer: oneshot::Receiver<Answer>,
}

impl Pending {
    /// Waits for the answer.
    pub async fn answer(self) -> Answer {
        within("an answer", self.answer).await.unwrap()
    }

    /// Waits for the result.
    pub async fn result(self) -> Value {
        self.answer().await.unwrap()
    }

    /// Waits for the error.
    pub async fn error(self) -> RpcError {
        self.answer().await.unwrap_err()
    }
}

impl TestClient {
    /// Connects to `layer`, and says nothing yet.
    pub fn connect(layer: &Arc<SessionLayer>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let layer = Arc::clone(layer);
        let serving = tokio::spawn(async move { layer.attach(Transport::stream(theirs)).await });
        let (reader, writer) = tokio::io::split(ours);
        let (connection, mut incoming) = Connection::open(reader, writer, Options::default());
        let (sender, events) = watch::channel(Vec::new());
        let answerer: Arc<Mutex<Answerer>> =
            Arc::new(Mutex::new(Box::new(|method, params| Some(default_answer(method, params)))));
        let (link, answers) = (connection.clone(), Arc::clone(&answerer));
        let reading = tokio::spawn(async move {
            while let Some(received) = incoming.next().await {
                take(received, &sender, &link, &answers).await;
            }
            sender.send_modify(|events| events.push(Event::Ended));
        });
        Self { connection, n_requests: AtomicUsize::new(0), events, answerer, reading, serving }
    }

    /// Introduces itself with these capabilities, and gives the answer.
    pub async fn initialize(&self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.call("initialize", params).await.unwrap()
    }

    /// Answers what it is asked by `answer`, from now on; `None` leaves the question open.
    pub fn answer_with(&self, answer: impl Fn(&str, &Value) -> Option<Answer> + Send + 'static) {
        *self.answerer.lock().unwrap() = Box::new(answer);
    }

    /// Sends a request.
    pub async fn begin(&self, method: &str, params: Value) -> Pending {
        let (sender, answer) = oneshot::channel();
        let number = self.n_requests.fetch_add(1, Ordering::Relaxed);
        let id = self.connection.request(method, &params.to_string(), (number, sender)).await.unwrap();
        Pending { id, number, answer }
    }

    /// Sends a request, and waits for its answer.
    pub async fn call(&self, method: &str, params: Value) -> Answer {
        self.begin(method, params).await.answer().await
    }

    /// Sends a notification.
    pub async fn notify(&self, method: &str, params: Value) {
        self.connection.notify(method, &params.to_string()).await.unwrap();
    }

    /// Answers the question `id`.
    pub async fn respond(&self, id: &RequestId, result: &Value) {
        self.connection.respond(id, Ok(&result.to_string())).await.unwrap();
    }

    /// Sends a line as it is.
    pub async fn send_line(&self, line: &str) {
        self.connection.send_lines(format!("{line}\n")).await.unwrap();
    }

    /// Makes a session in `cwd`.
    pub async fn new_session(&self, cwd: &str) -> String {
        let made = self.call("session/new", json!({ "cwd": cwd, "mcpServers": [] })).await.unwrap();
        made["sessionId"].as_str().unwrap().to_owned()
    }

    /// Forks a session.
    pub async fn fork(&self, session: &str, cwd: &str) -> String {
        let made = self.call("session/fork", json!({ "sessionId": session, "cwd": cwd })).await.unwrap();
        made["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt.
    pub async fn prompt(&self, session: &str, text: &str) -> Pending {
        let blocks = json!([{ "type": "text", "text": text }]);
        self.begin("session/prompt", json!({ "sessionId": session, "prompt": blocks })).await
    }

    /// Has a whole turn, and gives the stop reason.
    pub async fn turn(&self, session: &str, text: &str) -> String {
        let result = self.prompt(session, text).await.result().await;
        result["stopReason"].as_str().unwrap().to_owned()
    }

    /// Loads a session, and gives the updates that came before the answer.
    pub async fn load(&self, session: &str, cwd: &str) -> Vec<Value> {
        let from = self.mark();
        let params = json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] });
        let pending = self.begin("session/load", params).await;
        let number = pending.number;
        pending.result().await;
        let is_answer = |event: &Event| matches!(event, Event::Answered(answered) if *answered == number);
        let events = self.since(from);
        updates_in(events.split(is_answer).next().unwrap(), session)
    }

    /// Cancels what runs in a session.
    pub async fn cancel(&self, session: &str) {
        self.notify("session/cancel", json!({ "sessionId": session })).await;
    }

    /// Lets the scripted agent pass a gate.
    pub async fn go(&self, session: &str) {
        self.notify("_go", json!({ "sessionId": session })).await;
    }

    /// The updates of a session that have come so far.
    pub fn updates(&self, session: &str) -> Vec<Value> {
        updates_in(&self.events.borrow(), session)
    }

    /// How many things have come so far.
    pub fn mark(&self) -> usize {
        self.events.borrow().len()
    }

    /// Everything that came behind the mark `from`.
    pub fn since(&self, from: usize) -> Vec<Event> {
        self.events.borrow()[from..].to_vec()
    }

    /// The updates of a session behind the mark `from`.
    pub fn updates_since(&self, from: usize, session: &str) -> Vec<Value> {
        updates_in(&self.since(from), session)
    }

    /// Waits until `find` finds something in all that has come.
    pub async fn until<T>(&self, what: &str, find: impl Fn(&[Event]) -> Option<T>) -> T {
        let mut events = self.events.clone();
        let found = tokio::time::timeout(PATIENCE, events.wait_for(|events| find(events).is_some())).await;
        assert!(found.is_ok(), "{what} did not come; this did: {:#?}", self.events.borrow());
        find(&self.events.borrow()).unwrap()
    }

    /// Waits until the agent has said `text` in a session.
    pub async fn until_said(&self, session: &str, text: &str) {
        let holds = |update: &Value| {
            let said = update["content"]["text"].as_str().unwrap_or_default();
            update["sessionUpdate"] == "agent_message_chunk" && said.contains(text)
        };
        let find = |events: &[Event]| updates_in(events, session).iter().any(holds).then_some(());
        self.until(&format!("{text:?}"), find).await;
    }

    /// Waits until it is asked `method`, and gives the id and the params of the last time.
    pub async fn until_asked(&self, method: &str) -> (RequestId, Value) {
        let asked = |event: &Event| match event {
            Event::Asked { id, method: asked, params } if asked == method => Some((id.clone(), params.clone())),
            _ => None,
        };
        self.until(method, |events| events.iter().rev().find_map(asked)).await
    }

    /// Goes away, and waits until the layer has noticed.
    pub async fn leave(self) {
        let Self { connection, reading, serving, .. } = self;
        reading.abort();
        let _ = reading.await;
        drop(connection);
        within("the end of serving", serving).await.unwrap();
    }
}

/// The updates of `session` among `events`.
pub fn updates_in(events: &[Event], session: &str) -> Vec<Value> {
    let update = |event: &Event| match event {
        Event::Update { session: of, update, .. } if of == session => Some(update.clone()),
        _ => None,
    };
    events.iter().filter_map(update).collect()
}

async fn take(
    received: Received<Tag>,
    events: &watch::Sender<Vec<Event>>,
    connection: &Connection<Tag>,
    answerer: &Mutex<Answerer>,
) {
    let note = |event: Event| events.send_modify(|events| events.push(event));
    match received {
        Received::Request { id, method, params } => {
            let params = read(params);
            note(Event::Asked { id: id.clone(), method: method.clone(), params: params.clone() });
            let answer = answerer.lock().unwrap()(&method, &params);
            if let Some(answer) = answer {
                let answer = answer.map(|result| result.to_string());
                let _ = connection.respond(&id, answer.as_deref()).await;
            }
        }
        Received::Notification { method, params } if method == "session/update" => {
            let params = read(params);
            let session = params["sessionId"].as_str().unwrap().to_owned();
            note(Event::Update { session, update: params["update"].clone(), params });
        }
        Received::Notification { method, params } => note(Event::Told { method, params: read(params) }),
        Received::Response { tag: (number, sender), outcome } => {
            note(Event::Answered(number));
            let _ = sender.send(outcome.map(|result| read(Some(result))));
        }
        Received::Abandoned { tag } => drop(tag),
        Received::Unreadable { error, .. } => panic!("the layer sent a line that is no message: {error}"),
    }
}

/// What a client does that can do a little of everything.
fn default_answer(method: &str, params: &Value) -> Answer {
    match method {
        "session/request_permission" => Ok(json!({ "outcome": { "outcome": "selected", "optionId": "yes" } })),
        "fs/read_text_file" => Ok(json!({ "content": format!("what is in {}", params["path"]) })),
        _ if method.starts_with('_') => Ok(json!({ "method": method, "params": params })),
        _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, "the client can't do that")),
    }
}

fn read(json: Option<Box<RawValue>>) -> Value {
    json.map_or(Value::Null, |json| serde_json::from_str(json.get()).unwrap())
}

async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} did not come"))
}
