//! `rejoin config show`: every setting, its value, and where that comes from.

use std::path::Path;

use rejoin::Sharing;
use rejoin_agent::ProviderConfig;
use rejoin_mcp::ServerSpec;
use serde::Serialize;

use crate::commands::{Context, Outcome};
use crate::env_vars;
use crate::error::Error;
use crate::output::{one_line, short_path};
use crate::settings::{AgentCommand, Role, Settings, Source, flag, keys};
use crate::table::{Column, Fit, Side, write_table};

const TABLE: [Column; 3] = [
    Column { name: "SETTING", fit: Fit::Whole, side: Side::Left },
    Column { name: "VALUE", fit: Fit::CutEnd(24), side: Side::Left },
    Column { name: "SOURCE", fit: Fit::CutStart(24), side: Side::Left },
];

/// What is shown of a setting that is not set.
const NOT_SET: &str = "–";

#[derive(Serialize)]
struct Rows<'a> {
    settings: Vec<SettingRow<'a>>,
    agents: Vec<AgentRow<'a>>,
    #[serde(rename = "mcpServers")]
    mcp_servers: Vec<McpServerRow<'a>>,
    providers: Vec<ProviderRow<'a>>,
}

#[derive(Serialize)]
struct SettingRow<'a> {
    key: &'static str,
    value: Option<String>,
    source: SourceRow<'a>,
}

#[derive(Serialize)]
struct AgentRow<'a> {
    name: &'a str,
    command: &'a [String],
    env: Vec<&'a str>,
    shared: bool,
    source: SourceRow<'a>,
}

#[derive(Serialize)]
struct McpServerRow<'a> {
    name: &'a str,
    transport: String,
    source: SourceRow<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProviderRow<'a> {
    name: &'a str,
    kind: &'static str,
    models: &'a [String],
    source: SourceRow<'a>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum SourceRow<'a> {
    Default,
    Flag { name: String },
    Environment { name: String },
    Project { file: &'a Path, line: usize },
    User { file: &'a Path, line: usize },
}

/// Show every setting, its value, and where that comes from
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Of an agent's environment only the names are shown.

Examples:
  rejoin config show
  REJOIN_LEASE=1min rejoin config show --json")]
pub(crate) struct ConfigShowArgs {
    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &ConfigShowArgs, context: &mut Context) -> Result<Outcome, Error> {
    let settings = &context.settings;
    if args.json {
        context.out.write_json(&rows(settings))?;
    } else {
        // Who reads it with a program wants whole paths.
        let home = settings.home.as_deref().filter(|_| context.out.is_terminal());
        let rows = table(settings, home);
        write_table(&mut context.out, &TABLE, &rows)?;
    }
    Ok(Outcome::Done)
}

fn rows<'a>(settings: &'a Settings) -> Rows<'a> {
    let path = |path: &Path| path.display().to_string();
    let setting = |(key, value)| SettingRow { key, value, source: SourceRow::from(source(settings, key)) };
    let agents = settings.agents.iter().map(|(name, agent)| AgentRow {
        name,
        command: &agent.command,
        env: agent.env.keys().map(String::as_str).collect(),
        shared: is_shared(agent),
        source: SourceRow::from(source(settings, &agent_key(name))),
    });
    let server = |spec: &'a ServerSpec| McpServerRow {
        name: &spec.name,
        transport: spec.transport.to_string(),
        source: SourceRow::from(source(settings, &server_key(spec))),
    };
    let provider = |provider: &'a ProviderConfig| ProviderRow {
        name: &provider.name,
        kind: provider.kind.name(),
        models: &provider.models,
        source: SourceRow::from(source(settings, &provider_key(provider))),
    };
    Rows {
        settings: settings.shown(path).into_iter().map(setting).collect(),
        agents: agents.collect(),
        mcp_servers: settings.mcp_servers.iter().map(server).collect(),
        providers: of_files(settings).map(provider).collect(),
    }
}

fn table(settings: &Settings, home: Option<&Path>) -> Vec<[String; 3]> {
    let path = |path: &Path| short_path(&path.display().to_string(), home);
    let shown_source = |key: &str| match source(settings, key) {
        Source::Default => "default".to_owned(),
        Source::Flag { key } => flag(key),
        Source::Environment { key } => env_vars::of_setting(key),
        Source::File { path: file, line, .. } => format!("{}:{line}", path(file)),
    };
    let setting = |(key, value): (&'static str, Option<String>)| {
        [key.to_owned(), one_line(value.as_deref().unwrap_or(NOT_SET)), shown_source(key)]
    };
    let agent = |(name, agent): (&String, &AgentCommand)| {
        let (key, source) = (one_line(&agent_key(name)), shown_source(&agent_key(name)));
        let names: Vec<&str> = agent.env.keys().map(String::as_str).collect();
        let command = [format!("{key}.command"), one_line(&format!("{:?}", agent.command)), source.clone()];
        let env = [format!("{key}.env"), one_line(&names.join(", ")), source.clone()];
        let shared = [format!("{key}.shared"), is_shared(agent).to_string(), source];
        let is_said = [true, !names.is_empty(), !is_shared(agent)];
        [command, env, shared].into_iter().zip(is_said).filter_map(|(row, is_said)| is_said.then_some(row))
    };
    let agents = settings.agents.iter().flat_map(agent);
    let server = |spec: &ServerSpec| {
        let key = server_key(spec);
        [one_line(&key), one_line(&spec.transport.to_string()), shown_source(&key)]
    };
    let servers = settings.mcp_servers.iter().map(server);
    let provider = |provider: &ProviderConfig| {
        let key = provider_key(provider);
        [one_line(&key), provider.kind.name().to_owned(), shown_source(&key)]
    };
    let providers = of_files(settings).map(provider);
    settings.shown(path).into_iter().map(setting).chain(agents).chain(servers).chain(providers).collect()
}

/// The providers that a file names. Their addresses and keys are nobody's business.
fn of_files(settings: &Settings) -> impl Iterator<Item = &ProviderConfig> {
    settings.providers.iter().filter(|provider| settings.sources.contains_key(&provider_key(provider)))
}

fn provider_key(provider: &ProviderConfig) -> String {
    format!("{}.{}", keys::PROVIDERS, provider.name)
}

fn is_shared(agent: &AgentCommand) -> bool {
    agent.sharing == Sharing::Shared
}

fn server_key(spec: &ServerSpec) -> String {
    format!("{}.{}", keys::MCP_SERVERS, spec.name)
}

fn agent_key(name: &str) -> String {
    format!("{}.{name}", keys::AGENTS)
}

/// Where the value of `key` came from.
fn source<'a>(settings: &'a Settings, key: &str) -> &'a Source {
    settings.sources.get(key).unwrap_or(&Source::Default)
}

impl<'a> From<&'a Source> for SourceRow<'a> {
    fn from(source: &'a Source) -> Self {
        match source {
            Source::Default => Self::Default,
            Source::Flag { key } => Self::Flag { name: flag(key) },
            Source::Environment { key } => Self::Environment { name: env_vars::of_setting(key) },
            Source::File { role: Role::Project, path, line } => Self::Project { file: path, line: *line },
            Source::File { role: Role::User, path, line } => Self::User { file: path, line: *line },
        }
    }
}
