//! Chat errors, and who can fix each.

use std::io;

use thiserror::Error;

use crate::protocol::{Failure, FailureKind};

/// An error that ends the chat.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The terminal can't be read, written, or set up.
    #[error("failed to use the terminal")]
    Terminal(#[source] io::Error),

    /// The answer can't be written.
    #[error("failed to write the output")]
    Output(#[source] io::Error),

    /// A request was refused, by the layer or by the agent.
    #[error("{message}")]
    Refused {
        /// The error message.
        message: String,
        /// How to fix it.
        hint: Option<String>,
        /// Who can fix it.
        blame: Blame,
    },

    /// The turn ended before the agent had said all.
    #[error("the answer is incomplete: {remark}")]
    NoWholeAnswer {
        /// Why.
        remark: String,
        /// Who can fix it.
        blame: Blame,
    },

    /// The session layer ended before the chat did.
    #[error("the session layer closed the connection")]
    LayerGone,

    /// A task panicked; the panic message was already printed.
    #[error("an internal task panicked")]
    Panicked,
}

/// Who can fix an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The user, including the configuration.
    User,
    /// The agent.
    Agent,
    /// The program.
    Program,
}

impl ChatError {
    /// Returns who can fix it.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Terminal(_) | Self::Output(_) => Blame::User,
            Self::Refused { blame, .. } | Self::NoWholeAnswer { blame, .. } => *blame,
            Self::LayerGone | Self::Panicked => Blame::Program,
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            Self::Terminal(_) | Self::Output(_) | Self::NoWholeAnswer { .. } | Self::LayerGone | Self::Panicked => None,
        }
    }
}

impl From<Failure> for ChatError {
    fn from(Failure { message, hint, kind }: Failure) -> Self {
        let blame = match kind {
            FailureKind::Agent => Blame::Agent,
            // The user can set a key or log in.
            FailureKind::Login | FailureKind::Layer => Blame::User,
        };
        Self::Refused { message, hint, blame }
    }
}
