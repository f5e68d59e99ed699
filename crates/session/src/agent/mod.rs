//! The agent behind us: its processes, their sessions, and how a session gets into one.

mod agents;
mod briefing;
mod link;
mod reading;
mod restore;
mod routes;
mod strangers;

pub(crate) use agents::Agents;
pub use link::AgentCommand;
pub(crate) use link::Link;
pub use restore::Restore;
pub(crate) use restore::{Opened, Opener, Opening, Remark, Rung, choice_request};
pub(crate) use routes::{AgentEvent, Events};
