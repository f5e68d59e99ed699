//! History: updates → what an agent needs to know of the conversation.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, MessageId, Meta, SessionUpdate, TextContent, ToolCall, ToolCallId, ToolCallUpdate,
};
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

/// The conversation, as far as updates told it. What is neither said nor done, such as plans, is left out.
#[derive(Default)]
pub(super) struct Fold {
    /// Shared with the turn that looks at it; copied only if there is more while somebody still does.
    past: Arc<Vec<Past>>,
    /// The id of the message that came last.
    message: Option<MessageId>,
    calls: HashMap<ToolCallId, usize>,
}

impl Fold {
    /// The conversation so far.
    pub(super) fn past(&self) -> Arc<Vec<Past>> {
        Arc::clone(&self.past)
    }

    /// What `update` says comes next.
    pub(super) fn push(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::UserMessageChunk(chunk) => self.push_chunk(chunk, Past::User),
            SessionUpdate::AgentMessageChunk(chunk) => self.push_chunk(chunk, Past::Agent),
            SessionUpdate::AgentThoughtChunk(chunk) => self.push_chunk(chunk, Past::Thought),
            SessionUpdate::ToolCall(call) => {
                self.calls.insert(call.tool_call_id.clone(), self.past.len());
                self.push_past(Past::ToolCall(Box::new(call)));
            }
            SessionUpdate::ToolCallUpdate(ToolCallUpdate { tool_call_id, fields, .. }) => {
                let Some(index) = self.calls.get(&tool_call_id) else { return };
                if let Some(Past::ToolCall(call)) = Arc::make_mut(&mut self.past).get_mut(*index) {
                    call.update(fields);
                }
            }
            _ => {}
        }
    }

    fn push_chunk(&mut self, chunk: ContentChunk, kind: fn(Vec<ContentBlock>) -> Past) {
        let ours = chunk.meta.as_ref().and_then(|meta: &Meta| meta.get("rejoin"));
        if let Some(kept) = ours.and_then(|ours| ours.get("kept")) {
            return self.push_past(Past::Kept(kept.clone()));
        }
        if ours.is_some_and(|ours| ours.get("notice").is_some()) {
            return;
        }
        let is_same = chunk.message_id == self.message;
        self.message = chunk.message_id;
        let one = kind(Vec::new());
        let last = Arc::make_mut(&mut self.past)
            .last_mut()
            .filter(|last| is_same && std::mem::discriminant(*last) == std::mem::discriminant(&one));
        match (last, chunk.content) {
            // The blocks of a prompt stay apart; the chunks of an answer are one text.
            (Some(Past::Agent(blocks) | Past::Thought(blocks)), ContentBlock::Text(more)) => append(blocks, more),
            (Some(Past::User(blocks) | Past::Agent(blocks) | Past::Thought(blocks)), block) => blocks.push(block),
            (_, block) => self.push_past(kind(vec![block])),
        }
    }

    fn push_past(&mut self, past: Past) {
        Arc::make_mut(&mut self.past).push(past);
    }
}

fn append(blocks: &mut Vec<ContentBlock>, more: TextContent) {
    match blocks.last_mut() {
        Some(ContentBlock::Text(text)) => text.text.push_str(&more.text),
        _ => blocks.push(ContentBlock::Text(more)),
    }
}
