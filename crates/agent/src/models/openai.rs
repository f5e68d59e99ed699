//! Chat completions, as `OpenAI` and many others have them.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::api::{AnswerReader, Unreadable};
use super::chat_calls::ChatCalls;
use super::heard::Heard;
use super::limits::{self, MAX_COST};
use super::request::{Call, Conversation, Written, WrittenResult};
use super::sse::SseEvent;
use super::{Part, ProviderKind, Request, Usage, known};
use crate::tools::ToolSpec;

/// The event that marks the end.
const DONE: &str = "[DONE]";

/// The body of `request`.
pub(super) fn body_of(request: &Request, has_temperature: bool) -> Value {
    let kind = ProviderKind::OpenAi;
    let mut messages = vec![json!({ "role": "system", "content": request.system })];
    for written in Conversation::write(request, kind) {
        match written {
            Written::User(parts) => messages.push(json!({ "role": "user", "content": content_of(&parts) })),
            Written::Assistant(said) => {
                let mut message = json!({ "role": "assistant", "content": said.texts.join("\n\n") });
                let call = |call: &Call<'_>| {
                    let arguments = Value::Object(call.arguments.clone()).to_string();
                    let function = json!({ "name": call.name, "arguments": arguments });
                    json!({ "type": "function", "id": call.id, "function": function })
                };
                if !said.calls.is_empty() {
                    message["tool_calls"] = said.calls.iter().map(call).collect();
                    // Some models need their thoughts where calls wait for results, and some refuse them elsewhere.
                    if let Some(plain) = said.thoughts.and_then(|thoughts| thoughts.plain) {
                        message["reasoning_content"] = json!(plain);
                    }
                }
                messages.push(message);
            }
            Written::Results(results) => {
                let message = |result: &WrittenResult<'_>| json!({ "role": "tool", "content": result.text(), "tool_call_id": result.id });
                messages.extend(results.iter().map(message));
            }
        }
    }
    let mut body = json!({
        "model": request.model.name,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages,
    });
    if !request.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
            let (name, description, parameters) = (&tool.name, &tool.description, &tool.input_schema);
            let function =
                json!({ "name": name, "description": description, "parameters": parameters, "strict": false });
            json!({ "type": "function", "function": function })
        };
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    if let Some(effort) = request.thinking.effort().filter(|_| known::thinks(kind, &request.model.name)) {
        body["reasoning_effort"] = json!(effort);
    }
    if has_temperature {
        body["temperature"] = json!(request.temperature.number());
    }
    body
}

/// Text alone is a string: not every server reads lists.
fn content_of(parts: &[Cow<'_, Part>]) -> Value {
    if parts.iter().all(|part| part.text().is_some()) {
        return json!(parts.iter().filter_map(|part| part.text()).collect::<Vec<_>>().join("\n\n"));
    }
    let part = |part: &Cow<'_, Part>| match &**part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime_type, data } => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:{mime_type};base64,{data}") } })
        }
    };
    parts.iter().map(part).collect()
}

/// Reads an answer.
#[derive(Default)]
pub(super) struct Reader {
    calls: ChatCalls,
}

impl AnswerReader for Reader {
    fn read(&mut self, event: &SseEvent, heard: &mut Heard) -> Result<(), Unreadable> {
        if event.data.trim() == DONE {
            heard.is_over = true;
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(&event.data)?;
        // vLLM has its errors at the top.
        if !chunk["error"].is_null() || chunk["object"] == "error" {
            return Err(Unreadable::Failed(chunk));
        }
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        let (text, thought) = content_and_thoughts(&delta["content"]);
        // Each server has its own place for thoughts.
        let thought = [thought.as_deref(), delta["reasoning_content"].as_str(), delta["reasoning"].as_str()];
        heard.think_plainly(thought.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or_default())?;
        heard.say(&text)?;
        if let Some(refusal) = delta["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
            heard.is_refused = true;
            heard.say(refusal)?;
        }
        self.calls.take(&delta["tool_calls"], heard)?;
        if let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) {
            heard.reason = Some(reason.to_owned());
        }
        read_usage(&chunk["usage"], heard);
        Ok(())
    }

    fn finish(&mut self, heard: &mut Heard) {
        self.calls.finish(heard);
    }
}

/// The text and the thoughts in `content`, which is a text, or a list of parts.
fn content_and_thoughts(content: &Value) -> (String, Option<String>) {
    let parts = match content {
        Value::String(text) => return (text.clone(), None),
        Value::Array(parts) => parts,
        _ => return (String::new(), None),
    };
    let (mut text, mut thoughts) = (String::new(), String::new());
    for part in parts {
        match &part["thinking"] {
            Value::Array(inner) => thoughts.extend(inner.iter().filter_map(|part| part["text"].as_str())),
            Value::String(thought) => thoughts.push_str(thought),
            _ => text.push_str(part["text"].as_str().unwrap_or_default()),
        }
    }
    (text, Some(thoughts))
}

fn read_usage(usage: &Value, heard: &mut Heard) {
    if !usage.is_object() {
        return;
    }
    let count = |place: &str| limits::tokens(usage.pointer(place).and_then(Value::as_u64)).unwrap_or_default();
    let (input, output) = (count("/prompt_tokens"), count("/completion_tokens"));
    // Some servers send an empty count with each chunk.
    if input + output > 0 {
        let cached = count("/prompt_tokens_details/cached_tokens");
        heard.usage = Usage { input, cached, output, cost: heard.usage.cost };
    }
    let cost = usage["cost"].as_f64().filter(|cost| (0.0..=MAX_COST).contains(cost));
    heard.usage.cost = cost.or(heard.usage.cost);
}
