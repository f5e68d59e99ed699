//! What happens to a turn from outside.

use crate::Error;

/// A prompt that waits for its answer; the driver knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(pub(crate) u64);

/// A request of the agent that waits for a client's answer; the driver knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AskId(pub(crate) u64);

/// What kind of thing the agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskKind {
    /// A person's permission.
    Permission,
    /// Anything else that a client does for an agent: files, terminals, input, extensions.
    Service,
}

/// What happened.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A client sent a prompt.
    Prompted(Ticket),
    /// The prompt of the turn could not be recorded.
    NotBegun(Error),
    /// The agent has the session open and can be prompted.
    AgentReady,
    /// The agent can't be started, or can't open the session.
    AgentNotReady(Error),
    /// The agent answered the prompt of this turn.
    Answered {
        /// The turn.
        turn: u32,
        /// The result, or the error.
        answer: Answer,
    },
    /// The agent did not take the prompt: it has forgotten the session, or ended before it read the prompt. The session has
    /// to be opened again.
    Untaken,
    /// The agent process ended.
    AgentGone(Error),
    /// A client cancelled: the turn, and every prompt that waits.
    Cancelled,
    /// A client took back one prompt.
    TakenBack(Ticket),
    /// The agent was given long enough to obey a cancel.
    DeadlinePassed {
        /// The turn that was cancelled.
        turn: u32,
    },
    /// The agent asks a client for something.
    Asked(AskId, AskKind),
    /// A client answered, or the agent took the question back.
    Settled(AskId),
    /// The session is to be closed.
    Closing,
    /// What was to be recorded could not be.
    StoreFailed(Error),
}

/// How the agent answered a prompt.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// With a result: the stop reason, and the whole of it as JSON.
    Stopped {
        /// The stop reason.
        reason: String,
        /// The result.
        result: String,
    },
    /// With an error.
    Failed(Error),
}
