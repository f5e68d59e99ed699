//! `rejoin show`: one session, for people, for programs, or as it is stored.
//!
//! Whatever the form, it is written while it is read: a long session takes no more memory than one turn of it.

mod turns;

use std::io::Write;

use futures::TryStreamExt;
use rejoin_store::{ReplayPlace, SessionStore, entries, replay_pages};
use rejoin_transcript::json::Members;
use rejoin_transcript::{Entry, EntryNumber, SessionFacts, SessionId, Turn, export};

use super::{Context, OWNER, Outcome, count};
use crate::error::Error;
use crate::output::{BOLD, DIM, one_line, short_path};
use crate::row::Row;
use crate::times;
use turns::Transcript;

/// Show a conversation
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin show 0c5f2a91                a session, by the beginning of its id
  rejoin show 0c5f2a91 --tail 1       its last turn
  rejoin show 0c5f2a91 | less         page by page
  rejoin show 0c5f2a91 --json         what a client gets when it loads the session")]
pub(crate) struct ShowArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Show only the last N turns
    #[arg(long, value_name = "N", conflicts_with = "json")]
    pub(crate) tail: Option<u32>,

    /// Write a JSON object with the updates that a load replays
    #[arg(long, conflicts_with = "raw")]
    pub(crate) json: bool,

    /// Write the stored entries, as `export` does
    #[arg(long)]
    pub(crate) raw: bool,
}

pub(super) async fn run(args: ShowArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_read()?;
    let id = store.resolve(OWNER, &args.id).await?;
    let facts = store.session(&id).await?.facts;
    if args.json {
        write_json(context, store.as_ref(), &facts).await?;
        return Ok(Outcome::Done);
    }
    let first_turn = args.tail.map_or(0, |tail| facts.turns.saturating_sub(tail).saturating_add(1));
    if args.raw {
        write_raw(context, store.as_ref(), &id, first_turn).await?;
    } else {
        write_header(context, &facts)?;
        write_turns(context, store.as_ref(), &facts, first_turn).await?;
    }
    Ok(Outcome::Done)
}

/// Writes the session's row with what a load replays.
async fn write_json(context: &mut Context, store: &dyn SessionStore, facts: &SessionFacts) -> Result<(), Error> {
    let out = &mut context.out;
    let row = serde_json::to_string(&Row::from(facts)).map_err(std::io::Error::from)?;
    write!(out, "{},\"updates\":[", row.strip_suffix('}').unwrap_or(&row))?;
    let pages = replay_pages(store, &facts.session_id, ReplayPlace::all());
    futures::pin_mut!(pages);
    let mut between = "\n";
    while let Some(page) = pages.try_next().await? {
        for params in page.lines() {
            let Some(update) = Members::read(params).and_then(|params| params.get("update")) else { continue };
            write!(out, "{between}{update}")?;
            between = ",\n";
        }
    }
    writeln!(out, "]}}")?;
    Ok(())
}

async fn write_raw(
    context: &mut Context,
    store: &dyn SessionStore,
    id: &SessionId,
    first_turn: u32,
) -> Result<(), Error> {
    let entries = entries(store, id, EntryNumber::START);
    futures::pin_mut!(entries);
    while let Some(entry) = entries.try_next().await? {
        if turn_number(&entry) >= first_turn {
            export::write_entry(&mut context.out, &entry)?;
        }
    }
    Ok(())
}

fn write_header(context: &mut Context, facts: &SessionFacts) -> Result<(), Error> {
    let now = rejoin_store::now();
    let time = |at| match times::ago(at, now) {
        Some(ago) => format!("{} ({ago})", times::minute(at)),
        None => times::minute(at),
    };
    let agent = match &facts.agent.version {
        Some(version) => format!("{} {version}", facts.agent.name),
        None => facts.agent.name.clone(),
    };
    let messages = format!("{} in {}", facts.messages, count(facts.turns.into(), "turn", "turns"));
    let mut lines = vec![
        ("session", facts.session_id.to_string()),
        ("agent", one_line(&agent)),
        ("folder", short_path(&facts.cwd.raw, context.settings.home.as_deref())),
        ("created", time(facts.created_at)),
        ("updated", time(facts.updated_at)),
        ("messages", messages),
    ];
    lines.extend(facts.cost.as_ref().map(|cost| ("cost", format!("{:.2} {}", cost.amount, one_line(&cost.currency)))));
    lines.extend(facts.parent.as_ref().map(|parent| ("fork of", parent.session_id.to_string())));
    lines.extend(facts.archived.then(|| ("archived", "yes".to_owned())));

    let out = &mut context.out;
    let title = out.paint(BOLD, &format!("# {}", one_line(facts.title().unwrap_or("(no title)"))));
    writeln!(out, "{title}\n")?;
    for (name, value) in lines {
        let name = out.paint(DIM, &format!("{name:<8}"));
        writeln!(out, "{name}  {value}")?;
    }
    Ok(())
}

async fn write_turns(
    context: &mut Context,
    store: &dyn SessionStore,
    facts: &SessionFacts,
    first_turn: u32,
) -> Result<(), Error> {
    let mut transcript = Transcript::new(facts);
    let entries = entries(store, &facts.session_id, EntryNumber::START);
    futures::pin_mut!(entries);
    while let Some(entry) = entries.try_next().await? {
        if turn_number(&entry) >= first_turn {
            transcript.push(&mut context.out, &entry)?;
        }
    }
    Ok(transcript.finish(&mut context.out)?)
}

/// The turn that an entry belongs to, or comes after.
fn turn_number(entry: &Entry) -> u32 {
    match entry.step.turn {
        Turn::In(number) | Turn::After(number) => number,
    }
}
