//! What a model costs, where its provider says so.

use serde_json::Value;

use super::Usage;
use super::limits::MAX_COST;

/// What a model costs, in US dollars a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Price {
    /// What it is told.
    input: f64,
    /// What it was told before, and remembers.
    cached: f64,
    /// What it answers.
    output: f64,
}

impl Price {
    /// The price in `pricing` of a listed model; nothing if there is none, or it can't be said in advance.
    pub(super) fn read(pricing: &Value) -> Option<Self> {
        // Most write a price as text, so that nothing of it is lost.
        let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
        let price = |names: [&str; 2]| {
            let price = names.iter().find_map(|name| number(&pricing[*name]));
            price.filter(|price: &f64| (0.0..=MAX_COST).contains(price))
        };
        let (input, output) = (price(["prompt", "input"])?, price(["completion", "output"])?);
        let cached = price(["input_cache_read", "cached_input"]).unwrap_or(input);
        Some(Self { input, cached, output })
    }

    /// What a request and its answer cost.
    #[expect(clippy::cast_precision_loss, reason = "nobody uses more than 2^52 tokens")]
    pub(crate) fn of(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.input);
        let new = (usage.input - cached) as f64;
        new * self.input + cached as f64 * self.cached + usage.output as f64 * self.output
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cost(pricing: &Value) -> Option<f64> {
        let usage = Usage { input: 1000, cached: 400, output: 10, cost: None };
        Price::read(pricing).map(|price| price.of(&usage))
    }

    #[test]
    fn a_price_is_for_each_token_told_remembered_and_answered() {
        let pricing = json!({ "prompt": "0.01", "completion": "0.5", "input_cache_read": "0.001" });
        assert_eq!(cost(&pricing), Some(600.0 * 0.01 + 400.0 * 0.001 + 10.0 * 0.5));
        assert_eq!(cost(&json!({ "input": 0.5, "output": 1 })), Some(510.0));
        assert_eq!(cost(&json!({ "prompt": "0", "completion": "0" })), Some(0.0));
    }

    #[test]
    fn what_is_no_price_is_not_guessed() {
        for pricing in [json!(null), json!({ "prompt": "1" }), json!({ "prompt": "-1", "completion": "-1" }), json!(7)]
        {
            assert_eq!(cost(&pricing), None, "{pricing}");
        }
    }
}
