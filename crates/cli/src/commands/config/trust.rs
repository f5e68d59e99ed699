//! `rejoin config trust`: a project's file may name programs and places from now on, as long as it stays as it is.

use std::io::Write;

use crate::args::ConfigTrustArgs;
use crate::commands::{Context, Outcome};
use crate::error::Error;
use crate::output::one_line;
use crate::settings::{ConfigFile, Role};

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
