//! What is to be done about what happened.

use super::event::{Answer, AskId, Ticket};
use crate::Error;

/// What the driver does, one after the other.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// Record the prompt: with it the turn begins.
    Begin {
        /// The turn's number.
        turn: u32,
        /// Whose prompt.
        ticket: Ticket,
    },
    /// Have the agent open the session, unless it has it open.
    OpenAgent,
    /// Send the prompt to the agent.
    SendPrompt {
        /// The turn's number.
        turn: u32,
        /// Whose prompt.
        ticket: Ticket,
    },
    /// Tell the agent to stop.
    SendCancel,
    /// See to it that [`DeadlinePassed`](super::event::Event::DeadlinePassed) comes in time.
    ArmDeadline {
        /// The turn's number.
        turn: u32,
    },
    /// Have nothing more to do with this agent process; the session goes on in a fresh one.
    AbandonAgent,
    /// Answer the agent's question as cancelled, and withdraw it from the client.
    CancelAsk(AskId),
    /// Record the end of the turn; after a bad one, its open tool calls are failed before.
    End {
        /// The turn's number.
        turn: u32,
        /// How.
        end: End,
    },
    /// Answer a client's prompt.
    Answer {
        /// Whose.
        ticket: Ticket,
        /// How.
        answer: Answer,
    },
    /// Nothing runs any more: close the session.
    Close,
}

/// How a turn ended, as it is recorded.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// The agent stopped by itself.
    Stopped(String),
    /// It was cancelled.
    Cancelled,
    /// With an error.
    Failed(Error),
}
