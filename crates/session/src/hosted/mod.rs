//! Agents in this process: the trait that an author implements, and what speaks ACP for it.
//!
//! An author writes what the agent says; sessions are kept by the layer. A hosted agent takes the record of a session when it
//! opens it again, so the conversation is there in every turn, whatever happened to the process meanwhile.

mod about;
mod asks;
mod chosen;
mod context;
mod error;
mod history;
mod host;
mod log;
mod requests;
mod session;
mod terminal;
mod turn;

use std::sync::Arc;

use agent_client_protocol_schema::v1::{AvailableCommand, SessionConfigOption, StopReason};

use crate::AgentSource;

pub use about::About;
pub use chosen::Chosen;
pub use context::SessionContext;
pub use error::AgentError;
pub use history::Past;
pub use terminal::Terminal;
pub use turn::Turn;

/// An agent: a prompt in, updates out, a stop reason back.
///
/// New, load, resume, fork, list, modes, options and cancel are the layer's. What the agent needs while a session is open
/// is its [`Session`](Agent::Session): made by [`open`](Agent::open), lent to every turn, ended by [`close`](Agent::close).
pub trait Agent: Send + Sync + 'static {
    /// What the agent has of a session that is open, such as connections; `()` for nothing. It needs to hold nothing of the
    /// conversation: that is in [`Turn::history`].
    type Session: Send + Sync + 'static;

    /// What the agent is and takes.
    fn about(&self) -> About;

    /// Opens a session, new or not. Called again after the agent was stopped, or when a client opens the session with other
    /// MCP servers or folders.
    fn open(&self, context: SessionContext) -> impl Future<Output = Result<Self::Session, AgentError>> + Send;

    /// What the user may choose and call in `session`, where `chosen` is what was chosen so far: empty at first. Called
    /// again after each choice, so that options may follow one another, and by [`SessionContext::refresh`].
    fn offer(&self, session: &Self::Session, chosen: &Chosen) -> Offer;

    /// Runs a turn to its end.
    ///
    /// When the turn is cancelled, [`Turn::cancellation`] says so. The future is dropped if it has not ended a second later.
    fn prompt(&self, turn: Turn<Self::Session>) -> impl Future<Output = Result<StopReason, AgentError>> + Send;

    /// The session is closed in this process; it may be opened again.
    fn close(&self, session: &Self::Session) -> impl Future<Output = ()> + Send;
}

/// What the user may choose and call in a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// The config options, each with its value in force. One of the category `mode` and one of the category `model` are also
    /// offered as `modes` and `models`, as older clients want them.
    pub options: Vec<SessionConfigOption>,
    /// The slash commands.
    pub commands: Vec<AvailableCommand>,
}

impl<A: Agent> From<A> for AgentSource {
    fn from(agent: A) -> Self {
        let agent = Arc::new(agent);
        let name = agent.about().name;
        Self::in_process(&name, move |stream| host::serve(Arc::clone(&agent), stream))
    }
}
