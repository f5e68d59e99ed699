//! The tools whose histories can be read, and what must be known of each: the one table of it.

use std::path::{Path, PathBuf};

/// A tool that keeps conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Anthropic's Claude Code.
    ClaudeCode,
    /// OpenAI's Codex.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// OpenCode.
    OpenCode,
}

/// What is known of a tool.
struct Row {
    tool: Tool,
    /// The name by which it is asked for, and by which sessions that came from it are listed.
    name: &'static str,
    /// The names of the ACP agents that keep their sessions where the tool does: what they tell at `initialize`, and what
    /// their programs are called.
    agents: &'static [&'static str],
    /// The command that opens a session in the tool itself; its id goes behind it.
    resume: &'static [&'static str],
    /// The variable that says where the tool keeps its things.
    variable: &'static str,
    /// Where it keeps them otherwise, in the user's home.
    home: &'static str,
    /// Where its conversations are in there.
    inside: &'static [&'static str],
}

const TABLE: [Row; 4] = [
    Row {
        tool: Tool::ClaudeCode,
        name: "claude-code",
        agents: &[
            "@agentclientprotocol/claude-agent-acp",
            "@zed-industries/claude-agent-acp",
            "@zed-industries/claude-code-acp",
            "claude",
            "claude-agent-acp",
            "claude-code-acp",
        ],
        resume: &["claude", "--resume"],
        variable: "CLAUDE_CONFIG_DIR",
        home: ".claude",
        inside: &["projects"],
    },
    Row {
        tool: Tool::Codex,
        name: "codex",
        agents: &["@agentclientprotocol/codex-acp", "@zed-industries/codex-acp", "codex-acp"],
        resume: &["codex", "resume"],
        variable: "CODEX_HOME",
        home: ".codex",
        inside: &["sessions", "archived_sessions"],
    },
    Row {
        tool: Tool::Gemini,
        name: "gemini",
        agents: &["@google/gemini-cli", "gemini-cli"],
        resume: &["gemini", "--resume"],
        variable: "GEMINI_CLI_HOME",
        home: ".gemini",
        inside: &["tmp"],
    },
    Row {
        tool: Tool::OpenCode,
        name: "opencode",
        agents: &["OpenCode"],
        resume: &["opencode", "--session"],
        variable: "XDG_DATA_HOME",
        home: ".local/share",
        inside: &["opencode/opencode.db"],
    },
];

impl Tool {
    /// Every tool.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The name by which it is asked for, and by which sessions that came from it are listed.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The tool with that [`Tool::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.tool)
    }

    /// The tool whose sessions the agent `agent` keeps: by the tool's name, the agent's, or that of its program.
    pub fn of_agent(agent: &str) -> Option<Self> {
        let is_known = |row: &&Row| row.name == agent || row.agents.contains(&agent);
        TABLE.iter().find(is_known).map(|row| row.tool)
    }

    /// All names of the tool and of the agents that keep their sessions where it does.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.row().name).chain(self.row().agents.iter().copied())
    }

    /// The command that opens the session `id` in the tool itself.
    pub fn resume_command(self, id: &str) -> Vec<String> {
        self.row().resume.iter().copied().chain([id]).map(str::to_owned).collect()
    }

    /// Where its conversations are; `variable` gives the values of environment variables.
    pub fn places(self, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        let Row { variable: name, home, inside, .. } = self.row();
        let is_set = |path: &PathBuf| !path.as_os_str().is_empty();
        let own = variable(name).filter(is_set);
        // This one names the home in which its folder is.
        let own = if self == Self::Gemini { own.map(|folder| folder.join(home)) } else { own };
        let folder = own.or_else(|| Some(variable("HOME").filter(is_set)?.join(home)));
        folder.iter().flat_map(|folder| inside.iter().map(|inside| folder.join(inside))).collect()
    }

    /// Whether the file `inside`, seen from one of its [`Tool::places`], is named as the tool names conversations.
    pub fn keeps(self, inside: &Path) -> bool {
        let words: Vec<&str> = inside.iter().filter_map(|word| word.to_str()).collect();
        match (self, words.as_slice()) {
            // What subagents said has files of its own.
            (Self::ClaudeCode, [_, name]) => is_a(name, &[".jsonl"]) && !name.starts_with("agent-"),
            (Self::Codex, [.., name]) => name.starts_with("rollout-") && is_a(name, &[".jsonl", ".jsonl.zst"]),
            (Self::Gemini, [_, "chats", name]) => name.starts_with("session-") && is_a(name, &[".jsonl", ".json"]),
            (Self::OpenCode, []) => true,
            (Self::ClaudeCode | Self::Codex | Self::Gemini | Self::OpenCode, _) => false,
        }
    }

    fn row(self) -> &'static Row {
        match self {
            Self::ClaudeCode => &TABLE[0],
            Self::Codex => &TABLE[1],
            Self::Gemini => &TABLE[2],
            Self::OpenCode => &TABLE[3],
        }
    }
}

/// Whether `name` has one of these `ends`, written as the tools write them.
fn is_a(name: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_its_row_and_no_name_stands_for_two() {
        let mut names = Vec::new();
        for tool in Tool::ALL {
            assert_eq!((tool.row().tool, Tool::from_name(tool.name())), (tool, Some(tool)));
            assert!(tool.names().all(|name| Tool::of_agent(name) == Some(tool)));
            names.extend(tool.names());
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn conversations_are_told_from_other_files_by_their_names() {
        for (tool, inside, is_kept) in [
            (Tool::ClaudeCode, "-p/0c5f.jsonl", true),
            (Tool::ClaudeCode, "-p/session-0c5f.jsonl", true),
            (Tool::ClaudeCode, "-p/agent-0c5f.jsonl", false),
            (Tool::ClaudeCode, "-p/0c5f/subagents/agent-1.jsonl", false),
            (Tool::Codex, "2026/05/04/rollout-2026-0c5f.jsonl", true),
            (Tool::Codex, "rollout-2026-0c5f.jsonl.zst", true),
            (Tool::Codex, "2026/notes.jsonl", false),
            (Tool::Gemini, "p/chats/session-2026.json", true),
            (Tool::Gemini, "p/logs.json", false),
            (Tool::OpenCode, "", true),
        ] {
            assert_eq!(tool.keeps(Path::new(inside)), is_kept, "{inside}");
        }
    }

    #[test]
    fn conversations_are_where_the_environment_says_or_at_home() {
        let places = |pairs: &'static [(&str, &str)], tool: Tool| {
            let variable = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            tool.places(variable).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(places(&[("HOME", "/h")], Tool::ClaudeCode), ["/h/.claude/projects"]);
        assert_eq!(places(&[("HOME", "/h"), ("CLAUDE_CONFIG_DIR", "/c")], Tool::ClaudeCode), ["/c/projects"]);
        assert_eq!(
            places(&[("HOME", "/h"), ("CODEX_HOME", "")], Tool::Codex),
            ["/h/.codex/sessions", "/h/.codex/archived_sessions"]
        );
        assert_eq!(places(&[("GEMINI_CLI_HOME", "/g")], Tool::Gemini), ["/g/.gemini/tmp"]);
        assert_eq!(places(&[("HOME", "/h")], Tool::OpenCode), ["/h/.local/share/opencode/opencode.db"]);
        assert!(places(&[], Tool::Codex).is_empty());
    }
}
