//! History: updates → what an agent needs to know of the conversation.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, Meta, SessionUpdate, TextContent, ToolCall, ToolCallUpdate,
};
use rejoin_transcript::Json;
use serde_json::Value;

/// One thing of the conversation so far.
#[derive(Debug, Clone, PartialEq)]
pub enum Past {
    /// What the user said.
    User(Vec<ContentBlock>),
    /// What the agent said.
    Agent(Vec<ContentBlock>),
    /// What the agent thought.
    Thought(Vec<ContentBlock>),
    /// A tool call, in its latest state.
    ToolCall(Box<ToolCall>),
    /// What the agent kept for itself, by [`Turn::keep`](super::Turn::keep).
    Kept(Value),
}

/// What the agent needs to know of `updates`, in order. What is neither said nor done, such as plans, is left out.
pub(super) fn history(updates: &[Json]) -> Vec<Past> {
    let mut fold = Fold::default();
    for update in updates {
        // One that the schema does not know says nothing to an agent that is written with it.
        if let Ok(update) = serde_json::from_str(update.as_str()) {
            fold.push(update);
        }
    }
    fold.past
}

#[derive(Default)]
struct Fold {
    past: Vec<Past>,
    /// The id of the message that came last.
    message: Option<String>,
    calls: HashMap<String, usize>,
}

impl Fold {
    fn push(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::UserMessageChunk(chunk) => self.push_chunk(chunk, Past::User),
            SessionUpdate::AgentMessageChunk(chunk) => self.push_chunk(chunk, Past::Agent),
            SessionUpdate::AgentThoughtChunk(chunk) => self.push_chunk(chunk, Past::Thought),
            SessionUpdate::ToolCall(call) => {
                self.calls.insert(call.tool_call_id.to_string(), self.past.len());
                self.past.push(Past::ToolCall(Box::new(call)));
            }
            SessionUpdate::ToolCallUpdate(ToolCallUpdate { tool_call_id, fields, .. }) => {
                let call = self.calls.get(&*tool_call_id.0).and_then(|index| self.past.get_mut(*index));
                if let Some(Past::ToolCall(call)) = call {
                    call.update(fields);
                }
            }
            _ => {}
        }
    }

    fn push_chunk(&mut self, chunk: ContentChunk, kind: fn(Vec<ContentBlock>) -> Past) {
        let ours = chunk.meta.as_ref().and_then(|meta: &Meta| meta.get("rejoin"));
        if let Some(kept) = ours.and_then(|ours| ours.get("kept")) {
            return self.past.push(Past::Kept(kept.clone()));
        }
        if ours.is_some_and(|ours| ours.get("notice").is_some()) {
            return;
        }
        let id = chunk.message_id.as_ref().map(ToString::to_string);
        let is_same = id == self.message;
        self.message = id;
        let one = kind(Vec::new());
        let last = self
            .past
            .last_mut()
            .filter(|last| is_same && std::mem::discriminant(*last) == std::mem::discriminant(&one));
        match (last, chunk.content) {
            // The blocks of a prompt stay apart; the chunks of an answer are one text.
            (Some(Past::Agent(blocks) | Past::Thought(blocks)), ContentBlock::Text(more)) => append(blocks, more),
            (Some(Past::User(blocks) | Past::Agent(blocks) | Past::Thought(blocks)), block) => blocks.push(block),
            (_, block) => self.past.push(kind(vec![block])),
        }
    }
}

fn append(blocks: &mut Vec<ContentBlock>, more: TextContent) {
    match blocks.last_mut() {
        Some(ContentBlock::Text(text)) => text.text.push_str(&more.text),
        _ => blocks.push(ContentBlock::Text(more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Vec<ContentBlock> {
        vec![ContentBlock::Text(TextContent::new(text))]
    }

    fn chunk(kind: &str, id: &str, text: &str) -> Json {
        let content = serde_json::json!({ "type": "text", "text": text });
        let update = serde_json::json!({ "sessionUpdate": kind, "messageId": id, "content": content });
        Json::from_stored(update.to_string())
    }

    fn update(text: &str) -> Json {
        Json::from_stored(text.to_owned())
    }

    #[test]
    fn chunks_of_one_message_are_one_and_tool_calls_are_as_they_ended() {
        let updates = [
            chunk("user_message_chunk", "1", "do"),
            chunk("user_message_chunk", "1", "it"),
            chunk("agent_message_chunk", "2", "I "),
            chunk("agent_message_chunk", "2", "will"),
            update(r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"Write","status":"pending"}"#),
            update(r#"{"sessionUpdate":"plan","entries":[]}"#),
            update(r#"{"sessionUpdate":"from_the_future"}"#),
            update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}"#),
            chunk("agent_message_chunk", "3", "done"),
        ];
        let past = history(&updates);
        let Past::ToolCall(call) = &past[2] else { panic!("{past:?}") };
        assert_eq!((call.title.as_str(), serde_json::to_value(call.status).unwrap()), ("Write", "failed".into()));
        let said = [past[0].clone(), past[1].clone(), past[3].clone()];
        let user = [text("do"), text("it")].concat();
        assert_eq!(said, [Past::User(user), Past::Agent(text("I will")), Past::Agent(text("done"))]);
        assert_eq!(past.len(), 4);
    }

    #[test]
    fn what_the_agent_kept_comes_back_and_what_the_layer_said_does_not() {
        let kept = r#"{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":""},"_meta":{"rejoin":{"private":true,"kept":{"signature":"s"}}}}"#;
        let said = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"rebuilt"},"_meta":{"rejoin":{"notice":true}}}"#;
        let past = history(&[update(kept), update(said)]);
        assert_eq!(past, [Past::Kept(serde_json::json!({ "signature": "s" }))]);
    }
}
