//! A file of settings: read, but not yet understood. Each value knows its line.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys;
use super::source::{Role, Source};
use super::value::{Item, Raw};
use super::warning::Warning;
use crate::error::Error;

/// A file of settings.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    /// The file.
    pub(crate) path: PathBuf,
    /// The hash of the text that was read.
    pub(super) hash: blake3::Hash,
    role: Role,
    items: BTreeMap<String, Item>,
}

impl ConfigFile {
    /// Reads the file at `path`; `None`, if there is none.
    pub(crate) fn read(role: Role, path: &Path) -> Result<Option<Self>, Error> {
        let Some(text) = read_text(path)? else { return Ok(None) };
        let table = DeTable::parse(&text).map_err(|error| not_toml(path, &text, &error))?;
        let hash = blake3::hash(text.as_bytes());
        Ok(Some(Self { path: path.to_owned(), hash, role, items: items(table.get_ref(), &text) }))
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: &str) -> Option<&Item> {
        self.items.get(key)
    }

    /// Where `item` of this file stands.
    pub(super) fn source(&self, item: &Item) -> Source {
        Source::File { role: self.role, path: self.path.clone(), line: item.line }
    }

    /// The folder that holds it.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The names of what only a trusted file may set, each agent by its own.
    pub(crate) fn needing_trust(&self) -> Vec<String> {
        let needing = self.items.iter().filter(|(key, _)| keys::needs_trust(key));
        needing
            .flat_map(|(key, item)| match &item.raw {
                Raw::Table(table) if !table.is_empty() => table.keys().map(|name| format!("{key}.{name}")).collect(),
                _ => vec![key.clone()],
            })
            .collect()
    }

    /// Forgets what only a trusted file may set.
    pub(super) fn forget_needing_trust(&mut self) {
        self.items.retain(|key, _| !keys::needs_trust(key));
    }

    /// A warning for each key that there is none of.
    pub(super) fn unknown(&self) -> Vec<Warning> {
        let known = keys::all();
        let unknown = self.items.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        unknown.map(|(key, item)| self.unknown_key(key.clone(), item, keys::nearest(key, &known))).collect()
    }

    /// The warning that there is no `key`, but `nearest`.
    pub(super) fn unknown_key(&self, key: String, item: &Item, nearest: Option<&'static str>) -> Warning {
        Warning::UnknownKey { file: self.path.clone(), line: item.line, key, nearest }
    }
}

/// The text of the file at `path`; `None`, if there is none.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(source) => Err(Error::CannotRead { file: path.display().to_string(), source }),
    }
}

/// The error that `text`, from the file at `path`, is no TOML. Nothing of the text is shown: it may hold keys.
pub(super) fn not_toml(path: &Path, text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| line(text, span.start));
    let message = error.message().lines().collect::<Vec<_>>().join("; ");
    Error::NotToml { path: path.to_owned(), line, message }
}

fn items(table: &DeTable<'_>, text: &str) -> BTreeMap<String, Item> {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), item(value, key.span().start, text))).collect()
}

/// `value`, which starts, or whose key starts, at `start` of `text`.
fn item(value: &Spanned<DeValue<'_>>, start: usize, text: &str) -> Item {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Raw::Other("a number beyond all bounds"), Raw::Integer),
        DeValue::Array(list) => Raw::List(list.iter().map(|value| item(value, value.span().start, text)).collect()),
        DeValue::Table(table) => Raw::Table(items(table, text)),
        DeValue::Float(_) => Raw::Other("a number with a point"),
        DeValue::Boolean(is_so) => Raw::Bool(*is_so),
        DeValue::Datetime(_) => Raw::Other("a date"),
    };
    Item { raw, line: line(text, start) }
}

/// The line, counted from 1, of the place `at` in `text`.
fn line(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_knows_its_line() {
        let text = "log = 'info'\n\n[agents.robot]\ncommand = [\n  'robot',\n]\n\n[agents.other]\n";
        let read = items(DeTable::parse(text).unwrap().get_ref(), text);

        let Raw::Table(agents) = &read["agents"].raw else { panic!("{read:?}") };
        let Raw::Table(robot) = &agents["robot"].raw else { panic!("{agents:?}") };
        assert_eq!(
            [&read["log"], &agents["robot"], &robot["command"], &agents["other"]].map(|it| it.line),
            [1, 3, 4, 8]
        );
    }
}
