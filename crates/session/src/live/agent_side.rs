//! The agent of a live session: not there, on its way, or open.

use rejoin_transcript::json::{replace_member, write_string};
use rejoin_transcript::{AgentSession, Json};
use tokio::task::JoinHandle;

use crate::Error;
use crate::agent::{AgentEvent, Events, Opened, Remark, Seat};

/// How many messages of the agent are taken in, and so recorded, together.
const BATCH: usize = 256;

/// The agent of a live session.
pub(crate) enum AgentSide {
    /// It does not have the session open.
    Closed,
    /// It is being started, or is opening the session.
    Opening(JoinHandle<Result<Opened, Error>>),
    /// It has the session open.
    Open(OpenAgent),
}

/// An agent that has the session open.
pub(crate) struct OpenAgent {
    pub(crate) link: Seat,
    /// The agent's own id of the session.
    pub(crate) id: String,
    pub(crate) events: Events,
    /// What it said before, and has not been taken in yet.
    pub(crate) news: Vec<AgentEvent>,
    /// Whether it could close the session, if others want it.
    pub(crate) can_close: bool,
    /// Whether it is sure to have the session: one that opens it again may only say so.
    pub(crate) is_proven: bool,
    /// What goes before the next prompt, until one has been answered.
    pub(crate) briefing: Option<Briefing>,
}

/// What an agent is told that has no memory of the session, or may have lost its end.
pub(crate) struct Briefing {
    pub(crate) text: String,
    /// What clients are told when the agent has been.
    pub(crate) remark: Option<Remark>,
    /// The agent's own session, which is worth remembering when it has been told.
    pub(crate) agent_session: AgentSession,
}

/// What comes from there.
pub(crate) enum AgentInput {
    /// Messages, in their order; none if the connection is gone.
    Events(Vec<AgentEvent>),
    /// It has opened the session, or failed to.
    Opened(Box<Result<Opened, Error>>),
}

impl AgentSide {
    /// What comes next. Never, if the agent is not there.
    pub(crate) async fn next(&mut self) -> AgentInput {
        match self {
            Self::Closed => std::future::pending().await,
            Self::Opening(task) => {
                let opened = task.await.unwrap_or(Err(Error::Ended));
                AgentInput::Opened(Box::new(opened))
            }
            Self::Open(agent) if !agent.news.is_empty() => AgentInput::Events(std::mem::take(&mut agent.news)),
            Self::Open(agent) => {
                let mut batch = Vec::new();
                agent.events.recv_many(&mut batch, BATCH).await;
                AgentInput::Events(batch)
            }
        }
    }

    /// The agent, if it has the session open.
    pub(crate) fn open(&mut self) -> Option<&mut OpenAgent> {
        match self {
            Self::Open(agent) => Some(agent),
            Self::Closed | Self::Opening(_) => None,
        }
    }

    /// Passes a notification on, with the agent's own session id. One that is not there needs none.
    pub(crate) fn notify(&self, method: &str, params: &Json) {
        if let Self::Open(agent) = self {
            agent.link.notify(method, &agent.own_params(params.as_str()));
        }
    }

    /// Has nothing more to do with it.
    pub(crate) fn leave(&mut self) {
        match std::mem::replace(self, Self::Closed) {
            Self::Closed => {}
            Self::Opening(task) => task.abort(),
            Self::Open(agent) => agent.link.leave(&agent.id),
        }
    }
}

impl OpenAgent {
    /// `params` with the agent's own session id in place of ours.
    pub(crate) fn own_params(&self, params: &str) -> String {
        replace_member(params, "sessionId", &write_string(&self.id)).unwrap_or_else(|| params.to_owned())
    }
}
