//! Why a chat did not end well.

use std::io;

use thiserror::Error;

use crate::protocol::{Failure, FailureKind};

/// What went wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatError {
    /// The terminal can't be read, written, or set up.
    #[error("the terminal can't be used")]
    Terminal(#[source] io::Error),

    /// What was asked for can't be written.
    #[error("the output can't be written")]
    Output(#[source] io::Error),

    /// A request was refused, by the layer or by the agent.
    #[error("{message}")]
    Refused {
        /// What was said.
        message: String,
        /// What to do about it.
        hint: Option<String>,
        /// Whose it is.
        blame: Blame,
    },

    /// The turn ended before the agent had said all.
    #[error("the turn has no whole answer: {remark}")]
    NoWholeAnswer {
        /// Why.
        remark: String,
        /// Whose it is.
        blame: Blame,
    },

    /// The session layer ended before the chat did.
    #[error("the session layer is gone")]
    LayerGone,

    /// Something in the program failed, and has said so.
    #[error("a part of the program failed")]
    Panicked,
}

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The user, or whoever configured the program.
    User,
    /// The agent.
    Agent,
    /// The program.
    Program,
}

impl ChatError {
    /// Who can do something about it.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Terminal(_) | Self::Output(_) => Blame::User,
            Self::Refused { blame, .. } | Self::NoWholeAnswer { blame, .. } => *blame,
            Self::LayerGone | Self::Panicked => Blame::Program,
        }
    }

    /// What to do about it.
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
            // Whoever has no key, or is not logged in, can change that.
            FailureKind::Login | FailureKind::Layer => Blame::User,
        };
        Self::Refused { message, hint, blame }
    }
}
