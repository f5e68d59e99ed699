//! A turn.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::session::{Session, now};

/// The pieces of a slow answer, and the time between them.
const SLOW: (u32, Duration) = (150, Duration::from_millis(40));

/// What the client says, without what is no text.
pub(super) fn text_of(params: &Value) -> String {
    let blocks = params["prompt"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

/// A piece of the message `id`.
pub(super) fn chunk(kind: &str, text: &str, id: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text }, "messageId": id })
}

/// Plays the prompt in `params`; gives the stop reason.
pub(super) fn run(
    agent: &Agent,
    session: &Session,
    params: &Value,
    cancelled: &AtomicBool,
) -> Result<&'static str, String> {
    let text = text_of(params);
    refuse(agent, session, params, &text)?;
    let _running = session.running.lock().unwrap();
    let needs_tool = text.contains("rejoin-check.txt");
    let _floor = (agent.breaks("prompt.beside") && !needs_tool).then(|| agent.floor.lock().unwrap());
    if agent.breaks("prompt.beside-permission") && !needs_tool {
        drop(agent.floor.lock().unwrap());
    }
    let turn = Turn { agent, session, cancelled };
    if session.is_cancelled_idle.swap(false, Ordering::SeqCst) {
        return Ok("cancelled");
    }
    turn.note_prompt(params, &text);
    let is_cancelled = match () {
        () if text.contains("slowly") => turn.answer_slowly(),
        () if text.contains("rejoin-check.txt") => turn.use_tool(),
        () if text.contains("what is the word") => turn.say(&session.word().unwrap_or("I know no word".to_owned())),
        () => turn.say("ok"),
    };
    session.set("updatedAt", json!(now()));
    match is_cancelled {
        true if agent.breaks("cancel.stop-reason") => Ok("end_turn"),
        true => Ok("cancelled"),
        false => Ok("end_turn"),
    }
}

/// Refuses the prompt where a rule is to be broken by that.
fn refuse(agent: &Agent, session: &Session, params: &Value, text: &str) -> Result<(), String> {
    let has_link = params["prompt"].as_array().unwrap().iter().any(|block| block["type"] == "resource_link");
    let is_moody = session.get("cwd").as_str().unwrap().ends_with("gone");
    let is_after_cancel = || {
        let history = session.history.lock().unwrap();
        history.iter().any(|update| update["content"]["text"] == "w0 ")
            && !agent.has_sulked.swap(true, Ordering::SeqCst)
    };
    let is_refused = agent.breaks("prompt.answers")
        || (agent.breaks("prompt.again")
            && text.contains("what is the word")
            && !agent.has_sulked.swap(true, Ordering::SeqCst))
        || (agent.breaks("prompt.resource-link") && has_link)
        || (agent.breaks("prompt.several-sessions") && is_moody)
        || (agent.breaks("cancel.next-prompt") && is_after_cancel());
    if is_refused { Err("not now".to_owned()) } else { Ok(()) }
}

struct Turn<'a> {
    agent: &'a Agent,
    session: &'a Session,
    cancelled: &'a AtomicBool,
}

impl Turn<'_> {
    fn note_prompt(&self, params: &Value, text: &str) {
        let id = new_id();
        let is_lost = self.agent.breaks("load.keeps-prompt") && text.contains("slowly");
        for block in params["prompt"].as_array().unwrap().iter().filter(|_| !is_lost) {
            self.session.keep(&json!({ "sessionUpdate": "user_message_chunk", "content": block, "messageId": id }));
        }
        if self.agent.breaks("prompt.no-echo") {
            for _ in 0..2 {
                self.agent.send(self.session, &chunk("user_message_chunk", text, &id));
            }
        }
        self.session.set("is_prompted", json!(true));
        if self.session.get("title").is_null() {
            self.session.set("title", json!(text));
        }
        self.session.set("updatedAt", json!(now()));
    }

    /// Says `text` in one piece; says whether the turn was cancelled.
    fn say(&self, text: &str) -> bool {
        let id = if self.agent.breaks("prompt.message-ids") { "the-message".to_owned() } else { new_id() };
        self.send(&chunk("agent_message_chunk", text, &id));
        self.is_cancelled()
    }

    fn answer_slowly(&self) -> bool {
        let (id, (count, pause)) = (new_id(), SLOW);
        self.session.slow_turns.fetch_add(1, Ordering::SeqCst);
        for number in 0..count {
            let piece = chunk("agent_message_chunk", &format!("w{number} "), &id);
            if self.agent.breaks("load.keeps-partial-answer") {
                self.agent.send(self.session, &piece);
            } else {
                self.send(&piece);
            }
            std::thread::sleep(pause);
            if self.is_cancelled() {
                return true;
            }
        }
        false
    }

    /// Writes a file, after permission.
    fn use_tool(&self) -> bool {
        let call = new_id();
        let progress =
            |status: &str| json!({ "sessionUpdate": "tool_call_update", "toolCallId": call, "status": status });
        if !self.agent.breaks("tools.begin-first") {
            let begin = json!({ "sessionUpdate": "tool_call", "toolCallId": call, "title": "Write", "kind": "edit", "status": "pending" });
            self.send(&begin);
            if self.agent.breaks("tools.own-ids") {
                self.send(&begin);
            }
        }
        let options = json!([{ "optionId": "yes", "name": "Yes", "kind": "allow_once" }]);
        let permission =
            json!({ "sessionId": self.session.id, "toolCall": { "toolCallId": call }, "options": options });
        if self.agent.breaks("terminal") {
            self.agent.ask("terminal/create", &json!({ "sessionId": self.session.id, "command": "true" }));
        }
        let floor = self.agent.breaks("prompt.beside-permission").then(|| self.agent.floor.lock().unwrap());
        let answer = self.agent.ask("session/request_permission", &permission);
        drop(floor);
        if answer["result"]["outcome"]["outcome"] == "cancelled" {
            if self.agent.breaks("cancel.permission") {
                std::thread::sleep(Duration::from_secs(4));
            }
            self.send(&progress("failed"));
            return true;
        }
        if !self.agent.breaks("tools.cwd") {
            let cwd = self.session.get("cwd");
            std::fs::write(Path::new(cwd.as_str().unwrap()).join("rejoin-check.txt"), "hello").unwrap();
        }
        if !self.agent.breaks("tools.ended") {
            self.send(&progress("completed"));
        }
        self.say("done")
    }

    fn send(&self, update: &Value) {
        self.session.keep(update);
        self.agent.send(self.session, update);
    }

    /// Whether it was cancelled, as far as it has heard.
    fn is_cancelled(&self) -> bool {
        // The second slow turn of a session is the one that is cancelled at once.
        let is_deaf = self.agent.breaks("cancel.early") && self.session.slow_turns.load(Ordering::SeqCst) == 2;
        self.cancelled.load(Ordering::SeqCst) && !is_deaf
    }
}

fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("message-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst))
}
