//! What agents are denied. The rules of all files hold together: a file can only add to them, so a project's may too.

use std::path::Path;

use rejoin::DenyRules;
use rejoin::deny::DenyList;

use super::file::ConfigFile;
use super::keys;
use super::program::bad;
use super::value::{Item, Raw, read_text};
use super::warning::Warning;
use crate::error::Error;

const TABLE: &str =
    "write a table like [deny] with `paths = [\".env\"]`, `commands = [\"git push\"]` or `tools = [\"server__*\"]`";

/// Adds the rules of `file` to `rules`; keys of theirs that there are none of are added to `warnings`.
///
/// A path that begins with `~/` starts from the folder `home`.
pub(super) fn read(
    file: &ConfigFile,
    home: Option<&Path>,
    rules: &mut DenyRules,
    warnings: &mut Vec<Warning>,
) -> Result<(), Error> {
    let Some(item) = file.get(keys::DENY) else { return Ok(()) };
    let Raw::Table(table) = &item.raw else { return Err(bad(file, item, keys::DENY, TABLE)) };
    let known = DenyList::ALL.map(DenyList::key);
    for (name, item) in table.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
        let key = format!("{}.{name}", keys::DENY);
        warnings.push(file.unknown_key(key, item, keys::nearest(name, &known)));
    }
    for list in DenyList::ALL {
        let Some(item) = table.get(list.key()) else { continue };
        add(file, item, list, home, rules)?;
    }
    Ok(())
}

fn add(
    file: &ConfigFile,
    item: &Item,
    list: DenyList,
    home: Option<&Path>,
    rules: &mut DenyRules,
) -> Result<(), Error> {
    let key = format!("{}.{}", keys::DENY, list.key());
    let Raw::List(patterns) = &item.raw else {
        return Err(bad(file, item, &key, "write a list of patterns in quotes, such as [\".env\"]"));
    };
    for item in patterns {
        let source = file.source(item);
        let pattern = read_text(&item.raw).map_err(|wanted| source.unreadable(&key, &item.raw, wanted))?;
        let whole = match (list, pattern.strip_prefix("~/"), home) {
            (DenyList::Paths, Some(inside), Some(home)) => format!("{}/{inside}", home.display()),
            _ => pattern,
        };
        rules.add(list, &whole).map_err(|error| source.unreadable(&key, &item.raw, error.to_string()))?;
    }
    Ok(())
}

/// The rules, as they are written in a file; nothing if there are none.
pub(super) fn show(rules: &DenyRules) -> Option<String> {
    let list = |list: DenyList| {
        let patterns = rules.patterns(list);
        (!patterns.is_empty()).then(|| format!("{} = {patterns:?}", list.key()))
    };
    let lists: Vec<String> = DenyList::ALL.into_iter().filter_map(list).collect();
    (!lists.is_empty()).then(|| format!("{{ {} }}", lists.join(", ")))
}
