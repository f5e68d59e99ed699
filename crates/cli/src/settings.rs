//! The settings, resolved: what was typed goes before the environment, which goes before the defaults.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use rejoin_store::{MemoryStore, SessionStore, SqliteStore};

use crate::args::{GlobalArgs, LogLevel};
use crate::env_vars;
use crate::error::Error;

/// What every command runs with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The file in which sessions are kept.
    pub(crate) store: PathBuf,
    /// What is logged, and where.
    pub(crate) log: LogSettings,
    /// The user's own folder, which is shown as `~`.
    pub(crate) home: Option<PathBuf>,
}

/// What is logged, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogSettings {
    /// How much.
    pub(crate) level: LogLevel,
    /// The file; standard error, if there is none.
    pub(crate) file: Option<PathBuf>,
}

impl Settings {
    /// Resolves what was typed, with `env` to look up environment variables. One that is empty counts as not set.
    pub(crate) fn resolve(typed: GlobalArgs, env: impl Fn(&str) -> Option<OsString>) -> Result<Self, Error> {
        let env = |name| env(name).filter(|value| !value.is_empty());
        let home = env(env_vars::HOME).map(PathBuf::from);
        let store = typed.store.or_else(|| env(env_vars::STORE).map(PathBuf::from));
        let store = store.or_else(|| {
            // A relative `XDG_DATA_HOME` is to be ignored, says its specification.
            let data = env(env_vars::XDG_DATA_HOME).map(PathBuf::from).filter(|data| data.is_absolute());
            let data = data.or_else(|| Some(home.as_ref()?.join(".local/share")));
            Some(data?.join("rejoin/sessions.db"))
        });
        let level = match (typed.log, env(env_vars::LOG)) {
            (Some(level), _) => level,
            (None, Some(value)) => read_level(&value)?,
            (None, None) if typed.log_file.is_some() => LogLevel::Info,
            (None, None) => LogLevel::Off,
        };
        let log = LogSettings { level, file: typed.log_file };
        Ok(Self { store: store.ok_or(Error::NoStorePath)?, log, home })
    }

    /// Opens the store to write in it, and makes it if it is not there.
    pub(crate) fn open_store(&self) -> Result<SqliteStore, Error> {
        Ok(SqliteStore::open(&self.store)?)
    }

    /// Opens the store to read. One that is not there is an empty one, and is not made.
    pub(crate) fn open_store_to_read(&self) -> Result<Box<dyn SessionStore>, Error> {
        Ok(match SqliteStore::open_existing(&self.store)? {
            Some(store) => Box::new(store),
            None => Box::new(MemoryStore::default()),
        })
    }
}

fn read_level(value: &OsString) -> Result<LogLevel, Error> {
    let value = value.to_string_lossy();
    LogLevel::from_str(&value, true).map_err(|_| Error::BadLogLevel { value: value.into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves `typed` with `env`, written `NAME=value NAME=value`, and compares the store's path.
    fn check(typed: Option<&str>, env: &str, expected: Option<&str>) {
        let typed = GlobalArgs { store: typed.map(PathBuf::from), ..GlobalArgs::default() };
        let lookup = |name: &str| {
            let pairs = env.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.into_iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let store = Settings::resolve(typed, lookup).ok().map(|settings| settings.store);
        assert_eq!(store, expected.map(PathBuf::from), "{env}");
    }

    #[test]
    fn the_store_is_the_first_that_is_named() {
        check(Some("/typed"), "REJOIN_STORE=/env XDG_DATA_HOME=/data HOME=/home", Some("/typed"));
        check(None, "REJOIN_STORE=/env XDG_DATA_HOME=/data HOME=/home", Some("/env"));
        check(None, "REJOIN_STORE= XDG_DATA_HOME=/data HOME=/home", Some("/data/rejoin/sessions.db"));
        check(None, "XDG_DATA_HOME=relative HOME=/home", Some("/home/.local/share/rejoin/sessions.db"));
        check(None, "", None);
    }
}
