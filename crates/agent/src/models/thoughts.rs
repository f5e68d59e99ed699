//! What a provider wants back of what its model thought: signatures, and what only it can read.
//!
//! They are of use to the model that made them, and are sent to no other.

use genai::chat::{ContentPart, MessageContent, StreamEnd, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ModelId;

/// The thoughts of one answer, as they are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Thoughts {
    /// Whose they are.
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<Block>,
    /// The signatures of each call, in the calls' order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Vec<String>>,
    /// Thoughts without a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Block {
    Signed {
        signature: String,
        text: Option<String>,
    },
    /// What nobody else can read.
    Opaque(Value),
}

impl Thoughts {
    /// What there is to keep of an answer of `model`, whose calls are `calls`.
    pub(super) fn of(end: &StreamEnd, calls: &[ToolCall], model: &ModelId) -> Option<Self> {
        let mut blocks = Vec::new();
        for part in end.captured_content.iter().flat_map(MessageContent::parts) {
            match (part, blocks.last_mut()) {
                (ContentPart::ThoughtSignature(signature), _) => {
                    blocks.push(Block::Signed { signature: signature.clone(), text: None });
                }
                (ContentPart::ReasoningContent(thought), Some(Block::Signed { text: text @ None, .. })) => {
                    *text = Some(thought.clone());
                }
                (ContentPart::Custom(custom), _) => blocks.push(Block::Opaque(custom.data.clone())),
                _ => {}
            }
        }
        // Only where calls wait for their results are thoughts without a signature wanted back.
        let plain = end.captured_reasoning_content.clone().filter(|_| blocks.is_empty() && !calls.is_empty());
        let signatures = calls.iter().map(|call| call.thought_signatures.clone().unwrap_or_default());
        let calls: Vec<Vec<String>> = signatures.collect();
        let calls = if calls.iter().all(Vec::is_empty) { Vec::new() } else { calls };
        let is_empty = blocks.is_empty() && calls.is_empty() && plain.is_none();
        (!is_empty).then(|| Self { model: model.to_string(), blocks, calls, plain })
    }

    /// The thoughts that were kept as `kept`, if they are those of `model`.
    pub(super) fn read(kept: &Value, model: &ModelId) -> Option<Self> {
        let thoughts: Self = serde_json::from_value(kept.clone()).ok()?;
        (thoughts.model == model.to_string()).then_some(thoughts)
    }

    /// The parts that go before what was said. Thoughts without a signature go only where calls wait for their results:
    /// some models need them there, and some refuse them elsewhere.
    pub(super) fn parts(&self, has_calls: bool) -> Vec<ContentPart> {
        let mut parts = Vec::new();
        for block in &self.blocks {
            match block {
                Block::Signed { signature, text } => {
                    parts.push(ContentPart::ThoughtSignature(signature.clone()));
                    parts.extend(text.clone().map(ContentPart::ReasoningContent));
                }
                Block::Opaque(data) => parts.push(ContentPart::from_custom(data.clone(), None)),
            }
        }
        parts.extend(self.plain.clone().filter(|_| has_calls).map(ContentPart::ReasoningContent));
        parts
    }

    /// The signatures of the call that came as number `index`.
    pub(super) fn of_call(&self, index: usize) -> Option<Vec<String>> {
        self.calls.get(index).filter(|signatures| !signatures.is_empty()).cloned()
    }
}
