//! Takes in the sessions of one file.

use std::path::Path;

use futures::stream;
use rejoin_history::{Content, Conversation, HistoryError, Tool, conversations, recognise};
use rejoin_store::{Likeness, SessionStore, Taken, resolve_cwd, take_in};
use rejoin_transcript::export::{ReadError, Reader};
use rejoin_transcript::{Fact, Session, SessionId, Timestamp, TranscriptError};

use super::find::Candidate;
use super::known::Known;
use super::{Imported, Origin};
use crate::commands::OWNER;
use crate::error::Error;

/// Takes in files, one after the other.
pub(super) struct Taker<'a> {
    store: &'a dyn SessionStore,
    since: Option<Timestamp>,
    /// Read when it is first needed.
    known: Option<Known>,
}

impl<'a> Taker<'a> {
    /// Takes into `store` what was used since `since`.
    pub(super) fn new(store: &'a dyn SessionStore, since: Option<Timestamp>) -> Self {
        Self { store, since, known: None }
    }

    /// Takes in what is in `candidate`, if it is of `tool`; gives what became of each session in it.
    pub(super) async fn take(&mut self, candidate: &Candidate, tool: Option<Tool>) -> Vec<Result<Imported, Error>> {
        let name = candidate.name();
        if candidate.origin == Origin::Found && self.is_older(&candidate.path) {
            return Vec::new();
        }
        let content = match recognise(&candidate.path) {
            Ok(content) => content,
            Err(source) => return vec![Err(Error::CannotRead { file: name, source })],
        };
        match (content, candidate.tool.or(tool)) {
            (Some(Content::Export), None) => vec![self.take_export(&candidate.path, &name).await],
            (Some(Content::History(found)), None) => self.take_history(found, candidate).await,
            (Some(Content::History(found)), Some(tool)) if found == tool => self.take_history(found, candidate).await,
            // What just lies in a folder that was named need not be what was asked for, or ours to read.
            (Some(_), _) if candidate.origin == Origin::Found && candidate.tool.is_none() => Vec::new(),
            (None, _) if candidate.origin == Origin::Found && !is_surely_meant(candidate) => Vec::new(),
            (_, Some(tool)) => vec![Err(Error::NotAHistory { file: name, tool })],
            (_, None) => {
                let source = TranscriptError::NotAnExport;
                vec![Err(Error::NotATranscript { file: name, source })]
            }
        }
    }

    /// Whether nothing was written to `file` in the time that is asked for. A database has its news elsewhere.
    fn is_older(&self, file: &Path) -> bool {
        let Some(since) = self.since.filter(|_| file.extension().is_none_or(|end| end != "db")) else { return false };
        let written = std::fs::metadata(file).and_then(|about| about.modified()).ok();
        let written = written.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        written.is_some_and(|at| i64::try_from(at.as_millis()).is_ok_and(|at| at < since.as_millis()))
    }

    fn is_too_old(&self, conversation: &Conversation) -> bool {
        let updated_at = conversation.about().updated_at;
        self.since.is_some_and(|since| updated_at.is_some_and(|at| at < since))
    }

    async fn take_export(&self, file: &Path, name: &str) -> Result<Imported, Error> {
        let input = std::fs::File::open(file).map_err(|source| Error::CannotRead { file: name.to_owned(), source })?;
        let in_file = |error| match error {
            ReadError::Io(source) => Error::CannotRead { file: name.to_owned(), source },
            ReadError::Content(source) => Error::NotATranscript { file: name.to_owned(), source },
        };
        let (mut told, mut reader) =
            Reader::open(std::io::BufReader::with_capacity(256 * 1024, input)).map_err(in_file)?;
        OWNER.clone_into(&mut told.facts.owner);
        let steps = std::iter::from_fn(|| reader.next_entry().transpose());
        let steps = steps.map(|entry| entry.map(|entry| entry.step).map_err(in_file));
        let taken = take_in(self.store, &told, Likeness::Exact, stream::iter(steps)).await?;
        if taken != Taken::Nothing {
            self.store.tell(&told.facts.session_id, facts_to_restore(&told)).await?;
        }
        self.imported(told.facts.session_id, taken, 0).await
    }

    async fn take_history(&mut self, tool: Tool, candidate: &Candidate) -> Vec<Result<Imported, Error>> {
        let name = candidate.name();
        let failed = |source| Error::BadHistory { file: name.clone(), source };
        let all = match conversations(tool, &candidate.path) {
            Ok(all) => all,
            Err(error) => return vec![Err(failed(error))],
        };
        let mut results = Vec::new();
        for conversation in all {
            match conversation {
                Ok(conversation) if self.is_too_old(&conversation) => {}
                Ok(conversation) => results.push(self.take_conversation(conversation, &name).await),
                // A database may hold any number of sessions that were never used.
                Err(HistoryError::NoConversation) if tool == Tool::OpenCode => {}
                // What a subagent said is told by the conversation that it was asked in.
                Err(HistoryError::Subagent) if candidate.origin == Origin::Found => {}
                Err(error) => results.push(Err(failed(error))),
            }
        }
        results
    }

    async fn take_conversation(&mut self, conversation: Conversation, name: &str) -> Result<Imported, Error> {
        let about = conversation.about().clone();
        let mut session = about.session(resolve_cwd);
        OWNER.clone_into(&mut session.facts.owner);
        let known = match &mut self.known {
            Some(known) => known,
            none => none.insert(Known::read(self.store).await?),
        };
        if let Some(other) = known.session(&about).filter(|id| **id != session.facts.session_id).cloned() {
            return self.imported(other, Taken::Nothing, 0).await;
        }
        let left_out = conversation.left_out();
        let steps = conversation.map(|step| step.map_err(|source| Error::BadHistory { file: name.to_owned(), source }));
        let taken = take_in(self.store, &session, Likeness::Retold, stream::iter(steps)).await?;
        self.imported(session.facts.session_id, taken, left_out.count()).await
    }

    async fn imported(&self, session_id: SessionId, taken: Taken, left_out: u64) -> Result<Imported, Error> {
        let title = self.store.session(&session_id).await?.facts.title().map(str::to_owned);
        Ok(Imported { session_id, title, taken, left_out })
    }
}

/// Whether the name of `candidate` says that it is a record of something.
fn is_surely_meant(candidate: &Candidate) -> bool {
    let name = candidate.path.to_string_lossy();
    candidate.tool.is_some() || name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

/// The facts that entries tell, but others may have told since: the latest word on them is the header's.
fn facts_to_restore(told: &Session) -> Vec<Fact> {
    let settings = told.settings.clone();
    vec![Fact::ConfigOptions(settings.config_options), Fact::AvailableCommands(settings.available_commands)]
}
