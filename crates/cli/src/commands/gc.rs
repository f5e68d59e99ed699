//! `rejoin gc`: sessions that nobody will miss are removed, by age and by size.

use std::io::Write;
use std::time::Duration;

use rejoin_store::{Pruned, Retention, Run, SessionStore, now};
use rejoin_transcript::{SessionId, Timestamp};
use serde::Serialize;

use super::{Context, Outcome, count, short_ids};
use crate::ask::{Consent, is_wanted};
use crate::error::Error;
use crate::output::{DIM, one_line};
use crate::report;
use crate::settings::{read_bytes, read_duration};
use crate::sizes;
use crate::table::{Column, Fit, Side, write_table};
use crate::times;

const TABLE: [Column; 4] = [
    Column { name: "ID", fit: Fit::Whole, side: Side::Left },
    Column { name: "TITLE", fit: Fit::CutEnd(20), side: Side::Left },
    Column { name: "UPDATED", fit: Fit::Whole, side: Side::Left },
    Column { name: "SIZE", fit: Fit::Whole, side: Side::Right },
];

/// What to do where nothing says which sessions are to go.
const NO_LIMIT: &str = "no limit is set: name one with `--older-than 90d` or `--max-size 2GiB`";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GcRow<'a> {
    dry_run: bool,
    removed: Vec<PrunedRow<'a>>,
    /// Sessions that were never prompted.
    empty: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrunedRow<'a> {
    session_id: &'a SessionId,
    title: Option<&'a str>,
    updated_at: Timestamp,
    bytes: u64,
}

/// What is, or would be, removed.
struct Removed {
    sessions: Vec<Pruned>,
    /// How many sessions that were never prompted.
    empty: u64,
}

/// Remove old sessions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Sessions that were never prompted are removed too, when they are older than `empty_session_limit`. Archived sessions are \
sessions like the others. A session whose turn is running is kept, and agents keep their own copies. With its index the store takes some more bytes \
than its sessions. The limits can be settings: `gc_older_than` and `gc_max_size`.

Examples:
  rejoin gc --older-than 90d --dry-run    what would be removed
  rejoin gc --older-than 90d              sessions that were not used for 90 days
  rejoin gc --max-size 2GiB --yes         the oldest, until the others have at most 2 GiB")]
pub(crate) struct GcArgs {
    /// Remove sessions that were not used for so long, such as 90d
    #[arg(long, value_name = "TIME", value_parser = read_duration)]
    pub(crate) older_than: Option<Duration>,

    /// Remove the oldest sessions until the others have at most so many bytes, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = read_bytes)]
    pub(crate) max_size: Option<usize>,

    /// Only show what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: GcArgs, context: &mut Context) -> Result<Outcome, Error> {
    let consent = Consent::from_flag(args.yes);
    if !args.dry_run {
        consent.check()?;
    }
    let settings = &context.settings;
    let store = if args.dry_run { settings.open_store_to_read()? } else { settings.open_store_to_change()? };
    let mut run = Run::Dry;
    let mut removed = remove(store.as_ref(), &args, context, run).await?;
    if !args.dry_run && !removed.is_nothing() {
        if consent == Consent::ToBeAsked {
            if !args.json {
                write_table_of(context, store.as_ref(), &removed.sessions).await?;
                context.out.flush()?;
            }
            if !is_wanted(&mut context.err, &format!("Remove {} for good?", removed.told()))? {
                return Ok(Outcome::NotWanted);
            }
        }
        run = Run::Real;
        removed = remove(store.as_ref(), &args, context, run).await?;
    }
    if args.json {
        context.out.write_json(&removed.row(args.dry_run))?;
        return Ok(Outcome::Done);
    }
    // Who was asked has seen it.
    if consent == Consent::Typed || args.dry_run {
        write_table_of(context, store.as_ref(), &removed.sessions).await?;
    }
    let done = match (removed.is_nothing(), run) {
        (true, _) => "nothing to remove".to_owned(),
        (false, Run::Dry) => format!("would remove {}", removed.told()),
        (false, Run::Real) => format!("removed {}", removed.told()),
    };
    writeln!(context.out, "{}", context.out.paint(DIM, &done))?;
    if retention(&args, context) == Retention::default() && removed.sessions.is_empty() {
        report::write_hint(&mut context.err, NO_LIMIT)?;
    }
    Ok(Outcome::Done)
}

/// Removes what is too old or too much, or only says what that is.
async fn remove(store: &dyn SessionStore, args: &GcArgs, context: &Context, run: Run) -> Result<Removed, Error> {
    let now = now();
    let sessions = store.prune(&retention(args, context), now, run).await?;
    let limit = millis(context.settings.behaviour.empty_session_limit);
    let empty = store.remove_empty(now.plus_millis(limit.saturating_neg()), run).await?;
    Ok(Removed { sessions, empty })
}

/// What is kept, as was typed or is set.
fn retention(args: &GcArgs, context: &Context) -> Retention {
    let settings = &context.settings.gc;
    Retention {
        max_age_millis: args.older_than.or(settings.older_than).map(millis),
        max_bytes: args.max_size.or(settings.max_size).map(|bytes| bytes as u64),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

impl Removed {
    fn is_nothing(&self) -> bool {
        self.sessions.is_empty() && self.empty == 0
    }

    /// What it is, in words.
    fn told(&self) -> String {
        let bytes = self.sessions.iter().map(|one| one.bytes).sum();
        let n_sessions = self.sessions.len() as u64;
        let sessions = format!("{} with {}", count(n_sessions, "session", "sessions"), sizes::show(bytes));
        let empty = format!("{} never prompted", count(self.empty, "session", "sessions"));
        match (n_sessions, self.empty) {
            (0, _) => empty,
            (_, 0) => sessions,
            (_, _) => format!("{sessions}, and {empty}"),
        }
    }

    fn row(&self, dry_run: bool) -> GcRow<'_> {
        let removed = self.sessions.iter().map(|Pruned { session, title, updated_at, bytes }| PrunedRow {
            session_id: session,
            title: title.as_deref(),
            updated_at: *updated_at,
            bytes: *bytes,
        });
        GcRow { dry_run, removed: removed.collect(), empty: self.empty }
    }
}

async fn write_table_of(context: &mut Context, store: &dyn SessionStore, sessions: &[Pruned]) -> Result<(), Error> {
    if sessions.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = sessions.iter().map(|one| one.session.as_str()).collect();
    let row = |(one, id): (&Pruned, &str)| {
        let title = one_line(one.title.as_deref().unwrap_or("(no title)"));
        [id.to_owned(), title, times::day(one.updated_at), sizes::show(one.bytes)]
    };
    let rows: Vec<[String; 4]> = sessions.iter().zip(short_ids(store, &ids).await?).map(row).collect();
    Ok(write_table(&mut context.out, &TABLE, &rows)?)
}
