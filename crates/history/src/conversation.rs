//! A conversation of another tool: what is known of it, and its steps.

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::rc::Rc;

use rejoin_transcript::{
    AgentInfo, AgentSession, Cwd, Retelling, Session, SessionId, Step, StepKind, Timestamp, Told, TranscriptError,
};

use crate::{HistoryError, Tool, claude_code, codex, gemini, opencode};

/// What is known of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Whose it is.
    pub tool: Tool,
    /// The tool's own id of it.
    pub id: String,
    /// The folder it is about.
    pub cwd: String,
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last used, if the file says that without being read to its end.
    pub updated_at: Option<Timestamp>,
    /// The version of the tool that began it.
    pub version: Option<String>,
    /// The title that a person gave it.
    pub title: Option<String>,
}

impl About {
    /// The session that it becomes, without entries. `resolve` makes all spellings of a folder one.
    pub fn session(&self, resolve: impl FnOnce(&str) -> Cwd) -> Session {
        let name = self.tool.name();
        let agent = AgentInfo { name: name.to_owned(), command: Vec::new(), version: self.version.clone() };
        let mut session = Session::new(session_id(name, &self.id), resolve(&self.cwd), agent, self.created_at);
        session.facts.agent_session = Some(AgentSession { id: self.id.clone(), generation: 1, lacks: 0 });
        session.facts.titles.manual.clone_from(&self.title);
        session
    }
}

/// The id under which the session `id` of `keeper`, a tool or an agent, is kept here: always the same.
pub fn session_id(keeper: &str, id: &str) -> SessionId {
    let mut hasher = blake3::Hasher::new_derive_key("rejoin session of another tool");
    hasher.update(&(keeper.len() as u64).to_be_bytes());
    hasher.update(keeper.as_bytes());
    hasher.update(id.as_bytes());
    let mut bits = [0; 16];
    hasher.finalize_xof().fill(&mut bits);
    SessionId::from_random_bits(u128::from_be_bytes(bits))
}

/// The conversations in one file.
pub type Conversations = Box<dyn Iterator<Item = Result<Conversation, HistoryError>>>;

/// The conversations of `tool` in `file`, in no order.
pub fn conversations(tool: Tool, file: &Path) -> Result<Conversations, HistoryError> {
    let one = match tool {
        Tool::ClaudeCode => claude_code::read(file),
        Tool::Codex => codex::read(file),
        Tool::Gemini => gemini::read(file),
        Tool::OpenCode => return opencode::read(file),
    };
    Ok(Box::new(std::iter::once(one)))
}

/// Tells the next few things, perhaps none; `None` at the end.
pub(crate) type Telling = Box<dyn FnMut() -> Result<Option<Vec<Told>>, HistoryError>>;

/// How much of a file could not be read, so far.
#[derive(Debug, Clone, Default)]
pub struct LeftOut(Rc<Cell<u64>>);

impl LeftOut {
    /// How many pieces.
    pub fn count(&self) -> u64 {
        self.0.get()
    }

    pub(crate) fn set(&self, count: u64) {
        self.0.set(count);
    }

    pub(crate) fn add_one(&self) {
        self.0.set(self.0.get() + 1);
    }
}

/// A conversation that is being read: an iterator over its steps.
pub struct Conversation {
    about: About,
    told: Telling,
    left_out: LeftOut,
    retelling: Option<Retelling>,
    ready: VecDeque<Step>,
}

impl Conversation {
    /// The conversation that `told` tells. Fails if nobody said anything in it.
    pub(crate) fn new(about: About, told: Telling, left_out: LeftOut) -> Result<Self, HistoryError> {
        let (retelling, ready) = (Some(Retelling::default()), VecDeque::new());
        let mut conversation = Self { about, told, left_out, retelling, ready };
        while !conversation.ready.iter().any(|step| step.kind == StepKind::Prompt) {
            if !conversation.read_on()? {
                return Err(HistoryError::NoConversation);
            }
        }
        Ok(conversation)
    }

    /// What is known of it.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What of it could not be read; to be asked when all of it was.
    pub fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }

    /// Reads until there are more steps; says whether there can be.
    fn read_on(&mut self) -> Result<bool, HistoryError> {
        let Some(retelling) = &mut self.retelling else { return Ok(false) };
        if let Some(told) = (self.told)()? {
            for told in told {
                self.ready.extend(retelling.tell(told).map_err(damaged)?);
            }
        } else {
            let last = self.retelling.take().map(Retelling::finish).transpose();
            self.ready.extend(last.map_err(damaged)?.unwrap_or_default());
        }
        Ok(true)
    }
}

impl Iterator for Conversation {
    type Item = Result<Step, HistoryError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Some(Ok(step));
            }
            match self.read_on() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    self.retelling = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// The readers make updates themselves, so this would be their mistake.
fn damaged(error: TranscriptError) -> HistoryError {
    HistoryError::Damaged(serde::de::Error::custom(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_id_for_ever_and_no_other_has_it() {
        assert_eq!(session_id("codex", "a").as_str(), session_id("codex", "a").as_str());
        assert_ne!(session_id("codex", "a"), session_id("gemini", "a"));
        assert_ne!(session_id("codex", "a"), session_id("code", "xa"));
        assert_eq!(session_id("codex", "a").as_str().len(), 32);
    }
}
