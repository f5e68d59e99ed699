//! What was said: updates folded into messages and tool calls.

use rejoin_transcript::{
    Entry, EntryNumber, Json, MessageId, MessageIds, Role, Step, Timestamp, ToolCall, Turn, UpdateKind, View, What,
};

use crate::log::Update;

/// Someone's words, together with what follows directly from the same one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) role: Role,
    pub(crate) text: String,
}

/// A user's message and what the agent said to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) user: String,
    pub(crate) agent: String,
}

/// What people would see of `updates`.
pub(crate) fn view(updates: &[Update]) -> View {
    let (mut ids, at) = (MessageIds::default(), Timestamp::from_millis(0));
    // A message does not go on behind the user's next one, whatever its id says.
    let (mut turn, mut is_users) = (Turn::After(0), false);
    let entry = |(number, update): (u32, &Update)| {
        let body = Json::from_value(&update.body).ok()?;
        let kind = UpdateKind::of(&body)?;
        if kind == UpdateKind::UserMessageChunk && !is_users {
            turn = Turn::After(number);
        }
        is_users = kind == UpdateKind::UserMessageChunk || (is_users && kind.is_state());
        let id = ids.assign(turn, kind, &body, || MessageId::new(format!("without-id-{number}")));
        let step = Step::update(at, turn, body).ok()?;
        let step = id.map_or(step.clone(), |id| step.with_message_id(id));
        Some(Entry { number: EntryNumber::new(number), step })
    };
    let entries: Vec<Entry> = (1..).zip(updates).filter_map(entry).collect();
    View::of(&entries)
}

/// The messages in `updates`, thoughts left out. What the agent says in a row is one.
pub(crate) fn said(updates: &[Update]) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    for item in view(updates).items {
        let What::Message(message) = item.what else { continue };
        let text = message.text();
        match (message.role, said.last_mut()) {
            (Role::Thought, _) => {}
            (Role::Agent, Some(last)) if last.role == Role::Agent => last.text.push_str(&text),
            (role, _) => said.push(Said { role, text }),
        }
    }
    said
}

/// The same as rounds; what the agent says before the user is a round without a user's message.
pub(crate) fn rounds(updates: &[Update]) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for said in said(updates) {
        match (said.role, rounds.last_mut()) {
            (Role::Agent, Some(round)) => round.agent.push_str(&said.text),
            (Role::Agent, None) => rounds.push(Round { user: String::new(), agent: said.text }),
            (Role::User | Role::Thought, _) => rounds.push(Round { user: said.text, agent: String::new() }),
        }
    }
    rounds
}

/// What the agent said in `updates`.
pub(crate) fn answer(updates: &[Update]) -> String {
    said(updates).into_iter().filter(|said| said.role == Role::Agent).map(|said| said.text).collect()
}

/// The tool calls in `updates`, in their last state.
pub(crate) fn tool_calls(updates: &[Update]) -> Vec<ToolCall> {
    let call = |what| match what {
        What::ToolCall(call) => Some(call),
        What::Message(_) | What::Other(_) => None,
    };
    view(updates).items.into_iter().filter_map(|item| call(item.what)).collect()
}

/// `text` without what agents change freely: blanks and line breaks.
pub(crate) fn plain(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(kind: &str, text: &str, id: Option<&str>) -> Update {
        let mut body = json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } });
        if let Some(id) = id {
            body["messageId"] = json!(id);
        }
        Update { at: 0, session: String::new(), body }
    }

    #[test]
    fn two_messages_of_the_user_in_a_row_stay_two() {
        let updates = [
            update("user_message_chunk", "one", Some("a")),
            update("user_message_chunk", "two", Some("b")),
            update("agent_message_chunk", "th", None),
            update("agent_message_chunk", "ree", None),
        ];
        let round = |user: &str, agent: &str| Round { user: user.to_owned(), agent: agent.to_owned() };
        assert_eq!(rounds(&updates), [round("one", ""), round("two", "three")]);
    }
}
