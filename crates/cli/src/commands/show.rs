//! `rejoin show`: one session, for people, for programs, or as it is stored.
//!
//! Whatever the form, it is written while it is read: a long session takes no more memory than one turn of it.

use std::io::Write;

use futures::TryStreamExt;
use rejoin_store::{ReplayPlace, SessionStore, StoreError, entries, replay_pages};
use rejoin_transcript::json::Members;
use rejoin_transcript::{EntryNumber, SessionFacts, SessionId, export};

use super::{Context, OWNER, Outcome};
use crate::conversation::{Conversation, Detail, Markdown};
use crate::error::Error;
use crate::pager::Pager;
use crate::row::Row;

/// How wide a line may be that is shortened to be one, where there is no terminal to say so.
const LINE: usize = 100;

/// Show a conversation
#[derive(Debug, clap::Args)]
#[command(after_help = "\
At a terminal it is shown by the pager: that of REJOIN_PAGER, else of PAGER, else `less`.

Examples:
  rejoin show 0c5f2a91                a session, by the beginning of its id
  rejoin show 0c5f2a91 --tail 1       its last turn
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

    /// Do not use a pager
    #[arg(long)]
    pub(crate) no_pager: bool,
}

pub(super) async fn run(args: ShowArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_read()?;
    let id = store.resolve(OWNER, &args.id).await?;
    let facts = store.session(&id).await?.facts;
    if context.out.is_terminal() && !args.no_pager {
        let settings = &context.settings;
        if let Some(pager) = Pager::start(settings.pager_command(), settings.less.as_deref())? {
            context.out.page_through(pager)?;
        }
    }
    if args.json {
        write_json(context, store.as_ref(), &facts).await?;
        return Ok(Outcome::Done);
    }
    let after = match args.tail {
        Some(tail) => before_turn(store.as_ref(), &id, facts.turns.saturating_sub(tail).saturating_add(1)).await?,
        None => EntryNumber::START,
    };
    if args.raw {
        write_raw(context, store.as_ref(), &id, after).await?;
    } else {
        write_conversation(context, store.as_ref(), &facts, after).await?;
    }
    Ok(Outcome::Done)
}

/// The last entry before the turn `turn`. Takes a few pages of the session, however long it is.
async fn before_turn(store: &dyn SessionStore, id: &SessionId, turn: u32) -> Result<EntryNumber, StoreError> {
    // The turn begins behind `after`, and not behind `upto`.
    let (mut after, mut upto) = (EntryNumber::START, store.head(id).await?);
    loop {
        let middle = EntryNumber::new(after.get().midpoint(upto.get()));
        let page = store.read(id, middle).await?;
        match page.iter().position(|entry| entry.step.turn.number() >= turn) {
            // The first of the page may have others of the turn before it.
            Some(0) if middle > after => upto = middle,
            Some(index) => return Ok(EntryNumber::new(page[index].number.get() - 1)),
            None => match page.last() {
                Some(last) if last.number < upto => after = last.number,
                Some(_) | None => return Ok(upto),
            },
        }
    }
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
    after: EntryNumber,
) -> Result<(), Error> {
    let entries = entries(store, id, after);
    futures::pin_mut!(entries);
    while let Some(entry) = entries.try_next().await? {
        export::write_entry(&mut context.out, &entry)?;
    }
    Ok(())
}

async fn write_conversation(
    context: &mut Context,
    store: &dyn SessionStore,
    facts: &SessionFacts,
    after: EntryNumber,
) -> Result<(), Error> {
    let out = &mut context.out;
    let detail = Detail::Short(out.width().unwrap_or(LINE));
    let form = Markdown::new(detail, out.painter(), context.settings.home.as_deref());
    let mut conversation = Conversation::begin(form, out, facts)?;
    let entries = entries(store, &facts.session_id, after);
    futures::pin_mut!(entries);
    while let Some(entry) = entries.try_next().await? {
        conversation.push(out, &entry)?;
    }
    Ok(conversation.end(out)?)
}

#[cfg(test)]
mod tests {
    use rejoin_store::{MemoryStore, Owner};
    use rejoin_transcript::{AgentInfo, Cwd, Json, LayerKind, Session, Step, Timestamp, Turn};

    use super::*;

    /// Where turns begin in a session of turns of these lengths, the entries before the first included.
    async fn check(lengths: &[usize]) {
        let (store, at) = (MemoryStore::default(), Timestamp::from_millis(0));
        let cwd = Cwd { raw: "/".to_owned(), canonical: "/".to_owned() };
        let id = SessionId::parse("s").unwrap();
        store.create(Session::new(id.clone(), cwd, AgentInfo::default(), at)).await.unwrap();
        let lease = store.acquire(&id, &Owner::this_process()).await.unwrap();
        let step = |turn| Step::of_layer(at, Turn::After(turn), LayerKind::StateSet, Json::parse("{}").unwrap());
        let steps = (0..).zip(lengths).flat_map(|(turn, length)| vec![step(turn); *length]).collect();
        store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();

        for turn in 0..=lengths.len() {
            let before = before_turn(&store, &id, u32::try_from(turn).unwrap()).await.unwrap();
            let expected: usize = lengths[..turn].iter().sum();
            assert_eq!(before.get() as usize, expected, "turn {turn} of {lengths:?}");
        }
    }

    #[tokio::test]
    async fn a_turn_is_found_wherever_it_begins() {
        for lengths in [&[][..], &[3], &[0, 1], &[0, 250], &[250, 1], &[1, 1, 1, 300, 1, 500], &[0, 100, 100, 100]] {
            check(lengths).await;
        }
    }
}
