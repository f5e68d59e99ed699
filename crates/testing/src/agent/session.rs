//! A session of the scripted agent: what is set in it, whether it is cancelled, and what it remembers.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, watch};

use super::Args;

/// What long ids of models have behind the value of the option.
pub(super) const LONG: &str = "[long]";

pub(super) struct Session {
    pub(super) id: String,
    file: Option<PathBuf>,
    /// What it remembers, one update each. While it is open, nobody looks into the file.
    memory: Mutex<Vec<String>>,
    /// The mode, the model and the values of options, by name.
    values: Mutex<Map<String, Value>>,
    /// What it remembers and has not stored yet; nothing if it stores each update at once.
    unstored: Option<Mutex<Vec<String>>>,
    is_cancelled: watch::Sender<bool>,
    /// How often it may pass a gate.
    gate: Semaphore,
}

impl Session {
    pub(super) fn new(args: &Args) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = if args.has_fault("one-id") { 0 } else { COUNT.fetch_add(1, Ordering::Relaxed) };
        Self::with_id(args, &format!("agent-{}-{number}", std::process::id()))
    }

    /// A new session that remembers what `source` does.
    pub(super) fn fork(args: &Args, source: &Self) -> Self {
        let fork = Self::new(args);
        for update in source.history() {
            fork.keep(&update);
        }
        fork.store();
        fork
    }

    /// The session that an earlier process kept.
    pub(super) fn read(args: &Args, id: &str) -> Option<Self> {
        let session = Self::with_id(args, id);
        let text = fs::read_to_string(session.file.as_ref()?).ok()?;
        *session.memory.lock().unwrap() = text.lines().map(str::to_owned).collect();
        Some(session)
    }

    fn with_id(args: &Args, id: &str) -> Self {
        let values = json!({ "mode": "ask", "model": "m1", "speed": "low", "effort": "low", "verbose": false });
        Self {
            id: id.to_owned(),
            file: args.state.as_ref().map(|folder| folder.join(id)),
            memory: Mutex::default(),
            values: Mutex::new(values.as_object().unwrap().clone()),
            unstored: ["forgets-cut", "stores-late"].iter().any(|fault| args.has_fault(fault)).then(Mutex::default),
            is_cancelled: watch::Sender::new(false),
            gate: Semaphore::new(0),
        }
    }

    /// Remembers an update.
    pub(super) fn keep(&self, update: &str) {
        self.memory.lock().unwrap().push(update.to_owned());
        match &self.unstored {
            Some(unstored) => unstored.lock().unwrap().push(update.to_owned()),
            None => self.write(&[update.to_owned()]),
        }
    }

    /// Stores what it remembers and has not stored yet.
    pub(super) fn store(&self) {
        if let Some(unstored) = &self.unstored {
            self.write(&std::mem::take(&mut *unstored.lock().unwrap()));
        }
    }

    fn write(&self, updates: &[String]) {
        if let Some(file) = self.file.as_ref().filter(|_| !updates.is_empty()) {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
            file.write_all(format!("{}\n", updates.join("\n")).as_bytes()).unwrap();
        }
    }

    /// What it remembers.
    pub(super) fn history(&self) -> Vec<String> {
        self.memory.lock().unwrap().clone()
    }

    /// What the user said, as far as it remembers.
    pub(super) fn said_by_user(&self) -> Vec<String> {
        let said = |update: &String| {
            let update: Value = serde_json::from_str(update).ok()?;
            let is_users = update["sessionUpdate"] == "user_message_chunk";
            is_users.then(|| update["content"]["text"].as_str().unwrap_or_default().to_owned())
        };
        self.history().iter().filter_map(said).collect()
    }

    /// Keeps other processes from it; says whether none of them has done so before.
    pub(super) fn lock(&self) -> bool {
        let Some(lock) = self.lock_file() else { return true };
        let holder = fs::read_to_string(&lock).unwrap_or_default();
        if !holder.is_empty() && PathBuf::from(format!("/proc/{holder}")).exists() {
            return false;
        }
        fs::write(lock, std::process::id().to_string()).is_ok()
    }

    /// Lets others have it.
    pub(super) fn unlock(&self) {
        let _ = self.lock_file().map(fs::remove_file);
    }

    fn lock_file(&self) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.with_extension("lock"))
    }

    pub(super) fn forget(&self) {
        if let Some(file) = &self.file {
            let _ = fs::remove_file(file);
        }
    }

    pub(super) fn set(&self, name: &str, value: Value) {
        let mut values = self.values.lock().unwrap();
        if name == "model" {
            values.insert("effort".to_owned(), json!("low"));
        }
        values.insert(name.to_owned(), value);
    }

    /// All that is set in it.
    pub(super) fn values(&self) -> Value {
        Value::Object(self.values.lock().unwrap().clone())
    }

    pub(super) fn value(&self, name: &str) -> Value {
        self.values.lock().unwrap()[name].clone()
    }

    /// What a client is told when the session opens.
    pub(super) fn setup(&self, args: &Args) -> Map<String, Value> {
        let mut setup = Map::new();
        if args.can("modes") {
            let modes = json!([{ "id": "ask", "name": "Ask" }, { "id": "code", "name": "Code" }]);
            setup.insert("modes".to_owned(), json!({ "currentModeId": self.value("mode"), "availableModes": modes }));
        }
        if args.can("models") {
            let id = |model: &str| format!("{model}{}", if args.has_fault("long-models") { LONG } else { "" });
            let models = json!([{ "modelId": id("m1"), "name": "One" }, { "modelId": id("m2"), "name": "Two" }]);
            let current = id(self.value("model").as_str().unwrap_or_default());
            setup.insert("models".to_owned(), json!({ "currentModelId": current, "availableModels": models }));
        }
        if args.can("options") || args.can("booleans") {
            setup.insert("configOptions".to_owned(), self.options(args));
        }
        setup
    }

    pub(super) fn options(&self, args: &Args) -> Value {
        let select = |id: &str, category: Value, values: [&str; 2]| {
            let values = values.map(|value| json!({ "value": value, "name": value }));
            let current = self.value(id);
            json!({ "id": id, "name": id, "category": category, "type": "select", "currentValue": current, "options": values })
        };
        let mut options = vec![select("speed", Value::Null, ["low", "high"])];
        if args.can("options") {
            options.push(select("mode", json!("mode"), ["ask", "code"]));
            options.push(select("model", json!("model"), ["m1", "m2"]));
        }
        if args.can("effort") {
            options.push(select("effort", Value::Null, ["low", "high"]));
        }
        if args.can("booleans") {
            let current = self.value("verbose");
            options.push(json!({ "id": "verbose", "name": "verbose", "type": "boolean", "currentValue": current }));
        }
        Value::Array(options)
    }

    pub(super) fn begin_turn(&self) {
        self.is_cancelled.send_replace(false);
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.send_replace(true);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        *self.is_cancelled.borrow()
    }

    /// Comes when the turn is cancelled.
    pub(super) async fn cancelled(&self) {
        let _ = self.is_cancelled.subscribe().wait_for(|is_cancelled| *is_cancelled).await;
    }

    pub(super) fn go_on(&self) {
        self.gate.add_permits(1);
    }

    /// Comes when a client has sent `_go`.
    pub(super) async fn gate(&self) {
        self.gate.acquire().await.unwrap().forget();
    }
}
