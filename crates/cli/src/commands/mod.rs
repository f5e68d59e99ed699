//! The commands: one file each.

pub(crate) mod acp;
pub(crate) mod adopt;
pub(crate) mod agents;
pub(crate) mod archive;
pub(crate) mod chat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod delete;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod gc;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod rename;
pub(crate) mod search;
pub(crate) mod setup;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod verify;

use std::collections::BTreeSet;
use std::io::{self, Write};

use rejoin_store::{SessionStore, StoreError};
use rejoin_transcript::SessionFacts;

use crate::args::Command;
use crate::error::Error;
use crate::output::{Output, one_line};
use crate::settings::Settings;
use crate::trace::Trace;

/// The owner of the sessions of the person at the machine.
const OWNER: &str = "";

/// How many characters of an id are shown where that is enough to tell it from the others.
const SHORT_ID: usize = 8;

/// What a command runs with.
pub(crate) struct Context {
    /// The settings.
    pub(crate) settings: Settings,
    /// Where the traffic is written.
    pub(crate) trace: Option<Trace>,
    /// Standard output.
    pub(crate) out: Output,
    /// Standard error.
    pub(crate) err: Box<dyn Write>,
}

/// How a command ended that did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// There is nothing more to say.
    Done,
    /// It found, and told, something that a person should look at.
    FoundProblems,
    /// It found, and told, something that the agent does wrong.
    AgentFailed,
    /// It asked, and the person did not want it.
    NotWanted,
}

/// Runs `command`, or what there is without one.
pub(crate) async fn run(command: Option<Command>, context: &mut Context) -> Result<Outcome, Error> {
    let Some(command) = command else { return chat::run_without_command(context).await };
    match command {
        Command::Acp(args) => acp::run(args, context).await,
        Command::Chat(args) => chat::run(args, context).await,
        Command::List(args) => list::run(args, context).await,
        Command::Show(args) => show::run(args, context).await,
        Command::Search(args) => search::run(args, context).await,
        Command::Fork(args) => fork::run(args, context).await,
        Command::Rename(args) => rename::run(args, context).await,
        Command::Archive(args) => archive::archive(args, context).await,
        Command::Unarchive(args) => archive::unarchive(args, context).await,
        Command::Delete(args) => delete::run(args, context).await,
        Command::Export(args) => export::run(args, context).await,
        Command::Import(args) => import::run(args, context).await,
        Command::Adopt(args) => adopt::run(args, context).await,
        Command::Stats(args) => stats::run(args, context).await,
        Command::Gc(args) => gc::run(args, context).await,
        Command::Verify(args) => verify::run(args, context).await,
        Command::Check(args) => check::run(args, context).await,
        Command::Agents(args) => agents::run(&args, context),
        Command::Setup(args) => setup::run(args, context),
        Command::Doctor(args) => doctor::run(args, context).await,
        Command::Config(args) => config::run(&args, context),
        Command::Completions(args) => completions::run(&args, &mut context.out),
        Command::Man(args) => man::run(&args, &mut context.out),
    }
}

/// What is known of each of the sessions that `ids` mean, each once; fails, before anything was done, if one means none.
async fn find_all(store: &dyn SessionStore, ids: &[String]) -> Result<Vec<SessionFacts>, Error> {
    let (mut sessions, mut found) = (Vec::new(), BTreeSet::new());
    for id in ids {
        let id = store.resolve(OWNER, id).await?;
        if found.insert(id.clone()) {
            sessions.push(store.session(&id).await?.facts);
        }
    }
    Ok(sessions)
}

/// Tells that something was `done` with a session.
fn write_done(out: &mut Output, done: &str, facts: &SessionFacts) -> io::Result<()> {
    writeln!(out, "{done} {}  {}", facts.session_id, title_of(facts))
}

/// The title of a session, on one line.
fn title_of(facts: &SessionFacts) -> String {
    one_line(facts.title().unwrap_or("(no title)"))
}

/// Each of `ids`, shortened as far as it still means one session of `store`.
async fn short_ids<'a>(store: &dyn SessionStore, ids: &[&'a str]) -> Result<Vec<&'a str>, StoreError> {
    let mut length = shortest(ids);
    for id in ids {
        while prefix(id, length) != *id && is_ambiguous(store, prefix(id, length)).await? {
            length += 1;
        }
    }
    Ok(ids.iter().map(|id| prefix(id, length)).collect())
}

/// How long beginnings of `ids` must be to tell them apart.
fn shortest(ids: &[&str]) -> usize {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |pair: &[&str]| pair[0].chars().zip(pair[1].chars()).take_while(|(a, b)| a == b).count();
    sorted.windows(2).map(|pair| shared(pair) + 1).fold(SHORT_ID, usize::max)
}

fn prefix(id: &str, length: usize) -> &str {
    id.char_indices().nth(length).map_or(id, |(end, _)| &id[..end])
}

/// Whether several sessions of `store` begin with `prefix`, and none is called so.
async fn is_ambiguous(store: &dyn SessionStore, prefix: &str) -> Result<bool, StoreError> {
    match store.resolve(OWNER, prefix).await {
        Ok(_) | Err(StoreError::SessionNotFound { .. }) => Ok(false),
        Err(StoreError::AmbiguousPrefix { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// `count` things, in words.
pub(crate) fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use rejoin_store::MemoryStore;
    use rejoin_transcript::{AgentInfo, Cwd, Session, SessionId, Timestamp};

    use super::*;

    #[tokio::test]
    async fn short_ids_are_as_long_as_needed_to_tell_them_from_all_others() {
        let store = MemoryStore::default();
        for id in ["0123456789", "abcdefgh-1-x", "abcdefgh-1-y", "abcdefgh-2"] {
            let cwd = Cwd { raw: "/".to_owned(), canonical: "/".to_owned() };
            let id = SessionId::parse(id).unwrap();
            store.create(Session::new(id, cwd, AgentInfo::default(), Timestamp::from_millis(0))).await.unwrap();
        }
        let short = async |ids: &[&'static str]| short_ids(&store, ids).await.unwrap();
        assert_eq!(short(&["0123456789", "gone"]).await, ["01234567", "gone"]);
        assert_eq!(short(&["0123456789", "0123456777"]).await, ["012345678", "012345677"]);
        assert_eq!(short(&["abcdefgh-2", "0123456789"]).await, ["abcdefgh-2", "0123456789"]);
        assert_eq!(short(&["abcdefgh-1-x"]).await, ["abcdefgh-1-x"]);
    }
}
