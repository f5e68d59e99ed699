//! `rejoin verify`: whether everything in the store is as it was written.

use std::io::Write;

use rejoin_store::{Damage, StoreError, VerifyReport};
use rejoin_transcript::{EntryNumber, SessionId};
use serde::Serialize;

use super::{Context, Outcome, count};
use crate::error::Error;
use crate::output::{BAD, GOOD, one_line};

#[derive(Serialize)]
struct ReportRow<'a> {
    sessions: u64,
    entries: u64,
    damages: Vec<DamageRow<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DamageRow<'a> {
    session_id: Option<&'a SessionId>,
    entry: Option<EntryNumber>,
    what: &'a str,
}

/// Check the store for damage
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Reads every stored byte that has a checksum, and checks that nothing is missing and that everything
belongs to a session. Exit code 1 says that something is damaged.

Examples:
  rejoin verify
  rejoin --store backup.db verify --json")]
pub(crate) struct VerifyArgs {
    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: VerifyArgs, context: &mut Context) -> Result<Outcome, Error> {
    let report = match context.settings.open_store_to_read() {
        Ok(store) => store.verify().await?,
        // Not even what says which sessions there are can be read.
        Err(Error::Store(StoreError::Damaged { what, .. })) => {
            VerifyReport { damages: vec![Damage { session: None, entry: None, what }], ..VerifyReport::default() }
        }
        Err(error) => return Err(error),
    };
    if args.json {
        let damages = report.damages.iter().map(|Damage { session, entry, what }| DamageRow {
            session_id: session.as_ref(),
            entry: *entry,
            what,
        });
        let damages = damages.collect();
        context.out.write_json(&ReportRow { sessions: report.sessions, entries: report.entries, damages })?;
    } else {
        write_report(context, &report)?;
    }
    Ok(if report.damages.is_empty() { Outcome::Done } else { Outcome::FoundProblems })
}

fn write_report(context: &mut Context, report: &VerifyReport) -> Result<(), Error> {
    let out = &mut context.out;
    for damage in &report.damages {
        let place = match (&damage.session, damage.entry) {
            (Some(session), Some(entry)) => format!("session {session}, entry {entry}"),
            (Some(session), None) => format!("session {session}"),
            (None, _) => "the store's file".to_owned(),
        };
        writeln!(out, "{place}: {}", one_line(&damage.what))?;
    }
    let checked = format!(
        "{} with {} checked",
        count(report.sessions, "session", "sessions"),
        count(report.entries, "entry", "entries")
    );
    let verdict = if report.damages.is_empty() {
        out.paint(GOOD, "nothing is damaged")
    } else {
        let found = report.damages.len() as u64;
        out.paint(BAD, &format!("{} found", count(found, "damage", "damages")))
    };
    writeln!(out, "{checked}: {verdict}")?;
    Ok(())
}
