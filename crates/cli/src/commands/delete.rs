//! `rejoin delete`: sessions are gone from the store, and from their agents if these can be asked.

mod copies;

use futures::{FutureExt, StreamExt, stream};
use rejoin_transcript::SessionFacts;

use self::copies::Copies;
use super::{Context, Outcome, count, find_all, title_of, write_done};
use crate::ask::{Consent, is_wanted};
use crate::error::Error;
use crate::report;

/// How many sessions are deleted at once: the files are cleaned once for all of them.
const AT_ONCE: usize = 32;

/// Delete sessions for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing of them stays in the store's files; what a fork of them needs stays with the fork. A session whose turn is \
running is not deleted.

Agents keep copies of their own. An agent that the configuration names, or whose COMMAND is given, is started and asked \
to delete its copies, if it can. Which stay is said.

Examples:
  rejoin delete 0c5f2a91
  rejoin delete 0c5f2a91 5e7d0c41 --yes
  rejoin delete 0c5f2a91 -- claude-agent-acp")]
pub(crate) struct DeleteArgs {
    /// The sessions' ids, or beginnings of them that no other ids have
    #[arg(value_name = "ID", required = true)]
    pub(crate) ids: Vec<String>,

    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,

    /// The command that starts the sessions' agent, and its arguments, if the configuration does not name it
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

pub(super) async fn run(args: DeleteArgs, context: &mut Context) -> Result<Outcome, Error> {
    let consent = Consent::from_flag(args.yes);
    let store = context.settings.open_store_to_change()?;
    let sessions = find_all(store.as_ref(), &args.ids).await?;
    consent.check()?;
    if consent == Consent::ToBeAsked && !is_wanted(&mut context.err, &question(&sessions))? {
        return Ok(Outcome::NotWanted);
    }
    let (mut copies, mut outcome) = (Copies::default(), Outcome::Done);
    let deleted = stream::iter(&sessions).map(|facts| store.delete(&facts.session_id).map(move |done| (facts, done)));
    let mut deleted = deleted.buffered(AT_ONCE);
    while let Some((facts, done)) = deleted.next().await {
        match done {
            Ok(()) => {
                copies.note(facts);
                write_done(&mut context.out, "deleted", facts)?;
            }
            Err(error) => {
                report::write_error(&mut context.err, &error.into())?;
                outcome = Outcome::FoundProblems;
            }
        }
    }
    copies.delete(args.command, context).await?;
    Ok(outcome)
}

fn question(sessions: &[SessionFacts]) -> String {
    let messages = |facts: &SessionFacts| count(facts.messages.into(), "message", "messages");
    match sessions {
        [one] => format!("Delete {} ({}; {}) for good?", one.session_id, title_of(one), messages(one)),
        several => {
            let line = |one: &SessionFacts| format!("{}  {}\n", one.session_id, title_of(one));
            let lines: String = several.iter().map(line).collect();
            format!("{lines}Delete these {} sessions for good?", several.len())
        }
    }
}
