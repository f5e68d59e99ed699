//! The chat's own slash commands, which are typed alone.

use crate::protocol::Command;

/// A command of the chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChatCommand {
    Mode,
    Model,
    Options,
    New,
    Sessions,
    Details,
    Keys,
    Quit,
}

impl ChatCommand {
    const ALL: [Self; 8] =
        [Self::Mode, Self::Model, Self::Options, Self::New, Self::Sessions, Self::Details, Self::Keys, Self::Quit];

    fn name(self) -> &'static str {
        match self {
            Self::Mode => "mode",
            Self::Model => "model",
            Self::Options => "options",
            Self::New => "new",
            Self::Sessions => "sessions",
            Self::Details => "details",
            Self::Keys => "keys",
            Self::Quit => "quit",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Mode => "Choose the mode",
            Self::Model => "Choose the model",
            Self::Options => "Choose the mode, the model and other options",
            Self::New => "Begin another session",
            Self::Sessions => "Go to another session of this folder",
            Self::Details => "Show the whole conversation",
            Self::Keys => "Show what each key does",
            Self::Quit => "Quit; the session stays",
        }
    }

    /// Whether it also acts where the agent has a command of that name: what the agent's does alone is less.
    fn goes_before_agent(self) -> bool {
        matches!(self, Self::Mode | Self::Model)
    }
}

/// The command of the chat that `text` is, unless it is one of the `agents`.
pub(crate) fn own(text: &str, agents: &[Command]) -> Option<ChatCommand> {
    let name = text.trim().strip_prefix('/')?;
    let is_agents = agents.iter().any(|command| command.name == name);
    ChatCommand::ALL.into_iter().find(|own| own.name() == name && (!is_agents || own.goes_before_agent()))
}

/// All commands that can be typed: the agent's, and ours.
pub(crate) fn all(agents: &[Command]) -> Vec<Command> {
    let is_agents = |own: &ChatCommand| agents.iter().any(|command| command.name == own.name());
    let ours = ChatCommand::ALL.into_iter().filter(|own| !is_agents(own)).map(|own| Command {
        name: own.name().to_owned(),
        description: own.description().to_owned(),
        input: None,
    });
    agents.iter().cloned().chain(ours).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_the_agent_goes_before_ours_but_for_modes_and_models() {
        let agents =
            ["quit", "model"].map(|name| Command { name: name.to_owned(), description: String::new(), input: None });
        assert_eq!(own("/quit", &[]), Some(ChatCommand::Quit));
        assert_eq!(own("/quit", &agents), None);
        assert_eq!(own(" /model ", &agents), Some(ChatCommand::Model));
        assert_eq!(own("/model x", &agents), None);
        assert_eq!(all(&agents).iter().filter(|command| command.name == "model").count(), 1);
    }

    #[test]
    fn the_page_about_the_chat_has_all_commands() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/chat.md")).unwrap();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `/")).collect();
        let row = |own: ChatCommand| {
            let (first, rest) = own.description().split_at(1);
            format!("| `/{}` | {}{rest} |", own.name(), first.to_lowercase())
        };
        assert_eq!(rows, ChatCommand::ALL.map(row));
    }
}
