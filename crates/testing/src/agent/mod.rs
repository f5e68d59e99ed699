//! A scripted ACP agent, for tests of whatever stands before it.
//!
//! What it can do is said on its command line, what it does in a turn by the prompt: each line is one [`Step`]. A prompt
//! that is no script is answered with `You said: …`. The notification `_go` lets a turn pass a gate, `_say` has the agent
//! say something without a turn, `_permit` ask for permission, `_store` store what it has not stored yet, and `_forget`
//! lose the session; the request `_talk` is answered behind a few updates, and other methods that begin with `_` are told back. Messages are raw, so it can also
//! send what no schema has.

mod args;
mod session;
mod step;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;

use rejoin_wire::{Connection, Options, Outcome, RawValue, Received, RequestId, RpcError};
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, Semaphore, oneshot};

pub use args::Args;
use session::{LONG, Session};
pub use step::Step;

/// Runs the agent until its input ends.
pub async fn run(args: Args) {
    let (connection, mut incoming) = Connection::open(tokio::io::stdin(), tokio::io::stdout(), Options::default());
    let agent = Arc::new(Agent { args, connection, sessions: Mutex::default(), held: Semaphore::new(0) });
    while let Some(received) = incoming.next().await {
        match received {
            Received::Request { id, method, params } => {
                agent.die_if_told(&method);
                let params = read(params);
                if method == "session/prompt" {
                    // A cancel that comes right behind it is for this turn.
                    if let Ok(session) = agent.session(&params).await {
                        session.begin_turn();
                    }
                    tokio::spawn(turn::run(Arc::clone(&agent), id, params));
                } else if agent.args.holds(&method) || agent.args.has_fault("asks") {
                    let agent = Arc::clone(&agent);
                    tokio::spawn(async move { agent.request(&id, &method, &params).await });
                } else {
                    agent.request(&id, &method, &params).await;
                }
            }
            Received::Notification { method, params } => {
                let params = read(params);
                agent.notified(&method, &params).await;
            }
            Received::Response { tag, outcome } => drop(tag.send(outcome)),
            Received::Abandoned { .. } | Received::Unreadable { .. } => {}
        }
    }
    // It was ended in order.
    agent.sessions.lock().await.values().for_each(|session| session.store());
}

/// The agent.
struct Agent {
    args: Args,
    connection: Connection<oneshot::Sender<Outcome>>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// How many requests that are held may be answered.
    held: Semaphore,
}

type Answer = Result<Value, RpcError>;

impl Agent {
    async fn request(&self, id: &RequestId, method: &str, params: &Value) {
        if self.args.is_deaf_to(method) {
            return;
        }
        if self.args.holds(method) {
            self.held.acquire().await.unwrap().forget();
        }
        let answer = if self.args.refuses(method) {
            Err(RpcError::new(RpcError::INVALID_PARAMS, format!("the agent was told to refuse {method}")))
        } else {
            self.answer(method, params).await
        };
        self.respond(id, answer.as_ref()).await;
        if self.args.dies_behind(method) {
            self.connection.finish().await;
            die(3, method);
        }
        if method == "session/load" && self.args.has_fault("late-replay") && answer.is_ok() {
            self.replay(params).await;
        }
        let is_new = ["session/new", "session/load", "session/resume", "session/fork"].contains(&method);
        if let (true, true, Ok(result)) = (is_new, self.args.can("commands"), &answer) {
            let session = result["sessionId"].as_str().or(params["sessionId"].as_str()).unwrap_or_default();
            let commands = json!([{ "name": "plan", "description": "Makes a plan" }]);
            let update = json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands });
            self.update(session, &update.to_string()).await;
        }
    }

    async fn answer(&self, method: &str, params: &Value) -> Answer {
        match method {
            "initialize" => Ok(self.args.initialize_result()),
            "authenticate" | "logout" => Ok(json!({})),
            "session/new" | "session/fork" => {
                let session = match self.session(params).await {
                    Ok(source) => Session::fork(&self.args, &source),
                    Err(_) => Session::new(&self.args),
                };
                self.ask_for_file(&session.id).await;
                if self.args.has_fault("blabs") {
                    blab(&params["mcpServers"]);
                }
                if self.args.has_fault("early") {
                    self.say(&session.id, &json!("early")).await;
                }
                if self.args.has_fault("locks") {
                    session.lock();
                }
                let setup = session.setup(&self.args);
                let result = json!({ "sessionId": session.id }).as_object().unwrap().clone();
                self.sessions.lock().await.insert(session.id.clone(), Arc::new(session));
                Ok(Value::Object(result.into_iter().chain(setup).collect()))
            }
            "session/load" | "session/resume" => {
                let id = params["sessionId"].as_str().unwrap_or_default();
                self.ask_for_file(id).await;
                // One that is open is not read again.
                if self.session(params).await.is_err() {
                    let is_pretending = ["pretends", "resumes-all"].iter().any(|fault| self.args.has_fault(fault));
                    let is_pretending = method == "session/resume" && is_pretending;
                    let Some(session) = Session::read(&self.args, id) else {
                        return if is_pretending { Ok(json!({})) } else { Err(self.not_found(id)) };
                    };
                    if self.args.has_fault("locks") && !session.lock() {
                        let error = format!("the session {id} is in use by another client");
                        return Err(RpcError::new(RpcError::INVALID_REQUEST, error));
                    }
                    self.sessions.lock().await.insert(id.to_owned(), Arc::new(session));
                }
                if method == "session/load" && !self.args.has_fault("late-replay") {
                    self.replay(params).await;
                }
                let is_silent = self.args.has_fault("tells-no-settings");
                let mut setup = if is_silent { Map::new() } else { self.session(params).await?.setup(&self.args) };
                if self.args.has_fault("renames") {
                    setup.insert("sessionId".to_owned(), json!(self.rename(id).await?));
                }
                Ok(Value::Object(setup))
            }
            "session/close" | "session/delete" => {
                let id = params["sessionId"].as_str().unwrap_or_default();
                let open = self.sessions.lock().await.remove(id);
                if let Some(session) = &open {
                    session.store();
                    session.unlock();
                }
                // One that an earlier process kept goes too.
                let session = if open.is_some() { open } else { Session::read(&self.args, id).map(Arc::new) };
                if let Some(session) = session.filter(|_| method == "session/delete") {
                    session.forget();
                }
                Ok(json!({}))
            }
            "session/set_mode" => self.set(params, "mode", params["modeId"].clone()).await.map(|_| json!({})),
            "session/set_model" => self.set(params, "model", params["modelId"].clone()).await.map(|_| json!({})),
            "session/set_config_option" => {
                let option = params["configId"].as_str().unwrap_or_default();
                let session = self.set(params, option, params["value"].clone()).await?;
                Ok(json!({ "configOptions": session.options(&self.args) }))
            }
            "_talk" => {
                let session = self.session(params).await?;
                for number in 0..50 {
                    self.say(&session.id, &json!(format!("{number} "))).await;
                }
                Ok(json!({ "sessionId": session.id }))
            }
            // Whatever is asked beyond the protocol is told back.
            _ if method.starts_with('_') => Ok(json!({ "method": method, "params": params })),
            _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, format!("the agent has no method {method}"))),
        }
    }

    /// Goes on with the session `id` under another one.
    async fn rename(&self, id: &str) -> Result<String, RpcError> {
        let mut sessions = self.sessions.lock().await;
        let session = sessions.remove(id).ok_or_else(|| self.not_found(id))?;
        let renamed = Session::fork(&self.args, &session);
        session.forget();
        let id = renamed.id.clone();
        sessions.insert(id.clone(), Arc::new(renamed));
        Ok(id)
    }

    async fn set(&self, params: &Value, name: &str, value: Value) -> Result<Arc<Session>, RpcError> {
        let session = self.session(params).await?;
        let value = value.as_str().map_or(value.clone(), |text| json!(text.trim_end_matches(LONG)));
        if self.args.has_fault("refuses-what-is-set") && session.value(name) == value {
            return Err(RpcError::new(RpcError::INTERNAL, format!("{name} is already {value}")));
        }
        session.set(name, value);
        if self.args.has_fault("tells-choices") {
            self.say(&session.id, &json!(format!("[set {name}]"))).await;
            let options = session.options(&self.args);
            let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
            self.update(&session.id, &update.to_string()).await;
        }
        Ok(session)
    }

    async fn notified(&self, method: &str, params: &Value) {
        if method == "_go" && params["sessionId"].is_null() {
            self.held.add_permits(1);
        }
        let Ok(session) = self.session(params).await else { return };
        match method {
            "session/cancel" if !self.args.has_fault("ignore-cancel") => session.cancel(),
            "_go" => session.go_on(),
            "_say" => self.say(&session.id, &params["text"]).await,
            "_permit" => {
                let permission = turn::permission("t1");
                // Whatever the answer is, it does nothing.
                drop(self.ask(&session.id, "session/request_permission", permission).await);
            }
            "_store" => session.store(),
            "_forget" => drop(self.sessions.lock().await.remove(&session.id)),
            _ => {}
        }
    }

    async fn say(&self, session: &str, text: &Value) {
        let content = json!({ "type": "text", "text": text });
        let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
        self.update(session, &update.to_string()).await;
    }

    /// Sends what the session in `params` remembers.
    async fn replay(&self, params: &Value) {
        let Ok(session) = self.session(params).await else { return };
        let mut history = session.history();
        if self.args.has_fault("short-replay") {
            let is_users = |update: &String| update.contains("user_message_chunk");
            history.remove(history.iter().position(is_users).unwrap());
        }
        for update in history {
            self.update(&session.id, &update).await;
        }
    }

    /// Asks for a file and waits for it, if it is an agent that does so before it has opened a session.
    async fn ask_for_file(&self, session: &str) {
        if self.args.has_fault("asks") {
            let (_, answer) = self.ask(session, "fs/read_text_file", json!({ "path": "/f" })).await;
            drop(answer.await);
        }
    }

    /// Asks the client; the session's id is added.
    async fn ask(&self, session: &str, method: &str, mut params: Value) -> (RequestId, oneshot::Receiver<Outcome>) {
        params["sessionId"] = json!(session);
        let (sender, answer) = oneshot::channel();
        let id = self.connection.request(method, &params.to_string(), sender).await;
        (id.unwrap_or_else(|_| die(1, "its output is closed")), answer)
    }

    async fn session(&self, params: &Value) -> Result<Arc<Session>, RpcError> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        self.sessions.lock().await.get(id).cloned().ok_or_else(|| self.not_found(id))
    }

    fn not_found(&self, id: &str) -> RpcError {
        let what = format!("the agent has no session {id}");
        if self.args.has_fault("vague") {
            let data = json!({ "details": format!("{what}: it was not found") });
            return RpcError::new(RpcError::INTERNAL, "Internal error").with_data(&data);
        }
        RpcError::new(-32002, what)
    }

    async fn update(&self, session: &str, update: &str) {
        let params = format!("{{\"sessionId\":{},\"update\":{update}}}", json!(session));
        let _ = self.connection.notify("session/update", &params).await;
    }

    async fn respond(&self, id: &RequestId, answer: Result<&Value, &RpcError>) {
        let _ = self.connection.respond(id, answer.map(Value::to_string).as_deref().map_err(|error| *error)).await;
    }

    fn die_if_told(&self, method: &str) {
        if self.args.dies_on(method) {
            die(3, method);
        }
    }
}

/// Ends the process, and says so where agents say such things.
#[expect(clippy::exit, clippy::print_stderr, reason = "to end badly is what this agent was told to do")]
fn die(code: i32, why: &str) -> ! {
    eprintln!("scripted agent: told to die at {why}");
    std::process::exit(code);
}

/// Tells people what no one should.
#[expect(clippy::print_stderr, reason = "agents write there, and some write too much")]
fn blab(servers: &Value) {
    eprintln!("scripted agent: connecting to {servers}");
}

/// What can be read of `params`.
fn read(params: Option<Box<RawValue>>) -> Value {
    params.and_then(|params| serde_json::from_str(params.get()).ok()).unwrap_or_default()
}
