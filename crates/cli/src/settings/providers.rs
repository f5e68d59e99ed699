//! Who provides models to the built-in agent: what files say of them, and what the environment has for those that everybody
//! knows.

use std::collections::BTreeMap;
use std::ffi::OsString;

use rejoin_agent::{KeySource, ProviderConfig, ProviderKind, Secret};

use super::file::ConfigFile;
use super::keys;
use super::program::{bad, read_command, text};
use super::value::{Item, Raw};
use super::warning::Warning;
use crate::env_vars;
use crate::error::Error;

const KIND: &str = "kind";
const BASE_URL: &str = "base_url";
const KEY: &str = "key";
const MODELS: &str = "models";
const KEYS: [&str; 4] = [KIND, BASE_URL, KEY, MODELS];

/// What begins a key that an environment variable holds.
const FROM_ENV: &str = "env:";

const PROVIDER: &str =
    "write a table like [providers.NAME] with `kind = \"openai\"` and `base_url = \"https://host/v1\"`";
const WHICH_KIND: &str = "write \"openai\", \"anthropic\" or \"gemini\"";
const WHICH_URL: &str = "write an address like \"https://host/v1\"";
const WHICH_KEY: &str = "write \"env:NAME\" for an environment variable, or a command that says it, [\"PROGRAM\", \"ARGUMENT\"]; a key itself \
     does not belong into a file";
const WHICH_MODELS: &str = "write a list of names, [\"NAME\", \"NAME\"]";

/// A provider of a file.
pub(super) struct Named<'a> {
    pub(super) item: &'a Item,
    pub(super) provider: ProviderConfig,
}

type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// The providers of `file`; keys of theirs that there are none of are added to `warnings`.
pub(super) fn read<'a>(
    file: &'a ConfigFile,
    env: Env<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Named<'a>>, Error> {
    let Some(item) = file.get(keys::PROVIDERS) else { return Ok(Vec::new()) };
    let Raw::Table(providers) = &item.raw else { return Err(bad(file, item, keys::PROVIDERS, PROVIDER)) };
    let named = |(name, item): (&'a String, &'a Item)| {
        Ok(Named { item, provider: read_provider(file, name, item, env, warnings)? })
    };
    providers.iter().map(named).collect()
}

/// All providers: those of the files, and those that everybody knows. What a file does not say of these, the environment may.
pub(super) fn all(mut named: BTreeMap<String, ProviderConfig>, env: Env<'_>) -> Vec<ProviderConfig> {
    let known = ProviderKind::ALL.map(|kind| {
        let (key_name, base_url_name) = env_vars::of_provider(kind);
        let found = named.remove(kind.name());
        let mut provider = found.unwrap_or_else(|| empty(kind.name(), kind));
        if provider.kind == kind && provider.key == KeySource::None {
            provider.key = variable(env, key_name).map_or(KeySource::None, |key| KeySource::Given(Secret::new(&key)));
            key_name.clone_into(&mut provider.key_name);
        }
        if provider.kind == kind && provider.base_url.is_none() {
            provider.base_url = variable(env, base_url_name);
        }
        provider
    });
    known.into_iter().chain(named.into_values()).collect()
}

fn read_provider(
    file: &ConfigFile,
    name: &str,
    item: &Item,
    env: Env<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<ProviderConfig, Error> {
    let key = &format!("{}.{name}", keys::PROVIDERS);
    let Raw::Table(table) = &item.raw else { return Err(bad(file, item, key, PROVIDER)) };
    for (name, item) in table.iter().filter(|(name, _)| !KEYS.contains(&name.as_str())) {
        warnings.push(file.unknown_key(format!("{key}.{name}"), item, keys::nearest(name, &KEYS)));
    }
    if name.is_empty() || name.contains('/') || name == "offline" {
        return Err(file.source(item).bad(key, "a name that no provider can have", PROVIDER));
    }
    let kind = match table.get(KIND) {
        Some(item) => {
            let kind = ProviderKind::from_name(&text(file, item, &format!("{key}.{KIND}"), WHICH_KIND)?);
            kind.ok_or_else(|| file.source(item).unreadable(&format!("{key}.{KIND}"), &item.raw, WHICH_KIND))?
        }
        None => {
            ProviderKind::from_name(name).ok_or_else(|| file.source(item).bad(key, "without a kind", WHICH_KIND))?
        }
    };
    let mut provider = empty(name, kind);
    if let Some(item) = table.get(BASE_URL) {
        let (key, url) = (format!("{key}.{BASE_URL}"), text(file, item, &format!("{key}.{BASE_URL}"), WHICH_URL)?);
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(file.source(item).bad(&key, "without http:// or https://", WHICH_URL));
        }
        provider.base_url = Some(url);
    }
    if let Some(item) = table.get(KEY) {
        (provider.key, provider.key_name) = read_key(file, &format!("{key}.{KEY}"), item, env)?;
    }
    if let Some(item) = table.get(MODELS) {
        let key = format!("{key}.{MODELS}");
        let Raw::List(names) = &item.raw else { return Err(bad(file, item, &key, WHICH_MODELS)) };
        let names = names.iter().map(|name| text(file, name, &key, WHICH_MODELS));
        provider.models = names.collect::<Result<_, _>>()?;
    }
    Ok(provider)
}

/// The key, and what the user is told to set if it is missing or refused.
fn read_key(file: &ConfigFile, key: &str, item: &Item, env: Env<'_>) -> Result<(KeySource, String), Error> {
    match &item.raw {
        Raw::Text(text) => match text.strip_prefix(FROM_ENV).map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => {
                let found = variable(env, name);
                let source = found.map_or(KeySource::None, |key| KeySource::Given(Secret::new(&key)));
                Ok((source, name.to_owned()))
            }
            // It may be the key itself.
            None => Err(bad(file, item, key, WHICH_KEY)),
        },
        Raw::List(_) => Ok((KeySource::Command(read_command(file, key, item, WHICH_KEY)?), key.to_owned())),
        Raw::Integer(_) | Raw::Bool(_) | Raw::Table(_) | Raw::Other(_) => Err(bad(file, item, key, WHICH_KEY)),
    }
}

fn empty(name: &str, kind: ProviderKind) -> ProviderConfig {
    ProviderConfig {
        name: name.to_owned(),
        kind,
        base_url: None,
        key: KeySource::None,
        key_name: format!("{}.{name}.{KEY}", keys::PROVIDERS),
        models: Vec::new(),
    }
}

fn variable(env: Env<'_>, name: &str) -> Option<String> {
    env(name).and_then(|value| value.into_string().ok()).filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The providers that `named` and `env` make: name, address, key, and what to set.
    fn check(named: Vec<ProviderConfig>, env: &[(&str, &str)], expected: &[(&str, Option<&str>, KeySource, &str)]) {
        let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        let named = named.into_iter().map(|provider| (provider.name.clone(), provider)).collect();
        let all = all(named, &lookup);
        let found: Vec<_> = all
            .iter()
            .map(|one| (one.name.as_str(), one.base_url.as_deref(), one.key.clone(), one.key_name.as_str()))
            .collect();
        assert_eq!(found, expected);
    }

    fn key(text: &str) -> KeySource {
        KeySource::Given(Secret::new(text))
    }

    #[test]
    fn the_environment_has_keys_and_addresses_that_files_do_not() {
        let env = [("OPENAI_API_KEY", "k "), ("OPENAI_BASE_URL", "http://h/v1"), ("ANTHROPIC_API_KEY", " ")];
        let (anthropic, gemini) = (
            ("anthropic", None, KeySource::None, "ANTHROPIC_API_KEY"),
            ("gemini", None, KeySource::None, "GEMINI_API_KEY"),
        );
        let openai = ("openai", Some("http://h/v1"), key("k"), "OPENAI_API_KEY");
        check(Vec::new(), &env, &[openai, anthropic.clone(), gemini.clone()]);

        let file = ProviderConfig {
            base_url: Some("http://file/v1".to_owned()),
            key: key("of the file"),
            key_name: "WORK".to_owned(),
            ..empty("openai", ProviderKind::OpenAi)
        };
        let local = empty("local", ProviderKind::OpenAi);
        let openai = ("openai", Some("http://file/v1"), key("of the file"), "WORK");
        let expected = [openai, anthropic, gemini, ("local", None, KeySource::None, "providers.local.key")];
        check(vec![local, file], &env, &expected);
    }

    #[test]
    fn a_name_that_stands_for_another_kind_gets_no_key_of_the_environment() {
        let odd = empty("openai", ProviderKind::Anthropic);
        let expected = [
            ("openai", None, KeySource::None, "providers.openai.key"),
            ("anthropic", None, KeySource::None, "ANTHROPIC_API_KEY"),
            ("gemini", None, KeySource::None, "GEMINI_API_KEY"),
        ];
        check(vec![odd], &[("OPENAI_API_KEY", "k")], &expected);
    }
}
