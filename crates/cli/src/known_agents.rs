//! The agents that people use, and what must be known of them: the one place where an agent is called by its name.

use std::path::Path;

use rejoin::Sharing;
use rejoin_wire::Command;

/// An agent that people use.
#[derive(Debug)]
pub(crate) struct KnownAgent {
    /// What `--agent` takes.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The program and its arguments.
    pub(crate) command: &'static [&'static str],
    /// The command that installs it.
    pub(crate) install: &'static str,
    /// Who shares a process.
    pub(crate) sharing: Sharing,
    /// What those who use it should know.
    pub(crate) remark: Option<&'static str>,
}

/// All of them, by name.
pub(crate) const ALL: &[KnownAgent] = &[
    KnownAgent {
        name: "claude",
        title: "Claude Code",
        command: &["claude-agent-acp"],
        install: "npm install -g @agentclientprotocol/claude-agent-acp",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "cline",
        title: "Cline",
        command: &["cline", "--acp"],
        install: "npm install -g cline",
        sharing: Sharing::Shared,
        remark: Some("leaves a process of its own running when it ends"),
    },
    KnownAgent {
        name: "codex",
        title: "Codex",
        command: &["codex-acp"],
        install: "npm install -g @agentclientprotocol/codex-acp",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "copilot",
        title: "GitHub Copilot",
        command: &["copilot", "--acp"],
        install: "npm install -g @github/copilot",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "gemini",
        title: "Gemini CLI",
        command: &["gemini", "--acp"],
        install: "npm install -g @google/gemini-cli",
        sharing: Sharing::Shared,
        remark: Some("loads of its own may lose sessions; behind rejoin they do not"),
    },
    KnownAgent {
        name: "goose",
        title: "Goose",
        command: &["goose", "acp"],
        install: "brew install block-goose-cli",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "hermes",
        title: "Hermes",
        command: &["hermes-acp"],
        install: "pip install 'hermes-agent[acp]'",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "opencode",
        title: "OpenCode",
        command: &["opencode", "acp"],
        install: "npm install -g opencode-ai",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "pi",
        title: "Pi",
        command: &["pi-acp"],
        install: "npm install -g pi-acp @earendil-works/pi-coding-agent",
        sharing: Sharing::OneEach,
        remark: Some("closes its other sessions when it opens one, so each has a process of its own"),
    },
    KnownAgent {
        name: "qwen",
        title: "Qwen Code",
        command: &["qwen", "--acp"],
        install: "npm install -g @qwen-code/qwen-code",
        sharing: Sharing::Shared,
        remark: None,
    },
    KnownAgent {
        name: "vibe",
        title: "Mistral Vibe",
        command: &["vibe-acp"],
        install: "pip install mistral-vibe",
        sharing: Sharing::Shared,
        remark: None,
    },
];

impl KnownAgent {
    /// How its process is started.
    pub(crate) fn to_command(&self) -> Command {
        let mut words = self.command.iter().map(|word| (*word).to_owned());
        Command::new(words.next().unwrap_or_default(), words)
    }
}

/// The agent with this name.
pub(crate) fn find(name: &str) -> Option<&'static KnownAgent> {
    ALL.iter().find(|agent| agent.name == name)
}

/// Who shares a process of `program`, wherever it is.
pub(crate) fn sharing_of(program: &str) -> Sharing {
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program);
    let known = ALL.iter().find(|agent| agent.command.first() == Some(&name));
    known.map_or(Sharing::Shared, |agent| agent.sharing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agents_are_in_order_and_each_has_a_command() {
        assert!(ALL.is_sorted_by_key(|agent| agent.name));
        assert!(ALL.iter().all(|agent| !agent.command.is_empty()));
    }

    #[test]
    fn an_agent_is_known_by_its_program_wherever_that_is() {
        assert_eq!(sharing_of("/opt/bin/pi-acp"), Sharing::OneEach);
        assert_eq!(sharing_of("my-agent"), Sharing::Shared);
    }
}
