//! Which message a chunk belongs to when the agent does not say.
//!
//! Chunks without an id belong to one message while consecutive chunks of their kind in the turn are interrupted by
//! nothing but state updates (usage, commands, mode, options, info) and `tool_call_update`. The id is assigned when the
//! chunk is recorded and kept beside it, so that live and replayed chunks carry the same one.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::update::{Chunk, UpdateKind};
use crate::{Json, Turn};

/// The id of a message, unique in its session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(Box<str>);

impl MessageId {
    /// The id `id`.
    pub fn new(id: impl Into<Box<str>>) -> Self {
        Self(id.into())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Assigns ids to the chunks of one session that have none, in the order in which they come.
#[derive(Debug, Default)]
pub struct MessageIds {
    /// The message that a chunk of the same kind and turn would continue.
    open: Option<(UpdateKind, Turn, MessageId)>,
}

impl MessageIds {
    /// The id to assign to `update`, which is of this `kind` and comes in `turn`; `None` if it needs none.
    ///
    /// `new_id` is called when a message begins.
    pub fn assign(
        &mut self,
        turn: Turn,
        kind: UpdateKind,
        update: &Json,
        new_id: impl FnOnce() -> MessageId,
    ) -> Option<MessageId> {
        if kind.is_state() || kind == UpdateKind::ToolCallUpdate {
            return None;
        }
        let chunk = kind.is_chunk().then(|| Chunk::read(kind, update.as_str())).flatten();
        let Some(Chunk { message_id: None, .. }) = chunk else {
            self.open = None;
            return None;
        };
        let id = match self.open.take() {
            Some((open_kind, open_turn, id)) if open_kind == kind && open_turn == turn => id,
            _ => new_id(),
        };
        self.open = Some((kind, turn, id.clone()));
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ids assigned to `updates`, each written `TURN KIND [OWN-ID]`; `-` where none was.
    fn check(updates: &[&str], expected: &[&str]) {
        let (mut ids, mut count) = (MessageIds::default(), 0);
        let assigned: Vec<String> = updates
            .iter()
            .map(|line| {
                let mut words = line.split(' ');
                let turn = Turn::In(words.next().unwrap().parse().unwrap());
                let kind = words.next().unwrap();
                let own = words.next().map_or(String::new(), |id| format!(",\"messageId\":\"{id}\""));
                let update = format!(r#"{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"x"}}{own}}}"#);
                let new_id = || {
                    count += 1;
                    MessageId::new(count.to_string())
                };
                let update = Json::parse(update).unwrap();
                let id = ids.assign(turn, UpdateKind::of(&update).unwrap(), &update, new_id);
                id.map_or("-".to_owned(), |id| id.to_string())
            })
            .collect();
        assert_eq!(assigned, expected);
    }

    #[test]
    fn consecutive_chunks_of_a_kind_are_one_message() {
        check(
            &["1 agent_message_chunk", "1 agent_message_chunk", "1 agent_thought_chunk", "1 agent_message_chunk"],
            &["1", "1", "2", "3"],
        );
    }

    #[test]
    fn state_and_tool_progress_do_not_interrupt() {
        for kind in [
            "usage_update",
            "available_commands_update",
            "current_mode_update",
            "config_option_update",
            "session_info_update",
            "tool_call_update",
        ] {
            check(&["1 agent_message_chunk", &format!("1 {kind}"), "1 agent_message_chunk"], &["1", "-", "1"]);
        }
    }

    #[test]
    fn everything_else_interrupts() {
        for kind in
            ["tool_call", "plan", "notice", "weather_update", "user_message_chunk own", "agent_message_chunk own"]
        {
            check(&["1 agent_message_chunk", &format!("1 {kind}"), "1 agent_message_chunk"], &["1", "-", "2"]);
        }
    }

    #[test]
    fn a_new_turn_begins_a_new_message() {
        check(&["1 agent_message_chunk", "2 agent_message_chunk"], &["1", "2"]);
    }
}
