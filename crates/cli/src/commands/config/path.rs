//! `rejoin config path`: the files that settings are taken from.

use std::io::Write;
use std::path::Path;

use serde::Serialize;

use crate::commands::{Context, Outcome};
use crate::error::Error;
use crate::output::short_path;
use crate::settings::{Files, Settings, Trust};
use crate::table::{Column, Fit, Side, write_table};

const TABLE: [Column; 4] = [
    Column { name: "ROLE", fit: Fit::Whole, side: Side::Left },
    Column { name: "FILE", fit: Fit::Whole, side: Side::Left },
    Column { name: "STATE", fit: Fit::Whole, side: Side::Left },
    Column { name: "TRUST", fit: Fit::Whole, side: Side::Left },
];

#[derive(Serialize)]
struct FileRow<'a> {
    role: &'static str,
    path: &'a Path,
    exists: bool,
    /// `None` where it is nothing that is asked.
    trust: Option<&'static str>,
}

/// Show the file of your settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  $EDITOR \"$(rejoin config path)\"
  rejoin config path --all            the project's file too, and whether it is trusted")]
pub(crate) struct ConfigPathArgs {
    /// Show all files that settings are taken from
    #[arg(long)]
    pub(crate) all: bool,

    /// Write a JSON array of all of them
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) fn run(args: &ConfigPathArgs, context: &mut Context) -> Result<Outcome, Error> {
    let Settings { files, home, .. } = &context.settings;
    let (rows, home) = (rows(files), home.as_deref().filter(|_| context.out.is_terminal()));
    if args.json {
        context.out.write_json(&rows)?;
    } else if !args.all {
        let user = files.user.as_deref().ok_or(Error::NoConfigFolder)?;
        writeln!(context.out, "{}", user.display())?;
    } else {
        let cells = |row: &FileRow<'_>| {
            let state = if row.exists { "exists" } else { "missing" };
            let path = short_path(&row.path.display().to_string(), home);
            [row.role.to_owned(), path, state.to_owned(), row.trust.unwrap_or_default().to_owned()]
        };
        let rows: Vec<[String; 4]> = rows.iter().map(cells).collect();
        write_table(&mut context.out, &TABLE, &rows)?;
    }
    Ok(Outcome::Done)
}

/// The files, the strongest first.
fn rows(files: &Files) -> Vec<FileRow<'_>> {
    let Files { project, trust, user, trust_record } = files;
    let trust = trust.map(|trust| match trust {
        Trust::Trusted => "trusted",
        Trust::Changed => "changed since it was trusted",
        Trust::NotTrusted => "not trusted",
    });
    let files = [("project", project, trust), ("user", user, Some("trusted")), ("trust list", trust_record, None)];
    let rows = files.into_iter().filter_map(|(role, path, trust)| {
        let path = path.as_deref()?;
        let exists = path.is_file();
        Some(FileRow { role, path, exists, trust: trust.filter(|_| exists) })
    });
    rows.collect()
}
