//! What the agent answers, and how it breaks rules.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use serde_json::{Value, json};

use crate::session::{Session, now};
use crate::turn;

/// The longest page of a list.
const PAGE: usize = 4;

pub(super) struct Agent {
    pub(super) state: PathBuf,
    rule: String,
    output: Mutex<()>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    deleted: Mutex<HashSet<String>>,
    /// The MCP servers of each session.
    servers: Mutex<HashMap<String, Vec<Child>>>,
    /// Who waits for answers of the client.
    waiting: Mutex<HashMap<String, mpsc::Sender<Value>>>,
    count: AtomicU64,
    /// Whether a cancelled turn has been resented.
    pub(super) has_sulked: AtomicBool,
    /// Held by a turn that keeps all others waiting.
    pub(super) floor: Mutex<()>,
}

/// What is answered: a result, an error, or nothing at all.
enum Answer {
    Result(Value),
    Error(i64, String),
    Never,
}

impl Agent {
    pub(super) fn new(state: PathBuf, rule: String) -> Self {
        Self {
            state,
            rule,
            output: Mutex::default(),
            sessions: Mutex::default(),
            deleted: Mutex::default(),
            servers: Mutex::default(),
            waiting: Mutex::default(),
            count: AtomicU64::new(0),
            has_sulked: AtomicBool::new(false),
            floor: Mutex::default(),
        }
    }

    pub(super) fn breaks(&self, rule: &str) -> bool {
        self.rule == rule
    }

    // -- the wire

    pub(super) fn receive(self: &Arc<Self>, message: &Value) {
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            if let Some(waiting) = self.waiting.lock().unwrap().remove(&message["id"].to_string()) {
                drop(waiting.send(message.clone()));
            }
            return;
        };
        let params = message["params"].clone();
        if message.get("id").is_none() {
            return self.notified(&method, &params);
        }
        let id = message["id"].clone();
        if method == "session/prompt" {
            return self.prompt(id, params);
        }
        if self.breaks("wire.stays") && method == "session/set_mode" {
            std::process::abort();
        }
        if self.breaks("wire.own-methods") && method == "session/set_mode" {
            self.write(&json!({ "jsonrpc": "2.0", "method": "faulty/mode_is_set", "params": {} }));
        }
        let answer = self.answer(&method, &params);
        let opened = match &answer {
            Answer::Result(result) => result["sessionId"].as_str().map(str::to_owned),
            Answer::Error(..) | Answer::Never => None,
        };
        self.respond(&id, answer);
        if let Some(opened) = opened {
            self.send_to(&opened, &commands());
        }
        if self.breaks("wire.one-answer") && method == "initialize" {
            self.respond(&id, Answer::Result(json!({ "protocolVersion": 1 })));
        }
        self.after(&method, &params);
    }

    fn notified(&self, method: &str, params: &Value) {
        if self.breaks("wire.unknown-notification") && method == "_rejoin_check/unknown" {
            std::process::abort();
        }
        if method != "session/cancel" || self.breaks("cancel.in-time") {
            return;
        }
        if let Some(session) = self.session(params) {
            let had_turn = session.cancel();
            session.is_forgetful.store(self.breaks("cancel.remembers"), Ordering::SeqCst);
            session.is_cancelled_idle.store(!had_turn && self.breaks("cancel.idle"), Ordering::SeqCst);
        }
    }

    /// Begins a turn on a thread of its own.
    fn prompt(self: &Arc<Self>, id: Value, params: Value) {
        let session = self.session(&params);
        let Some(session) = session else {
            let answer = if self.breaks("prompt.unknown-session") {
                Answer::Result(json!({ "stopReason": "refusal" }))
            } else {
                Answer::Error(-32002, "there is no such session".to_owned())
            };
            return self.respond(&id, answer);
        };
        // A cancel that comes right behind it is for this turn.
        let cancelled = Arc::new(AtomicBool::new(false));
        let is_second = {
            let mut turns = session.turns.lock().unwrap();
            turns.push(Arc::clone(&cancelled));
            turns.len() > 1
        };
        if is_second && self.breaks("prompt.while-busy") {
            return;
        }
        let agent = Arc::clone(self);
        std::thread::spawn(move || {
            let answer = turn::run(&agent, &session, &params, &cancelled);
            session.turns.lock().unwrap().retain(|turn| !Arc::ptr_eq(turn, &cancelled));
            let is_cancelled = cancelled.load(Ordering::SeqCst);
            match answer {
                Ok(stop) => agent.respond(&id, Answer::Result(json!({ "stopReason": stop }))),
                Err(error) => agent.respond(&id, Answer::Error(-32603, error)),
            }
            let text = turn::text_of(&params);
            let is_late = agent.breaks("prompt.updates-before-response") && text.contains("what is the word");
            if is_late || (agent.breaks("cancel.updates-before-response") && is_cancelled) {
                agent.send(&session, &turn::chunk("agent_message_chunk", "late", "late"));
            }
        });
    }

    /// Asks the client, and waits for its answer.
    pub(super) fn ask(&self, method: &str, params: &Value) -> Value {
        let (sender, answer) = mpsc::channel();
        let id = json!(format!("agent-{}", self.count.fetch_add(1, Ordering::SeqCst)));
        self.waiting.lock().unwrap().insert(id.to_string(), sender);
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        answer.recv().unwrap_or_default()
    }

    /// Sends an update.
    pub(super) fn send(&self, session: &Session, update: &Value) {
        self.send_to(&session.id, update);
    }

    fn send_to(&self, id: &str, update: &Value) {
        let params = json!({ "sessionId": id, "update": update });
        self.write(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    fn respond(&self, id: &Value, answer: Answer) {
        match answer {
            Answer::Result(result) => self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Answer::Error(code, message) => {
                let error = json!({ "code": code, "message": message });
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            }
            Answer::Never => {}
        }
    }

    fn write(&self, message: &Value) {
        self.write_line(&message.to_string());
    }

    #[expect(clippy::print_stdout, reason = "that is where agents speak")]
    pub(super) fn write_line(&self, line: &str) {
        let _output = self.output.lock().unwrap();
        println!("{line}");
        std::io::stdout().flush().unwrap();
    }

    // -- the methods

    fn answer(&self, method: &str, params: &Value) -> Answer {
        let is_known = method == "initialize" || params.get("sessionId").is_none() || self.session(params).is_some();
        let of_session = ["session/set_mode", "session/set_config_option", "session/fork", "session/archive"];
        if !is_known && of_session.contains(&method) && self.is_able() {
            return not_found();
        }
        match method {
            "initialize" => self.initialize(params),
            "session/new" => self.open_new(params),
            _ if !self.is_able() => self.unknown_method(method),
            "session/load" => self.reopen(params, "load"),
            "session/resume" => self.reopen(params, "resume"),
            "session/fork" => self.fork(params),
            "session/list" => self.list(params),
            "session/close" => self.close(params),
            "session/delete" => self.delete(params),
            "session/set_mode" => self.set_mode(params),
            "session/set_config_option" => self.set_option(params),
            "session/set_title" => self.set_of(params, "title", &params["title"], "title.listed"),
            "session/archive" => self.set_of(params, "is_archived", &json!(true), "archive.hides"),
            "session/status" => {
                let status = if self.breaks("status.answers") { "saved" } else { "open" };
                Answer::Result(json!({ "status": status }))
            }
            _ => self.unknown_method(method),
        }
    }

    /// Whether it can do more than the least.
    fn is_able(&self) -> bool {
        !self.breaks("bare") && !self.breaks("initialize.capabilities") && !self.breaks("wire.unadvertised")
    }

    fn unknown_method(&self, method: &str) -> Answer {
        let is_deaf = match method {
            "rejoin_check/unknown" => self.breaks("wire.unknown-method"),
            _ => self.breaks("wire.unadvertised") && method == "session/status",
        };
        if is_deaf { Answer::Never } else { Answer::Error(-32601, format!("there is no method {method}")) }
    }

    fn initialize(&self, params: &Value) -> Answer {
        let version = match params["protocolVersion"].as_u64().unwrap() {
            asked if self.breaks("initialize.unknown-version") => asked,
            1 if self.breaks("initialize.version") => 0,
            _ => 1,
        };
        let names =
            ["list", "resume", "close", "delete", "fork", "title", "archive", "status", "additionalDirectories"];
        let session: serde_json::Map<String, Value> =
            names.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let mut result = json!({
            "protocolVersion": version,
            "agentCapabilities": { "loadSession": true, "sessionCapabilities": session },
            "agentInfo": { "name": "faulty-agent", "version": "1" },
        });
        if !self.is_able() {
            result["agentCapabilities"] = json!({});
        }
        let members = result.as_object_mut().unwrap();
        if self.breaks("initialize.info") {
            members.remove("agentInfo");
        }
        if self.breaks("initialize.capabilities") {
            members.remove("agentCapabilities");
        }
        Answer::Result(result)
    }

    fn open_new(&self, params: &Value) -> Answer {
        if let Err(answer) = self.look_at_opening(params) {
            return answer;
        }
        if self.breaks("new.answers") {
            return Answer::Error(-32603, "no session today".to_owned());
        }
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        let mut id = format!("session-{}-{number}", std::process::id());
        // The one that is never prompted is the second, or the third where another came before.
        if self.breaks("new.unique-id") && number == 2 {
            id = format!("session-{}-1", std::process::id());
        }
        let session = Session::new(&self.state, id.clone(), &params["cwd"]);
        if self.breaks("list.no-empty") {
            session.set("updatedAt", json!(now()));
        }
        let mut result = self.setup(&session);
        result["sessionId"] = json!(id);
        if self.breaks("mode.offered") {
            result["modes"]["currentModeId"] = json!("dreamy");
            result["configOptions"].as_array_mut().unwrap().pop();
        }
        if self.breaks("config.default") {
            result["configOptions"][0]["currentValue"] = json!("warp");
        }
        if self.breaks("config.no-boolean") {
            let option = json!({ "id": "loud", "name": "Loud", "type": "boolean", "currentValue": true });
            result["configOptions"].as_array_mut().unwrap().push(option);
        }
        if self.breaks("config.mode-agrees") {
            result["configOptions"][1]["currentValue"] = json!("code");
        }
        if self.breaks("wire.schema") {
            result["modes"]["availableModes"][0]["name"] = json!(7);
        }
        if self.breaks("new.no-early-updates") {
            self.send_to(&id, &commands());
        }
        self.start_servers(&id, params["mcpServers"].as_array().unwrap());
        self.sessions.lock().unwrap().entry(id).or_insert_with(|| Arc::new(session));
        Answer::Result(result)
    }

    /// Starts and greets those of `servers` that can be started.
    fn start_servers(&self, session: &str, servers: &[Value]) {
        for server in servers {
            let args = server["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
            let mut command = Command::new(server["command"].as_str().unwrap());
            let started = command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
            let Ok(mut child) = started else { continue };
            let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} });
            child.stdin.as_mut().unwrap().write_all(format!("{hello}\n").as_bytes()).unwrap();
            self.servers.lock().unwrap().entry(session.to_owned()).or_default().push(child);
        }
    }

    /// Ends the servers of `session`, or all.
    pub(super) fn end_servers(&self, session: Option<&str>) {
        let mut all = self.servers.lock().unwrap();
        let meant = all.extract_if(|id, _| session.is_none_or(|session| session == id));
        for mut child in meant.flat_map(|(_, children)| children) {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Looks at what a session is opened with.
    fn look_at_opening(&self, params: &Value) -> Result<(), Answer> {
        if !params["cwd"].is_string() && !self.breaks("wire.invalid-params") {
            return Err(Answer::Error(-32602, "`cwd` is missing".to_owned()));
        }
        if params["additionalDirectories"].is_array() && self.breaks("new.additional-directories") {
            return Err(Answer::Error(-32602, "no additional directories, please".to_owned()));
        }
        for server in params["mcpServers"].as_array().unwrap() {
            if self.breaks("mcp.secrets") {
                say_to_people(&server.to_string());
            }
            if self.breaks("mcp.hanging-server") && server["name"] == "hanging" {
                return Err(Answer::Never);
            }
            if self.breaks("mcp.failing-server") && server["name"] == "failing" {
                return Err(Answer::Error(-32603, "the server failing can't be started".to_owned()));
            }
        }
        Ok(())
    }

    fn reopen(&self, params: &Value, how: &str) -> Answer {
        let id = params["sessionId"].as_str().unwrap();
        let breaks = |rule: &str| self.breaks(&format!("{how}.{rule}"));
        if breaks("unknown-session") && !id.starts_with("session-") {
            return Answer::Result(json!({}));
        }
        let is_old = !id.starts_with(&format!("session-{}-", std::process::id()));
        if (breaks("survives-kill") && is_old) || self.deleted.lock().unwrap().contains(id) {
            return not_found();
        }
        let is_open = self.sessions.lock().unwrap().contains_key(id);
        if is_open && breaks("again") {
            return Answer::Never;
        }
        let Some(session) = self.session(params).or_else(|| Session::read(&self.state, id).map(Arc::new)) else {
            return not_found();
        };
        let folder = session.get("cwd");
        let is_gone = !Path::new(folder.as_str().unwrap()).is_dir();
        if (breaks("other-folder") && params["cwd"] != folder) || (breaks("missing-folder") && is_gone) {
            return Answer::Never;
        }
        if breaks("mcp-servers") && params["mcpServers"] != json!([]) {
            return Answer::Error(-32602, "`mcpServers` must be those of before".to_owned());
        }
        // The session of the turn that ends right before the kill.
        let is_last = folder.as_str().unwrap().ends_with("last");
        let is_forgetful = breaks("remembers") || (how == "resume" && breaks("keeps-last-turn") && is_last);
        session.is_forgetful.store(is_forgetful, Ordering::SeqCst);
        if (breaks("mode") || (self.breaks("mode.survives-restart") && how == "load")) && is_old {
            session.set("mode", json!("ask"));
        }
        if self.breaks("config.survives-restart") && is_old {
            session.set("speed", json!("low"));
        }
        if breaks("keeps-updated-at") {
            session.set("updatedAt", json!(now()));
        }
        self.sessions.lock().unwrap().insert(id.to_owned(), Arc::clone(&session));
        if (how == "load" && !breaks("before-response")) || breaks("silent") {
            self.replay(&session);
        }
        Answer::Result(self.setup(&session))
    }

    fn replay(&self, session: &Session) {
        let mut history = session.history.lock().unwrap().clone();
        let is_users = |update: &Value| update["sessionUpdate"] == "user_message_chunk";
        if self.breaks("load.complete") {
            let second =
                history.iter().enumerate().filter(|(_, update)| is_users(update)).map(|(place, _)| place).nth(1);
            if let Some(place) = second {
                history.remove(place);
            }
        }
        if self.breaks("load.keeps-last-turn") && session.get("cwd").as_str().unwrap().ends_with("last") {
            history.clear();
        }
        if self.breaks("load.tool-calls") {
            history.retain(|update| update.get("toolCallId").is_none());
        }
        if self.breaks("load.only-users-words") {
            history.insert(0, turn::chunk("user_message_chunk", "<environment>", "environment"));
        }
        for mut update in history {
            if self.breaks("load.message-ids") && !is_users(&update) && update.get("messageId").is_some() {
                update["messageId"] = json!(format!("{}-again", update["messageId"].as_str().unwrap()));
            }
            self.send(session, &update);
        }
    }

    fn fork(&self, params: &Value) -> Answer {
        let source = self.session(params).unwrap();
        let number = self.count.fetch_add(1, Ordering::SeqCst);
        let id = format!("session-{}-{number}", std::process::id());
        let fork = Session::new(&self.state, id.clone(), &params["cwd"]);
        for update in source.history.lock().unwrap().iter() {
            fork.keep(update);
        }
        source.set("was_forked", json!(true));
        for name in ["mode", "speed", "title", "is_prompted"] {
            fork.set(name, source.get(name));
        }
        if self.breaks("fork.mode") {
            fork.set("mode", json!("ask"));
        }
        fork.is_forgetful.store(self.breaks("fork.remembers"), Ordering::SeqCst);
        if self.breaks("fork.listed") {
            fork.erase();
        }
        if self.breaks("fork.no-early-updates") {
            self.send(&fork, &commands());
        }
        let mut result = self.setup(&fork);
        result["sessionId"] = if self.breaks("fork.own-id") { params["sessionId"].clone() } else { json!(id) };
        self.sessions.lock().unwrap().insert(id, Arc::new(fork));
        Answer::Result(result)
    }

    fn list(&self, params: &Value) -> Answer {
        let mut rows = Session::all(&self.state);
        let own = format!("session-{}-", std::process::id());
        let mut wanted = params["cwd"].clone();
        if let (Some(folder), true) = (wanted.as_str(), self.breaks("list.same-folder")) {
            wanted = json!(Path::new(folder).canonicalize().unwrap_or_else(|_| folder.into()));
        }
        rows.retain(|row| {
            let id = row["sessionId"].as_str().unwrap();
            // The first session, as long as it was not forked.
            let is_hidden = self.breaks("list.finds") && id == format!("{own}1") && row["was_forked"] != true;
            let is_forgotten = self.breaks("list.survives-kill") && !id.starts_with(&own);
            let is_here = wanted.is_null() || wanted == row["cwd"] || self.breaks("list.cwd-filter");
            let is_shown = row["is_archived"] == false && (row["is_prompted"] == true || self.breaks("list.no-empty"));
            let is_kept = self.breaks("delete.removes") || self.breaks("close.loads-again");
            let is_deleted = self.deleted.lock().unwrap().contains(id) && !is_kept;
            is_here && is_shown && !is_hidden && !is_forgotten && !is_deleted
        });
        if rows.is_empty() && self.breaks("list.none") {
            return Answer::Error(-32603, "there is nothing to list".to_owned());
        }
        rows.sort_by_key(|row| row["sessionId"].to_string());
        let first = match params["cursor"].as_str() {
            Some(cursor) => match cursor.parse() {
                Ok(first) => first,
                Err(_) if self.breaks("list.bad-cursor") => 0,
                Err(_) => return Answer::Error(-32602, "`cursor` is not one of mine".to_owned()),
            },
            None => 0,
        };
        let next = first + PAGE;
        // Pages that overlap hold a row twice.
        let start = if self.breaks("list.each-once") && first > 0 { first - 1 } else { first };
        let page: Vec<Value> = rows.iter().skip(start).take(next - start).map(|row| self.shown(row)).collect();
        let mut result = json!({ "sessions": page });
        if rows.len() > next {
            result["nextCursor"] = json!(next.to_string());
        }
        Answer::Result(result)
    }

    fn shown(&self, row: &Value) -> Value {
        let updated_at = if self.breaks("list.updated-at") { json!("yesterday") } else { row["updatedAt"].clone() };
        json!({ "sessionId": row["sessionId"], "cwd": row["cwd"], "title": row["title"], "updatedAt": updated_at })
    }

    fn close(&self, params: &Value) -> Answer {
        if self.breaks("close.answers") {
            return Answer::Error(-32603, "it can't be closed".to_owned());
        }
        if let Some(session) = self.session(params) {
            if !self.breaks("close.cancels") {
                session.cancel();
            }
            self.sessions.lock().unwrap().remove(&session.id);
            if !self.breaks("close.ends-servers") {
                self.end_servers(Some(&session.id));
            }
            if self.breaks("close.listed") {
                session.set("is_archived", json!(true));
            }
            if self.breaks("close.loads-again") {
                self.deleted.lock().unwrap().insert(session.id.clone());
            }
        }
        Answer::Result(json!({}))
    }

    fn delete(&self, params: &Value) -> Answer {
        let id = params["sessionId"].as_str().unwrap();
        let Some(session) = self.session(params).or_else(|| Session::read(&self.state, id).map(Arc::new)) else {
            return if self.breaks("delete.unknown-session") { not_found() } else { Answer::Result(json!({})) };
        };
        session.cancel();
        self.sessions.lock().unwrap().remove(id);
        match () {
            () if self.breaks("delete.removes") => drop(self.deleted.lock().unwrap().insert(id.to_owned())),
            () if self.breaks("delete.load-fails") => session.set("is_archived", json!(true)),
            () => session.erase(),
        }
        Answer::Result(json!({}))
    }

    fn set_mode(&self, params: &Value) -> Answer {
        match params["modeId"].as_str().unwrap() {
            _ if self.breaks("mode.set") => Answer::Error(-32603, "modes can't be changed".to_owned()),
            mode @ ("ask" | "code") => {
                self.session(params).unwrap().set("mode", json!(mode));
                Answer::Result(json!({}))
            }
            _ if self.breaks("mode.unknown") => Answer::Result(json!({})),
            _ => Answer::Error(-32602, "`modeId` is no mode".to_owned()),
        }
    }

    fn set_option(&self, params: &Value) -> Answer {
        let session = self.session(params).unwrap();
        match params["value"].as_str().unwrap() {
            value @ ("low" | "high") => session.set("speed", json!(value)),
            _ if self.breaks("config.unknown-value") => {}
            _ => return Answer::Error(-32602, "`value` is none of this option".to_owned()),
        }
        let setup = self.setup(&session);
        let options = if self.breaks("config.complete") { json!([]) } else { setup["configOptions"].clone() };
        Answer::Result(json!({ "configOptions": options }))
    }

    /// Sets what a list shows, unless `rule` is to be broken.
    fn set_of(&self, params: &Value, name: &str, value: &Value, rule: &str) -> Answer {
        if let (Some(session), false) = (self.session(params), self.breaks(rule)) {
            session.set(name, value.clone());
        }
        Answer::Result(if name == "title" { json!({ "title": value }) } else { json!({}) })
    }

    /// What a client is told when a session opens.
    fn setup(&self, session: &Session) -> Value {
        if !self.is_able() {
            return json!({});
        }
        let modes = json!([{ "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }]);
        let choices = |names: [&str; 2]| names.map(|name| json!({ "value": name, "name": name }));
        let select = |id: &str, category: Value, names: [&str; 2]| {
            let (current, options) = (session.get(id), choices(names));
            json!({ "id": id, "name": id, "category": category, "type": "select", "currentValue": current, "options": options })
        };
        json!({
            "modes": { "currentModeId": session.get("mode"), "availableModes": modes },
            "configOptions": [
                select("speed", Value::Null, ["low", "high"]),
                select("mode", json!("mode"), ["ask", "code"]),
            ],
        })
    }

    /// What follows an answer.
    fn after(&self, method: &str, params: &Value) {
        let Some(session) = self.session(params) else {
            return;
        };
        if method == "session/load" && self.breaks("load.before-response") {
            self.replay(&session);
        }
        if method == "session/set_title" && !self.breaks("title.pushed") {
            self.send(&session, &json!({ "sessionUpdate": "session_info_update", "title": params["title"] }));
        }
        if ["session/load", "session/resume"].contains(&method) {
            if !self.breaks("load.commands") {
                self.send(&session, &commands());
            }
            if self.breaks("wire.only-advertised") {
                let (id, path) = (json!("agent-file"), json!("/etc/hostname"));
                let params = json!({ "sessionId": session.id, "path": path });
                self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": "fs/read_text_file", "params": params }));
            }
        }
    }

    fn session(&self, params: &Value) -> Option<Arc<Session>> {
        self.sessions.lock().unwrap().get(params["sessionId"].as_str()?).cloned()
    }
}

fn commands() -> Value {
    let commands = json!([{ "name": "clear", "description": "Start afresh" }]);
    json!({ "sessionUpdate": "available_commands_update", "availableCommands": commands })
}

fn not_found() -> Answer {
    Answer::Error(-32002, "there is no such session".to_owned())
}

#[expect(clippy::print_stderr, reason = "that is where agents tell people")]
fn say_to_people(text: &str) {
    eprintln!("{text}");
}
