//! `rejoin config`: the settings, where they come from, and which project files are trusted.

mod path;
mod show;
mod trust;

use super::{Context, Outcome};
use crate::args::{ConfigArgs, ConfigCommand, ConfigShowArgs};
use crate::error::Error;

pub(super) fn run(args: &ConfigArgs, context: &mut Context) -> Result<Outcome, Error> {
    match &args.command {
        None => show::run(&ConfigShowArgs::default(), context),
        Some(ConfigCommand::Show(args)) => show::run(args, context),
        Some(ConfigCommand::Path(args)) => path::run(args, context),
        Some(ConfigCommand::Trust(args)) => trust::run(args, context),
    }
}
