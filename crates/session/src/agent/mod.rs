//! The agent behind us: its processes, their sessions, and how a session gets into one.

mod agents;
mod briefing;
mod link;
mod memory;
mod opening;
mod reading;
mod reapply;
mod refusal;
mod requests;
mod restore;
mod routes;
mod seat;
mod secrets;
mod source;
mod strangers;

pub(crate) use agents::Agents;
pub(crate) use briefing::is_of_briefing;
pub(crate) use link::Link;
pub(crate) use opening::Opening;
pub(crate) use requests::choice_request;
pub use restore::Restore;
pub(crate) use restore::{Opened, Opener, Remark, Rung};
pub(crate) use routes::{AgentEvent, Events, Position};
pub(crate) use seat::Seat;
pub use source::{AgentCommand, AgentSource, Sharing};
