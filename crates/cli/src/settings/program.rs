//! Programs with their arguments and environment, and named texts that are secret.

use std::collections::BTreeMap;

use super::file::ConfigFile;
use super::value::{Item, Raw, read_text};
use crate::error::Error;

/// Reads a list of a program and its arguments; `wanted` says what to write instead.
pub(super) fn read_command(file: &ConfigFile, key: &str, item: &Item, wanted: &str) -> Result<Vec<String>, Error> {
    let Raw::List(words) = &item.raw else { return Err(bad(file, item, key, wanted)) };
    match words.first() {
        Some(program) => {
            read_text(&program.raw).map_err(|_| file.source(program).unreadable(key, &program.raw, wanted))?
        }
        None => return Err(file.source(item).bad(key, "empty", wanted)),
    };
    words.iter().map(|word| text(file, word, key, wanted)).collect()
}

/// Reads a table of names and texts, such as an environment.
pub(super) fn read_pairs(
    file: &ConfigFile,
    key: &str,
    item: &Item,
    wanted: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let Raw::Table(pairs) = &item.raw else { return Err(bad(file, item, key, wanted)) };
    let pair = |(name, item): (&String, &Item)| Ok((name.clone(), text(file, item, &format!("{key}.{name}"), wanted)?));
    pairs.iter().map(pair).collect()
}

/// Reads any text.
pub(super) fn text(file: &ConfigFile, item: &Item, key: &str, wanted: &str) -> Result<String, Error> {
    match &item.raw {
        Raw::Text(text) => Ok(text.clone()),
        Raw::Integer(_) | Raw::Bool(_) | Raw::List(_) | Raw::Table(_) | Raw::Other(_) => {
            Err(bad(file, item, key, wanted))
        }
    }
}

/// The error that `item` is of a kind that `key` can't be. The value itself may be a secret.
pub(super) fn bad(file: &ConfigFile, item: &Item, key: &str, wanted: &str) -> Error {
    file.source(item).bad(key, item.raw.kind(), wanted)
}
