//! The built-in agent, as the library knows it.

use rejoin::schema::{McpCapabilities, PromptCapabilities, StopReason};
use rejoin::{About, Agent, AgentError, Chosen, DenyRules, Offer, SessionContext, Turn};
use rejoin_mcp::ServerSpec;
use rejoin_wire::{Inherited, NamePattern, Requested};

use crate::compaction::compact;
use crate::context::Context;
use crate::kept::{Remainder, last_model};
use crate::models::{ModelId, ModelInfo, ProviderConfig, Providers, info_of, key_variables};
use crate::session::{self, OpenSession};
use crate::{commands, mcp_servers, offer, turn_loop};

/// What the built-in agent is told by the user's configuration.
#[derive(Debug, Clone, Default)]
pub struct AgentConfig {
    /// The model that sessions begin with; without one, [`ModelId::offline`], and the user is told how to configure one.
    pub model: Option<ModelId>,
    /// Who provides models. Of two with one name, the first is used.
    pub providers: Vec<ProviderConfig>,
    /// MCP servers of every session, besides its own.
    pub mcp_servers: Vec<ServerSpec>,
    /// How MCP servers are treated. Which variables they inherit is decided by `pass_environment` alone.
    pub mcp: rejoin_mcp::Options,
    /// What tools are refused, in every mode and whatever the user answers.
    pub deny: DenyRules,
    /// The environment variables that MCP servers and commands get although they would not by themselves.
    pub pass_environment: Vec<NamePattern>,
}

impl AgentConfig {
    /// How MCP servers are treated in every session.
    pub fn mcp_options(&self) -> rejoin_mcp::Options {
        rejoin_mcp::Options { inherited: Inherited::Few(self.requested()), ..self.mcp.clone() }
    }

    /// Which environment variables a command that a model wants to run gets.
    pub(crate) fn command_environment(&self) -> Inherited {
        Inherited::WithoutSecrets(self.requested())
    }

    fn requested(&self) -> Requested {
        Requested { names: self.pass_environment.clone(), provider_keys: key_variables(&self.providers) }
    }
}

/// The built-in agent.
pub struct BuiltInAgent {
    pub(crate) config: AgentConfig,
    pub(crate) providers: Providers,
}

impl BuiltInAgent {
    /// The agent that `config` describes.
    pub fn new(config: AgentConfig) -> Self {
        let providers = Providers::new(config.providers.clone());
        Self { config, providers }
    }

    /// The model that is chosen, or that sessions begin with.
    pub(crate) fn model(&self, chosen: &Chosen) -> Result<ModelId, AgentError> {
        match chosen.get(offer::MODEL) {
            Some(model) => model.parse().map_err(AgentError::failed),
            None => Ok(self.default_model()),
        }
    }

    /// The model that sessions begin with.
    pub(crate) fn default_model(&self) -> ModelId {
        self.config.model.clone().unwrap_or_else(ModelId::offline)
    }

    /// The models that are `listed`, the one that sessions begin with, and the one that a session has `used`: that
    /// its provider lists it no more, or can't be asked for its list now, does not change which model answers.
    fn with_own(&self, mut listed: Vec<ModelInfo>, used: Option<ModelId>) -> Vec<ModelInfo> {
        let used = used.filter(|model| self.providers.of(model).is_ok());
        for model in [Some(self.default_model()), used].into_iter().flatten() {
            if !listed.iter().any(|listed| listed.id == model) {
                listed.push(ModelInfo::of(model));
            }
        }
        listed
    }

    /// Does what the user wants in `turn`.
    async fn answer(&self, turn: &Turn<OpenSession>) -> Result<StopReason, AgentError> {
        match commands::run(turn).await? {
            commands::Done::Answered => Ok(StopReason::EndTurn),
            commands::Done::Compact => self.compact(turn).await.map(|()| StopReason::EndTurn),
            commands::Done::Prompt(parts) => turn_loop::run(self, turn, parts).await,
        }
    }

    /// Summarises the conversation so far, as the user wants.
    async fn compact(&self, turn: &Turn<OpenSession>) -> Result<(), AgentError> {
        let mut context = Context::of(turn.history());
        if context.messages().is_empty() {
            return turn.say("There is nothing to summarise yet.\n").await;
        }
        // As in every turn, what the user says now comes last, and is no part of what is summarised.
        context.prompt(commands::parts_of(turn.prompt()));
        let model = self.model(&turn.chosen())?;
        let info = info_of(&model, &turn.session().models);
        compact(turn, self.providers.of(&model)?.as_ref(), &info, &mut context, Remainder::Prompt).await?;
        turn.say("The model goes on from a summary. You still see all of the conversation.\n").await
    }
}

impl Agent for BuiltInAgent {
    type Session = OpenSession;

    fn about(&self) -> About {
        let mut about = About::new("rejoin", env!("CARGO_PKG_VERSION"));
        about.title = Some("Rejoin".to_owned());
        about.prompt = PromptCapabilities::new().image(true).embedded_context(true);
        about.mcp = McpCapabilities::new().http(true).sse(true);
        about
    }

    async fn open(&self, context: SessionContext) -> Result<OpenSession, AgentError> {
        let (given, configured) = (context.mcp_servers(), &self.config.mcp_servers);
        let connecting = session::connect(&context, mcp_servers::all(given, configured), self.config.mcp_options());
        let (servers, listed) = tokio::join!(connecting, self.providers.models());
        let models = self.with_own(listed, last_model(&context.history()));
        let (environment, unused) = (self.config.command_environment(), mcp_servers::unused(given, configured));
        Ok(OpenSession::new(&context, servers?, models, environment, unused, self.config.deny.clone()))
    }

    fn offer(&self, session: &OpenSession, chosen: &Chosen) -> Offer {
        offer::offer(self, session, chosen)
    }

    async fn prompt(&self, turn: Turn<OpenSession>) -> Result<StopReason, AgentError> {
        match self.answer(&turn).await {
            // A client that cancels what it is asked ends the turn, whether it cancels that too or not.
            Err(AgentError::Cancelled) => Ok(StopReason::Cancelled),
            done => done,
        }
    }

    async fn close(&self, session: &OpenSession) {
        session.close().await;
    }
}
