//! `rejoin config trust`: a project's file may name programs and places from now on, as long as it stays as it is.

use std::io::Write;
use std::path::PathBuf;

use crate::commands::{Context, Outcome};
use crate::error::Error;
use crate::output::one_line;
use crate::settings::{ConfigFile, Role};

/// Let a project's file name programs and places
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Look at the file first: it can make `rejoin` start any program. If it changes, it is not trusted any more.

Examples:
  rejoin config trust                 the file of the project in whose folder you are
  rejoin config trust ~/src/app/.rejoin.toml")]
pub(crate) struct ConfigTrustArgs {
    /// The file, if not the one of the current project
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

pub(super) fn run(args: &ConfigTrustArgs, context: &mut Context) -> Result<Outcome, Error> {
    let files = &context.settings.files;
    let file = match (&args.file, &files.project) {
        (Some(path), _) => {
            ConfigFile::read(Role::Project, path)?.ok_or_else(|| Error::NoFileToTrust { path: path.clone() })?
        }
        (None, Some(path)) => ConfigFile::read(Role::Project, path)?.ok_or(Error::NoProjectFile)?,
        (None, None) => return Err(Error::NoProjectFile),
    };
    files.trust_record()?.ok_or(Error::NoStateFolder)?.add(&file)?;
    let keys = file.needing_trust();
    let sets = if keys.is_empty() { "nothing that needs it".to_owned() } else { keys.join(", ") };
    writeln!(context.out, "trusted, as it is now: {}", one_line(&file.path.display().to_string()))?;
    writeln!(context.out, "it sets: {}", one_line(&sets))?;
    Ok(Outcome::Done)
}
