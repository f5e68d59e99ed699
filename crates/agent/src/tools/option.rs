//! The option `tools`: what the user lets the agent have, whatever the mode.

use std::str::FromStr;

use rejoin::Chosen;
use rejoin::schema::{SessionConfigOption, SessionConfigSelectGroup, SessionConfigSelectOption};

use super::Effect;

/// The id of the option.
const OPTION: &str = "tools";

/// Which tools there are. One of them is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Toolset {
    ReadOnly,
    #[default]
    ReadWrite,
    NoCommands,
    All,
}

impl Toolset {
    const ALL: [Self; 4] = [Self::ReadOnly, Self::ReadWrite, Self::NoCommands, Self::All];

    /// What is chosen.
    pub(crate) fn of(chosen: &Chosen) -> Self {
        chosen.get(OPTION).and_then(|id| id.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::ReadWrite => "read-write",
            Self::NoCommands => "disabled",
            Self::All => "enabled",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "Read only",
            Self::ReadWrite => "Read and write",
            Self::NoCommands => "No commands",
            Self::All => "Commands",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ReadOnly => "Reads files and searches. Writes nothing and runs nothing.",
            Self::ReadWrite => "Reads and writes files, and runs commands, as the mode allows.",
            Self::NoCommands => "Everything but commands, as the mode allows.",
            Self::All => "Everything, commands too, as the mode allows.",
        }
    }

    /// Whether it has tools with this effect.
    pub(crate) fn has(self, effect: Effect) -> bool {
        match (self, effect) {
            (_, Effect::Reads | Effect::ReadsAsTold | Effect::Switches)
            | (Self::ReadWrite | Self::NoCommands | Self::All, _) => true,
            (Self::ReadOnly, Effect::Writes | Effect::Runs) => false,
        }
    }

    /// Whether the user is asked before a call with this effect, whatever the mode.
    pub(crate) fn asks_for(self, effect: Effect) -> bool {
        self == Self::ReadOnly && effect == Effect::ReadsAsTold
    }

    /// Whether it has commands.
    pub(crate) fn has_commands(self) -> bool {
        match self {
            Self::ReadWrite | Self::All => true,
            Self::ReadOnly | Self::NoCommands => false,
        }
    }
}

impl FromStr for Toolset {
    type Err = ();

    fn from_str(id: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|toolset| toolset.id() == id).ok_or(())
    }
}

/// The option, as it is offered.
pub(crate) fn option(chosen: &Chosen) -> SessionConfigOption {
    let value = |toolset: Toolset| {
        SessionConfigSelectOption::new(toolset.id(), toolset.name()).description(toolset.description().to_owned())
    };
    let group = |id: &'static str, name: &'static str, toolsets: [Toolset; 2]| {
        SessionConfigSelectGroup::new(id, name, toolsets.into_iter().map(value).collect::<Vec<_>>())
    };
    let groups = vec![
        group("filesystem", "Files", [Toolset::ReadOnly, Toolset::ReadWrite]),
        group("terminal", "Commands", [Toolset::NoCommands, Toolset::All]),
    ];
    SessionConfigOption::select(OPTION, "Tools", Toolset::of(chosen).id(), groups)
        .description("Which tools the agent has.".to_owned())
}
