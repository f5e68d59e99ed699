//! What a provider wants back of what its model thought: signatures, and what only it can read.
//!
//! They are of use to the model that made them, and are sent to no other.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ModelId;

/// The thoughts of one answer, as they are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Thoughts {
    /// Whose they are.
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blocks: Vec<Block>,
    /// The signatures of each call, in the calls' order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Vec<String>>,
    /// Thoughts without a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) plain: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Block {
    Signed {
        signature: String,
        text: Option<String>,
    },
    /// What nobody else can read.
    Opaque(Value),
}

impl Thoughts {
    /// What there is to keep of an answer of `model`, if there is anything.
    pub(super) fn new(
        model: &ModelId,
        blocks: Vec<Block>,
        signatures: impl Iterator<Item = Option<String>>,
        plain: Option<String>,
    ) -> Option<Self> {
        let calls: Vec<Vec<String>> = signatures.map(|signature| signature.into_iter().collect()).collect();
        let calls = if calls.iter().all(Vec::is_empty) { Vec::new() } else { calls };
        let is_empty = blocks.is_empty() && calls.is_empty() && plain.is_none();
        (!is_empty).then(|| Self { model: model.to_string(), blocks, calls, plain })
    }

    /// As they are kept in the record.
    pub(super) fn to_kept(&self) -> Value {
        json!(self)
    }

    /// The thoughts that were kept as `kept`, if they are those of `model`.
    pub(super) fn read(kept: &Value, model: &ModelId) -> Option<Self> {
        let thoughts = Self::deserialize(kept).ok()?;
        (thoughts.model == model.to_string()).then_some(thoughts)
    }

    /// The signature of the call that came as number `index`.
    pub(super) fn of_call(&self, index: usize) -> Option<&str> {
        self.calls.get(index)?.first().map(String::as_str)
    }

    /// The last signature that belongs to no call.
    pub(super) fn of_text(&self) -> Option<&str> {
        let signatures = self.blocks.iter().rev().filter_map(|block| match block {
            Block::Signed { signature, .. } => Some(signature),
            Block::Opaque(_) => None,
        });
        let is_of_call = |signature: &String| self.calls.iter().flatten().any(|of_call| of_call == signature);
        signatures.into_iter().find(|signature| !is_of_call(signature)).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ModelId {
        "gemini/one".parse().unwrap()
    }

    #[test]
    fn what_was_kept_is_read_by_its_model_only() {
        let block = Block::Signed { signature: "of text".to_owned(), text: None };
        let signatures = [None, Some("of call".to_owned())].into_iter();
        let kept = Thoughts::new(&model(), vec![block], signatures, None).unwrap().to_kept();
        let thoughts = Thoughts::read(&kept, &model()).unwrap();
        let found = [thoughts.of_text(), thoughts.of_call(0), thoughts.of_call(1), thoughts.of_call(2)];
        assert_eq!(found, [Some("of text"), None, Some("of call"), None]);
        assert_eq!(Thoughts::read(&kept, &"gemini/two".parse().unwrap()), None);
        assert_eq!(Thoughts::new(&model(), Vec::new(), [None].into_iter(), None), None);
    }

    #[test]
    fn signatures_of_calls_were_once_kept_twice() {
        let blocks =
            json!([{ "signed": { "signature": "a", "text": null } }, { "signed": { "signature": "b", "text": null } }]);
        let kept = json!({ "model": "gemini/one", "blocks": blocks, "calls": [["a", "b"], []] });
        let thoughts = Thoughts::read(&kept, &model()).unwrap();
        assert_eq!((thoughts.of_text(), thoughts.of_call(0), thoughts.of_call(1)), (None, Some("a"), None));
    }
}
