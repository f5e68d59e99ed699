//! A session: what is in force, what was said, and both in files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use rejoin_transcript::Timestamp;
use serde_json::{Value, json};

pub(super) struct Session {
    pub(super) id: String,
    folder: PathBuf,
    /// What a list shows, and the mode and the options in force.
    pub(super) meta: Mutex<Value>,
    /// What was said, as updates.
    pub(super) history: Mutex<Vec<Value>>,
    /// The turns that wait or run: each is told here that it was cancelled.
    pub(super) turns: Mutex<Vec<Arc<AtomicBool>>>,
    /// Held by the turn that runs.
    pub(super) running: Mutex<()>,
    /// Whether it does not know what was said before it was opened.
    pub(super) is_forgetful: AtomicBool,
    /// How many slow answers it has begun.
    pub(super) slow_turns: AtomicU32,
    /// A cancel that came while no turn ran.
    pub(super) is_cancelled_idle: AtomicBool,
}

impl Session {
    pub(super) fn new(folder: &Path, id: String, cwd: &Value) -> Self {
        let meta = json!({
            "sessionId": id, "cwd": cwd, "title": null, "updatedAt": now(), "is_prompted": false, "is_archived": false,
            "mode": "ask", "speed": "low",
        });
        Self::with(folder, id, meta, Vec::new())
    }

    fn with(folder: &Path, id: String, meta: Value, history: Vec<Value>) -> Self {
        Self {
            id,
            folder: folder.to_owned(),
            meta: Mutex::new(meta),
            history: Mutex::new(history),
            turns: Mutex::default(),
            running: Mutex::default(),
            is_forgetful: AtomicBool::new(false),
            slow_turns: AtomicU32::new(0),
            is_cancelled_idle: AtomicBool::new(false),
        }
    }

    /// The session that is kept under `id`.
    pub(super) fn read(folder: &Path, id: &str) -> Option<Self> {
        let text = fs::read_to_string(folder.join(format!("{id}.json"))).ok()?;
        let history = fs::read_to_string(folder.join(format!("{id}.jsonl"))).unwrap_or_default();
        let history = history.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Some(Self::with(folder, id.to_owned(), serde_json::from_str(&text).unwrap(), history))
    }

    /// What lists show of all sessions that are kept.
    pub(super) fn all(folder: &Path) -> Vec<Value> {
        let files = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
        let kept = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        kept.filter_map(|path| serde_json::from_str(&fs::read_to_string(path).ok()?).ok()).collect()
    }

    pub(super) fn get(&self, name: &str) -> Value {
        self.meta.lock().unwrap()[name].clone()
    }

    pub(super) fn set(&self, name: &str, value: Value) {
        let mut meta = self.meta.lock().unwrap();
        meta[name] = value;
        // Never seen half written.
        let temporary = self.folder.join(format!("{}.tmp", self.id));
        fs::write(&temporary, meta.to_string()).unwrap();
        fs::rename(temporary, self.file("json")).unwrap();
    }

    pub(super) fn keep(&self, update: &Value) {
        self.history.lock().unwrap().push(update.clone());
        let mut file = fs::OpenOptions::new().create(true).append(true).open(self.file("jsonl")).unwrap();
        file.write_all(format!("{update}\n").as_bytes()).unwrap();
    }

    pub(super) fn erase(&self) {
        let _ = fs::remove_file(self.file("json"));
        let _ = fs::remove_file(self.file("jsonl"));
    }

    /// Tells every turn that it was cancelled; says whether there was one.
    pub(super) fn cancel(&self) -> bool {
        let turns = self.turns.lock().unwrap();
        for turn in turns.iter() {
            turn.store(true, Ordering::SeqCst);
        }
        !turns.is_empty()
    }

    /// The last word that it was to remember.
    pub(super) fn word(&self) -> Option<String> {
        if self.is_forgetful.load(Ordering::SeqCst) {
            return None;
        }
        let history = self.history.lock().unwrap();
        let texts = history.iter().filter_map(|update| update["content"]["text"].as_str());
        let mut words = texts.filter_map(|text| text.split_once("remember the word ")).map(|(_, rest)| rest);
        words.next_back().map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next().unwrap().to_owned())
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.id))
    }
}

pub(super) fn now() -> String {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    Timestamp::from_millis(i64::try_from(millis).unwrap()).to_string()
}
