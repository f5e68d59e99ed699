//! The agents that the user has named.

use std::collections::BTreeMap;
use std::fmt;

use rejoin::Sharing;
use rejoin_wire::Command;

use super::file::ConfigFile;
use super::keys;
use super::program::{bad, read_command, read_pairs};
use super::value::{Item, Raw};
use super::warning::Warning;
use crate::error::Error;

const COMMAND: &str = "command";
const ENV: &str = "env";
const SHARED: &str = "shared";
const KEYS: [&str; 3] = [COMMAND, ENV, SHARED];

/// How an agent is started.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct AgentCommand {
    /// The program and its arguments; never empty.
    pub(crate) command: Vec<String>,
    /// What is added to the environment. The values are secrets, and are never shown.
    pub(crate) env: BTreeMap<String, String>,
    /// Who shares a process.
    pub(crate) sharing: Sharing,
}

impl AgentCommand {
    /// How its process is started.
    pub(crate) fn to_command(&self) -> Command {
        let mut words = self.command.iter().cloned();
        let env = self.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        Command { env, ..Command::new(words.next().unwrap_or_default(), words) }
    }
}

impl fmt::Debug for AgentCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.env.keys().collect();
        let mut shown = f.debug_struct("AgentCommand");
        shown.field(COMMAND, &self.command).field(ENV, &names).field("sharing", &self.sharing).finish()
    }
}

/// An agent of a file.
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) item: &'a Item,
    pub(super) agent: AgentCommand,
}

/// The agents of `file`; keys of theirs that there are none of are added to `warnings`.
pub(super) fn read<'a>(file: &'a ConfigFile, warnings: &mut Vec<Warning>) -> Result<Vec<Named<'a>>, Error> {
    let Some(item) = file.get(keys::AGENTS) else { return Ok(Vec::new()) };
    let Raw::Table(agents) = &item.raw else { return Err(bad(file, item, keys::AGENTS, AGENT)) };
    let named = |(name, item): (&'a String, &'a Item)| {
        let agent = read_agent(file, &format!("{}.{name}", keys::AGENTS), item, warnings)?;
        Ok(Named { name, item, agent })
    };
    agents.iter().map(named).collect()
}

const AGENT: &str = "write a table like [agents.NAME] with `command = [\"PROGRAM\", \"ARGUMENT\"]`";
const VARIABLES: &str = "write `env = { NAME = \"value\" }`";

fn read_agent(file: &ConfigFile, key: &str, item: &Item, warnings: &mut Vec<Warning>) -> Result<AgentCommand, Error> {
    let Raw::Table(table) = &item.raw else { return Err(bad(file, item, key, AGENT)) };
    for (name, item) in table.iter().filter(|(name, _)| !KEYS.contains(&name.as_str())) {
        warnings.push(file.unknown_key(format!("{key}.{name}"), item, keys::nearest(name, &KEYS)));
    }
    let command = match table.get(COMMAND) {
        Some(command) => read_command(file, &format!("{key}.{COMMAND}"), command, AGENT)?,
        None => return Err(file.source(item).bad(key, "without a command", AGENT)),
    };
    let env = match table.get(ENV) {
        Some(env) => read_pairs(file, &format!("{key}.{ENV}"), env, VARIABLES)?,
        None => BTreeMap::new(),
    };
    let sharing = match table.get(SHARED) {
        Some(shared) => read_sharing(file, &format!("{key}.{SHARED}"), shared)?,
        None => Sharing::Shared,
    };
    Ok(AgentCommand { command, env, sharing })
}

fn read_sharing(file: &ConfigFile, key: &str, item: &Item) -> Result<Sharing, Error> {
    match &item.raw {
        Raw::Bool(true) => Ok(Sharing::Shared),
        Raw::Bool(false) => Ok(Sharing::OneEach),
        Raw::Text(_) | Raw::Integer(_) | Raw::List(_) | Raw::Table(_) | Raw::Other(_) => {
            Err(bad(file, item, key, "write true, or false if each session needs a process of its own"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_an_environment_are_not_shown() {
        let env = BTreeMap::from([("TOKEN".to_owned(), "hush".to_owned())]);
        let agent = AgentCommand { command: vec!["robot".to_owned()], env, sharing: Sharing::Shared };
        assert_eq!(format!("{agent:?}"), r#"AgentCommand { command: ["robot"], env: ["TOKEN"], sharing: Shared }"#);
    }
}
