//! How sessions behave: what any file may set.

use std::time::Duration;

use clap::ValueEnum;

use super::layers::Layers;
use super::value::{bytes, choice, duration};
use crate::error::Error;

/// What happens to a session that its agent can't restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Restore {
    /// It is not loaded.
    Required,
    /// A new session of the agent is told what happened.
    Rebuild,
    /// A new session of the agent knows nothing.
    Fresh,
}

/// What happens to a prompt that comes during a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhileBusy {
    /// It waits for the turn to end.
    Queue,
    /// It is refused.
    Reject,
}

impl From<Restore> for rejoin::Restore {
    fn from(restore: Restore) -> Self {
        match restore {
            Restore::Required => Self::Required,
            Restore::Rebuild => Self::Rebuild,
            Restore::Fresh => Self::Fresh,
        }
    }
}

impl From<WhileBusy> for rejoin::WhileBusy {
    fn from(while_busy: WhileBusy) -> Self {
        match while_busy {
            WhileBusy::Queue => Self::Queue,
            WhileBusy::Reject => Self::Reject,
        }
    }
}

/// Declares [`Behaviour`] from a table: name, type, default, and the kind of value that reads and shows it.
macro_rules! behaviour {
    ($($(#[$doc:meta])+ $key:ident: $type:ty = $default:expr, $kind:ident;)+) => {
        /// How sessions behave.
        #[derive(Debug, PartialEq, Eq)]
        pub(crate) struct Behaviour {
            $($(#[$doc])+ pub(crate) $key: $type,)+
        }

        impl Behaviour {
            /// The names of the settings.
            pub(crate) const KEYS: &[&str] = &[$(stringify!($key)),+];

            /// Takes each setting from `layers`.
            pub(super) fn pick(layers: &mut Layers<'_>) -> Result<Self, Error> {
                Ok(Self { $($key: layers.pick(stringify!($key), None, $kind::read)?.unwrap_or($default),)+ })
            }

            /// Each setting's name and value, as they are written in a file.
            pub(crate) fn shown(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($key), $kind::show(self.$key))),+]
            }
        }
    };
}

behaviour! {
    /// What happens to a session that its agent can't restore.
    restore: Restore = Restore::Rebuild, choice;
    /// What happens to a prompt that comes during a turn.
    while_busy: WhileBusy = WhileBusy::Queue, choice;
    /// How long an agent may take to obey a cancel.
    cancel_deadline: Duration = Duration::from_secs(5), duration;
    /// How long an agent may take to start.
    agent_start_limit: Duration = Duration::from_secs(60), duration;
    /// How long an agent may take to restore a session.
    restore_limit: Duration = Duration::from_secs(30), duration;
    /// How long an agent that nobody uses is kept running.
    idle_agent_limit: Duration = Duration::from_secs(15 * 60), duration;
    /// How long a session that was never prompted is kept.
    empty_session_limit: Duration = Duration::from_secs(24 * 60 * 60), duration;
    /// How many bytes a new session of the agent is told of what happened.
    briefing_limit: usize = 32 * 1024, bytes;
    /// How long an owner on another host may be silent before its session is taken over.
    lease: Duration = Duration::from_secs(15), duration;
    /// How long the built-in agent waits for MCP servers when it opens a session.
    mcp_start_limit: Duration = Duration::from_secs(10), duration;
}
