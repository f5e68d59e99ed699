//! `rejoin import`: takes in what `rejoin export` has written.
//!
//! A session comes in whole or not at all, under its own id. Of one that is there already, only what is new is taken:
//! an import that was killed is taken up again, and a session that went on elsewhere goes on here.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use futures::TryStreamExt;
use rejoin_store::{Lease, Owner, SessionStore, StoreError, entries};
use rejoin_transcript::export::{ReadError, Reader};
use rejoin_transcript::{
    Entry, EntryNumber, Fact, Session, SessionId, Step, StepKind, Timestamp, UpdateKind, interrupt,
};
use serde::Serialize;

use super::{Context, OWNER, Outcome};
use crate::error::Error;
use crate::output::{DIM, Output, one_line};
use crate::report;

/// How many steps are appended at once.
const BATCH: usize = 512;

/// The word for standard input.
const STDIN: &str = "-";

/// What became of a file.
struct Imported {
    session_id: SessionId,
    title: Option<String>,
    /// Not so, if all of it was there already.
    is_new: bool,
}

/// The entries of a file, and what must be remembered of them.
struct Source<F> {
    next: F,
    last_turn: LastTurn,
}

impl<F: FnMut() -> Result<Option<Entry>, Error>> Source<F> {
    fn next(&mut self) -> Result<Option<Entry>, Error> {
        let entry = (self.next)()?;
        if let Some(entry) = &entry {
            self.last_turn.push(entry);
        }
        Ok(entry)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OneFile<'a> {
    session_id: &'a SessionId,
    imported: bool,
}

#[derive(Serialize, Default)]
struct SeveralFiles {
    imported: Vec<SessionId>,
    skipped: Vec<SessionId>,
    failed: Vec<FailedFile>,
}

#[derive(Serialize)]
struct FailedFile {
    file: String,
    error: String,
}

/// Take in exported sessions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A session keeps its id. Of one that is there already, only what is new is taken.

Examples:
  rejoin import session.jsonl
  rejoin import backup/*.jsonl
  ssh host rejoin export 0c5f2a91 | rejoin import -")]
pub(crate) struct ImportArgs {
    /// What `rejoin export` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: ImportArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store()?;
    if let [file] = args.files.as_slice() {
        let imported = import_file(&store, file).await?;
        if args.json {
            let row = OneFile { session_id: &imported.session_id, imported: imported.is_new };
            context.out.write_json(&row)?;
        } else {
            write_line(&mut context.out, &imported)?;
        }
        return Ok(Outcome::Done);
    }
    let mut all = SeveralFiles::default();
    for file in &args.files {
        match import_file(&store, file).await {
            Ok(imported) => {
                if !args.json {
                    write_line(&mut context.out, &imported)?;
                }
                let list = if imported.is_new { &mut all.imported } else { &mut all.skipped };
                list.push(imported.session_id);
            }
            Err(error) => {
                context.out.flush()?;
                report::write_error(&mut context.err, &error)?;
                all.failed.push(FailedFile { file: file.display().to_string(), error: report::one_line(&error) });
            }
        }
    }
    if args.json {
        context.out.write_json(&all)?;
    }
    Ok(if all.failed.is_empty() { Outcome::Done } else { Outcome::FoundProblems })
}

fn write_line(out: &mut Output, imported: &Imported) -> io::Result<()> {
    let title = one_line(imported.title.as_deref().unwrap_or("(no title)"));
    let (word, remark) =
        if imported.is_new { ("imported", String::new()) } else { ("skipped", out.paint(DIM, " (is there already)")) };
    writeln!(out, "{word} {}  {title}{remark}", imported.session_id)
}

async fn import_file(store: &dyn SessionStore, file: &Path) -> Result<Imported, Error> {
    let name = file.display().to_string();
    let input = open(file).map_err(|source| Error::CannotRead { file: name.clone(), source })?;
    let in_file = |error| match error {
        ReadError::Io(source) => Error::CannotRead { file: name.clone(), source },
        ReadError::Content(source) => Error::NotATranscript { file: name.clone(), source },
    };
    let (told, mut reader) = Reader::open(input).map_err(in_file)?;
    let session_id = told.facts.session_id.clone();
    let mut source = Source { next: || reader.next_entry().map_err(in_file), last_turn: LastTurn::default() };
    let was_there = match store.create(without_entries(&told)).await {
        Err(StoreError::SessionExists { .. }) => true,
        created => created.map(|()| false)?,
    };
    let imported = take_new(store, &told, was_there, &mut source).await;
    if imported.is_err()
        && !was_there
        && let Err(failure) = store.delete(&session_id).await
    {
        // Why the import failed is worth more than why its traces stay.
        tracing::warn!(session = %session_id, %failure, "a session that was imported in part could not be removed");
    }
    let is_new = imported?;
    let title = store.session(&session_id).await?.facts.title().map(str::to_owned);
    Ok(Imported { session_id, title, is_new })
}

/// Takes what the store does not have, and says whether there was something.
async fn take_new(
    store: &dyn SessionStore,
    told: &Session,
    was_there: bool,
    source: &mut Source<impl FnMut() -> Result<Option<Entry>, Error>>,
) -> Result<bool, Error> {
    let begin = if was_there { skip_known(store, &told.facts.session_id, source).await? } else { source.next()? };
    let is_new = begin.is_some() || !was_there;
    if is_new {
        fill(store, told, begin, source).await?;
    }
    Ok(is_new)
}

/// Passes over the entries that the store has already, and gives the first that is new.
///
/// There is none if the store has others, or more: then the session has gone its own way here.
async fn skip_known(
    store: &dyn SessionStore,
    session_id: &SessionId,
    source: &mut Source<impl FnMut() -> Result<Option<Entry>, Error>>,
) -> Result<Option<Entry>, Error> {
    let known = entries(store, session_id, EntryNumber::START);
    futures::pin_mut!(known);
    while let Some(known) = known.try_next().await? {
        if source.next()?.as_ref() != Some(&known) {
            return Ok(None);
        }
    }
    source.next()
}

fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    if file == Path::new(STDIN) {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::with_capacity(256 * 1024, File::open(file)?)))
}

/// The session before its first entry, which is what a store makes.
fn without_entries(told: &Session) -> Session {
    let mut session = told.clone();
    session.forget_entries();
    OWNER.clone_into(&mut session.facts.owner);
    // Entries can only move it on, and a fork may have been used last before it was made.
    session.facts.updated_at = told.facts.updated_at;
    session
}

/// The facts that entries tell, but others may have told since: the latest word on them is the header's.
fn facts_to_restore(told: &Session) -> Vec<Fact> {
    let settings = told.settings.clone();
    vec![Fact::ConfigOptions(settings.config_options), Fact::AvailableCommands(settings.available_commands)]
}

/// Appends the entries from `begin` on, and tells the facts that are not in them.
async fn fill(
    store: &dyn SessionStore,
    told: &Session,
    begin: Option<Entry>,
    source: &mut Source<impl FnMut() -> Result<Option<Entry>, Error>>,
) -> Result<(), Error> {
    let session_id = &told.facts.session_id;
    let lease = store.acquire(session_id, &Owner::this_process()).await?;
    let appended = append_all(store, &lease, begin, source).await;
    // Also after a failure: what is running can't be removed.
    let released = store.release(&lease).await;
    let last = appended?;
    released?;
    store.tell(session_id, facts_to_restore(told)).await?;
    store.flush().await?;
    tracing::debug!(session = %session_id, entries = last.get(), "imported");
    Ok(())
}

/// Appends the entries from `begin` on, and closes the last turn if they end within it. Gives the last number.
async fn append_all(
    store: &dyn SessionStore,
    lease: &Lease,
    mut next: Option<Entry>,
    source: &mut Source<impl FnMut() -> Result<Option<Entry>, Error>>,
) -> Result<EntryNumber, Error> {
    let mut after = lease.head;
    let mut batch: Vec<Step> = Vec::with_capacity(BATCH);
    while let Some(entry) = next {
        batch.push(entry.step);
        if batch.len() == BATCH {
            after = store.append(lease, after, std::mem::take(&mut batch), Vec::new()).await?;
        }
        next = source.next()?;
    }
    batch.extend(source.last_turn.closing_steps());
    if !batch.is_empty() {
        after = store.append(lease, after, batch, Vec::new()).await?;
    }
    Ok(after)
}

/// What must be remembered of the last turn to close it.
#[derive(Default)]
struct LastTurn {
    entries: Vec<Entry>,
    last_at: Option<Timestamp>,
}

impl LastTurn {
    fn push(&mut self, entry: &Entry) {
        self.last_at = Some(entry.step.at);
        match entry.step.kind {
            StepKind::Prompt => self.entries.clear(),
            StepKind::TurnEnded | StepKind::Update(UpdateKind::ToolCall | UpdateKind::ToolCallUpdate) => {}
            _ => return,
        }
        self.entries.push(entry.clone());
    }

    /// Nothing, if it has ended. As old as the last entry, so that the session does not look as if it had been used.
    fn closing_steps(&self) -> Vec<Step> {
        self.last_at.map(|at| interrupt(&self.entries, at)).unwrap_or_default()
    }
}
