//! Sessions and what happens in them, to measure with: the same in every run.

use rejoin_transcript::{AgentInfo, Cwd, Json, MessageId, Session, SessionId, Step, Timestamp, Turn, TurnEnd};
use serde_json::json;

use crate::Result;
use crate::texts::Texts;

/// The body of an entry is about this long, in bytes.
pub(crate) const BODY_BYTES: usize = 500;

/// The text of such an entry is this long; the rest is what an update is wrapped in.
pub(crate) const TEXT_BYTES: usize = BODY_BYTES - 95;

/// A message of the agent comes in this many chunks, unless the script is told otherwise.
const CHUNKS_OF_MESSAGE: u32 = 10;

/// When everything begins.
const BEGINNING: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// The session `number`, not prompted yet, in the folder `/work/FOLDER`.
pub(crate) fn session(number: u32, folder: u32) -> Session {
    let path = format!("/work/{folder}");
    let cwd = Cwd { raw: path.clone(), canonical: path };
    let agent = AgentInfo { name: "agent".to_owned(), command: vec!["agent".to_owned()], version: None };
    let created_at = BEGINNING.plus_millis(i64::from(number) * 1000);
    Session::new(SessionId::from_random_bits(u128::from(number) + 1), cwd, agent, created_at)
}

/// The session `number` as it is listed: with a title and a turn.
pub(crate) fn prompted_session(number: u32, folder: u32) -> Session {
    let mut session = session(number, folder);
    session.facts.titles.derived = Some(format!("Find out why test {number} fails now and then"));
    session.facts.turns = 1;
    session.facts.messages = 2;
    session
}

/// What happens in a session, step by step.
pub(crate) struct Script {
    turn: u32,
    chunks: u32,
    chunks_of_message: u32,
}

impl Default for Script {
    fn default() -> Self {
        Self { turn: 0, chunks: 0, chunks_of_message: CHUNKS_OF_MESSAGE }
    }
}

impl Script {
    /// A session in which the agent says one long message and never ends.
    pub(crate) fn of_one_message() -> Self {
        Self { chunks_of_message: u32::MAX, ..Self::default() }
    }

    /// A session in which each chunk is a message.
    pub(crate) fn of_short_messages() -> Self {
        Self { chunks_of_message: 1, ..Self::default() }
    }

    /// The prompt `text`, which begins a turn.
    pub(crate) fn prompt(&mut self, text: &str) -> Result<Step> {
        self.turn += 1;
        let blocks = Json::from_value(&json!([{ "type": "text", "text": text }]))?;
        Ok(Step::prompt(self.now(), self.turn, MessageId::new(format!("user-{}", self.turn)), blocks)?)
    }

    /// The next chunk of what the agent says.
    pub(crate) fn chunk(&mut self, text: &str) -> Result<Step> {
        let update = Json::from_value(&json!({
            "sessionUpdate": "agent_message_chunk",
            "messageId": format!("agent-{}-{}", self.turn, self.chunks / self.chunks_of_message),
            "content": { "type": "text", "text": text },
        }))?;
        self.chunks += 1;
        Ok(Step::update(self.now(), Turn::In(self.turn), update)?)
    }

    /// The end of the turn.
    pub(crate) fn turn_end(&self) -> Step {
        Step::turn_ended(self.now(), self.turn, &TurnEnd::Stopped { reason: "end_turn".to_owned() })
    }

    /// Chunks whose bodies are about [`BODY_BYTES`] long.
    pub(crate) fn chunks(&mut self, texts: &mut Texts, count: u32) -> Result<Vec<Step>> {
        (0..count).map(|_| self.chunk(&texts.text(TEXT_BYTES))).collect()
    }

    /// A turn of `entries` entries: a prompt, chunks with texts of about `bytes` bytes, the end.
    pub(crate) fn whole_turn(&mut self, texts: &mut Texts, entries: u32, bytes: usize) -> Result<Vec<Step>> {
        let mut steps = vec![self.prompt(&texts.text(bytes))?];
        for _ in 2..entries {
            steps.push(self.chunk(&texts.text(bytes))?);
        }
        steps.push(self.turn_end());
        Ok(steps)
    }

    /// A turn of a coding agent: of five entries, two say something, one thinks, and two are of a tool.
    pub(crate) fn coding_turn(&mut self, entries: u32, mut text: impl FnMut(usize) -> String) -> Result<Vec<Step>> {
        let mut steps = vec![self.prompt(&text(TEXT_BYTES))?];
        for count in 2..entries {
            let update = match count % 5 {
                0 | 1 => {
                    steps.push(self.chunk(&text(TEXT_BYTES))?);
                    continue;
                }
                2 => json!({
                    "sessionUpdate": "agent_thought_chunk",
                    "messageId": format!("thought-{}-{}", self.turn, count / 5),
                    "content": { "type": "text", "text": text(TEXT_BYTES) },
                }),
                3 => json!({
                    "sessionUpdate": "tool_call",
                    "toolCallId": format!("call-{}-{}", self.turn, count / 5),
                    "title": format!("Read src/file{count}.rs"),
                    "kind": "read",
                    "status": "in_progress",
                    "rawInput": { "path": format!("/home/me/project/src/file{count}.rs"), "note": text(TEXT_BYTES / 2) },
                }),
                _ => json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": format!("call-{}-{}", self.turn, count / 5),
                    "status": "completed",
                    "content": [{ "type": "content", "content": { "type": "text", "text": text(TEXT_BYTES) } }],
                }),
            };
            self.chunks += 1;
            steps.push(Step::update(self.now(), Turn::In(self.turn), Json::from_value(&update)?)?);
        }
        steps.push(self.turn_end());
        Ok(steps)
    }

    fn now(&self) -> Timestamp {
        BEGINNING.plus_millis(i64::from(self.turn) * 60_000 + i64::from(self.chunks) * 40)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_about_as_long_as_they_should_be() {
        let steps = Script::default().chunks(&mut Texts::new(1), 100).unwrap();
        let bytes: usize = steps.iter().map(|step| step.body.as_str().len()).sum();
        assert!((490..520).contains(&(bytes / steps.len())), "{}", bytes / steps.len());
    }
}
