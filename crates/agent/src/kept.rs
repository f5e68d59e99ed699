//! What the agent keeps in the record for itself.
//!
//! The record is what later turns are made from, also after a restart: whatever a model needs back, and people are not shown,
//! is one of these.

use rejoin::{AgentError, Past, Turn};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::models::{ModelId, Part, ToolUse};
use crate::session::OpenSession;
use crate::tools::Version;

/// One thing that is kept, in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Kept {
    /// An answer of the model is over.
    Answer(KeptAnswer),
    /// What a call gave the model, where that is not what people were shown.
    Result { call: String, parts: Vec<Part> },
    /// What the model was told instead of the prompt, such as a server's.
    Prompt(Vec<Part>),
    /// The turn is between the user and the agent: a command.
    Aside,
    /// The model refused the turn, and is not told of it again.
    Refused,
    /// The model knows this version of the file at `path`.
    Seen { path: String, version: Version },
    /// All before the turn's prompt, and all in the turn so far, is in this summary, but for what is kept besides.
    Compacted {
        summary: String,
        #[serde(default, skip_serializing_if = "Remainder::is_prompt")]
        remainder: Remainder,
        /// What it cost, in US dollars, if that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
}

/// What a compaction leaves as it is, besides the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Remainder {
    /// What the user said last.
    #[default]
    Prompt,
    /// That, and the newest calls with their results, which the model has not seen yet.
    PromptAndResults,
}

impl Remainder {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
    fn is_prompt(&self) -> bool {
        *self == Self::Prompt
    }
}

/// What is kept of an answer; its text is in the record before this.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeptAnswer {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<ToolUse>,
    /// What the provider wants back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thoughts: Option<Value>,
    /// How many tokens the conversation had then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) used: Option<u64>,
    /// What the answer cost, in US dollars, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<f64>,
    /// Who gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// The model that answered last in `past`.
pub(crate) fn last_model(past: &[Past]) -> Option<ModelId> {
    let kept = past.iter().rev().filter_map(|past| match past {
        Past::Kept(value) => Kept::read(value),
        _ => None,
    });
    let model = |kept| match kept {
        Kept::Answer(answer) => answer.model?.parse().ok(),
        _ => None,
    };
    kept.into_iter().find_map(model)
}

impl Kept {
    /// What was kept as `value`; nothing if it is something else.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Keeps it, here in the record.
    pub(crate) async fn keep(&self, turn: &Turn<OpenSession>) -> Result<(), AgentError> {
        turn.keep(serde_json::to_value(self).map_err(AgentError::failed)?).await
    }
}
