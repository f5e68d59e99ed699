//! `rejoin acp`: ACP on standard input and output, with an agent behind.

use std::sync::Arc;

use rejoin::{AgentCommand, LayerOptions, SessionLayer, Sharing, Taps, Transport};
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

/// The agent that was typed, or named, or is the default.
fn agent_of(args: AcpArgs, settings: &Settings) -> Result<AgentCommand, Error> {
    let mut words = args.command.into_iter();
    if let Some(program) = words.next() {
        let command = Command { program, args: words.collect(), env: Vec::new(), cwd: None };
        return Ok(AgentCommand { name: None, command, sharing: Sharing::Shared });
    }
    let name = args.agent.or_else(|| settings.default_agent.clone()).ok_or(Error::NoAgent)?;
    let Some(agent) = settings.agents.get(&name) else {
        let known = settings.agents.keys().cloned().collect();
        return Err(Error::UnknownAgent { name, known });
    };
    let mut words = agent.command.iter().cloned();
    let program = words.next().ok_or(Error::NoAgent)?;
    let env = agent.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let command = Command { program, args: words.collect(), env, cwd: None };
    Ok(AgentCommand { name: Some(name), command, sharing: agent.sharing })
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
