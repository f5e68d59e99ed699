//! The session layer as the arguments and the settings want it: which agent, which limits, what is traced.

use std::borrow::Cow;
use std::sync::Arc;

use rejoin::{AgentCommand, AgentSource, LayerOptions, SessionLayer, Taps};
use rejoin_agent::{AgentConfig, BuiltInAgent};
use rejoin_history::Tool;
use rejoin_transcript::AgentInfo;
use rejoin_wire::{Command, Direction, Tap};

use crate::commands::Context;
use crate::error::Error;
use crate::known_agents::{self, KnownAgent};
use crate::settings::Settings;
use crate::trace::{Between, Trace};

/// Which agent stands behind the layer.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AgentArgs {
    /// The agent with this name, of those that `rejoin agents` lists; `rejoin` is the built-in one
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) agent: Option<String>,

    /// The command that starts the agent, and its arguments [default: `default_agent` of the configuration, else the built-in agent]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

impl AgentArgs {
    /// Whether no agent was asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.agent.is_none() && self.command.is_empty()
    }

    /// The name that the agent is started by; nothing, if its command was typed.
    pub(crate) fn name<'a>(&'a self, settings: &'a Settings) -> &'a str {
        let default = || settings.default_agent.as_deref().unwrap_or(BUILT_IN);
        if self.command.is_empty() { self.agent.as_deref().unwrap_or_else(default) } else { "" }
    }

    /// The agent that `info` tells of, if it can be started by its name. A command that is only noted in a session is not
    /// run: the session may come from somebody else.
    pub(crate) fn known(info: &AgentInfo, settings: &Settings) -> Option<Self> {
        // A history that was imported has the name of an agent, but that may not be there.
        let is_ours = |known: &KnownAgent| info.command.first().map(String::as_str) == known.command.first().copied();
        let is_known = info.name == BUILT_IN
            || settings.agents.contains_key(&info.name)
            || known_agents::find(&info.name).is_some_and(is_ours);
        is_known.then(|| Self { agent: Some(info.name.clone()), command: Vec::new() })
    }

    /// How they are typed, with a blank before each.
    pub(crate) fn typed(&self) -> String {
        let name = self.agent.iter().flat_map(|name| ["--agent", name.as_str()]);
        let command =
            (!self.command.is_empty()).then_some("--").into_iter().chain(self.command.iter().map(String::as_str));
        name.chain(command).flat_map(|word| [Cow::Borrowed(" "), quoted(word)]).collect()
    }
}

/// The names by which agents can be started.
pub(crate) fn agent_names(settings: &Settings) -> impl Iterator<Item = &str> {
    let configured = settings.agents.keys().map(String::as_str);
    configured.chain(known_agents::ALL.iter().map(|agent| agent.name)).chain([BUILT_IN])
}

/// `word` as a shell takes it.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
    // Only what holds a NUL can't be quoted, and no argument does.
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// The layer over the store of `context`, with the agent that `args` ask for.
pub(crate) fn layer_of(args: AgentArgs, context: &mut Context) -> Result<SessionLayer, Error> {
    let agent = agent_of(args, &context.settings)?;
    let store = Arc::new(context.settings.open_store_to_serve()?);
    let (options, taps) = (options_of(&context.settings), taps_of(context.trace.clone()));
    Ok(SessionLayer::new(store).options(options).taps(taps).agent(agent))
}

/// The agent that was typed, or named, or is the default; else our own.
fn agent_of(args: AgentArgs, settings: &Settings) -> Result<AgentSource, Error> {
    if let Some(command) = typed_command(args.command) {
        let sharing = known_agents::sharing_of(&command.program);
        return Ok(AgentCommand { name: None, command, sharing }.into());
    }
    let Some(name) = args.agent.or_else(|| settings.default_agent.clone()) else { return Ok(built_in(settings)) };
    if let Some(agent) = settings.agents.get(&name) {
        return Ok(AgentCommand { name: Some(name), command: agent.to_command(), sharing: agent.sharing }.into());
    }
    match known_agents::find(&name) {
        Some(agent) => {
            Ok(AgentCommand { name: Some(name), command: agent.to_command(), sharing: agent.sharing }.into())
        }
        None if name == BUILT_IN => Ok(built_in(settings)),
        None => {
            let known = settings.agents.keys().cloned().chain([BUILT_IN.to_owned()]).collect();
            Err(Error::UnknownAgent { name, known })
        }
    }
}

/// The name by which our own agent can be chosen where another one is the default.
pub(crate) const BUILT_IN: &str = "rejoin";

/// How to start an agent whose command was typed, if it was.
pub(crate) fn typed_command(words: Vec<String>) -> Option<Command> {
    let mut words = words.into_iter();
    let program = words.next()?;
    Some(Command::new(program, words))
}

fn built_in(settings: &Settings) -> AgentSource {
    BuiltInAgent::new(built_in_config(settings)).into()
}

/// What the settings tell the built-in agent.
pub(crate) fn built_in_config(settings: &Settings) -> AgentConfig {
    AgentConfig {
        model: settings.model.clone(),
        providers: settings.providers.clone(),
        mcp_servers: settings.mcp_servers.clone(),
        mcp: rejoin_mcp::Options { start_limit: settings.behaviour.mcp_start_limit, ..Default::default() },
        deny: settings.deny.clone(),
        pass_environment: settings.pass_environment.clone(),
    }
}

fn options_of(settings: &Settings) -> LayerOptions {
    let behaviour = &settings.behaviour;
    LayerOptions {
        restore: behaviour.restore.into(),
        while_busy: behaviour.while_busy.into(),
        cancel_deadline: behaviour.cancel_deadline,
        agent_start_limit: behaviour.agent_start_limit,
        restore_limit: behaviour.restore_limit,
        briefing_limit: behaviour.briefing_limit,
        idle_agent_limit: behaviour.idle_agent_limit,
        lease: behaviour.lease,
        empty_session_limit: behaviour.empty_session_limit,
        kin: Tool::ALL.into_iter().map(|tool| kin_of(tool, settings)).collect(),
        deny: settings.deny.clone(),
    }
}

/// The names of the agents that keep their sessions where `tool` does: those that all have, and those of the
/// configuration.
fn kin_of(tool: Tool, settings: &Settings) -> Vec<String> {
    let is_its = |word: &String| Tool::of_agent(word.rsplit('/').next().unwrap_or(word)) == Some(tool);
    let configured = settings.agents.iter().filter(|(_, agent)| agent.command.iter().any(is_its));
    tool.names().map(str::to_owned).chain(configured.map(|(name, _)| name.clone())).collect()
}

struct TraceTap {
    trace: Trace,
    between: Between,
}

impl Tap for TraceTap {
    fn line(&self, direction: Direction, line: &str) {
        self.trace.record(self.between, direction, line);
    }
}

/// Those who write the traffic to `trace`.
pub(crate) fn taps_of(trace: Option<Trace>) -> Taps {
    let Some(trace) = trace else { return Taps::default() };
    let tap = |between| -> Option<Arc<dyn Tap>> { Some(Arc::new(TraceTap { trace: trace.clone(), between })) };
    Taps { clients: tap(Between::Client), agents: tap(Between::Agent) }
}
