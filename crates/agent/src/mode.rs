//! Modes: what the agent may do, and what it must ask for.

use std::str::FromStr;

use rejoin::Chosen;

use crate::tools::Effect;

/// The id of the option that holds the mode.
pub(crate) const OPTION: &str = "mode";

/// How much the agent does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Ask,
    Code,
    Architect,
}

/// Whether a call may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// At once.
    Allowed,
    /// When the user has agreed.
    Asked,
    /// Not at all.
    Never,
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Ask, Self::Code, Self::Architect];

    /// The mode that is chosen.
    pub(crate) fn of(chosen: &Chosen) -> Self {
        chosen.get(OPTION).and_then(|id| id.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Code => "code",
            Self::Architect => "architect",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ask => "Ask",
            Self::Code => "Code",
            Self::Architect => "Architect",
        }
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Ask => "Reads and answers, and asks before it changes anything.",
            Self::Code => "Reads and writes files, and asks before it runs anything.",
            Self::Architect => "Reads and plans, and changes nothing.",
        }
    }

    /// What the model is told.
    pub(crate) fn instructions(self) -> &'static str {
        match self {
            Self::Ask => {
                "You are in ask mode. Answer questions, and read what you need for that. The user is asked before any \
                 change you make, so change only what you were asked to."
            }
            Self::Code => {
                "You are in code mode. Do the work: read what you need, write the changes, check them. The user is asked \
                 before anything is run."
            }
            Self::Architect => {
                "You are in architect mode. Read, think, and propose a plan. You can't change anything, and should not \
                 try to."
            }
        }
    }

    /// Whether a call with this effect may be made.
    pub(crate) fn policy(self, effect: Effect) -> Policy {
        match (self, effect) {
            (_, Effect::Reads) | (Self::Ask | Self::Code, Effect::ReadsAsTold) | (Self::Code, Effect::Writes) => {
                Policy::Allowed
            }
            (Self::Ask, Effect::Writes)
            | (Self::Ask | Self::Code, Effect::Runs)
            | (Self::Architect, Effect::ReadsAsTold)
            | (_, Effect::Switches) => Policy::Asked,
            (Self::Architect, Effect::Writes | Effect::Runs) => Policy::Never,
        }
    }

    /// Whether a model is told of a tool with this effect.
    pub(crate) fn offers(self, effect: Effect) -> bool {
        self.policy(effect) != Policy::Never
    }
}

impl FromStr for Mode {
    type Err = ();

    fn from_str(id: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|mode| mode.id() == id).ok_or(())
    }
}
