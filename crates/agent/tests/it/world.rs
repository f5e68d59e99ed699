//! A test's own world: a folder, a store, and session layers with the built-in agent behind them.

use std::sync::Arc;

use rejoin::SessionLayer;
use rejoin_agent::{AgentConfig, BuiltInAgent, KeySource, ProviderConfig, ProviderKind, Secret};
use rejoin_store::{MemoryStore, SessionStore};
use rejoin_testing::TestClient;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wire::{Reply, Wire};

/// The key that all providers have.
pub(crate) const KEY: &str = "sk-canary-4411";

pub(crate) struct World {
    pub(crate) wire: Wire,
    config: AgentConfig,
    store: Arc<dyn SessionStore>,
    layer: Arc<SessionLayer>,
    cwd: TempDir,
}

/// A world with a provider of this kind, named after it, whose `model` sessions begin with.
pub(crate) async fn world(kind: ProviderKind, model: &str, replies: Vec<Reply>) -> World {
    let wire = Wire::start(replies).await;
    let base_url = match kind {
        ProviderKind::OpenAi => format!("{}/v1", wire.url),
        ProviderKind::Anthropic | ProviderKind::Gemini => wire.url.clone(),
    };
    let provider = ProviderConfig { base_url: Some(base_url), ..provider(kind) };
    let model = Some(format!("{}/{model}", kind.name()).parse().unwrap());
    World::start(wire, AgentConfig { model, providers: vec![provider], ..AgentConfig::default() })
}

/// A provider of this kind, at its vendor's.
pub(crate) fn provider(kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        name: kind.name().to_owned(),
        kind,
        base_url: None,
        key: KeySource::Given(Secret::new(KEY)),
        key_name: format!("{}_API_KEY", kind.name().to_uppercase()),
        models: Vec::new(),
    }
}

/// The same with chat completions.
pub(crate) async fn openai(replies: Vec<Reply>) -> World {
    world(ProviderKind::OpenAi, "alpha", replies).await
}

impl World {
    pub(crate) fn start(wire: Wire, config: AgentConfig) -> Self {
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::default());
        let layer = layer(&store, &config);
        Self { wire, config, store, layer, cwd: tempfile::tempdir().unwrap() }
    }

    /// The folder that sessions work in.
    pub(crate) fn cwd(&self) -> &str {
        self.cwd.path().to_str().unwrap()
    }

    /// A client with a new session.
    pub(crate) async fn session(&self) -> (TestClient, String) {
        self.session_of(json!({})).await
    }

    /// The same for a client with these capabilities.
    pub(crate) async fn session_of(&self, capabilities: Value) -> (TestClient, String) {
        let client = TestClient::connect(&self.layer);
        client.initialize(capabilities).await;
        let session = client.new_session(self.cwd()).await;
        (client, session)
    }

    /// Ends everything but the store, and opens `session` in a new process.
    pub(crate) async fn restart(&mut self, client: TestClient, session: &str) -> TestClient {
        client.leave().await;
        self.layer = layer(&self.store, &self.config);
        let client = TestClient::connect(&self.layer);
        client.initialize(json!({})).await;
        client.load(session, self.cwd()).await;
        client
    }
}

/// Takes a turn that is cancelled once `text` was said, and waits until the provider sees that nobody listens.
pub(crate) async fn cancel_once_said(world: &World, client: &TestClient, session: &str, text: &str) {
    let turn = client.prompt(session, "slow").await;
    client.until_said(session, text).await;
    client.cancel(session).await;
    assert_eq!(turn.result().await["stopReason"], "cancelled");
    world.wire.until_left().await;
}

fn layer(store: &Arc<dyn SessionStore>, config: &AgentConfig) -> Arc<SessionLayer> {
    Arc::new(SessionLayer::new(Arc::clone(store)).agent(BuiltInAgent::new(config.clone())))
}

/// What was said in `updates` of this kind.
pub(crate) fn text_of(updates: &[Value], kind: &str) -> String {
    let of_kind = updates.iter().filter(|update| update["sessionUpdate"] == kind);
    of_kind.filter_map(|update| update["content"]["text"].as_str()).collect()
}

/// What the agent said in all turns of `session`.
pub(crate) fn said(client: &TestClient, session: &str) -> String {
    text_of(&client.updates(session), "agent_message_chunk")
}

/// The updates of this kind.
pub(crate) fn of_kind(client: &TestClient, session: &str, kind: &str) -> Vec<Value> {
    client.updates(session).into_iter().filter(|update| update["sessionUpdate"] == kind).collect()
}

/// The roles of a request's messages, but for the system's.
pub(crate) fn roles(body: &Value) -> Vec<&str> {
    let roles = body["messages"].as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap());
    roles.filter(|role| *role != "system").collect()
}
