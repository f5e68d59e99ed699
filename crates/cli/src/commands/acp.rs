//! `rejoin acp`: ACP on standard input and output, with an agent behind.

use rejoin::Transport;

use super::{Context, Outcome};
use crate::error::Error;
use crate::layer::{AgentArgs, layer_of};
use crate::signals::Signals;

/// Speak ACP on standard input and output, with an agent behind
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin acp                          the built-in agent
  rejoin acp -- claude-agent-acp      any ACP agent, with sessions that last
  rejoin acp --agent claude           an agent by its name")]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

/// Runs the command, until the client ends its input or a signal comes.
pub(crate) async fn run(args: AcpArgs, context: &mut Context) -> Result<Outcome, Error> {
    let layer = layer_of(args.agent, context)?;
    let transport = Transport::stdio().map_err(Error::CannotStart)?;
    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    tokio::join!(layer.serve_until(transport, signals.any()), layer.tidy());
    Ok(Outcome::Done)
}
