//! Finds out what an agent lacks of a session that it opens again: the end of the record that its own replay does not have.
//!
//! Both are compared by what people read, the words of the user and of the agent, because ids, order of updates and
//! blanks differ between a turn and its replay. What is held of either is bounded, however long the session is.

use std::collections::VecDeque;

use futures::{StreamExt, pin_mut};
use rejoin_store::{SessionStore, StoreError, entries};
use rejoin_transcript::json::Members;
use rejoin_transcript::{
    Audience, Entry, EntryNumber, Json, SessionId, StepKind, Turn, TurnEnd, UpdateKind, content_text,
};

use super::briefing::is_notice;

/// How many turns of the end are compared.
pub(super) const MOST_TURNS: u32 = 32;

/// How many entries from the end are read first for the last turns.
const FIRST_STRETCH: u32 = 128;

/// How much of a text is held, in bytes.
const HELD: usize = 8 * 1024;

/// How much of the end of a text must be found in another for that to hold it, in bytes.
const COMPARED: usize = 512;

/// A turn, as far as it is compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    user: Words,
    agent: Words,
    tool_calls: usize,
}

/// A turn of the record.
#[derive(Debug, Clone)]
pub(super) struct RecordedTurn {
    pub(super) turn: u32,
    /// The entry before its first.
    pub(super) after: EntryNumber,
    /// Whether it did not come to the end that the agent would have given it.
    pub(super) is_cut_off: bool,
    round: Round,
}

/// The last turns of `session` up to the entry `upto`, at most `n_turns` of them, oldest first.
///
/// Reads backwards from the end in growing stretches, so the cost follows the length of these turns.
pub(super) async fn last_turns(
    store: &dyn SessionStore,
    session: &SessionId,
    upto: EntryNumber,
    n_turns: u32,
) -> Result<Vec<RecordedTurn>, StoreError> {
    let n_turns = n_turns.clamp(1, MOST_TURNS) as usize;
    let mut stretch = FIRST_STRETCH;
    loop {
        let after = EntryNumber::new(upto.get().saturating_sub(stretch));
        let turns = turns_behind(store, session, after, upto).await?;
        if turns.len() >= n_turns || after == EntryNumber::START {
            return Ok(turns.into_iter().rev().take(n_turns).rev().collect());
        }
        stretch = stretch.saturating_mul(8);
    }
}

/// The last turns that begin behind the entry `after`.
async fn turns_behind(
    store: &dyn SessionStore,
    session: &SessionId,
    after: EntryNumber,
    upto: EntryNumber,
) -> Result<VecDeque<RecordedTurn>, StoreError> {
    let mut turns: VecDeque<RecordedTurn> = VecDeque::new();
    let found = entries(store, session, after);
    pin_mut!(found);
    while let Some(entry) = found.next().await {
        let Entry { number, step } = entry?;
        if number > upto {
            break;
        }
        let Turn::In(turn) = step.turn else { continue };
        if step.kind == StepKind::Prompt {
            if turns.len() == MOST_TURNS as usize {
                turns.pop_front();
            }
            let mut round = Round::default();
            step.body.elements().unwrap_or_default().into_iter().for_each(|block| round.user.push_content(block));
            let after = EntryNumber::new(number.get().saturating_sub(1));
            turns.push_back(RecordedTurn { turn, after, is_cut_off: true, round });
            continue;
        }
        let Some(current) = turns.back_mut().filter(|current| current.turn == turn) else { continue };
        match step.kind {
            StepKind::Update(kind) if step.audience == Audience::Client => current.round.push(kind, &step.body),
            StepKind::TurnEnded => {
                let end = TurnEnd::from_json(&step.body);
                current.is_cut_off = !matches!(end, TurnEnd::Stopped { reason } if reason != "cancelled");
            }
            _ => {}
        }
    }
    Ok(turns)
}

/// The end of what an agent replays.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    rounds: VecDeque<Round>,
}

impl Replay {
    /// Takes the next update; `is_new_message` says that the user begins to say something else.
    pub(super) fn push(&mut self, kind: UpdateKind, update: &Json, is_new_message: bool) {
        if self.rounds.is_empty() || (kind == UpdateKind::UserMessageChunk && is_new_message) {
            if self.rounds.len() == MOST_TURNS as usize {
                self.rounds.pop_front();
            }
            self.rounds.push_back(Round::default());
        }
        if let Some(round) = self.rounds.back_mut() {
            round.push(kind, update);
        }
    }

    /// Which of `recorded`, the last turns of the record, is the first that the agent lacks, or has only a part of.
    pub(super) fn first_lacking(&self, recorded: &[RecordedTurn]) -> Option<usize> {
        let mut later = Round::default();
        for round in self.rounds.iter().rev() {
            later = round.clone().then(&later);
            let is_same = |turn: &RecordedTurn| round.user.ends_with(&turn.round.user);
            if let Some(at) = recorded.iter().rposition(is_same) {
                let first = if later.answers(&recorded[at].round) { at + 1 } else { at };
                return (first < recorded.len()).then_some(first);
            }
        }
        (!recorded.is_empty()).then_some(0)
    }

    /// Whether the replay ends with words of the user that the agent answered, by the record.
    pub(super) fn lacks_answer(&self, recorded: &[RecordedTurn]) -> bool {
        let (last, told) = (self.rounds.back(), recorded.last());
        last.zip(told).is_some_and(|(last, told)| last.agent.length == 0 && told.round.agent.length > 0)
    }
}

impl Round {
    fn push(&mut self, kind: UpdateKind, update: &Json) {
        let Some(members) = update.members() else { return };
        let words = match kind {
            UpdateKind::UserMessageChunk => &mut self.user,
            UpdateKind::AgentMessageChunk if !is_notice(&members) => &mut self.agent,
            UpdateKind::ToolCall => return self.tool_calls += 1,
            _ => return,
        };
        if let Some(content) = members.get("content") {
            words.push_content(content);
        }
    }

    /// This round and what followed it, in which the user's words are left out.
    fn then(mut self, later: &Self) -> Self {
        self.agent.length += later.agent.length;
        self.agent.end.push_str(&later.agent.end);
        self.agent.shorten();
        self.tool_calls += later.tool_calls;
        self
    }

    /// Whether the agent's part holds that of `other`.
    fn answers(&self, other: &Self) -> bool {
        self.agent.holds(&other.agent) && self.tool_calls >= other.tool_calls
    }
}

/// A text without blanks, which agents change freely: how long it is, and its end.
#[derive(Debug, Clone, Default)]
struct Words {
    length: usize,
    end: String,
}

impl Words {
    fn push_content(&mut self, content: &str) {
        let is_text = || Some(Members::read(content)?.get_string("type")? == "text");
        let text = content_text(content).filter(|_| is_text() == Some(true)).unwrap_or_default();
        for word in text.split_whitespace() {
            self.length += word.len();
            self.end.push_str(word);
        }
        self.shorten();
    }

    fn shorten(&mut self) {
        if self.end.len() > 2 * HELD {
            self.end = last_bytes(&self.end, HELD).to_owned();
        }
    }

    /// Whether these are the words of `other`, with others before them or a few behind: agents add to what the user said.
    fn ends_with(&self, other: &Self) -> bool {
        self.end.contains(last_bytes(&other.end, COMPARED))
    }

    /// Whether all of `other` is in these words.
    fn holds(&self, other: &Self) -> bool {
        let is_far_behind = self.length > other.length + HELD;
        self.length >= other.length && (is_far_behind || self.ends_with(other))
    }
}

/// The end of `text`, of at most `n` bytes.
fn last_bytes(text: &str, n: usize) -> &str {
    let from = text.len().saturating_sub(n);
    &text[(from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(kind: &str, text: &str) -> Json {
        Json::from_value(&serde_json::json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } }))
            .unwrap()
    }

    /// A round of `user: words`, `agent: words` and `tool` in any number.
    fn round(lines: &[&str]) -> Round {
        let mut round = Round::default();
        for line in lines {
            match line.split_once(": ") {
                Some(("user", text)) => round.push(UpdateKind::UserMessageChunk, &update("user_message_chunk", text)),
                Some((_, text)) => round.push(UpdateKind::AgentMessageChunk, &update("agent_message_chunk", text)),
                None => round.push(UpdateKind::ToolCall, &update("tool_call", "")),
            }
        }
        round
    }

    fn check(recorded: &[&[&str]], replayed: &[&[&str]], expected: Option<usize>) {
        let turn = |(turn, lines): (u32, &&[&str])| RecordedTurn {
            turn,
            after: EntryNumber::START,
            is_cut_off: false,
            round: round(lines),
        };
        let recorded: Vec<RecordedTurn> = (1..).zip(recorded).map(turn).collect();
        let replay = Replay { rounds: replayed.iter().map(|lines| round(lines)).collect() };
        assert_eq!(replay.first_lacking(&recorded), expected, "{replayed:?}");
    }

    #[test]
    fn what_is_missing_at_the_end_is_found_by_what_was_said() {
        let one: &[&str] = &["user: Say one", "agent: One,\n", "agent: done."];
        let two: &[&str] = &["user: Say two", "tool", "agent: Two, and more"];
        check(&[one, two], &[one, two], None);
        check(&[one, two], &[one], Some(1));
        check(&[one, two], &[], Some(0));
        // Only the question, only a part of the answer, or only the tool call's absence.
        check(&[one, two], &[one, &["user: Say two"]], Some(1));
        check(&[one, two], &[one, &["user: Say two", "tool", "agent: Two,"]], Some(1));
        check(&[one, two], &[one, &["user: Say two", "agent: Two, and more"]], Some(1));
        // The agent got further than anybody saw.
        check(&[one, two], &[one, &["user: Say two", "tool", "agent: Two, and more, and three"]], None);
    }

    #[test]
    fn what_agents_change_in_a_replay_does_not_matter() {
        let one: &[&str] = &["user: Say one", "agent: One,\n\n done."];
        check(&[one], &[&["user: Remember this first. Say  one", "agent: One, done."]], None);
        check(&[one], &[&["user: Say one <context>x</context>", "agent: One,", "agent: done."]], None);
        // A remark that the agent keeps as the user's.
        check(&[one], &[&["user: Say one", "agent: One,"], &["user: [interrupted]", "agent: done."]], None);
        // The beginning was left out.
        check(&[&["user: Hello", "agent: Hi"], one], &[one], None);
    }

    #[test]
    fn a_question_that_was_asked_twice_is_told_apart_by_its_answer() {
        let first: &[&str] = &["user: go on", "agent: part 1"];
        let second: &[&str] = &["user: go on", "agent: part 2"];
        check(&[first, second], &[first], Some(1));
        check(&[first, second], &[first, second], None);
    }

    #[test]
    fn long_texts_are_compared_without_being_held() {
        let long = "é ".repeat(100_000);
        let (said, half) = (format!("agent: {long}end"), format!("agent: {long}"));
        check(&[&["user: x", &said]], &[&["user: x", &said]], None);
        check(&[&["user: x", &said]], &[&["user: x", &half]], Some(0));
        assert!(round(&[&said]).agent.end.len() <= 2 * HELD);
    }
}
