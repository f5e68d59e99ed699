//! `rejoin completions`: what a shell needs to complete commands and options.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::args::Args;
use crate::error::Error;
use crate::output::Output;

/// Write a script that completes commands and options in a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin completions bash > ~/.local/share/bash-completion/completions/rejoin
  rejoin completions zsh > ~/.zfunc/_rejoin
  rejoin completions fish > ~/.config/fish/completions/rejoin.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, out: &mut Output) -> Result<Outcome, Error> {
    // It panics where it can't write, so it writes where it always can.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "rejoin", &mut script);
    out.write_all(&script)?;
    Ok(Outcome::Done)
}
