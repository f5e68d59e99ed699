//! `rejoin list`: sessions, the most recently used first.

use std::io::{self, Write};
use std::path::PathBuf;

use rejoin_store::{ArchivedFilter, ListFilter, SessionStore, resolve_cwd};
use rejoin_transcript::SessionFacts;
use serde::Serializer;
use serde::ser::SerializeSeq;

use super::{Context, OWNER, Outcome, count, short_ids, title_of};
use crate::error::Error;
use crate::money;
use crate::output::{one_line, short_path};
use crate::report;
use crate::resume::resume_command;
use crate::row::Row;
use crate::table::{Column, Fit, Side, write_table};
use crate::times;

/// How many sessions a person is shown.
const LIMIT: u32 = 50;

/// How many sessions are asked for at once.
const PAGE: u32 = 500;

/// What to do where there is no session yet.
pub(super) const FIRST_SESSION: &str =
    "begin one with `rejoin chat`, or take in those of other tools with `rejoin import --all`";

const TABLE: [Column; 7] = [
    Column { name: "ID", fit: Fit::Whole, side: Side::Left },
    Column { name: "TITLE", fit: Fit::CutEnd(20), side: Side::Left },
    Column { name: "AGENT", fit: Fit::OrLeft(4, &Fit::CutEnd(8)), side: Side::Left },
    Column { name: "FOLDER", fit: Fit::OrLeft(5, &Fit::CutStart(10)), side: Side::Left },
    Column { name: "UPDATED", fit: Fit::OrLeft(1, &Fit::Whole), side: Side::Left },
    Column { name: "MSGS", fit: Fit::OrLeft(2, &Fit::Whole), side: Side::Right },
    Column { name: "COST", fit: Fit::OrLeft(3, &Fit::Whole), side: Side::Right },
];

const RESUME_TABLE: [Column; 3] = [
    Column { name: "ID", fit: Fit::Whole, side: Side::Left },
    Column { name: "TITLE", fit: Fit::CutEnd(20), side: Side::Left },
    Column { name: "RESUME WITH", fit: Fit::Whole, side: Side::Left },
];

/// List sessions, the most recently used first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin list --cwd                   sessions of the current folder
  rejoin list --agent claude-code     sessions of one agent
  rejoin list --resume                how each goes on in its agent's own tool
  rejoin list --json                  all sessions, for a program")]
pub(crate) struct ListArgs {
    /// Only sessions that work in DIR, or in the current folder
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) cwd: Option<PathBuf>,

    /// Only sessions of the agent NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Show the archived sessions instead
    #[arg(long)]
    pub(crate) archived: bool,

    /// Show at most N sessions; 0 for all [default: 50, or all with --json]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,

    /// Show the command with which a session goes on in its agent's own tool
    #[arg(long, conflicts_with = "json")]
    pub(crate) resume: bool,

    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: ListArgs, context: &mut Context) -> Result<Outcome, Error> {
    let filter = filter(&args)?;
    let store = context.settings.open_store_to_read()?;
    let limit = limit(args.limit, LIMIT, args.json);
    if args.json {
        write_rows(context, store.as_ref(), &filter, limit).await?;
        return Ok(Outcome::Done);
    }
    let mut sessions = Vec::new();
    let has_more = visit_pages(store.as_ref(), &filter, limit, |page| {
        sessions.extend(page);
        Ok(())
    })
    .await?;
    if sessions.is_empty() {
        write_none(context, &filter)?;
    } else {
        write_sessions(context, store.as_ref(), &sessions, args.resume).await?;
        if has_more {
            write_more(context, limit)?;
        }
    }
    Ok(Outcome::Done)
}

/// How many sessions are shown if `typed` says so, else `usual`; a program gets all, unless it says how many.
pub(super) fn limit(typed: Option<u32>, usual: u32, is_for_program: bool) -> u32 {
    match typed {
        Some(0) => u32::MAX,
        Some(limit) => limit,
        None if is_for_program => u32::MAX,
        None => usual,
    }
}

/// Says that there are more sessions than the `limit` that was shown.
pub(super) fn write_more(context: &mut Context, limit: u32) -> Result<(), Error> {
    // It stands below what was shown.
    context.out.flush()?;
    let remark = format!("there are more than {}", count(limit.into(), "session", "sessions"));
    Ok(report::write_remark(&mut context.err, &remark, "show all with `--limit 0`")?)
}

fn filter(args: &ListArgs) -> Result<ListFilter, Error> {
    let cwd = match &args.cwd {
        Some(folder) => {
            let folder = std::path::absolute(folder).map_err(Error::NoCurrentFolder)?;
            Some(resolve_cwd(&folder.to_string_lossy()).canonical)
        }
        None => None,
    };
    let archived = if args.archived { ArchivedFilter::Only } else { ArchivedFilter::Exclude };
    Ok(ListFilter { owner: OWNER.to_owned(), cwd, agent: args.agent.clone(), archived })
}

/// Calls `visit` with the first `limit` sessions, page by page; returns whether there are more.
async fn visit_pages(
    store: &dyn SessionStore,
    filter: &ListFilter,
    limit: u32,
    mut visit: impl FnMut(Vec<SessionFacts>) -> Result<(), Error>,
) -> Result<bool, Error> {
    let (mut rest, mut cursor) = (limit, None);
    loop {
        let page = store.list(filter, cursor.as_ref(), rest.min(PAGE)).await?;
        rest = rest.saturating_sub(u32::try_from(page.sessions.len()).unwrap_or(u32::MAX));
        visit(page.sessions)?;
        if page.next.is_none() || rest == 0 {
            return Ok(page.next.is_some());
        }
        cursor = page.next;
    }
}

/// Writes the sessions as a JSON array, a page at a time, so that memory does not grow with their number.
async fn write_rows(
    context: &mut Context,
    store: &dyn SessionStore,
    filter: &ListFilter,
    limit: u32,
) -> Result<(), Error> {
    let mut serializer = serde_json::Serializer::pretty(&mut context.out);
    let mut rows = serializer.serialize_seq(None).map_err(io::Error::from)?;
    let write_page = |page: Vec<SessionFacts>| {
        let mut facts = page.iter();
        Ok(facts.try_for_each(|facts| rows.serialize_element(&Row::from(facts))).map_err(io::Error::from)?)
    };
    visit_pages(store, filter, limit, write_page).await?;
    rows.end().map_err(io::Error::from)?;
    Ok(context.out.write_all(b"\n")?)
}

fn write_none(context: &mut Context, filter: &ListFilter) -> Result<(), Error> {
    let is_filtered = *filter != ListFilter { owner: OWNER.to_owned(), ..ListFilter::default() };
    let (remark, hint) = if is_filtered {
        ("no session fits", "see all with `rejoin list`")
    } else {
        ("no sessions yet", FIRST_SESSION)
    };
    Ok(report::write_remark(&mut context.err, remark, hint)?)
}

async fn write_sessions(
    context: &mut Context,
    store: &dyn SessionStore,
    sessions: &[SessionFacts],
    for_resume: bool,
) -> Result<(), Error> {
    let now = rejoin_store::now();
    let home = context.settings.home.as_deref();
    let ids: Vec<&str> = sessions.iter().map(|facts| facts.session_id.as_str()).collect();
    let ids = short_ids(store, &ids).await?;
    if for_resume {
        let row = |(facts, id): (&SessionFacts, &str)| {
            [
                id.to_owned(),
                title_of(facts),
                resume_command(facts).map_or_else(String::new, |command| one_line(&command)),
            ]
        };
        let rows: Vec<[String; 3]> = sessions.iter().zip(ids).map(row).collect();
        return Ok(write_table(&mut context.out, &RESUME_TABLE, &rows)?);
    }
    let row = |(facts, id): (&SessionFacts, &str)| {
        [
            id.to_owned(),
            title_of(facts),
            one_line(&facts.agent.name),
            short_path(&facts.cwd.raw, home),
            times::ago(facts.updated_at, now).unwrap_or_else(|| times::day(facts.updated_at)),
            facts.messages.to_string(),
            facts.cost.as_ref().map(money::show).unwrap_or_default(),
        ]
    };
    let rows: Vec<[String; 7]> = sessions.iter().zip(ids).map(row).collect();
    Ok(write_table(&mut context.out, &TABLE, &rows)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_all_unless_it_says_how_many() {
        let limits = [(Some(7), false), (Some(7), true), (Some(0), false), (None, false), (None, true)];
        assert_eq!(limits.map(|(typed, json)| limit(typed, 50, json)), [7, 7, u32::MAX, 50, u32::MAX]);
    }
}
