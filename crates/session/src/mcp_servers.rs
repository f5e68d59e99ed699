//! The MCP servers that a client gave: checked, completed to the schema, and passed on to the agent.
//!
//! They hold secrets (environment, headers), which live here, in memory, and nowhere else: this type has no `Debug`
//! and no way into the store but [`McpServers::names`].

use rejoin_transcript::json::{Members, read_string, set_member};
use rejoin_transcript::{McpServerNames, McpTransport};
use rejoin_wire::{secrets_in_args, secrets_in_path};
use serde_json::value::RawValue;

use crate::Error;
use crate::capabilities::AgentCapabilities;
use crate::params::{Params, missing, wrong_type};

/// The MCP servers of a session.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct McpServers(Vec<McpServer>);

#[derive(Clone, PartialEq)]
struct McpServer {
    names: McpServerNames,
    /// The entry as the agent gets it.
    json: String,
}

impl McpServers {
    /// Reads the array `mcpServers`, which must be there.
    pub(crate) fn required(params: &Params<'_>) -> Result<Self, Error> {
        let entries = params.array("mcpServers", "an array of MCP servers, which may be empty")?;
        let servers = entries.iter().enumerate().map(|(index, entry)| McpServer::read(index, entry));
        servers.collect::<Result<_, _>>().map(Self)
    }

    /// Reads the array `mcpServers`, if it is there.
    pub(crate) fn optional(params: &Params<'_>) -> Result<Option<Self>, Error> {
        params.get("mcpServers").map(|_| Self::required(params)).transpose()
    }

    /// What is kept of them.
    pub(crate) fn names(&self) -> Vec<McpServerNames> {
        self.0.iter().map(|server| server.names.clone()).collect()
    }

    /// The values of their environments and headers, and the tokens in their arguments and addresses.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let values = |server: &McpServer| {
            let members = Members::read(&server.json)?;
            let pairs = ["env", "headers"].iter().filter_map(|field| members.get_some(field));
            let pairs = pairs.flat_map(|pairs| serde_json::from_str::<Vec<&RawValue>>(pairs).unwrap_or_default());
            let value = |pair: &RawValue| Some(Members::read(pair.get())?.get_string("value")?.into_owned());
            let args = members.get_some("args").and_then(|args| serde_json::from_str::<Vec<String>>(args).ok());
            let url = members.get_some("url").and_then(read_string).unwrap_or_default();
            // The query has values with names, as arguments do.
            let (path, query) = url.split_once('?').unwrap_or((&url, ""));
            let query: Vec<String> = query.split(['&', '#']).map(str::to_owned).collect();
            let tokens = [secrets_in_args(&args.unwrap_or_default()), secrets_in_args(&query), secrets_in_path(path)];
            let values = pairs.filter_map(value).chain(tokens.into_iter().flatten());
            Some(values.filter(|value| !value.is_empty()).collect::<Vec<_>>())
        };
        self.0.iter().filter_map(values).flatten().collect()
    }

    /// The array for an agent that can do `capabilities`, and the names of the servers left out because it can't.
    pub(crate) fn for_agent(&self, capabilities: &AgentCapabilities) -> (String, Vec<String>) {
        let (given, left_out): (Vec<&McpServer>, Vec<&McpServer>) =
            self.0.iter().partition(|server| capabilities.takes(server.names.transport));
        let given: Vec<&str> = given.into_iter().map(|server| server.json.as_str()).collect();
        let left_out = left_out.into_iter().map(|server| server.names.name.clone()).collect();
        (format!("[{}]", given.join(",")), left_out)
    }
}

impl McpServer {
    fn read(index: usize, entry: &str) -> Result<Self, Error> {
        let at = |field: &str| format!("mcpServers[{index}].{field}");
        let members = Members::read(entry).ok_or_else(|| {
            wrong_type(&format!("mcpServers[{index}]"), "an object that says how to reach an MCP server", entry)
        })?;
        let text = |field: &str, what: &str| {
            let value = members.get_some(field).ok_or_else(|| missing(&at(field), what))?;
            read_string(value).ok_or_else(|| wrong_type(&at(field), &format!("a string: {what}"), value))
        };
        let name = text("name", "a name for the server")?.into_owned();
        let kind = match members.get_some("type") {
            Some(_) => text("type", "`stdio`, `http` or `sse`")?,
            None => "stdio".into(),
        };
        let transport = match kind.as_ref() {
            "stdio" => McpTransport::Stdio,
            "http" => McpTransport::Http,
            "sse" => McpTransport::Sse,
            "acp" => McpTransport::Acp,
            other => {
                let problem =
                    format!("`{}` must be `stdio`, `http` or `sse`, and {other:?} is none of them", at("type"));
                return Err(Error::invalid(at("type"), problem));
            }
        };
        let mut json = entry.to_owned();
        let mut names = McpServerNames { name, transport, env: Vec::new(), headers: Vec::new() };
        let mut complete = |field: &str| -> Result<(), Error> {
            if members.get_some(field).is_none() {
                json = set_member(&json, field, "[]").unwrap_or_else(|| json.clone());
            }
            Ok(())
        };
        match transport {
            McpTransport::Stdio => {
                text("command", "the program to start")?;
                if let Some(args) = members.get_some("args") {
                    serde_json::from_str::<Vec<String>>(args)
                        .map_err(|_| wrong_type(&at("args"), "an array of strings", args))?;
                }
                names.env = pair_names(&at("env"), members.get_some("env"))?;
                complete("args")?;
                complete("env")?;
                // The schema's own form of a stdio server has no `type`.
                json = without_type(&json);
            }
            McpTransport::Http | McpTransport::Sse => {
                text("url", "the server's address")?;
                names.headers = pair_names(&at("headers"), members.get_some("headers"))?;
                complete("headers")?;
            }
            McpTransport::Acp => {
                text("id", "the id of the server on this connection")?;
            }
        }
        Ok(Self { names, json })
    }
}

/// The names in an array of `{name, value}`, all of which must be strings.
fn pair_names(field: &str, pairs: Option<&str>) -> Result<Vec<String>, Error> {
    let Some(pairs) = pairs else { return Ok(Vec::new()) };
    let elements: Vec<&RawValue> = serde_json::from_str(pairs)
        .map_err(|_| wrong_type(field, "an array of objects with `name` and `value`", pairs))?;
    let name_of = |(index, pair): (usize, &&RawValue)| {
        let members = Members::read(pair.get());
        let text = |name: &str| {
            let value = members.as_ref().and_then(|members| members.get_string(name));
            value.ok_or_else(|| missing(&format!("{field}[{index}].{name}"), "a string"))
        };
        text("value")?;
        Ok(text("name")?.into_owned())
    };
    elements.iter().enumerate().map(name_of).collect()
}

fn without_type(entry: &str) -> String {
    let others = rejoin_transcript::json::other_members(entry, &["type"]);
    match Members::read(entry).and_then(|members| members.get("type")).and(others) {
        Some(others) => others.into_string(),
        None => entry.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entry: &str) -> Result<String, String> {
        let text = format!("{{\"mcpServers\":[{entry}]}}");
        let servers = Params::read(Some(&text)).and_then(|params| McpServers::required(&params));
        let all = AgentCapabilities::read(r#"{"agentCapabilities":{"mcpCapabilities":{"http":true,"sse":true}}}"#);
        servers.map(|servers| servers.for_agent(&all).0).map_err(|error| error.to_string())
    }

    #[test]
    fn entries_are_completed_to_the_schema_and_otherwise_left_alone() {
        let whole = r#"{"name":"a","command":"c","args":["x"],"env":[{"name":"K","value":"v"}],"_meta":{"n":1.50}}"#;
        assert_eq!(read(whole).unwrap(), format!("[{whole}]"));
        assert_eq!(
            read(r#"{"type":"stdio","name":"a","command":"c","env":null}"#).unwrap(),
            r#"[{"name":"a","command":"c","env":[],"args":[]}]"#
        );
        assert_eq!(
            read(r#"{"type":"http","name":"a","url":"http://h/"}"#).unwrap(),
            r#"[{"type":"http","name":"a","url":"http://h/","headers":[]}]"#
        );
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_named() {
        for (entry, field) in [
            (r#"{"command":"c"}"#, "`mcpServers[0].name` is missing"),
            (r#"{"name":"a"}"#, "`mcpServers[0].command` is missing"),
            (r#"{"name":"a","type":"http"}"#, "`mcpServers[0].url` is missing"),
            (r#"{"name":"a","type":"weird","command":"c"}"#, "`mcpServers[0].type` must be"),
            (r#"{"name":"a","type":7}"#, "`mcpServers[0].type` must be a string"),
            (r#"{"name":"a","command":"c","args":[1]}"#, "`mcpServers[0].args` must be"),
            (r#"{"name":"a","command":"c","env":[{"name":"K"}]}"#, "`mcpServers[0].env[0].value` is missing"),
            (r#"{"name":"a","type":"sse","url":"u","headers":{}}"#, "`mcpServers[0].headers` must be"),
            ("7", "`mcpServers[0]` must be an object"),
        ] {
            let told = read(entry).unwrap_err();
            assert!(told.starts_with(field), "{entry}: {told}");
        }
    }

    #[test]
    fn a_server_that_the_agent_cannot_reach_is_left_out_and_named() {
        let text = r#"{"mcpServers":[{"name":"near","command":"c","args":[],"env":[]},{"name":"far","type":"sse","url":"u","headers":[]}]}"#;
        let servers = McpServers::required(&Params::read(Some(text)).unwrap()).ok().unwrap();
        let (given, left_out) = servers.for_agent(&AgentCapabilities::default());
        assert_eq!(given, r#"[{"name":"near","command":"c","args":[],"env":[]}]"#);
        assert_eq!(left_out, ["far"]);
    }
}
