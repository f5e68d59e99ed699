//! The editors: where each keeps its agents, and how it writes one.

use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::settings::Settings;

/// An editor that speaks ACP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Editor {
    /// Zed
    Zed,
    /// The IDEs of JetBrains
    Jetbrains,
    /// Neovim, with CodeCompanion
    Neovim,
    /// Emacs, with agent-shell
    Emacs,
    /// Visual Studio Code, with the extension ACP Client
    Vscode,
    /// Obsidian, with the plugin Agent Client
    Obsidian,
}

/// Where an editor keeps its agents.
pub(super) enum Place {
    /// In a file of JSON with comments, under these keys.
    File { path: PathBuf, keys: &'static [&'static str] },
    /// Where only people can write.
    Elsewhere(&'static str),
}

/// An agent, as an editor is told of it.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

impl Editor {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Zed => "Zed",
            Self::Jetbrains => "JetBrains",
            Self::Neovim => "Neovim",
            Self::Emacs => "Emacs",
            Self::Vscode => "Visual Studio Code",
            Self::Obsidian => "Obsidian",
        }
    }

    pub(super) fn place(self, settings: &Settings) -> Place {
        let home = settings.home.clone().unwrap_or_default();
        let config = settings.config_home.clone().unwrap_or_else(|| home.join(".config"));
        match self {
            Self::Zed => Place::File { path: config.join("zed/settings.json"), keys: &["agent_servers"] },
            Self::Jetbrains => Place::File { path: home.join(".jetbrains/acp.json"), keys: &["agent_servers"] },
            Self::Vscode => {
                let mac = home.join("Library/Application Support/Code/User/settings.json");
                let path = if cfg!(target_os = "macos") { mac } else { config.join("Code/User/settings.json") };
                Place::File { path, keys: &["acp.agents"] }
            }
            Self::Neovim => Place::Elsewhere("your init.lua, with the plugin codecompanion.nvim"),
            Self::Emacs => Place::Elsewhere("your init.el, with the package agent-shell"),
            // The plugin writes its file anew whenever it likes, and each vault has one.
            Self::Obsidian => {
                Place::Elsewhere("the settings of the plugin Agent Client, Custom agents, Add custom agent")
            }
        }
    }

    /// The entry as JSON, without its name.
    pub(super) fn value(self, entry: &Entry) -> Value {
        let Entry { command, args, .. } = entry;
        match self {
            Self::Zed => json!({ "type": "custom", "command": command, "args": args, "env": {} }),
            Self::Jetbrains | Self::Vscode => json!({ "command": command, "args": args, "env": {} }),
            Self::Obsidian => {
                json!({ "id": id(&entry.name), "displayName": entry.name, "command": command, "args": args, "env": [] })
            }
            Self::Neovim | Self::Emacs => Value::Null,
        }
    }

    /// What to put there, word for word.
    pub(super) fn snippet(self, entry: &Entry) -> String {
        match self {
            Self::Zed | Self::Jetbrains => pretty(&json!({ "agent_servers": { &entry.name: self.value(entry) } })),
            Self::Vscode => pretty(&json!({ "acp.agents": { &entry.name: self.value(entry) } })),
            Self::Obsidian => pretty(&self.value(entry)),
            Self::Neovim => neovim(entry),
            Self::Emacs => emacs(entry),
        }
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// The name as an identifier, which does not begin with a digit.
fn id(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = words.collect::<Vec<_>>().join("_").to_lowercase();
    match id.chars().next() {
        None => "rejoin".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("rejoin_{id}"),
        Some(_) => id,
    }
}

fn neovim(entry: &Entry) -> String {
    let id = id(&entry.name);
    let words = [&entry.command].into_iter().chain(&entry.args).map(|word| quoted(word)).collect::<Vec<_>>().join(", ");
    format!(
        "\
require(\"codecompanion\").setup({{
  adapters = {{
    acp = {{
      {id} = function()
        return require(\"codecompanion.adapters\").extend(\"claude_code\", {{
          name = {},
          formatted_name = {},
          commands = {{ default = {{ {words} }} }},
        }})
      end,
    }},
  }},
  interactions = {{ chat = {{ adapter = {} }} }},
}})",
        quoted(&id),
        quoted(&entry.name),
        quoted(&id),
    )
}

fn emacs(entry: &Entry) -> String {
    let Entry { name, command, args } = entry;
    let args = args.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let (id, prompt, name) = (id(name).replace('_', "-"), quoted(&format!("{name}> ")), quoted(name));
    format!(
        "\
(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier '{id}
                :mode-line-name {name}
                :buffer-name {name}
                :shell-prompt {prompt}
                :shell-prompt-regexp (regexp-quote {prompt})
                :client-maker
                (lambda (buffer)
                  (acp-make-client :command {}
                                   :command-params '({args})
                                   :context-buffer buffer)))))",
        quoted(command),
    )
}

/// A text of Lua and Lisp, which write them alike.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_identifiers_and_texts_stay_whole() {
        assert_eq!(id("My Agent (2)"), "my_agent_2");
        assert_eq!(id("2nd"), "rejoin_2nd");
        assert_eq!(id("仲間"), "rejoin");
        assert_eq!(quoted(r#"a "b" \c"#), r#""a \"b\" \\c""#);
    }
}
