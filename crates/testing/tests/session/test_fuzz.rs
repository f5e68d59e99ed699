//! No request, however wrong, goes unanswered or harms another.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rejoin::{AgentCommand, SessionLayer, Sharing};
use rejoin_store::{MemoryStore, Owner, SessionStore};
use rejoin_testing::{append_turn, session_in};
use rejoin_wire::{Command, RawValue};
use serde_json::{Value, json};

use crate::raw::RawClient;

/// So many requests are sent before their answers are read.
const BATCH: usize = 200;

/// How many requests are tried; more with `REJOIN_FUZZ_CASES`.
const CASES: usize = 20_000;

/// A layer is used for so many of them, so that what it keeps does not slow it down.
const LAYER: usize = 10_000;

#[tokio::test]
async fn every_mutated_request_is_answered_once_and_good_ones_still_work() {
    let n_cases = std::env::var("REJOIN_FUZZ_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let mut mutator = Mutator { random: Random(0x5eed), session: String::new() };
    for first in (0..n_cases).step_by(LAYER) {
        let store = Arc::new(MemoryStore::default());
        let layer = new_layer(store.clone());
        for _ in (first..n_cases.min(first + LAYER)).step_by(BATCH) {
            // The last one may have been deleted.
            mutator.session = new_session(&*store).await;
            try_batch(&layer, &mut mutator).await;
        }
        layer.end().await;
    }
}

/// Sends requests, waits for the answer to each, and sees whether a good one is answered well.
async fn try_batch(layer: &Arc<SessionLayer>, mutator: &mut Mutator) {
    let mut client = RawClient::connect(layer);
    client.initialize().await;
    let mut open = HashMap::new();
    for case in 0..BATCH {
        let id = format!("case {case}");
        let request = mutator.request(&id);
        client.send(&request).await;
        open.insert(id, request);
    }
    while !open.is_empty() {
        let line = tokio::time::timeout(Duration::from_secs(20), client.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("not answered: {open:#?}"));
        // What is passed through may be nested too deeply, or hold numbers too large, for the test to read.
        let members: HashMap<String, &RawValue> = serde_json::from_str(&line).unwrap();
        let id = members.get("id").filter(|_| !members.contains_key("method"));
        if let Some(Ok(id)) = id.map(|id| serde_json::from_str::<String>(id.get())) {
            assert!(open.remove(&id).is_some(), "answered twice, or never asked: {line}");
        }
    }
    client.request(json!("good"), "session/list", &json!({ "cwd": "/nowhere" })).await;
    while !client.next_line().await.starts_with(r#"{"jsonrpc":"2.0","id":"good","result":{"sessions":[]"#) {}
}

fn new_layer(store: Arc<MemoryStore>) -> Arc<SessionLayer> {
    let program = env!("CARGO_BIN_EXE_scripted-agent").to_owned();
    let args = ["modes", "models", "options", "commands"].iter().flat_map(|ability| ["--can", *ability]);
    let command = Command::new(program, args.map(str::to_owned));
    let agent = AgentCommand { name: None, command, sharing: Sharing::Shared };
    Arc::new(SessionLayer::new(store).agent(agent))
}

/// A session of one turn in a folder that is there.
async fn new_session(store: &dyn SessionStore) -> String {
    let session = session_in("/");
    let id = session.facts.session_id.clone();
    store.create(session).await.unwrap();
    let lease = store.acquire(&id, &Owner::this_process()).await.unwrap();
    append_turn(store, &lease, 1, "hello", "there").await;
    store.release(&lease).await.unwrap();
    id.to_string()
}

/// Makes requests that are wrong in some way.
struct Mutator {
    random: Random,
    session: String,
}

impl Mutator {
    /// The line of a request with this id; before it there may be lines with odd ids.
    fn request(&mut self, id: &str) -> String {
        let (method, mut params) = self.good();
        for _ in 0..=self.random.below(2) {
            self.mutate(&mut params, 0);
        }
        let params = match self.random.below(50) {
            0 => nested(1 + self.random.below(2_000)),
            1 => format!("{{\"sessionId\":{}}}", nested(100)),
            _ => params.to_string(),
        };
        let line = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        let odd = match self.random.below(40) {
            0 => line("null"),
            1 => line("-1e400"),
            2 => line("18446744073709551616"),
            3 => line("{}"),
            4 => line("true"),
            5 => format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
            6 => format!(r#"{{"jsonrpc":"2.0","id":1,"result":{params}}}"#),
            7 => line("7").chars().take(self.random.below(60)).filter(|char| *char != '\n').collect(),
            _ => String::new(),
        };
        let good = line(&json!(id).to_string());
        if odd.is_empty() { good } else { format!("{odd}\n{good}") }
    }

    /// A method with params that are as they should be.
    fn good(&mut self) -> (&'static str, Value) {
        let (session, text) = (&self.session, json!([{ "type": "text", "text": "say hello" }]));
        let server = json!([{ "name": "n", "command": "c", "args": ["a"], "env": [{ "name": "N", "value": "V" }] }]);
        let meta = json!({ "rejoin": { "rebind": true, "at": "u1" } });
        let all = [
            ("session/load", json!({ "sessionId": session, "cwd": "/", "mcpServers": server, "_meta": meta })),
            ("session/resume", json!({ "sessionId": session, "cwd": "/", "additionalDirectories": ["/a"] })),
            ("session/fork", json!({ "sessionId": session, "cwd": "/", "mcpServers": [], "_meta": meta })),
            ("session/list", json!({ "cwd": "/", "cursor": "c", "archived": "only" })),
            ("session/prompt", json!({ "sessionId": session, "prompt": text, "_meta": {} })),
            ("session/set_mode", json!({ "sessionId": session, "modeId": "code" })),
            ("session/set_model", json!({ "sessionId": session, "modelId": "m2" })),
            ("session/set_config_option", json!({ "sessionId": session, "configId": "speed", "value": "high" })),
            ("session/set_title", json!({ "sessionId": session, "title": "T" })),
            ("session/archive", json!({ "sessionId": session })),
            ("session/unarchive", json!({ "sessionId": session })),
            ("session/status", json!({ "sessionId": session })),
            ("session/close", json!({ "sessionId": session })),
            ("session/new", json!({ "cwd": "/", "mcpServers": server, "additionalDirectories": ["/a"], "_meta": {} })),
            ("session/delete", json!({ "sessionId": "0".repeat(32) })),
            ("authenticate", json!({ "methodId": "key" })),
            ("session/nothing", json!({ "sessionId": session })),
            ("_ext", json!({ "sessionId": session, "deep": { "er": [] } })),
            ("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })),
        ];
        let at = self.random.below(all.len());
        all.into_iter().nth(at).unwrap()
    }

    /// Changes one thing somewhere in `value`.
    fn mutate(&mut self, value: &mut Value, depth: usize) {
        let goes_down = depth < 4 && self.random.below(4) > 0;
        match value {
            Value::Object(members) if goes_down && !members.is_empty() => {
                let at = self.random.below(members.len());
                let name = members.keys().nth(at).unwrap().clone();
                match self.random.below(6) {
                    0 => drop(members.remove(&name)),
                    1 => drop(members.insert(self.word(), self.any())),
                    _ => self.mutate(&mut members[&name], depth + 1),
                }
            }
            Value::Array(elements) if goes_down && !elements.is_empty() => {
                let at = self.random.below(elements.len());
                self.mutate(&mut elements[at], depth + 1);
            }
            // Most requests keep most of what is right, so that they get far.
            _ if depth == 0 && self.random.below(8) > 0 => {}
            _ => *value = self.any(),
        }
    }

    fn any(&mut self) -> Value {
        match self.random.below(12) {
            0 => Value::Null,
            1 => json!(true),
            2 => json!(-1),
            3 => json!(u64::MAX),
            4 => json!(1e308),
            5 => json!(""),
            6 => json!(self.word()),
            7 => json!([]),
            8 => json!({}),
            9 => json!([{ "type": "text" }, null, 7]),
            10 => json!({ "rejoin": { "at": 7, "rebind": "yes", "transcript": [] } }),
            _ => json!(self.session),
        }
    }

    fn word(&mut self) -> String {
        let words = ["sessionId", "../..", "/", "/\0", "ünï\u{202e}", "\u{0}", "true", "null", "_meta", "-1"];
        let word = words[self.random.below(words.len())];
        word.repeat(1 + self.random.below(3) * self.random.below(40))
    }
}

/// An array in an array in an array …
fn nested(depth: usize) -> String {
    ["[".repeat(depth), "]".repeat(depth)].concat()
}

/// Numbers that look random and are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit.max(1) as u64).unwrap()
    }
}
