//! The settings, resolved: what was typed goes before the environment, the project's file, the user's, and the
//! defaults.
//!
//! A project's file comes with what others wrote. It can't make the program start other programs or write elsewhere
//! until the user trusts it, as it is.

mod agents;
mod behaviour;
mod deny;
mod file;
mod files;
mod folders;
pub(crate) mod keys;
mod layers;
mod mcp_servers;
mod program;
mod project;
mod providers;
mod source;
mod trust;
mod value;
mod warning;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::DenyRules;
use rejoin_agent::{ModelId, ProviderConfig};
use rejoin_history::Tool;
use rejoin_mcp::ServerSpec;
use rejoin_store::{MemoryStore, SessionStore, SqliteStore};
use rejoin_wire::NamePattern;

pub(crate) use self::agents::AgentCommand;
pub(crate) use self::behaviour::Behaviour;
pub(crate) use self::file::ConfigFile;
pub(crate) use self::files::Files;
use self::folders::Folders;
use self::layers::Layers;
pub(crate) use self::project::PROJECT_FILE;
pub(crate) use self::source::{Role, Source, flag};
pub(crate) use self::trust::Trust;
use self::value::{bytes, choice, duration, names};
pub(crate) use self::warning::Warning;
use crate::args::{GlobalArgs, LogLevel};
use crate::env_vars;
use crate::error::Error;

/// What every command runs with.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The file in which sessions are kept.
    pub(crate) store: PathBuf,
    /// What is logged, and where.
    pub(crate) log: LogSettings,
    /// The file to which the traffic is written.
    pub(crate) trace: Option<PathBuf>,
    /// The agent that is used where none is named.
    pub(crate) default_agent: Option<String>,
    /// The agents that have names.
    pub(crate) agents: BTreeMap<String, AgentCommand>,
    /// The model that sessions of the built-in agent begin with.
    pub(crate) model: Option<ModelId>,
    /// Who provides models to the built-in agent.
    pub(crate) providers: Vec<ProviderConfig>,
    /// The environment variables that MCP servers and commands of the built-in agent get besides the usual ones.
    pub(crate) pass_environment: Vec<NamePattern>,
    /// The MCP servers of every session of the built-in agent.
    pub(crate) mcp_servers: Vec<ServerSpec>,
    /// What agents are denied.
    pub(crate) deny: DenyRules,
    /// How sessions behave.
    pub(crate) behaviour: Behaviour,
    /// The command that shows long texts, as this program's setting.
    pager: Option<String>,
    /// The one that the user has for all programs.
    usual_pager: Option<String>,
    /// What the environment tells `less`.
    pub(crate) less: Option<String>,
    /// What `gc` removes.
    pub(crate) gc: GcSettings,
    /// Where each value came from, by the setting's key; an agent's is `agents.NAME`.
    pub(crate) sources: BTreeMap<String, Source>,
    /// The files that were looked into.
    pub(crate) files: Files,
    /// What is wrong with them, but stops nothing.
    pub(crate) warnings: Vec<Warning>,
    /// The user's own folder, which is shown as `~`.
    pub(crate) home: Option<PathBuf>,
    /// The folder for settings of the user's programs.
    pub(crate) config_home: Option<PathBuf>,
    /// Where other tools keep their conversations.
    pub(crate) histories: Vec<(Tool, PathBuf)>,
}

/// What is logged, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogSettings {
    /// How much.
    pub(crate) level: LogLevel,
    /// The file; standard error, if there is none.
    pub(crate) file: Option<PathBuf>,
}

/// What `gc` removes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GcSettings {
    /// Sessions that were not used for so long.
    pub(crate) older_than: Option<Duration>,
    /// The oldest of those that together have more bytes.
    pub(crate) max_size: Option<usize>,
}

impl Settings {
    /// Resolves what was typed in the folder `cwd`, with `env` to look up environment variables. One that is empty
    /// counts as not set.
    pub(crate) fn resolve(
        typed: GlobalArgs,
        env: impl Fn(&str) -> Option<OsString>,
        cwd: Option<&Path>,
    ) -> Result<Self, Error> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let folders = Folders::find(&env);
        let named = typed.config.or_else(|| env(env_vars::CONFIG).map(PathBuf::from));
        let (files, mut contents) = Files::read(named.as_deref(), &folders, cwd)?;
        let mut layers = Layers::new(&env, &contents.files, folders.home.as_deref());

        let store = layers.pick_path(keys::STORE, typed.store)?;
        let store = store.or_else(|| Some(folders.data.as_ref()?.join("sessions.db"))).ok_or(Error::NoStorePath)?;
        // A file with such a name would be a surprise.
        if store.to_string_lossy().contains("://") {
            return Err(Error::StoreAddress);
        }
        let log_file = layers.pick_path(keys::LOG_FILE, typed.log_file)?;
        let level = layers.pick(keys::LOG, typed.log, choice::read)?;
        let level = level.unwrap_or(if log_file.is_some() { LogLevel::Info } else { LogLevel::Off });
        let trace = layers.pick_path(keys::TRACE, typed.trace)?;
        let default_agent = layers.pick(keys::DEFAULT_AGENT, None, value::read_text)?;
        let model = layers.pick(keys::MODEL, None, read_model)?;
        let pass_environment = layers.pick(keys::PASS_ENVIRONMENT, None, names::read)?.unwrap_or_default();
        let pager = layers.pick(keys::PAGER, None, value::read_text)?;
        let gc = GcSettings {
            older_than: layers.pick(keys::GC_OLDER_THAN, None, duration::read)?,
            max_size: layers.pick(keys::GC_MAX_SIZE, None, bytes::read)?,
        };
        let behaviour = Behaviour::pick(&mut layers)?;

        let mut sources = layers.sources;
        let mut agents = BTreeMap::new();
        // The weakest first, so that the others replace what they name too.
        for file in contents.files.iter().rev() {
            for agents::Named { name, item, agent } in agents::read(file, &mut contents.warnings)? {
                sources.insert(format!("{}.{name}", keys::AGENTS), file.source(item));
                agents.insert(name.to_owned(), agent);
            }
        }
        let mut mcp_servers = BTreeMap::new();
        for file in contents.files.iter().rev() {
            for mcp_servers::Named { item, spec } in mcp_servers::read(file, &mut contents.warnings)? {
                sources.insert(format!("{}.{}", keys::MCP_SERVERS, spec.name), file.source(item));
                mcp_servers.insert(spec.name.clone(), spec);
            }
        }
        let mcp_servers = mcp_servers.into_values().collect();
        let mut deny = DenyRules::default();
        for file in contents.files.iter().rev() {
            if let Some(item) = file.get(keys::DENY) {
                sources.insert(keys::DENY.to_owned(), file.source(item));
            }
            deny::read(file, folders.home.as_deref(), &mut deny, &mut contents.warnings)?;
        }
        let mut providers = BTreeMap::new();
        for file in contents.files.iter().rev() {
            for providers::Named { item, provider } in providers::read(file, &env, &mut contents.warnings)? {
                sources.insert(format!("{}.{}", keys::PROVIDERS, provider.name), file.source(item));
                providers.insert(provider.name.clone(), provider);
            }
        }
        let providers = providers::all(providers, &env);
        let text = |name| env(name).and_then(|value: OsString| value.into_string().ok());
        let (usual_pager, less) = (text(env_vars::PAGER), text(env_vars::LESS));
        let log = LogSettings { level, file: log_file };
        let (warnings, home) = (contents.warnings, folders.home);
        let config_home = env(env_vars::XDG_CONFIG_HOME).map(PathBuf::from).filter(|path| path.is_absolute());
        let places =
            |tool: Tool| tool.places(|name| env(name).map(PathBuf::from)).into_iter().map(move |it| (tool, it));
        let histories = Tool::ALL.into_iter().flat_map(places).collect();
        Ok(Self {
            store,
            log,
            trace,
            default_agent,
            agents,
            model,
            providers,
            pass_environment,
            mcp_servers,
            deny,
            behaviour,
            pager,
            usual_pager,
            less,
            gc,
            sources,
            files,
            warnings,
            home,
            config_home,
            histories,
        })
    }

    /// The command that shows long texts, if there is one.
    pub(crate) fn pager_command(&self) -> Option<&str> {
        self.pager.as_deref().or(self.usual_pager.as_deref())
    }

    /// Opens the store to write in it, and makes it if it is not there.
    pub(crate) fn open_store(&self) -> Result<SqliteStore, Error> {
        Ok(SqliteStore::open(&self.store)?)
    }

    /// Opens the store for clients, and makes it if it is not there. One that can't be written can be read.
    pub(crate) fn open_store_to_serve(&self) -> Result<SqliteStore, Error> {
        match SqliteStore::open_existing(&self.store)? {
            Some(store) => Ok(store),
            None => self.open_store(),
        }
    }

    /// Opens the store to change what is in it. One that is not there is an empty one, and is not made.
    pub(crate) fn open_store_to_change(&self) -> Result<Box<dyn SessionStore>, Error> {
        Ok(match self.store.try_exists() {
            Ok(false) => Box::new(MemoryStore::default()),
            Ok(true) | Err(_) => Box::new(self.open_store()?),
        })
    }

    /// Opens the store to read. One that is not there is an empty one, and is not made.
    pub(crate) fn open_store_to_read(&self) -> Result<Box<dyn SessionStore>, Error> {
        Ok(match SqliteStore::open_existing(&self.store)? {
            Some(store) => Box::new(store),
            None => Box::new(MemoryStore::default()),
        })
    }

    /// Every setting's key and value, as they are written in a file, agents apart; `None` for what is not set. `path`
    /// writes paths.
    pub(crate) fn shown(&self, path: impl Fn(&Path) -> String) -> Vec<(&'static str, Option<String>)> {
        let behaviour = self.behaviour.shown().into_iter().map(|(key, value)| (key, Some(value)));
        let others = [
            (keys::LOG, Some(choice::show(self.log.level))),
            (keys::DENY, deny::show(&self.deny)),
            (keys::MODEL, self.model.as_ref().map(ToString::to_string)),
            (keys::STORE, Some(path(&self.store))),
            (keys::LOG_FILE, self.log.file.as_deref().map(&path)),
            (keys::TRACE, self.trace.as_deref().map(&path)),
            (keys::DEFAULT_AGENT, self.default_agent.clone()),
            (keys::PAGER, self.pager.clone()),
            (keys::PASS_ENVIRONMENT, names::show(&self.pass_environment)),
            (keys::GC_OLDER_THAN, self.gc.older_than.map(duration::show)),
            (keys::GC_MAX_SIZE, self.gc.max_size.map(bytes::show)),
        ];
        behaviour.chain(others).collect()
    }
}

/// Reads a length of time that was typed; the error says what to write instead.
pub(crate) fn read_duration(text: &str) -> Result<Duration, String> {
    duration::read(&value::Raw::from_variable(text))
}

/// Reads an amount of bytes that was typed; the error says what to write instead.
pub(crate) fn read_bytes(text: &str) -> Result<usize, String> {
    bytes::read(&value::Raw::from_variable(text))
}

fn read_model(raw: &value::Raw) -> Result<ModelId, String> {
    let wanted = "write \"provider/name\", such as \"openai/gpt-5\" or \"offline/echo\"";
    value::read_text(raw).ok().and_then(|text| text.parse().ok()).ok_or_else(|| wanted.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves `typed` with `env`, written `NAME=value NAME=value`.
    fn resolve(typed: GlobalArgs, env: &str) -> Result<Settings, Error> {
        let lookup = |name: &str| {
            let pairs = env.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        Settings::resolve(typed, lookup, None)
    }

    fn check(typed: Option<&str>, env: &str, expected: Option<&str>) {
        let typed = GlobalArgs { store: typed.map(PathBuf::from), ..GlobalArgs::default() };
        let store = resolve(typed, env).ok().map(|settings| settings.store);
        assert_eq!(store, expected.map(PathBuf::from), "{env}");
    }

    #[test]
    fn the_store_is_the_first_that_is_named() {
        check(Some("/typed"), "REJOIN_STORE=/env XDG_DATA_HOME=/data HOME=/home", Some("/typed"));
        check(None, "REJOIN_STORE=/env XDG_DATA_HOME=/data HOME=/home", Some("/env"));
        check(None, "REJOIN_STORE= XDG_DATA_HOME=/data HOME=/home", Some("/data/rejoin/sessions.db"));
        check(None, "XDG_DATA_HOME=relative HOME=/home", Some("/home/.local/share/rejoin/sessions.db"));
        check(None, "", None);
        check(Some("postgres://user:secret@host/db"), "HOME=/home", None);
    }

    /// The keys and defaults in the documentation's tables: rows that start with a key in backticks.
    fn documented() -> Vec<(String, String)> {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md"));
        let page = page.unwrap();
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
        rows.map(|row| {
            let (key, rest) = row.split_once("` | ").unwrap();
            (key.to_owned(), rest.split(" | ").next().unwrap().trim_matches('`').to_owned())
        })
        .collect()
    }

    #[test]
    fn every_key_is_documented_and_shown() {
        let documented: Vec<String> = documented().into_iter().map(|(key, _)| key).collect();
        let settings = resolve(GlobalArgs::default(), "HOME=/nowhere").unwrap();
        let shown: Vec<&str> = settings
            .shown(|_| String::new())
            .into_iter()
            .map(|(key, _)| key)
            .chain([keys::AGENTS, keys::MCP_SERVERS, keys::PROVIDERS])
            .collect();

        assert_eq!((documented, shown), (keys::all().iter().map(ToString::to_string).collect(), keys::all()));
    }

    #[test]
    fn the_documented_defaults_are_those_in_force() {
        let documented: BTreeMap<String, String> = documented().into_iter().collect();
        let settings = resolve(GlobalArgs::default(), "HOME=/nowhere").unwrap();
        let defaults = settings.behaviour.shown();

        let expected: Vec<(&str, String)> = defaults.iter().map(|(key, _)| (*key, documented[*key].clone())).collect();
        assert_eq!(defaults, expected);
    }
}
