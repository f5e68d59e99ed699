//! Which of several values holds: what was typed goes before the environment, the project's file, and the user's.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::file::ConfigFile;
use super::source::Source;
use super::value::{Item, Raw};
use crate::env_vars;
use crate::error::Error;

/// Everything that can set something, and what has been taken from where.
pub(super) struct Layers<'a> {
    env: &'a dyn Fn(&str) -> Option<OsString>,
    /// The strongest first.
    files: &'a [ConfigFile],
    home: Option<&'a Path>,
    /// Where each setting that was picked came from.
    pub(super) sources: BTreeMap<String, Source>,
}

/// A value that is not typed.
enum Found<'a> {
    Variable(OsString),
    Item(&'a Item, &'a ConfigFile),
}

impl<'a> Layers<'a> {
    pub(super) fn new(
        env: &'a dyn Fn(&str) -> Option<OsString>,
        files: &'a [ConfigFile],
        home: Option<&'a Path>,
    ) -> Self {
        Self { env, files, home, sources: BTreeMap::new() }
    }

    /// The value of `key`, which `read` reads where it was not typed; `None`, if nothing sets it.
    pub(super) fn pick<T>(
        &mut self,
        key: &'static str,
        typed: Option<T>,
        read: fn(&Raw) -> Result<T, String>,
    ) -> Result<Option<T>, Error> {
        self.choose(key, typed, |found, source, _| {
            let variable;
            let raw = match &found {
                Found::Variable(value) => {
                    variable = Raw::from_variable(&value.to_string_lossy());
                    &variable
                }
                Found::Item(item, _) => &item.raw,
            };
            read(raw).map_err(|wanted| source.unreadable(key, raw, wanted))
        })
    }

    /// The path that `key` names. One in a file starts from the file's folder, or with `~/` from the user's own.
    pub(super) fn pick_path(&mut self, key: &'static str, typed: Option<PathBuf>) -> Result<Option<PathBuf>, Error> {
        self.choose(key, typed, |found, source, home| match found {
            Found::Variable(value) => Ok(PathBuf::from(value)),
            Found::Item(Item { raw: Raw::Text(text), .. }, file) if !text.is_empty() => {
                Ok(match (text.strip_prefix("~/"), home) {
                    (Some(inside), Some(home)) => home.join(inside),
                    _ => file.folder().join(text),
                })
            }
            Found::Item(item, _) => Err(source.unreadable(key, &item.raw, "write a path in quotes")),
        })
    }

    fn choose<T>(
        &mut self,
        key: &'static str,
        typed: Option<T>,
        read: impl FnOnce(Found<'_>, &Source, Option<&Path>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let (value, source) = match (typed, self.find(key)) {
            (Some(value), _) => (Some(value), Source::Flag { key }),
            (None, Some((found, source))) => (Some(read(found, &source, self.home)?), source),
            (None, None) => (None, Source::Default),
        };
        self.sources.insert(key.to_owned(), source);
        Ok(value)
    }

    fn find(&self, key: &'static str) -> Option<(Found<'a>, Source)> {
        if let Some(value) = (self.env)(&env_vars::of_setting(key)) {
            return Some((Found::Variable(value), Source::Environment { key }));
        }
        let found = |file: &'a ConfigFile| Some((file.get(key)?, file));
        let (item, file) = self.files.iter().find_map(found)?;
        Some((Found::Item(item, file), file.source(item)))
    }
}
