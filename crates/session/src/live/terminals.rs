//! The terminals that an agent has a client run: gone when a session is loaded, so their last output is kept as text.
//!
//! Clients that are there show the terminal itself. For the record, each tool call that shows one gets the text in its
//! place when the turn ends.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_transcript::json::{Members, Object, read_string, write_string};
use rejoin_transcript::{Audience, Json, Step, StepKind, Timestamp, Turn, UpdateKind};

/// As much of a terminal's output is kept, counted from its end.
const LONGEST: usize = 256 * 1024;

/// The terminals of a turn.
#[derive(Default)]
pub(super) struct Terminals {
    /// Those that a client made for the agent.
    made: BTreeSet<String>,
    /// The last output of each, as far as it was asked for.
    outputs: BTreeMap<String, String>,
    /// The content of each tool call that shows a terminal, by the call's id as JSON.
    contents: BTreeMap<String, Json>,
}

impl Terminals {
    /// Takes over what a client answered to the agent's request.
    pub(super) fn answered(&mut self, method: &str, params: &str, result: &str) {
        let text = |object, name| Some(Members::read(object)?.get_string(name)?.into_owned());
        match method {
            "terminal/create" => self.made.extend(text(result, "terminalId")),
            "terminal/output" => {
                if let (Some(id), Some(output)) = (text(params, "terminalId"), text(result, "output")) {
                    self.outputs.insert(id, last_part(&output).to_owned());
                }
            }
            _ => {}
        }
    }

    /// Takes over what a step of the turn shows.
    pub(super) fn observe(&mut self, step: &Step) {
        let is_tool = matches!(step.kind, StepKind::Update(UpdateKind::ToolCall | UpdateKind::ToolCallUpdate));
        if self.made.is_empty() || !is_tool || step.audience != Audience::Client {
            return;
        }
        let Some(members) = step.body.members() else { return };
        let (Some(id), Some(content)) = (members.get_some("toolCallId"), members.get_some("content")) else { return };
        if content.contains("\"terminal\"") {
            self.contents.insert(id.to_owned(), Json::from_stored(content.to_owned()));
        } else {
            self.contents.remove(id);
        }
    }

    /// The turn ends: the steps that put texts in the places of terminals. Nobody needs to see them now.
    pub(super) fn end(&mut self, at: Timestamp, turn: u32) -> Vec<Step> {
        let Self { outputs, contents, .. } = std::mem::take(self);
        let step = |(id, content): (String, Json)| {
            let update = Object::default()
                .with_string("sessionUpdate", "tool_call_update")
                .with("toolCallId", &id)
                .with("content", &with_outputs(&content, &outputs)?);
            Step::update(at, Turn::In(turn), Json::from_stored(update.finish())).ok()
        };
        contents.into_iter().filter_map(step).collect()
    }
}

/// The array `content` with text in place of each terminal whose output is known; `None` if there is no such one.
fn with_outputs(content: &Json, outputs: &BTreeMap<String, String>) -> Option<String> {
    let output_of = |item: &str| {
        let members = Members::read(item)?;
        let is_terminal = members.get_string("type")? == "terminal";
        outputs.get(read_string(members.get("terminalId")?).filter(|_| is_terminal)?.as_ref())
    };
    let items = content.elements()?;
    items.iter().any(|item| output_of(item).is_some()).then(|| {
        let items = items.iter().map(|item| match output_of(item) {
            Some(output) => {
                let text = write_string(output);
                format!(r#"{{"type":"content","content":{{"type":"text","text":{text}}}}}"#)
            }
            None => (*item).to_owned(),
        });
        format!("[{}]", items.collect::<Vec<_>>().join(","))
    })
}

fn last_part(output: &str) -> &str {
    let from = output.len().saturating_sub(LONGEST);
    let from = (from..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
    &output[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(0);

    fn tool(update: &str) -> Step {
        Step::update(AT, Turn::In(1), Json::parse(update).unwrap()).unwrap()
    }

    #[test]
    fn a_tool_call_keeps_what_its_terminal_showed_last() {
        let mut terminals = Terminals::default();
        terminals.answered("terminal/create", "{}", r#"{"terminalId":"T"}"#);
        terminals.observe(&tool(
            r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","content":[{"type":"terminal","terminalId":"T"},{"type":"diff","n":1.50}]}"#,
        ));
        for output in ["a", "a\nb"] {
            let result = format!(r#"{{"output":{},"truncated":false}}"#, write_string(output));
            terminals.answered("terminal/output", r#"{"terminalId":"T"}"#, &result);
        }
        let steps = terminals.end(AT, 1);
        let expected = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"content","content":{"type":"text","text":"a\nb"}},{"type":"diff","n":1.50}]}"#;
        assert_eq!(steps.iter().map(|step| step.body.as_str()).collect::<Vec<_>>(), [expected]);
        assert!(terminals.end(AT, 2).is_empty());
    }

    #[test]
    fn terminals_that_are_not_the_clients_stay_as_they_are() {
        let mut terminals = Terminals::default();
        terminals.observe(&tool(
            r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"ls","content":[{"type":"terminal","terminalId":"T"}]}"#,
        ));
        assert!(terminals.end(AT, 1).is_empty());
    }
}
