//! A test's own world: a folder, a store, a session layer with the scripted agent behind it, and clients.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::{AgentCommand, AgentSource, LayerOptions, SessionLayer, Sharing, Taps};
use rejoin_store::{MemoryStore, SessionStore};
use rejoin_testing::TestClient;
use rejoin_wire::{Command, Direction};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::schema::{SchemaTap, Side};

/// What a test says of its world.
pub(crate) struct Setup {
    args: Vec<String>,
    program: Option<String>,
    store: Arc<dyn SessionStore>,
    options: LayerOptions,
    folder: Option<TempDir>,
    declared: Vec<String>,
    sharing: Sharing,
    agent: Option<AgentSource>,
}

/// A world with an agent that has these abilities.
pub(crate) fn agent_that_can(abilities: &[&str]) -> Setup {
    let args = abilities.iter().flat_map(|ability| ["--can".to_owned(), (*ability).to_owned()]).collect();
    let options = LayerOptions { cancel_deadline: Duration::from_secs(20), ..LayerOptions::default() };
    let store = Arc::new(MemoryStore::default());
    Setup {
        args,
        program: None,
        store,
        options,
        folder: None,
        declared: Vec::new(),
        sharing: Sharing::Shared,
        agent: None,
    }
}

/// A world with an agent that can do nothing beyond the least.
pub(crate) fn plain_agent() -> Setup {
    agent_that_can(&[])
}

impl Setup {
    /// The agent gets `option` with `value`.
    pub(crate) fn with(mut self, option: &str, value: &str) -> Self {
        self.args.extend([option.to_owned(), value.to_owned()]);
        self
    }

    /// The agent keeps its sessions in a folder.
    pub(crate) fn with_memory(mut self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().display().to_string();
        self.folder = Some(folder);
        self.with("--state", &state)
    }

    /// Another program than the scripted agent.
    pub(crate) fn program(mut self, program: &str) -> Self {
        self.program = Some(program.to_owned());
        self
    }

    /// Each session has a process of its own.
    pub(crate) fn one_each(mut self) -> Self {
        self.sharing = Sharing::OneEach;
        self
    }

    /// Another agent, in this process.
    pub(crate) fn agent(mut self, agent: impl Into<AgentSource>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    pub(crate) fn store(mut self, store: Arc<dyn SessionStore>) -> Self {
        self.store = store;
        self
    }

    pub(crate) fn options(mut self, change: impl FnOnce(&mut LayerOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Messages that hold `word` break the schema on purpose.
    pub(crate) fn declare(mut self, word: &str) -> Self {
        self.declared.push(word.to_owned());
        self
    }

    pub(crate) fn start(self) -> World {
        let Self { args, program, store, options, folder, declared, sharing, agent } = self;
        let program = program.unwrap_or_else(|| env!("CARGO_BIN_EXE_scripted-agent").to_owned());
        let command = Command::new(program, args);
        let (to_clients, to_agents) = (SchemaTap::new(Side::Client), SchemaTap::new(Side::Agent));
        let taps = Taps { clients: Some(to_clients.clone()), agents: Some(to_agents.clone()) };
        let agent = agent.unwrap_or_else(|| AgentCommand { name: None, command, sharing }.into());
        let layer = Arc::new(SessionLayer::new(Arc::clone(&store)).options(options).taps(taps).agent(agent));
        let cwd = tempfile::tempdir().unwrap();
        World { layer, store, cwd, _state: folder, to_clients, to_agents, declared: Mutex::new(declared) }
    }
}

/// A layer with all around it. When it is dropped, no message may have broken the schema.
pub(crate) struct World {
    pub(crate) layer: Arc<SessionLayer>,
    pub(crate) store: Arc<dyn SessionStore>,
    cwd: TempDir,
    _state: Option<TempDir>,
    pub(crate) to_clients: Arc<SchemaTap>,
    pub(crate) to_agents: Arc<SchemaTap>,
    declared: Mutex<Vec<String>>,
}

impl World {
    /// The folder that the sessions work in.
    pub(crate) fn cwd(&self) -> &str {
        self.cwd.path().to_str().unwrap()
    }

    /// A client that has introduced itself.
    pub(crate) async fn client(&self) -> TestClient {
        self.client_that_can(json!({})).await
    }

    /// A client that has introduced itself with these capabilities.
    pub(crate) async fn client_that_can(&self, capabilities: Value) -> TestClient {
        let client = TestClient::connect(&self.layer);
        client.initialize(capabilities).await;
        client
    }

    /// A client with a new session.
    pub(crate) async fn client_with_session(&self) -> (TestClient, String) {
        let client = self.client().await;
        let session = client.new_session(self.cwd()).await;
        (client, session)
    }

    /// The params of every `method` that the agent got.
    pub(crate) fn agent_got(&self, method: &str) -> Vec<Value> {
        self.to_agents.params_of(Direction::Out, method)
    }

    /// The text of every prompt's blocks that the agent got.
    pub(crate) fn prompts_to_agent(&self) -> Vec<Vec<String>> {
        let text = |block: &Value| block["text"].as_str().unwrap_or_default().to_owned();
        let blocks = |params: &Value| params["prompt"].as_array().unwrap().iter().map(text).collect();
        self.agent_got("session/prompt").iter().map(blocks).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let declared = self.declared.lock().unwrap();
            let violations = [self.to_clients.violations(&declared), self.to_agents.violations(&declared)].concat();
            assert!(violations.is_empty(), "the schema was broken:\n{}", violations.join("\n"));
        }
    }
}
