//! `rejoin config`: the settings, where they come from, and which project files are trusted.

mod path;
mod show;
mod trust;

use clap::Subcommand;

use super::{Context, Outcome};
use crate::error::Error;

/// See the settings, and trust those of a project
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A setting is what was typed, else what the environment says, else the project's `.rejoin.toml`, else the user's file.

Examples:
  rejoin config                       every setting, and where it comes from
  rejoin config path                  your file
  rejoin config trust                 let the project's file name programs and places")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Show(show::ConfigShowArgs),
    Path(path::ConfigPathArgs),
    Trust(trust::ConfigTrustArgs),
}

pub(super) fn run(args: &ConfigArgs, context: &mut Context) -> Result<Outcome, Error> {
    match &args.command {
        None => show::run(&show::ConfigShowArgs::default(), context),
        Some(ConfigCommand::Show(args)) => show::run(args, context),
        Some(ConfigCommand::Path(args)) => path::run(args, context),
        Some(ConfigCommand::Trust(args)) => trust::run(args, context),
    }
}
