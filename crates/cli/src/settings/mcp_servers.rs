//! The MCP servers that every session of the built-in agent has.

use rejoin_mcp::{ServerSpec, Transport};

use super::file::ConfigFile;
use super::keys;
use super::program::{bad, read_command, read_pairs, text};
use super::value::{Item, Raw};
use super::warning::Warning;
use crate::error::Error;

const COMMAND: &str = "command";
const ENV: &str = "env";
const URL: &str = "url";
const TYPE: &str = "type";
const HEADERS: &str = "headers";
const KEYS: [&str; 5] = [COMMAND, ENV, URL, TYPE, HEADERS];

const SERVER: &str =
    "write a table like [mcp_servers.NAME] with `command = [\"PROGRAM\", \"ARGUMENT\"]`, or `url = \"https://…\"`";
const KIND: &str = "write \"http\" or \"sse\"";

/// A server of a file.
pub(super) struct Named<'a> {
    pub(super) item: &'a Item,
    pub(super) spec: ServerSpec,
}

/// The servers of `file`; keys of theirs that there are none of are added to `warnings`.
pub(super) fn read<'a>(file: &'a ConfigFile, warnings: &mut Vec<Warning>) -> Result<Vec<Named<'a>>, Error> {
    let Some(item) = file.get(keys::MCP_SERVERS) else { return Ok(Vec::new()) };
    let Raw::Table(servers) = &item.raw else { return Err(bad(file, item, keys::MCP_SERVERS, SERVER)) };
    let named = |(name, item): (&'a String, &'a Item)| {
        let transport = read_transport(file, &format!("{}.{name}", keys::MCP_SERVERS), item, warnings)?;
        Ok(Named { item, spec: ServerSpec { name: name.clone(), transport } })
    };
    servers.iter().map(named).collect()
}

fn read_transport(file: &ConfigFile, key: &str, item: &Item, warnings: &mut Vec<Warning>) -> Result<Transport, Error> {
    let Raw::Table(table) = &item.raw else { return Err(bad(file, item, key, SERVER)) };
    for (name, item) in table.iter().filter(|(name, _)| !KEYS.contains(&name.as_str())) {
        warnings.push(file.unknown_key(format!("{key}.{name}"), item, keys::nearest(name, &KEYS)));
    }
    let pairs = |name: &str| -> Result<Vec<(String, String)>, Error> {
        match table.get(name) {
            Some(item) => {
                let wanted = format!("write `{name} = {{ NAME = \"value\" }}`");
                Ok(read_pairs(file, &format!("{key}.{name}"), item, &wanted)?.into_iter().collect())
            }
            None => Ok(Vec::new()),
        }
    };
    match (table.get(COMMAND), table.get(URL)) {
        (Some(command), None) => {
            let mut words = read_command(file, &format!("{key}.{COMMAND}"), command, SERVER)?.into_iter();
            let command = words.next().unwrap_or_default();
            Ok(Transport::Stdio { command, args: words.collect(), env: pairs(ENV)? })
        }
        (None, Some(url)) => {
            let (url, headers) = (text(file, url, &format!("{key}.{URL}"), SERVER)?, pairs(HEADERS)?);
            match table.get(TYPE) {
                None => Ok(Transport::Http { url, headers }),
                Some(item) => match text(file, item, &format!("{key}.{TYPE}"), KIND)?.as_str() {
                    "http" => Ok(Transport::Http { url, headers }),
                    "sse" => Ok(Transport::Sse { url, headers }),
                    _ => Err(file.source(item).unreadable(&format!("{key}.{TYPE}"), &item.raw, KIND)),
                },
            }
        }
        (Some(_), Some(_)) => Err(file.source(item).bad(key, "both a program and an address", SERVER)),
        (None, None) => Err(file.source(item).bad(key, "without a program or an address", SERVER)),
    }
}
