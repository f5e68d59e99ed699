//! The calls of an answer of chat completions, put together from their pieces.
//!
//! genai does that too, by the number of each piece alone. Not all servers that have chat completions number their calls,
//! or number them from 0, or give each its own number.

use genai::chat::ToolCall;
use serde_json::Value;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct ChatCalls(Vec<ChatCall>);

#[derive(Debug, Default)]
struct ChatCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl ChatCalls {
    /// Takes the pieces of one delta.
    pub(super) fn take(&mut self, pieces: &Value) {
        for piece in pieces.as_array().into_iter().flatten() {
            let function = &piece["function"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let arguments = match &function["arguments"] {
                Value::Null => String::new(),
                Value::String(arguments) => arguments.clone(),
                whole => whole.to_string(),
            };
            let (index, id, name) = (piece["index"].as_u64(), text(&piece["id"]), text(&function["name"]));
            self.push(ChatCall { index, id, name, arguments });
        }
    }

    /// All that name a tool, each with its arguments as text.
    pub(super) fn finish(&mut self) -> Vec<ToolCall> {
        let call = |ChatCall { id, name, arguments, .. }| ToolCall {
            call_id: id,
            fn_name: name,
            fn_arguments: Value::String(arguments),
            thought_signatures: None,
        };
        std::mem::take(&mut self.0).into_iter().filter(|call| !call.name.is_empty()).map(call).collect()
    }

    fn push(&mut self, piece: ChatCall) {
        let begun = match piece.index {
            Some(_) => self.0.iter_mut().rev().find(|call| call.index == piece.index),
            None if piece.id.is_empty() => self.0.last_mut(),
            None => self.0.iter_mut().find(|call| call.id == piece.id),
        };
        match begun.filter(|call| call.goes_on_with(&piece)) {
            Some(call) => call.append(piece),
            None => self.0.push(piece),
        }
    }
}

impl ChatCall {
    /// Whether `piece`, which has the same number or none, is more of this call, and not another one.
    fn goes_on_with(&self, piece: &Self) -> bool {
        if !piece.id.is_empty() && !self.id.is_empty() {
            return piece.id == self.id;
        }
        // Some name the call with every piece; then it is another once the arguments of this one are whole.
        piece.name.is_empty() || serde_json::from_str::<Value>(&self.arguments).is_err()
    }

    fn append(&mut self, piece: Self) {
        for (own, new) in [(&mut self.id, piece.id), (&mut self.name, piece.name)] {
            if !new.is_empty() {
                *own = new;
            }
        }
        self.arguments.push_str(&piece.arguments);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pieces: &[Value], expected: &[(&str, &str, &str)]) {
        let mut calls = ChatCalls::default();
        for piece in pieces {
            calls.take(&json!([piece]));
        }
        let calls = calls.finish();
        let found: Vec<_> = calls
            .iter()
            .map(|call| (call.call_id.as_str(), call.fn_name.as_str(), call.fn_arguments.as_str().unwrap()))
            .collect();
        assert_eq!(found, expected, "{pieces:?}");
    }

    fn piece(index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
        json!({ "index": index, "id": id, "function": { "name": name, "arguments": arguments } })
    }

    #[test]
    fn pieces_of_one_number_are_one_call() {
        let first = piece(Some(0), Some("a"), Some("look"), "{\"x\"");
        let rest = [piece(Some(1), Some("b"), Some("see"), "{}"), piece(Some(0), None, None, ": 1}")];
        check(&[&[first][..], &rest].concat(), &[("a", "look", "{\"x\": 1}"), ("b", "see", "{}")]);
        let named_always = [(0, "{\"x\""), (0, ": 1}"), (1, ""), (1, "{}")].map(|(index, arguments)| {
            piece(Some(index), Some(["a", "b"][usize::from(index == 1)]), Some("look"), arguments)
        });
        check(&named_always, &[("a", "look", "{\"x\": 1}"), ("b", "look", "{}")]);
    }

    #[test]
    fn servers_may_count_otherwise_or_not_at_all() {
        let expected = [("a", "look", "{}"), ("b", "look", "[]")];
        for numbers in [[Some(1), Some(2)], [Some(0), Some(0)], [None, None]] {
            let pieces =
                [piece(numbers[0], Some("a"), Some("look"), "{}"), piece(numbers[1], Some("b"), Some("look"), "[]")];
            check(&pieces, &expected);
        }
        let nameless = [piece(None, Some("a"), Some("look"), ""), piece(None, None, None, "{}")];
        check(&nameless, &[("a", "look", "{}")]);
        let no_ids = [piece(Some(0), None, Some("look"), "{}"), piece(Some(0), None, Some("look"), "[]")];
        check(&no_ids, &[("", "look", "{}"), ("", "look", "[]")]);
        let one_id = [piece(Some(0), Some("a"), Some("look"), "{}"), piece(Some(1), Some("a"), Some("look"), "[]")];
        check(&one_id, &[("a", "look", "{}"), ("a", "look", "[]")]);
    }

    #[test]
    fn arguments_may_be_no_text() {
        let whole = json!({ "id": "a", "function": { "name": "look", "arguments": { "x": 1 } } });
        check(&[whole, json!({ "function": {} })], &[("a", "look", "{\"x\":1}")]);
    }

    #[test]
    fn what_names_no_tool_is_no_call() {
        check(&[json!({ "index": 0, "id": "a" }), json!("x"), json!({ "function": { "arguments": "{}" } })], &[]);
    }
}
