//! The command line of the scripted agent.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// What the agent can do, and what it does wrong.
#[derive(Debug, Default)]
pub struct Args {
    abilities: Vec<String>,
    faults: Vec<String>,
    dies_on: Vec<String>,
    dies_behind: Vec<String>,
    deaf_to: Vec<String>,
    holds: Vec<String>,
    refuses: Vec<String>,
    name: Option<String>,
    /// Where its sessions are kept; without it they end with the process.
    pub(super) state: Option<PathBuf>,
}

impl Args {
    /// Reads pairs of an option and its value:
    ///
    /// - `--can ABILITY`: `load`, `resume`, `fork`, `close`, `delete`, `dirs`, `http`, `sse`, `transcript`; `modes`,
    ///   `models`, `options`, `booleans`, `effort` (an option that each choice of a model resets); `commands`
    /// - `--fault FAULT`: `ignore-cancel`, `echo` (sends the prompt back), `no-ids` (of messages), `early` (an update
    ///   before the answer to `session/new`), `cancel-error` (answers a cancel with an error), `one-id` (of all its new
    ///   sessions), `asks` (for a file before it has opened a session), `tells-no-settings` (when it opens a session
    ///   again), `late-replay` (behind the answer to `session/load`), `tells-choices` (by an update and a message before
    ///   it answers one), `titles` (itself by its first prompt), `long-models` (whose ids are not the values of the option),
    ///   `locks` (a session that it has open, against other processes), `pretends` (to resume what it has lost, and refuses
    ///   to go on), `resumes-all` (also what it has lost, and does not know it afterwards), `renames` (a session that it
    ///   opens again), `blabs` (its MCP servers to stderr),
    ///   `refuses-what-is-set` (already),
    ///   `forgets-cut` (keeps nothing of a turn that was cut off: it stores a turn when it ends), `stores-late` (stores
    ///   turns when it gets the notification `_store`, closes the session, or its input ends),
    ///   `vague` (says in an error's `data` alone what is wrong), `short-replay` (without the user's first message)
    /// - `--dies-on METHOD`, `--dies-behind METHOD` (when it has answered it), `--deaf-to METHOD` (never answers it), `--refuses METHOD`, `--holds METHOD` (answers it when
    ///   it gets the notification `_go` without a session, one for each)
    /// - `--name NAME`: as it introduces itself, `scripted` by default
    /// - `--state DIR`
    pub fn read(words: impl IntoIterator<Item = String>) -> Self {
        let (mut args, mut words) = (Self::default(), words.into_iter());
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            match option.as_str() {
                "--can" => args.abilities.push(value),
                "--fault" => args.faults.push(value),
                "--dies-on" => args.dies_on.push(value),
                "--dies-behind" => args.dies_behind.push(value),
                "--deaf-to" => args.deaf_to.push(value),
                "--holds" => args.holds.push(value),
                "--refuses" => args.refuses.push(value),
                "--name" => args.name = Some(value),
                "--state" => args.state = Some(value.into()),
                other => panic!("the scripted agent has no option {other}"),
            }
        }
        args
    }

    pub(super) fn can(&self, ability: &str) -> bool {
        self.abilities.iter().any(|one| one == ability)
    }

    pub(super) fn has_fault(&self, fault: &str) -> bool {
        self.faults.iter().any(|one| one == fault)
    }

    pub(super) fn dies_on(&self, method: &str) -> bool {
        self.dies_on.iter().any(|one| one == method)
    }

    pub(super) fn dies_behind(&self, method: &str) -> bool {
        self.dies_behind.iter().any(|one| one == method)
    }

    pub(super) fn is_deaf_to(&self, method: &str) -> bool {
        self.deaf_to.iter().any(|one| one == method)
    }

    pub(super) fn holds(&self, method: &str) -> bool {
        self.holds.iter().any(|one| one == method)
    }

    pub(super) fn refuses(&self, method: &str) -> bool {
        self.refuses.iter().any(|one| one == method)
    }

    pub(super) fn initialize_result(&self) -> Value {
        let names = [
            ("resume", "resume"),
            ("fork", "fork"),
            ("close", "close"),
            ("delete", "delete"),
            ("dirs", "additionalDirectories"),
        ];
        let able = names.iter().filter(|(ability, _)| self.can(ability));
        let session: Map<String, Value> = able.map(|(_, name)| ((*name).to_owned(), json!({}))).collect();
        json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": self.can("load"),
                "promptCapabilities": { "image": true, "audio": false, "embeddedContext": true },
                "mcpCapabilities": { "http": self.can("http"), "sse": self.can("sse") },
                "sessionCapabilities": session,
                "_meta": { "rejoin": { "transcript": self.can("transcript") } },
            },
            "agentInfo": { "name": self.name.as_deref().unwrap_or("scripted"), "version": "1" },
            "authMethods": [{ "id": "key", "name": "Key", "description": "A key" }],
        })
    }
}
