//! `rejoin import`: takes in what `rejoin export` has written, and the histories of other tools.
//!
//! What a file is, is seen by its content. What can't be read is named, and never keeps the rest from coming in.

mod find;
mod known;
mod take;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use rejoin_history::Tool;
use rejoin_store::{SessionStore, Taken};
use rejoin_transcript::SessionId;
use serde::Serialize;

use super::{Context, Outcome, count};
use crate::error::Error;
use crate::output::{DIM, Output, one_line};
use crate::progress::Progress;
use crate::{report, times};
use find::{Candidate, Origin};
use take::Taker;

/// What became of a session.
struct Imported {
    session_id: SessionId,
    title: Option<String>,
    taken: Taken,
    /// How many pieces of it could not be read.
    left_out: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OneFile<'a> {
    session_id: &'a SessionId,
    imported: bool,
    #[serde(skip_serializing_if = "is_zero")]
    left_out: u64,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct SeveralFiles {
    imported: Vec<SessionId>,
    skipped: Vec<SessionId>,
    failed: Vec<FailedFile>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOut>,
}

#[derive(Serialize)]
struct FailedFile {
    file: String,
    error: String,
}

#[derive(Serialize)]
struct LeftOut {
    file: String,
    lines: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Take in exported sessions, and histories of other tools
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A session keeps its id. Of one that is there already, only what is new is taken, unless it went on here too.
Sessions of other tools go on with the agent they came from, or with any other.

Examples:
  rejoin import session.jsonl                 what `rejoin export` has written
  rejoin import --all                         every history found on this machine
  rejoin import --from claude-code --since 30d
  rejoin import ~/old-laptop/.codex/sessions
  ssh host rejoin export 0c5f2a91 | rejoin import -")]
pub(crate) struct ImportArgs {
    /// A file, or a folder to look through; `-` for standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["all", "from"])]
    pub(crate) files: Vec<PathBuf>,

    /// Only histories of the tool NAME; without FILE, those found on this machine
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(Tool::ALL.map(Tool::name)))]
    pub(crate) from: Option<String>,

    /// All histories found on this machine
    #[arg(long, conflicts_with = "files")]
    pub(crate) all: bool,

    /// Only histories used since then: a date, or an age like `7d`
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: ImportArgs, context: &mut Context) -> Result<Outcome, Error> {
    let now = rejoin_store::now();
    let since = match &args.since {
        Some(text) => Some(times::read_since(text, now).ok_or(Error::NotATime { text: text.clone() })?),
        None => None,
    };
    let tool = args.from.as_deref().and_then(Tool::from_name);
    let candidates = find::candidates(&args.files, tool, &context.settings.histories)?;
    let store = context.settings.open_store()?;
    let mut taker = Taker::new(&store, since);
    let mut run = Run::new(context, &candidates, args.json);
    for candidate in &candidates {
        let results = taker.take(candidate, tool).await;
        run.progress.step();
        run.note(candidate, results)?;
    }
    store.flush().await?;
    run.finish()
}

/// One run of the command: what it shows.
struct Run<'a> {
    context: &'a mut Context,
    is_json: bool,
    /// Whether one file was named, which is told of alone.
    is_one: bool,
    /// Whether files were looked for.
    is_search: bool,
    progress: Progress,
    all: SeveralFiles,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    fn new(context: &'a mut Context, candidates: &[Candidate], is_json: bool) -> Self {
        let is_one = matches!(candidates, [Candidate { origin: Origin::Named, .. }]);
        let is_search = candidates.iter().all(|candidate| candidate.origin == Origin::Found);
        let progress = Progress::new(candidates.len());
        Self { context, is_json, is_one, is_search, progress, all: SeveralFiles::default(), outcome: Outcome::Done }
    }

    fn note(&mut self, candidate: &Candidate, results: Vec<Result<Imported, Error>>) -> Result<(), Error> {
        self.is_one &= results.len() == 1;
        for result in results {
            match result {
                Ok(imported) => self.note_imported(candidate, imported)?,
                Err(error) if self.is_one => return Err(error),
                Err(error) => self.note_failed(candidate, &error)?,
            }
        }
        Ok(())
    }

    fn note_imported(&mut self, candidate: &Candidate, imported: Imported) -> Result<(), Error> {
        let is_new = imported.taken != Taken::Nothing;
        if imported.left_out > 0 {
            let lines = count(imported.left_out, "line", "lines");
            let note = format!("{}: {lines} could not be read", candidate.name());
            self.progress.above(|| report::write_mishap(&mut self.context.err, &note))?;
            self.all.left_out.push(LeftOut { file: candidate.name(), lines: imported.left_out });
        }
        if self.is_json && self.is_one {
            let Imported { session_id, left_out, .. } = &imported;
            self.context.out.write_json(&OneFile { session_id, imported: is_new, left_out: *left_out })?;
        } else if !self.is_json && (is_new || candidate.origin == Origin::Named) {
            let out = &mut self.context.out;
            self.progress.above(|| write_line(out, &imported))?;
        }
        let list = if is_new { &mut self.all.imported } else { &mut self.all.skipped };
        list.push(imported.session_id);
        Ok(())
    }

    fn note_failed(&mut self, candidate: &Candidate, error: &Error) -> Result<(), Error> {
        self.context.out.flush()?;
        let err = &mut self.context.err;
        match candidate.origin {
            Origin::Named => {
                self.outcome = Outcome::FoundProblems;
                self.progress.above(|| report::write_error(err, error))?;
            }
            Origin::Found => self.progress.above(|| report::write_mishap(err, &report::one_line(error)))?,
        }
        self.all.failed.push(FailedFile { file: candidate.name(), error: report::one_line(error) });
        Ok(())
    }

    /// Says how it went. What was named must be there and whole; of what was found, some may not be.
    fn finish(self) -> Result<Outcome, Error> {
        let Self { context, is_json, is_one, is_search, progress, all, outcome } = self;
        progress.finish();
        let [imported, skipped, failed] = [all.imported.len(), all.skipped.len(), all.failed.len()];
        if is_json {
            if !is_one {
                context.out.write_json(&all)?;
            }
        } else if is_search && imported + skipped + failed == 0 {
            report::write_remark(&mut context.err, "no history was found", "name a file: `rejoin import FILE`")?;
        } else if is_search {
            writeln!(context.out, "{imported} imported, {skipped} skipped, {failed} failed")?;
        }
        Ok(outcome)
    }
}

fn write_line(out: &mut Output, imported: &Imported) -> io::Result<()> {
    let title = one_line(imported.title.as_deref().unwrap_or("(no title)"));
    let (word, remark) = match imported.taken {
        Taken::All | Taken::More => ("imported", String::new()),
        Taken::Nothing => ("skipped", out.paint(DIM, " (is there already)")),
    };
    writeln!(out, "{word} {}  {title}{remark}", imported.session_id)
}
