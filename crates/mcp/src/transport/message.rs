//! Messages out of what a server writes, whatever else it writes.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Reads messages, and knows which requests have no answer yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Messages {
    open: Arc<Mutex<HashSet<RequestId>>>,
}

impl Messages {
    /// Takes note of what is sent.
    pub(crate) fn sent(&self, message: &ClientJsonRpcMessage) {
        if let ClientJsonRpcMessage::Request(request) = message {
            self.open().insert(request.id.clone());
        }
    }

    /// Adds the messages in `text` to `queue`: one, or several in a batch. What is none is left out; an answer that can't
    /// be understood becomes an error, so that nobody waits for it.
    pub(crate) fn read(&self, text: &[u8], queue: &mut VecDeque<ServerJsonRpcMessage>) {
        if let Ok(message) = serde_json::from_slice::<ServerJsonRpcMessage>(text) {
            self.answered(&message);
            queue.push_back(message);
            return;
        }
        match serde_json::from_slice::<Vec<&RawValue>>(text) {
            Ok(batch) => batch.into_iter().for_each(|message| self.read_one(message.get().as_bytes(), queue)),
            Err(_) => self.read_one(text, queue),
        }
    }

    /// Answers all open requests with an error: one of them may have been answered with what was too long.
    pub(crate) fn too_long(&self, limit: usize, queue: &mut VecDeque<ServerJsonRpcMessage>) {
        let message = format!("its answer is longer than {limit} bytes");
        queue.extend(self.open().drain().map(|id| error(id, message.clone())));
    }

    fn read_one(&self, text: &[u8], queue: &mut VecDeque<ServerJsonRpcMessage>) {
        if let Some(message) = serde_json::from_slice(text).ok().or_else(|| refusal_of(text)) {
            self.answered(&message);
            queue.push_back(message);
        } else {
            tracing::debug!(n_bytes = text.len(), "an MCP server wrote what is not a message");
        }
    }

    fn answered(&self, message: &ServerJsonRpcMessage) {
        match message {
            ServerJsonRpcMessage::Response(response) => self.open().remove(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref().is_some_and(|id| self.open().remove(id)),
            ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => false,
        };
    }

    fn open(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error in the place of `text`, an answer that can't be understood; `None` if it is not an answer.
///
/// Answers are found however deeply they are nested: only their outermost members are read.
pub(crate) fn refusal_of(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    #[derive(Deserialize)]
    struct Answer {
        id: RequestId,
        method: Option<IgnoredAny>,
    }

    let answer: Answer = serde_json::from_slice(text).ok()?;
    answer.method.is_none().then(|| error(answer.id, "its answer is not understood, or nested too deeply".to_owned()))
}

fn error(id: RequestId, message: String) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None), Some(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<ServerJsonRpcMessage> {
        let mut queue = VecDeque::new();
        Messages::default().read(text.as_bytes(), &mut queue);
        queue.into()
    }

    #[test]
    fn chatter_is_left_out() {
        for chatter in ["Listening on stdio", "{{{", "42", "\"hello\"", "[]", "[1]", "{}", "\u{fffd}"] {
            assert!(read(chatter).is_empty(), "{chatter}");
        }
    }

    #[test]
    fn a_batch_is_its_messages() {
        let batch =
            r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}]"#;
        assert_eq!(read(batch).len(), 2);
    }

    #[test]
    fn an_answer_that_is_none_is_an_error() {
        let answers = read(r#"{"jsonrpc":"2.0","id":7,"error":"bad"}"#);
        let [ServerJsonRpcMessage::Error(error)] = answers.as_slice() else { panic!("{answers:?}") };
        assert_eq!(error.id, Some(RequestId::Number(7)));
    }

    #[test]
    fn an_answer_that_is_nested_too_deeply_is_an_error() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let answer = format!(r#"{{"jsonrpc":"2.0","result":{deep},"id":7}}"#);
        for text in [answer.clone(), format!(r#"[{answer},{{"jsonrpc":"2.0","method":"x","params":{deep}}}]"#)] {
            let answers = read(&text);
            let [ServerJsonRpcMessage::Error(error)] = answers.as_slice() else { panic!("{answers:?}") };
            assert_eq!(error.id, Some(RequestId::Number(7)));
        }
    }
}
