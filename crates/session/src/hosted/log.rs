//! What was said in an open session: the record that it was opened with, and all since.
//!
//! What a turn says is folded into the conversation once, when the next turn begins. So a turn costs what is new, however much
//! was said before it, and its history is lent to it and not copied.

use std::sync::{Arc, Mutex};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use rejoin_store::new_session_id;
use serde_json::Value;

use super::Past;
use super::history::Fold;
use crate::lock::lock;

#[derive(Default)]
pub(super) struct Log(Mutex<Updates>);

#[derive(Default)]
struct Updates {
    folded: Fold,
    /// How much was said before the turn that runs, or ran last.
    before: usize,
    /// What came since, in order.
    new: Vec<SessionUpdate>,
}

impl Log {
    /// The log of a session that was opened with `record`, as an array of updates.
    pub(super) fn of(record: Option<Value>) -> Self {
        let Some(Value::Array(record)) = record else { return Self::default() };
        // One that the schema does not know says nothing to an agent that is written with it.
        let new = record.into_iter().filter_map(|update| serde_json::from_value(update).ok()).collect();
        Self(Mutex::new(Updates { new, ..Updates::default() }))
    }

    pub(super) fn push(&self, update: SessionUpdate) {
        lock(&self.0).new.push(update);
    }

    /// The conversation so far.
    pub(super) fn so_far(&self) -> Arc<Vec<Past>> {
        lock(&self.0).fold()
    }

    /// Begins a turn with `prompt`, and gives the conversation before it.
    pub(super) fn begin_turn(&self, prompt: &[ContentBlock]) -> Arc<Vec<Past>> {
        let mut updates = lock(&self.0);
        let before = updates.fold();
        updates.before = before.len();
        // The blocks are one message, and not one with the prompt before if that had no answer.
        let id = MessageId::new(new_session_id().as_str());
        let chunk = |block: &ContentBlock| ContentChunk::new(block.clone()).message_id(id.clone());
        updates.new.extend(prompt.iter().map(chunk).map(SessionUpdate::UserMessageChunk));
        before
    }

    /// The turn was cut short: its calls that have not ended have failed, as they have in the record.
    pub(super) fn cut_short(&self) {
        let mut updates = lock(&self.0);
        let past = updates.fold();
        let failed = past.iter().skip(updates.before).filter_map(|past| match past {
            Past::ToolCall(call) if !matches!(call.status, ToolCallStatus::Completed | ToolCallStatus::Failed) => {
                let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
                Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.tool_call_id.clone(), fields)))
            }
            _ => None,
        });
        updates.new.extend(failed);
    }
}

impl Updates {
    fn fold(&mut self) -> Arc<Vec<Past>> {
        for update in self.new.drain(..) {
            self.folded.push(update);
        }
        self.folded.past()
    }
}

#[cfg(test)]
mod tests {
    use agent_client_protocol_schema::v1::TextContent;
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Vec<ContentBlock> {
        vec![ContentBlock::Text(TextContent::new(text))]
    }

    fn chunk(kind: &str, id: Option<&str>, text: &str) -> Value {
        json!({ "sessionUpdate": kind, "messageId": id, "content": { "type": "text", "text": text } })
    }

    fn said(text: &str) -> SessionUpdate {
        serde_json::from_value(chunk("agent_message_chunk", None, text)).unwrap()
    }

    fn past_of(record: Value) -> Vec<Past> {
        Log::of(Some(record)).so_far().to_vec()
    }

    #[test]
    fn chunks_of_one_message_are_one_and_tool_calls_are_as_they_ended() {
        let past = past_of(json!([
            chunk("user_message_chunk", Some("1"), "do"),
            chunk("user_message_chunk", Some("1"), "it"),
            chunk("agent_message_chunk", Some("2"), "I "),
            chunk("agent_message_chunk", Some("2"), "will"),
            { "sessionUpdate": "tool_call", "toolCallId": "c", "title": "Write", "status": "pending" },
            { "sessionUpdate": "plan", "entries": [] },
            { "sessionUpdate": "from_the_future" },
            { "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "failed" },
            chunk("agent_message_chunk", Some("3"), "done"),
        ]));
        let Past::ToolCall(call) = &past[2] else { panic!("{past:?}") };
        assert_eq!((call.title.as_str(), serde_json::to_value(call.status).unwrap()), ("Write", "failed".into()));
        let said = [past[0].clone(), past[1].clone(), past[3].clone()];
        let user = [text("do"), text("it")].concat();
        assert_eq!(said, [Past::User(user), Past::Agent(text("I will")), Past::Agent(text("done"))]);
        assert_eq!(past.len(), 4);
    }

    #[test]
    fn what_the_agent_kept_comes_back_and_what_the_layer_said_does_not() {
        let mut kept = chunk("agent_thought_chunk", None, "");
        kept["_meta"] = json!({ "rejoin": { "private": true, "kept": { "signature": "s" } } });
        let mut notice = chunk("agent_message_chunk", None, "rebuilt");
        notice["_meta"] = json!({ "rejoin": { "notice": true } });
        assert_eq!(past_of(json!([kept, notice])), [Past::Kept(json!({ "signature": "s" }))]);
    }

    #[test]
    fn the_history_of_a_turn_stays_what_was_before_it() {
        let log = Log::of(Some(json!([chunk("agent_message_chunk", None, "long ago")])));
        let before = log.begin_turn(&text("one"));
        log.push(said("an "));
        let during = log.so_far();
        log.push(said("answer"));

        let after = log.begin_turn(&text("two"));

        let long_ago = Past::Agent(text("long ago"));
        let one = [long_ago.clone(), Past::User(text("one"))];
        assert_eq!(*before, [long_ago]);
        assert_eq!(*during, [&one[..], &[Past::Agent(text("an "))]].concat());
        assert_eq!(*after, [&one[..], &[Past::Agent(text("an answer"))]].concat());
    }

    #[test]
    fn what_nobody_looks_at_any_more_is_not_copied() {
        let log = Log::default();
        let place = |log: &Log| Arc::as_ptr(&log.so_far());
        drop(log.begin_turn(&text("one")));
        let before = place(&log);
        log.push(said("an answer"));
        assert_eq!(place(&log), before);
    }

    #[test]
    fn calls_of_a_turn_that_was_cut_short_have_failed() {
        let call = |id: &str, status: &str| {
            let call = json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": id, "status": status });
            serde_json::from_value::<SessionUpdate>(call).unwrap()
        };
        let log = Log::default();
        log.begin_turn(&text("one"));
        log.push(call("earlier", "pending"));
        log.begin_turn(&text("two"));
        for (id, status) in [("done", "completed"), ("open", "in_progress")] {
            log.push(call(id, status));
        }
        log.cut_short();
        let states = log
            .so_far()
            .iter()
            .filter_map(|past| match past {
                Past::ToolCall(call) => Some((call.title.clone(), call.status)),
                _ => None,
            })
            .collect::<Vec<_>>();
        let expected = [
            ("earlier", ToolCallStatus::Pending),
            ("done", ToolCallStatus::Completed),
            ("open", ToolCallStatus::Failed),
        ];
        assert_eq!(states, expected.map(|(id, status)| (id.to_owned(), status)));
    }

    #[test]
    fn a_prompt_without_an_answer_is_not_one_with_the_next() {
        let log = Log::default();
        log.begin_turn(&text("one"));
        log.begin_turn(&[text("two"), text("three")].concat());
        let two = [text("two"), text("three")].concat();
        assert_eq!(*log.so_far(), [Past::User(text("one")), Past::User(two)]);
    }
}
