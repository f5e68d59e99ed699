//! The built-in agent, as the library knows it.

use rejoin::schema::{McpCapabilities, PromptCapabilities, StopReason};
use rejoin::{About, Agent, AgentError, Chosen, Offer, SessionContext, Turn};
use rejoin_mcp::ServerSpec;

use crate::models::{ModelId, Providers};
use crate::session::OpenSession;
use crate::{commands, mcp_servers, offer, turn_loop};

/// What the built-in agent is told by the user's configuration.
#[derive(Debug, Clone, Default)]
pub struct AgentConfig {
    /// The model that sessions begin with; without one, [`ModelId::offline`], and the user is told how to configure one.
    pub model: Option<ModelId>,
    /// MCP servers of every session, besides its own.
    pub mcp_servers: Vec<ServerSpec>,
    /// How long MCP servers may take.
    pub mcp: rejoin_mcp::Options,
}

/// The built-in agent.
pub struct BuiltInAgent {
    pub(crate) config: AgentConfig,
    pub(crate) providers: Providers,
}

impl BuiltInAgent {
    /// The agent that `config` describes.
    pub fn new(config: AgentConfig) -> Self {
        Self { config, providers: Providers::new() }
    }

    /// The model that sessions begin with.
    pub(crate) fn default_model(&self) -> ModelId {
        self.config.model.clone().unwrap_or_else(ModelId::offline)
    }
}

impl Agent for BuiltInAgent {
    type Session = OpenSession;

    fn about(&self) -> About {
        let mut about = About::new("rejoin", env!("CARGO_PKG_VERSION"));
        about.title = Some("Rejoin".to_owned());
        about.prompt = PromptCapabilities::new().embedded_context(true);
        about.mcp = McpCapabilities::new().http(true).sse(true);
        about
    }

    async fn open(&self, context: SessionContext) -> Result<OpenSession, AgentError> {
        let specs = mcp_servers::all(context.mcp_servers(), &self.config.mcp_servers);
        let models = self.providers.models().await;
        OpenSession::open(&context, specs, self.config.mcp.clone(), models).await
    }

    fn offer(&self, session: &OpenSession, chosen: &Chosen) -> Offer {
        offer::offer(session, chosen, &self.default_model())
    }

    async fn prompt(&self, turn: Turn<OpenSession>) -> Result<StopReason, AgentError> {
        match commands::run(&turn).await? {
            commands::Done::Answered => Ok(StopReason::EndTurn),
            commands::Done::Prompt(parts) => turn_loop::run(self, &turn, parts).await,
        }
    }

    async fn close(&self, session: &OpenSession) {
        session.close().await;
    }
}
