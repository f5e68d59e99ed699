//! A turn of the scripted agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rejoin_wire::{Outcome, RequestId, RpcError, notification_line};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::session::Session;
use super::{Agent, Step, die};

/// Why a turn ends before its script.
enum End {
    Cancelled,
    Failed(RpcError),
}

/// Plays the prompt in `params`, and answers the request `id`.
pub(super) async fn run(agent: Arc<Agent>, id: RequestId, params: Value) {
    let session = match agent.session(&params).await {
        Ok(session) => session,
        Err(_) if agent.args.has_fault("pretends") => {
            return agent.respond(&id, Ok(&json!({ "stopReason": "refusal" }))).await;
        }
        Err(error) => return agent.respond(&id, Err(&error)).await,
    };
    let blocks = params["prompt"].as_array().cloned().unwrap_or_default();
    let mut turn = Turn { agent, session, stop: "end_turn".to_owned(), late: Vec::new() };
    turn.note_prompt(&blocks).await;
    let answer = match turn.play(&blocks).await {
        Ok(()) => Ok(json!({ "stopReason": turn.stop })),
        Err(End::Cancelled) if turn.agent.args.has_fault("cancel-error") => {
            Err(RpcError::new(RpcError::INTERNAL, "the operation was aborted"))
        }
        Err(End::Cancelled) => Ok(json!({ "stopReason": "cancelled" })),
        Err(End::Failed(error)) => Err(error),
    };
    if turn.agent.args.has_fault("forgets-cut") {
        turn.session.store();
    }
    turn.agent.respond(&id, answer.as_ref()).await;
    for text in std::mem::take(&mut turn.late) {
        let late = chunk("agent_message_chunk", &text, turn.new_id().as_ref());
        turn.agent.update(&turn.session.id, &late).await;
    }
}

struct Turn {
    agent: Arc<Agent>,
    session: Arc<Session>,
    stop: String,
    late: Vec<String>,
}

impl Turn {
    async fn note_prompt(&self, blocks: &[Value]) {
        let id = self.new_id();
        if self.agent.args.has_fault("titles") && self.session.history().is_empty() {
            let title: String = blocks[0]["text"].as_str().unwrap_or_default().chars().take(60).collect();
            let update = json!({ "sessionUpdate": "session_info_update", "title": format!("{title}…") });
            self.send(&update.to_string()).await;
        }
        for block in blocks {
            let mut update = json!({ "sessionUpdate": "user_message_chunk", "content": block });
            if let Some(id) = &id {
                update["messageId"] = json!(id);
            }
            self.session.keep(&update.to_string());
            if self.agent.args.has_fault("echo") {
                self.agent.update(&self.session.id, &update.to_string()).await;
            }
        }
    }

    async fn play(&mut self, blocks: &[Value]) -> Result<(), End> {
        let text = blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default();
        let steps = Step::read_all(text).unwrap_or_else(|| vec![Step::Say(format!("You said: {text}"))]);
        for step in steps {
            self.step(step).await?;
            if self.session.is_cancelled() {
                return Err(End::Cancelled);
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<(), End> {
        match step {
            Step::Say(text) => self.say(&text).await,
            Step::Big(mebibytes) => self.say(&"x".repeat(mebibytes * 1024 * 1024)).await,
            Step::Think(text) => self.send(&chunk("agent_thought_chunk", &text, self.new_id().as_ref())).await,
            Step::Stream(n_chunks) => {
                let id = self.new_id();
                for number in 0..n_chunks {
                    if self.session.is_cancelled() {
                        return Err(End::Cancelled);
                    }
                    self.send(&chunk("agent_message_chunk", &format!("{number} "), id.as_ref())).await;
                }
            }
            Step::Tool(id, title) => {
                let call =
                    json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "pending" });
                self.send(&call.to_string()).await;
            }
            Step::Progress(id, status) => {
                let update = json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status });
                self.send(&update.to_string()).await;
            }
            Step::Emit(update) => self.send(&update).await,
            Step::Stranger(text) => {
                let update = chunk("agent_message_chunk", &text, self.new_id().as_ref());
                self.agent.update("stranger", &update).await;
            }
            Step::Recall => self.say(&self.session.said_by_user().join(" | ")).await,
            Step::Settings => self.say(&self.session.values().to_string()).await,
            Step::Call(method, params) => {
                let (_, answer) = self.ask(&method, params).await;
                self.say_answer(&method, answer).await;
            }
            Step::Retract(method, params) => {
                let (id, answer) = self.ask(&method, params).await;
                let params = format!("{{\"requestId\":{}}}", id.as_json());
                let _ = self.agent.connection.notify("$/cancel_request", &params).await;
                self.say_answer(&method, answer).await;
            }
            Step::Permit(tool) => {
                let (_, answer) = self.ask("session/request_permission", permission(&tool)).await;
                self.say_answer("permit", answer).await;
            }
            Step::Notify(method, mut params) => {
                params["sessionId"] = json!(self.session.id);
                let line = notification_line(&method, &params.to_string());
                let _ = self.agent.connection.send_lines(line).await;
            }
            Step::Set(name, value) => {
                self.session.set(&name, json!(value));
                let update = match name.as_str() {
                    "mode" if self.agent.args.can("modes") => {
                        json!({ "sessionUpdate": "current_mode_update", "currentModeId": value })
                    }
                    _ => {
                        let options = self.session.options(&self.agent.args);
                        json!({ "sessionUpdate": "config_option_update", "configOptions": options })
                    }
                };
                self.send(&update.to_string()).await;
            }
            Step::Gate => tokio::select! {
                () = self.session.gate() => {}
                () = self.session.cancelled() => {}
            },
            Step::Wait => self.session.cancelled().await,
            Step::Hang => std::future::pending().await,
            Step::Stop(reason) => self.stop = reason,
            Step::Late(text) => self.late.push(text),
            Step::Fail(code, text) => return Err(End::Failed(RpcError::new(code, text))),
            Step::Crash(code) => {
                self.agent.connection.finish().await;
                die(code, "crash")
            }
            Step::Orphan(code) => {
                self.agent.connection.finish().await;
                leave_behind();
                die(code, "orphan")
            }
        }
        Ok(())
    }

    async fn say(&self, text: &str) {
        self.send(&chunk("agent_message_chunk", text, self.new_id().as_ref())).await;
    }

    async fn say_answer(&self, what: &str, answer: oneshot::Receiver<Outcome>) {
        let answer = match answer.await {
            Ok(Ok(result)) => result.get().to_owned(),
            Ok(Err(error)) => error.as_json().to_owned(),
            Err(_) => "nobody".to_owned(),
        };
        self.say(&format!("{what} -> {answer}")).await;
    }

    async fn ask(&self, method: &str, params: Value) -> (RequestId, oneshot::Receiver<Outcome>) {
        self.agent.ask(&self.session.id, method, params).await
    }

    async fn send(&self, update: &str) {
        self.session.keep(update);
        self.agent.update(&self.session.id, update).await;
    }

    /// A new message's id, unless this agent gives none.
    fn new_id(&self) -> Option<String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let id = || format!("message-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        (!self.agent.args.has_fault("no-ids")).then(id)
    }
}

/// Starts a process that has this one's output, and does not wait for it.
#[expect(clippy::zombie_processes, reason = "this process ends before it")]
fn leave_behind() {
    std::process::Command::new("sleep").arg("60").spawn().unwrap();
}

/// What is asked for permission to do `tool`.
pub(super) fn permission(tool: &str) -> Value {
    let options = json!([
        { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
        { "optionId": "no", "name": "No", "kind": "reject_once" },
    ]);
    json!({ "toolCall": { "toolCallId": tool, "title": "Edit" }, "options": options })
}

/// A chunk of the message `id`.
fn chunk(kind: &str, text: &str, id: Option<&String>) -> String {
    let mut update = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
    if let Some(id) = id {
        update["messageId"] = json!(id);
    }
    update.to_string()
}
