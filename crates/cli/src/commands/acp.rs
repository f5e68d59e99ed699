//! `rejoin acp`: ACP on standard input and output, with an agent behind.

use std::sync::Arc;

use rejoin::{AgentCommand, AgentSource, LayerOptions, SessionLayer, Sharing, Taps, Transport};
use rejoin_agent::{AgentConfig, BuiltInAgent};
use rejoin_wire::{Command, Direction, Tap};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Context, Outcome};
use crate::args::AcpArgs;
use crate::error::Error;
use crate::settings::Settings;
use crate::trace::{Between, Trace};

/// Runs the command, until the client ends its input or a signal comes.
pub(crate) async fn run(args: AcpArgs, context: &mut Context) -> Result<Outcome, Error> {
    let agent = agent_of(args, &context.settings)?;
    let store = Arc::new(context.settings.open_store()?);
    let (options, taps) = (options_of(&context.settings), taps_of(context.trace.take()));
    let layer = SessionLayer::new(store).options(options).taps(taps).agent(agent);
    let transport = Transport::stdio().map_err(Error::CannotStart)?;
    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    tokio::join!(layer.serve_until(transport, signals.any()), layer.tidy());
    Ok(Outcome::Done)
}

/// The agent that was typed, or named, or is the default; else our own.
fn agent_of(args: AcpArgs, settings: &Settings) -> Result<AgentSource, Error> {
    let mut words = args.command.into_iter();
    if let Some(program) = words.next() {
        let command = Command { program, args: words.collect(), env: Vec::new(), cwd: None };
        return Ok(AgentCommand { name: None, command, sharing: Sharing::Shared }.into());
    }
    let Some(name) = args.agent.or_else(|| settings.default_agent.clone()) else { return Ok(built_in(settings)) };
    match settings.agents.get(&name).and_then(|agent| Some((agent, agent.command.split_first()?))) {
        Some((agent, (program, args))) => {
            let env = agent.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let command = Command { program: program.clone(), args: args.to_vec(), env, cwd: None };
            Ok(AgentCommand { name: Some(name), command, sharing: agent.sharing }.into())
        }
        None if name == BUILT_IN => Ok(built_in(settings)),
        None => {
            let known = settings.agents.keys().cloned().chain([BUILT_IN.to_owned()]).collect();
            Err(Error::UnknownAgent { name, known })
        }
    }
}

/// The name by which our own agent can be chosen where another one is the default.
const BUILT_IN: &str = "rejoin";

fn built_in(settings: &Settings) -> AgentSource {
    let mcp = rejoin_mcp::Options { start_limit: settings.behaviour.mcp_start_limit, ..Default::default() };
    let (model, mcp_servers) = (settings.model.clone(), settings.mcp_servers.clone());
    let providers = settings.providers.clone();
    BuiltInAgent::new(AgentConfig { model, providers, mcp_servers, mcp }).into()
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
    }
}

/// Whatever says that the program should end.
struct Signals([Signal; 3]);

impl Signals {
    fn new() -> std::io::Result<Self> {
        let [interrupt, terminate, hangup] = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Ok(Self([signal(interrupt)?, signal(terminate)?, signal(hangup)?]))
    }

    /// Waits for one of them.
    async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

struct TraceTap {
    trace: Arc<Trace>,
    between: Between,
}

impl Tap for TraceTap {
    fn line(&self, direction: Direction, line: &str) {
        self.trace.record(self.between, direction, line);
    }
}

fn taps_of(trace: Option<Trace>) -> Taps {
    let Some(trace) = trace.map(Arc::new) else { return Taps::default() };
    let tap = |between| -> Option<Arc<dyn Tap>> { Some(Arc::new(TraceTap { trace: Arc::clone(&trace), between })) };
    Taps { clients: tap(Between::Client), agents: tap(Between::Agent) }
}
