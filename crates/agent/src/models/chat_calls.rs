//! The calls of an answer of chat completions, put together from their pieces.
//!
//! Not all servers that have chat completions number their calls, or number them from 0, or give each its own number.

use serde_json::Value;

use super::failure::Excess;
use super::heard::{Heard, WrittenCall};
use super::limits::MAX_ARGUMENT_BYTES;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct ChatCalls(Vec<ChatCall>);

#[derive(Debug, Default)]
struct ChatCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    scan: JsonScan,
}

impl ChatCalls {
    /// Takes the pieces of one delta.
    pub(super) fn take(&mut self, pieces: &Value, heard: &mut Heard) -> Result<(), Excess> {
        for piece in pieces.as_array().into_iter().flatten() {
            let function = &piece["function"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let arguments = match &function["arguments"] {
                Value::Null => String::new(),
                Value::String(arguments) => arguments.clone(),
                whole => whole.to_string(),
            };
            let (index, id, name) = (piece["index"].as_u64(), text(&piece["id"]), text(&function["name"]));
            heard.hold(id.len() + name.len() + arguments.len())?;
            self.push(ChatCall { index, id, name, arguments, scan: JsonScan::default() })?;
        }
        Ok(())
    }

    /// Tells `heard` of all calls, each with its arguments as text.
    pub(super) fn finish(&mut self, heard: &mut Heard) {
        for ChatCall { id, name, arguments, .. } in std::mem::take(&mut self.0) {
            heard.call(WrittenCall { id, name, arguments: Value::String(arguments), signature: None });
        }
    }

    fn push(&mut self, mut piece: ChatCall) -> Result<(), Excess> {
        let begun = match piece.index {
            Some(_) => self.0.iter_mut().rev().find(|call| call.index == piece.index),
            None if piece.id.is_empty() => self.0.last_mut(),
            None => self.0.iter_mut().find(|call| call.id == piece.id),
        };
        if let Some(call) = begun.filter(|call| call.goes_on_with(&piece)) {
            return call.append(&piece);
        }
        Heard::has_room_for_another(self.0.len())?;
        let arguments = std::mem::take(&mut piece.arguments);
        piece.append_arguments(&arguments)?;
        self.0.push(piece);
        Ok(())
    }
}

impl ChatCall {
    /// Whether `piece`, which has the same number or none, is more of this call, and not another one.
    fn goes_on_with(&self, piece: &Self) -> bool {
        if !piece.id.is_empty() && !self.id.is_empty() {
            return piece.id == self.id;
        }
        // Some name the call with every piece; then it is another once the arguments of this one are whole.
        piece.name.is_empty() || !self.scan.is_whole()
    }

    fn append(&mut self, piece: &Self) -> Result<(), Excess> {
        for (own, new) in [(&mut self.id, &piece.id), (&mut self.name, &piece.name)] {
            if !new.is_empty() {
                own.clone_from(new);
            }
        }
        self.append_arguments(&piece.arguments)
    }

    fn append_arguments(&mut self, more: &str) -> Result<(), Excess> {
        if self.arguments.len() + more.len() > MAX_ARGUMENT_BYTES {
            return Err(Excess::Arguments(MAX_ARGUMENT_BYTES));
        }
        self.scan.read(more);
        self.arguments.push_str(more);
        Ok(())
    }
}

/// Tells whether a list or an object that comes in pieces is whole, and looks at each byte once.
#[derive(Debug, Default)]
struct JsonScan {
    depth: usize,
    has_begun: bool,
    is_in_string: bool,
    is_escaped: bool,
    #[cfg(test)]
    n_looked_at: usize,
}

impl JsonScan {
    fn read(&mut self, piece: &str) {
        #[cfg(test)]
        {
            self.n_looked_at += piece.len();
        }
        for byte in piece.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ if self.is_in_string => {}
                b'{' | b'[' => {
                    self.has_begun = true;
                    self.depth += 1;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.is_in_string
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::limits::MAX_CALLS;
    use super::*;

    fn check(pieces: &[Value], expected: &[(&str, &str, &str)]) {
        let (mut calls, mut heard) = (ChatCalls::default(), Heard::default());
        for piece in pieces {
            calls.take(&json!([piece]), &mut heard).unwrap();
        }
        let calls = std::mem::take(&mut calls.0);
        let named = calls.iter().filter(|call| !call.name.is_empty());
        let found: Vec<_> = named.map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect();
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
        let named_always =
            ["{\"x\": \"}\\\"", "]\"", "}", "{}"].map(|arguments| piece(Some(0), None, Some("look"), arguments));
        check(&named_always, &[("", "look", "{\"x\": \"}\\\"]\"}"), ("", "look", "{}")]);
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

    #[test]
    fn arguments_in_tiny_pieces_are_looked_at_once() {
        let (mut calls, n_pieces) = (ChatCalls::default(), 100_000);
        for _ in 0..n_pieces {
            let arguments = "[".to_owned();
            // A name with every piece asks each time whether the call is whole.
            let piece = ChatCall { index: Some(0), name: "look".to_owned(), arguments, ..ChatCall::default() };
            calls.push(piece).unwrap();
        }
        assert_eq!((calls.0.len(), calls.0[0].arguments.len(), calls.0[0].scan.n_looked_at), (1, n_pieces, n_pieces));
    }

    #[test]
    fn arguments_and_calls_have_a_limit() {
        let mut heard = Heard::default();
        let half = piece(Some(0), None, Some("look"), &"[".repeat(MAX_ARGUMENT_BYTES / 2));
        let mut calls = ChatCalls::default();
        let taken = [(); 3].map(|()| calls.take(&json!([half]), &mut heard));
        assert_eq!(taken, [Ok(()), Ok(()), Err(Excess::Arguments(MAX_ARGUMENT_BYTES))]);
        let many: Vec<Value> =
            (0..=MAX_CALLS).map(|n| piece(Some(n as u64), Some(&n.to_string()), Some("look"), "{}")).collect();
        let taken = ChatCalls::default().take(&json!(many), &mut Heard::default());
        assert_eq!(taken, Err(Excess::Calls(MAX_CALLS)));
    }
}
