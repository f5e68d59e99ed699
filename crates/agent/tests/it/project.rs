//! A test's own project: a folder, the built-in agent behind a session layer, and a client with a session.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::SessionLayer;
use rejoin::store::MemoryStore;
use rejoin_agent::{AgentConfig, BuiltInAgent};
use rejoin_testing::{Answer, Event, Pending, TestClient};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(crate) struct Project {
    folder: TempDir,
    pub(crate) client: TestClient,
    pub(crate) session: String,
}

/// What came of a call.
pub(crate) struct Called {
    /// The tool call, as it ended.
    pub(crate) shown: Value,
    /// What the model would get.
    pub(crate) told: String,
}

impl Project {
    /// A client that can do nothing but agree to everything, in the mode `code`.
    pub(crate) async fn new() -> Self {
        Self::with_client(json!({}), "code").await
    }

    /// A client that has these abilities, and agrees to everything, in the given mode.
    pub(crate) async fn with_client(capabilities: Value, mode: &str) -> Self {
        Self::with_config(AgentConfig::default(), capabilities, mode).await
    }

    /// The same with an agent that is configured so.
    pub(crate) async fn with_config(config: AgentConfig, capabilities: Value, mode: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "lib"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let agent = BuiltInAgent::new(config);
        let layer = Arc::new(SessionLayer::new(Arc::new(MemoryStore::default())).agent(agent));
        let client = TestClient::connect(&layer);
        client.initialize(capabilities).await;
        client.answer_with(|method, _| (method == "session/request_permission").then(|| choose("allow")));
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        let params = json!({ "cwd": at("project"), "additionalDirectories": [at("lib")], "mcpServers": [] });
        let answer = client.call("session/new", params).await.unwrap();
        let session = answer["sessionId"].as_str().unwrap().to_owned();
        let project = Self { folder, client, session };
        project.set_mode(mode).await;
        project
    }

    /// A path beside the project and its library, in the test's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path("project").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What is in a file of the project; nothing if it is not there.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path("project").join(name)).ok()
    }

    pub(crate) async fn set_mode(&self, mode: &str) {
        self.client.call("session/set_mode", json!({ "sessionId": self.session, "modeId": mode })).await.unwrap();
    }

    pub(crate) async fn set_tools(&self, value: &str) {
        let params = json!({ "sessionId": self.session, "configId": "tools", "value": value });
        self.client.call("session/set_config_option", params).await.unwrap();
    }

    /// Begins a call of a tool.
    pub(crate) async fn begin(&self, tool: &str, arguments: Value) -> Pending {
        self.client.prompt(&self.session, &format!("/call {tool} {arguments}")).await
    }

    /// Calls a tool, and waits for the end of it.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Called {
        let mark = self.client.mark();
        let result = self.begin(tool, arguments).await.result().await;
        assert_eq!(result["stopReason"], "end_turn");
        let updates = self.client.updates_since(mark, &self.session);
        let said = updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        let told = said.map(|update| update["content"]["text"].as_str().unwrap()).collect();
        Called { shown: tool_call(&updates), told }
    }

    /// The methods that the client was asked behind `mark`.
    pub(crate) fn asked_since(&self, mark: usize) -> Vec<String> {
        let method = |event: Event| match event {
            Event::Asked { method, .. } => Some(method),
            _ => None,
        };
        self.client.since(mark).into_iter().filter_map(method).collect()
    }
}

impl Called {
    pub(crate) fn status(&self) -> &str {
        self.shown["status"].as_str().unwrap()
    }

    /// What is told of a call that failed.
    pub(crate) fn failure(&self) -> &str {
        assert_eq!(self.status(), "failed", "{}", self.shown);
        &self.told
    }
}

/// The answer to a permission request.
#[expect(clippy::unnecessary_wraps, reason = "it stands beside answers that are errors")]
pub(crate) fn choose(option: &str) -> Answer {
    Ok(json!({ "outcome": { "outcome": "selected", "optionId": option } }))
}

/// The tool call of `updates`, in its last state.
pub(crate) fn tool_call(updates: &[Value]) -> Value {
    let mut call = Map::new();
    for update in updates {
        if update["sessionUpdate"] == "tool_call" || update["sessionUpdate"] == "tool_call_update" {
            let news = update.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            call.extend(news.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
    Value::Object(call)
}

/// Waits until no process is left in the group `leader`.
pub(crate) async fn until_group_is_gone(leader: &str) {
    let begin = Instant::now();
    while group_of(leader) > 0 {
        assert!(begin.elapsed() < Duration::from_secs(10), "processes of {leader} are left");
        // The system tells nobody.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// How many processes the group `leader` has.
pub(crate) fn group_of(leader: &str) -> usize {
    let is_in_it = |stat: &String| {
        let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
        let fields: Vec<&str> = fields.split(' ').collect();
        fields[0] != "Z" && fields[2] == leader
    };
    let stats = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("stat"));
    stats.filter_map(|stat| fs::read_to_string(stat).ok()).filter(is_in_it).count()
}
