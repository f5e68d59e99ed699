//! How a turn ends, and what is added when it ended badly.

use std::collections::BTreeMap;

use crate::json::{Members, write_string};
use crate::{Audience, Json, Step, StepKind, Timestamp, Turn, UpdateKind};

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent stopped, and said why.
    Stopped {
        /// The stop reason of the prompt's answer, such as `end_turn`.
        reason: String,
    },
    /// The prompt was answered with an error.
    Failed {
        /// The JSON-RPC error object.
        error: Json,
    },
    /// We, or the agent, went away before the answer.
    Interrupted,
}

impl TurnEnd {
    /// As the body of a step.
    pub fn to_json(&self) -> Json {
        Json::from_stored(match self {
            Self::Stopped { reason } => format!("{{\"stopReason\":{}}}", write_string(reason)),
            Self::Failed { error } => format!("{{\"error\":{error}}}"),
            Self::Interrupted => "{\"interrupted\":true}".to_owned(),
        })
    }

    /// Reads what [`TurnEnd::to_json`] wrote. A body of another form counts as interrupted: nobody can say more of it.
    pub fn from_json(body: &Json) -> Self {
        let members = body.members();
        let member = |name| members.as_ref().and_then(|members| members.get_some(name));
        if let Some(reason) = member("stopReason").and_then(crate::json::read_string) {
            return Self::Stopped { reason: reason.into_owned() };
        }
        match member("error") {
            Some(error) => Self::Failed { error: Json::from_stored(error.to_owned()) },
            None => Self::Interrupted,
        }
    }

    /// Whether people should be told that something went wrong.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Stopped { .. })
    }
}

/// The last turn of a session, if it has not ended; observes steps one by one, so a long turn costs no memory.
#[derive(Debug, Default)]
pub struct UnfinishedTurn {
    running: Option<(u32, OpenWork)>,
}

impl UnfinishedTurn {
    /// Observes the next step.
    pub fn observe(&mut self, step: &Step) {
        match (step.kind, step.turn) {
            (StepKind::Prompt, Turn::In(turn)) => self.running = Some((turn, OpenWork::default())),
            (StepKind::TurnEnded, Turn::In(turn)) if self.running.as_ref().is_some_and(|(at, _)| *at == turn) => {
                self.running = None;
            }
            (_, Turn::In(turn)) => {
                if let Some((_, open)) = self.running.as_mut().filter(|(at, _)| *at == turn) {
                    open.observe(step);
                }
            }
            (_, Turn::After(_)) => {}
        }
    }

    /// The steps that close the turn: each tool call and compaction still open is failed and marked as interrupted, then
    /// the turn ends. None, if no turn is unfinished.
    pub fn interrupt(self, at: Timestamp) -> Vec<Step> {
        let Some((turn, open)) = self.running else { return Vec::new() };
        let mut steps = open.fail(at, turn);
        steps.push(Step::turn_ended(at, turn, &TurnEnd::Interrupted));
        steps
    }
}

/// What was begun in a turn and has not ended: tool calls, and compactions.
#[derive(Debug, Default)]
pub struct OpenWork {
    /// By the ids, as JSON.
    is_open: BTreeMap<(Work, String), bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    ToolCall,
    Compaction,
}

impl OpenWork {
    /// Takes over what `step`, the turn's next, tells.
    pub fn observe(&mut self, step: &Step) {
        let StepKind::Update(kind) = step.kind else { return };
        let is_work = matches!(kind, UpdateKind::ToolCall | UpdateKind::ToolCallUpdate | UpdateKind::Other);
        if !is_work || step.audience != Audience::Client {
            return;
        }
        let Some(members) = Members::read(step.body.as_str()) else { return };
        let work = match kind {
            UpdateKind::Other if members.get_string("sessionUpdate").as_deref() != Some(COMPACTION) => return,
            UpdateKind::Other => Work::Compaction,
            _ => Work::ToolCall,
        };
        let Some(id) = members.get_some(work.id_member()) else { return };
        match members.get_some("status") {
            Some(status) => {
                self.is_open.insert((work, id.to_owned()), work.is_open_at(status));
            }
            // An update without a status leaves it as it was, also in a call of an earlier turn.
            None if kind == UpdateKind::ToolCall => {
                self.is_open.insert((work, id.to_owned()), true);
            }
            None => {}
        }
    }

    /// The steps that fail what is still open, marked as interrupted: tool calls first, in the order of their ids.
    pub fn fail(self, at: Timestamp, turn: u32) -> Vec<Step> {
        let open = self.is_open.into_iter().filter(|(_, is_open)| *is_open);
        open.map(|((work, id), _)| work.fail(at, turn, &id)).collect()
    }
}

/// The update that tells how a compaction goes on.
const COMPACTION: &str = "compaction_update";

impl Work {
    const fn id_member(self) -> &'static str {
        match self {
            Self::ToolCall => "toolCallId",
            Self::Compaction => "compactionId",
        }
    }

    /// Whether more is to come after `status`, as JSON.
    fn is_open_at(self, status: &str) -> bool {
        match self {
            Self::ToolCall => !matches!(status, "\"completed\"" | "\"failed\""),
            Self::Compaction => status == "\"in_progress\"",
        }
    }

    fn fail(self, at: Timestamp, turn: u32, id: &str) -> Step {
        let (kind, name) = match self {
            Self::ToolCall => (UpdateKind::ToolCallUpdate, "tool_call_update"),
            Self::Compaction => (UpdateKind::Other, COMPACTION),
        };
        let body = format!(
            r#"{{"sessionUpdate":"{name}","{}":{id},"status":"failed","_meta":{{"rejoin":{{"interrupted":true}}}}}}"#,
            self.id_member()
        );
        Step {
            at,
            turn: Turn::In(turn),
            kind: StepKind::Update(kind),
            audience: Audience::Client,
            protocol: 1,
            message_id: None,
            extra: None,
            body: Json::from_stored(body),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MessageId;

    fn interrupt(steps: &[Step]) -> Vec<Step> {
        let mut turn = UnfinishedTurn::default();
        for step in steps {
            turn.observe(step);
        }
        turn.interrupt(Timestamp::from_millis(5))
    }

    fn prompt(turn: u32) -> Step {
        let blocks = Json::parse(r#"[{"type":"text","text":"hi"}]"#).unwrap();
        Step::prompt(Timestamp::from_millis(0), turn, MessageId::new("m"), blocks).unwrap()
    }

    fn update(turn: u32, text: &str) -> Step {
        Step::update(Timestamp::from_millis(0), Turn::In(turn), Json::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn an_end_comes_back_from_its_body() {
        for end in [
            TurnEnd::Stopped { reason: "end_turn".to_owned() },
            TurnEnd::Failed { error: Json::parse(r#"{"code":-32000,"message":"log in"}"#).unwrap() },
            TurnEnd::Interrupted,
        ] {
            assert_eq!(TurnEnd::from_json(&end.to_json()), end);
        }
    }

    #[test]
    fn an_interrupted_turn_fails_its_open_tool_calls_only() {
        let steps = interrupt(&[
            prompt(1),
            update(1, r#"{"sessionUpdate":"tool_call","toolCallId":"done","title":"a","status":"completed"}"#),
            update(1, r#"{"sessionUpdate":"tool_call","toolCallId":"silent","title":"b"}"#),
            update(1, r#"{"sessionUpdate":"tool_call","toolCallId":"busy","title":"c","status":"pending"}"#),
            update(1, r#"{"sessionUpdate":"tool_call_update","toolCallId":"busy","title":"C"}"#),
        ]);
        let bodies: Vec<&str> = steps.iter().map(|step| step.body.as_str()).collect();
        let failed = |id| {
            format!(
                r#"{{"sessionUpdate":"tool_call_update","toolCallId":"{id}","status":"failed","_meta":{{"rejoin":{{"interrupted":true}}}}}}"#
            )
        };
        assert_eq!(bodies, [failed("busy").as_str(), &failed("silent"), r#"{"interrupted":true}"#]);
    }

    #[test]
    fn an_interrupted_turn_fails_its_open_compaction_too() {
        let of = |id: &str, status: &str| {
            update(1, &format!(r#"{{"sessionUpdate":"compaction_update","compactionId":"{id}","status":"{status}"}}"#))
        };
        let other = update(1, r#"{"sessionUpdate":"from_the_future","compactionId":"x","status":"in_progress"}"#);
        let steps = vec![prompt(1), of("a", "in_progress"), of("a", "cancelled"), of("b", "in_progress"), other];
        let steps = interrupt(&steps);
        let failed = r#"{"sessionUpdate":"compaction_update","compactionId":"b","status":"failed","_meta":{"rejoin":{"interrupted":true}}}"#;
        let bodies: Vec<&str> = steps.iter().map(|step| step.body.as_str()).collect();
        assert_eq!(bodies, [failed, r#"{"interrupted":true}"#]);
    }

    #[test]
    fn a_call_of_an_earlier_turn_is_left_alone() {
        let steps = vec![
            prompt(1),
            update(1, r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"a","status":"completed"}"#),
            Step::turn_ended(Timestamp::from_millis(0), 1, &TurnEnd::Interrupted),
            prompt(2),
            update(2, r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"b"}"#),
        ];
        assert_eq!(interrupt(&steps).len(), 1);
    }

    #[test]
    fn a_turn_that_ended_is_left_alone() {
        let end = Step::turn_ended(Timestamp::from_millis(0), 1, &TurnEnd::Interrupted);
        assert_eq!(interrupt(&[prompt(1), end]), []);
        assert_eq!(interrupt(&[]), []);
    }
}
