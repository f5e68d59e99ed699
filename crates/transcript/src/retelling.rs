//! A history that is retold: the updates that an agent replays on load, made into the steps of a record.
//!
//! A replay knows no turns. The user's chunks become prompts, and what follows one is its turn, up to the next prompt. A
//! turn that nobody says the end of has ended when the next one begins; it was interrupted if nothing was answered, or a
//! tool call of it never came to an end.

use crate::json::Members;
use crate::turn::OpenWork;
use crate::{Json, MessageId, MessageIds, Step, StepKind, Timestamp, TranscriptError, Turn, TurnEnd, UpdateKind};

/// One thing that is told of a history.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// An update, as a replay has it: also the user's words.
    Update {
        /// When it happened.
        at: Timestamp,
        /// The object `update`.
        update: Json,
    },
    /// The turn ended so.
    Ended {
        /// When.
        at: Timestamp,
        /// How.
        end: TurnEnd,
    },
}

/// Makes steps of what is told, in the order in which it is told.
#[derive(Debug, Default)]
pub struct Retelling {
    /// How many turns have begun.
    turns: u32,
    /// The prompt whose blocks are still being told.
    prompt: Option<Prompt>,
    /// The turn, if one is running.
    running: Option<Running>,
    ids: MessageIds,
    /// How many ids were made up.
    n_ids: u32,
}

#[derive(Debug)]
struct Prompt {
    at: Timestamp,
    /// The agent's own id of the message.
    id: Option<String>,
    blocks: Vec<String>,
}

#[derive(Debug)]
struct Running {
    last: Timestamp,
    is_answered: bool,
    open: OpenWork,
}

impl Retelling {
    /// The steps that `told` makes, now that it is known.
    ///
    /// Fails if it is no update.
    pub fn tell(&mut self, told: Told) -> Result<Vec<Step>, TranscriptError> {
        match told {
            Told::Update { at, update } => {
                let kind = UpdateKind::of(&update).ok_or(TranscriptError::NotAnUpdate)?;
                if kind == UpdateKind::UserMessageChunk {
                    self.hear(at, &update)
                } else {
                    self.answer(at, kind, update)
                }
            }
            Told::Ended { at, end } => {
                let mut steps = self.begin_turn()?;
                if let Some(running) = self.running.take() {
                    steps.extend(running.open.fail(at, self.turns));
                    steps.push(Step::turn_ended(at, self.turns, &end));
                }
                Ok(steps)
            }
        }
    }

    /// The last steps: a turn that is still running has ended.
    pub fn finish(mut self) -> Result<Vec<Step>, TranscriptError> {
        let mut steps = self.begin_turn()?;
        steps.extend(self.end_turn());
        Ok(steps)
    }

    /// A piece of what the user said.
    fn hear(&mut self, at: Timestamp, update: &Json) -> Result<Vec<Step>, TranscriptError> {
        let members = update.members().ok_or(TranscriptError::NotAnUpdate)?;
        let block = members.get_some("content").ok_or(TranscriptError::NotAnUpdate)?.to_owned();
        let id = members.get_string("messageId").map(std::borrow::Cow::into_owned);
        if let Some(prompt) = self.prompt.as_mut().filter(|prompt| prompt.id == id) {
            prompt.blocks.push(block);
            return Ok(Vec::new());
        }
        let mut steps = self.begin_turn()?;
        steps.extend(self.end_turn());
        self.prompt = Some(Prompt { at, id, blocks: vec![block] });
        Ok(steps)
    }

    /// Anything else that the agent said.
    fn answer(&mut self, at: Timestamp, kind: UpdateKind, update: Json) -> Result<Vec<Step>, TranscriptError> {
        let mut steps = self.begin_turn()?;
        let turn = if self.running.is_some() { Turn::In(self.turns) } else { Turn::After(self.turns) };
        let n_ids = &mut self.n_ids;
        let id = self.ids.assign(turn, kind, &update, || made_up(n_ids));
        let mut step = Step::update(at, turn, update)?;
        if let Some(id) = id {
            step = step.with_message_id(id);
        }
        if let Some(running) = &mut self.running {
            running.last = running.last.max(at);
            running.is_answered |= !kind.is_state();
            running.open.observe(&step);
        }
        steps.push(step);
        Ok(steps)
    }

    /// The prompt is told in full: its turn begins.
    fn begin_turn(&mut self) -> Result<Vec<Step>, TranscriptError> {
        let Some(Prompt { at, id, blocks }) = self.prompt.take() else { return Ok(Vec::new()) };
        self.turns += 1;
        self.running = Some(Running { last: at, is_answered: false, open: OpenWork::default() });
        let id = id.map_or_else(|| made_up(&mut self.n_ids), MessageId::new);
        let blocks = Json::from_stored(format!("[{}]", blocks.join(",")));
        Ok(vec![Step::prompt(at, self.turns, id, blocks)?])
    }

    fn end_turn(&mut self) -> Vec<Step> {
        let Some(Running { last, is_answered, open }) = self.running.take() else { return Vec::new() };
        let mut steps = open.fail(last, self.turns);
        let is_whole = is_answered && steps.is_empty();
        let end = if is_whole { TurnEnd::Stopped { reason: "end_turn".to_owned() } } else { TurnEnd::Interrupted };
        steps.push(Step::turn_ended(last, self.turns, &end));
        steps
    }
}

/// An id for a message that has none: the same, whenever the same history is told.
fn made_up(count: &mut u32) -> MessageId {
    *count += 1;
    MessageId::new(format!("told-{count}"))
}

impl Step {
    /// What of it a history tells: the same, whenever the history is told, and whoever has opened the session since.
    ///
    /// Nothing of what only the layer knows, of values in force, and of tool calls that were failed for want of an end.
    pub fn retold(&self) -> Option<(StepKind, &Json)> {
        let is_told = match self.kind {
            StepKind::Prompt => true,
            StepKind::Update(kind) => {
                self.audience == crate::Audience::Client && !kind.is_state() && !is_interruption(&self.body)
            }
            StepKind::TurnEnded
            | StepKind::PermissionAsked
            | StepKind::PermissionAnswered
            | StepKind::StateSet
            | StepKind::Restored
            | StepKind::ForkedFrom => false,
        };
        is_told.then_some((self.kind, &self.body))
    }
}

fn is_interruption(update: &Json) -> bool {
    let is_marked = || {
        let meta = update.members()?.get_some("_meta")?;
        Some(Members::read(Members::read(meta)?.get_some("rejoin")?)?.get("interrupted")? == "true")
    };
    update.as_str().contains("\"interrupted\"") && is_marked().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Audience;

    fn update(millis: i64, text: &str) -> Told {
        Told::Update { at: Timestamp::from_millis(millis), update: Json::parse(text).unwrap() }
    }

    fn chunk(millis: i64, who: &str, text: &str) -> Told {
        let content = format!(r#"{{"type":"text","text":"{text}"}}"#);
        update(millis, &format!(r#"{{"sessionUpdate":"{who}_chunk","content":{content}}}"#))
    }

    /// The steps of `told`, each as `TIME TURN KIND BODY`.
    fn check(told: Vec<Told>, expected: &[&str]) {
        let mut retelling = Retelling::default();
        let mut steps: Vec<Step> = told.into_iter().flat_map(|told| retelling.tell(told).unwrap()).collect();
        steps.extend(retelling.finish().unwrap());
        let line = |step: &Step| {
            let text = step.body.as_str().replace(r#"{"type":"text","text":"#, "").replace("sessionUpdate", "is");
            format!("{} {} {} {text}", step.at.as_millis(), step.turn.code(), step.kind.name())
        };
        assert_eq!(steps.iter().map(line).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_users_chunks_become_prompts_and_the_rest_their_turns() {
        check(
            vec![
                update(1, r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#),
                chunk(2, "user_message", "one"),
                chunk(2, "user_message", "more"),
                chunk(3, "agent_message", "first"),
                chunk(4, "user_message", "two"),
                chunk(5, "agent_message", "second"),
            ],
            &[
                r#"1 0 update {"is":"usage_update","used":1,"size":2}"#,
                r#"2 1 prompt ["one"},"more"}]"#,
                r#"3 1 update {"is":"agent_message_chunk","content":"first"}}"#,
                r#"3 1 turn_ended {"stopReason":"end_turn"}"#,
                r#"4 2 prompt ["two"}]"#,
                r#"5 2 update {"is":"agent_message_chunk","content":"second"}}"#,
                r#"5 2 turn_ended {"stopReason":"end_turn"}"#,
            ],
        );
    }

    #[test]
    fn messages_of_the_user_are_told_apart_by_their_ids() {
        let said = |id: &str| {
            update(
                1,
                &format!(
                    r#"{{"sessionUpdate":"user_message_chunk","content":{{"type":"text","text":"x"}},"messageId":"{id}"}}"#
                ),
            )
        };
        check(
            vec![said("a"), said("a"), said("b")],
            &[
                r#"1 1 prompt ["x"},"x"}]"#,
                r#"1 1 turn_ended {"interrupted":true}"#,
                r#"1 2 prompt ["x"}]"#,
                r#"1 2 turn_ended {"interrupted":true}"#,
            ],
        );
    }

    #[test]
    fn a_turn_ends_as_it_is_told_and_what_comes_behind_it_is_behind_it() {
        let cancelled = TurnEnd::Stopped { reason: "cancelled".to_owned() };
        check(
            vec![
                chunk(1, "user_message", "one"),
                update(2, r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}"#),
                Told::Ended { at: Timestamp::from_millis(3), end: cancelled.clone() },
                Told::Ended { at: Timestamp::from_millis(4), end: cancelled },
                chunk(5, "agent_message", "late"),
            ],
            &[
                r#"1 1 prompt ["one"}]"#,
                r#"2 1 update {"is":"tool_call","toolCallId":"t","title":"x"}"#,
                r#"3 1 update {"is":"tool_call_update","toolCallId":"t","status":"failed","_meta":{"rejoin":{"interrupted":true}}}"#,
                r#"3 1 turn_ended {"stopReason":"cancelled"}"#,
                r#"5 -1 update {"is":"agent_message_chunk","content":"late"}}"#,
            ],
        );
    }

    #[test]
    fn a_turn_with_an_open_tool_call_was_interrupted() {
        check(
            vec![
                chunk(1, "user_message", "one"),
                update(2, r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"x"}"#),
            ],
            &[
                r#"1 1 prompt ["one"}]"#,
                r#"2 1 update {"is":"tool_call","toolCallId":"t","title":"x"}"#,
                r#"2 1 update {"is":"tool_call_update","toolCallId":"t","status":"failed","_meta":{"rejoin":{"interrupted":true}}}"#,
                r#"2 1 turn_ended {"interrupted":true}"#,
            ],
        );
    }

    #[test]
    fn what_is_no_update_is_refused() {
        for text in ["{}", r#"{"sessionUpdate":"user_message_chunk"}"#] {
            assert!(Retelling::default().tell(update(1, text)).is_err(), "{text}");
        }
    }

    #[test]
    fn only_what_the_history_itself_tells_counts_as_retold() {
        let step =
            |text: &str| Step::update(Timestamp::from_millis(0), Turn::In(1), Json::parse(text).unwrap()).unwrap();
        assert!(step(r#"{"sessionUpdate":"plan","entries":[]}"#).retold().is_some());
        assert!(step(r#"{"sessionUpdate":"plan","entries":[]}"#).with_audience(Audience::Layer).retold().is_none());
        assert!(step(r#"{"sessionUpdate":"session_info_update","title":"x"}"#).retold().is_none());
        let failed = r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"rejoin":{"interrupted":true}}}"#;
        assert!(step(failed).retold().is_none());
    }
}
