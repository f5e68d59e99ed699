//! Claude Code: `projects/<folder>/<id>.jsonl`, and `session-<id>.jsonl` in older versions.
//!
//! One record a line, linked by `parentUuid`: a conversation that was taken back and went on from an earlier point has
//! branches, and only the last one counts. What a subagent said (`isSidechain`) is not part of the conversation. A
//! compaction begins a new chain, whose summary is the marker; what came before it stays.

mod chain;
mod plan;
mod said;
mod tools;

use std::path::Path;

use rejoin_transcript::Told;

use crate::blocks::{self, told};
use crate::conversation::LeftOut;
use crate::lines::Lines;
use crate::{About, Conversation, HistoryError, Tool, input};
use chain::{Chain, Place};
use said::Speaker;

/// The conversation in `file`.
pub(crate) fn read(file: &Path) -> Result<Conversation, HistoryError> {
    let chain = Chain::read(Lines::new(input::open(file)?))?;
    if !chain.has_words {
        return Err(if chain.has_subagent { HistoryError::Subagent } else { HistoryError::NoConversation });
    }
    let lacks = |what| HistoryError::Lacks { what };
    let created_at = chain.created_at.or_else(|| input::written_at(file)).ok_or(lacks("when it was"))?;
    // A conversation that goes on from another one may begin with that one's records.
    let id =
        id_of_name(file).filter(|id| is_uuid(id)).or_else(|| chain.session_id.clone()).or_else(|| id_of_name(file));
    let about = About {
        tool: Tool::ClaudeCode,
        id: id.ok_or(lacks("which session it is"))?,
        cwd: chain.cwd.clone().ok_or(lacks("in which folder it was"))?,
        created_at,
        updated_at: chain.updated_at,
        version: chain.version.clone(),
        title: chain.custom_title.clone(),
    };
    let left_out = LeftOut::default();
    left_out.set(chain.damaged);
    let mut teller = Teller {
        lines: Lines::new(input::open(file)?),
        speaker: Speaker::new(&about.cwd, created_at),
        title: chain.ai_title.clone(),
        chain,
        left_out: left_out.clone(),
    };
    Conversation::new(about, Box::new(move || teller.read_on()), left_out)
}

/// The session's id, as the file's name has it.
fn id_of_name(file: &Path) -> Option<String> {
    let stem = file.file_stem()?.to_str()?;
    Some(stem.strip_prefix("session-").unwrap_or(stem).to_owned())
}

/// Whether `text` is written as the tool writes ids.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let is_hex = groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()));
    is_hex && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
}

/// Tells the lines that are part of the conversation.
struct Teller {
    lines: Lines,
    chain: Chain,
    speaker: Speaker,
    /// The title to tell at the end.
    title: Option<String>,
    left_out: LeftOut,
}

impl Teller {
    /// What the next line tells.
    fn read_on(&mut self) -> Result<Option<Vec<Told>>, HistoryError> {
        let Some((number, text)) = self.lines.next()? else {
            let title = self.title.take();
            return Ok(title.map(|title| vec![told(self.speaker.last_at(), &blocks::title(&title))]));
        };
        let place = self.chain.place(number);
        let is_part = match place {
            Place::Inside => true,
            Place::Beside => text.contains("\"tool_result\""),
            Place::Outside => false,
        };
        if !is_part {
            return Ok(Some(Vec::new()));
        }
        let Ok(record) = serde_json::from_str(text) else {
            self.left_out.add_one();
            return Ok(Some(Vec::new()));
        };
        Ok(Some(self.speaker.speak(&record, place)))
    }
}
