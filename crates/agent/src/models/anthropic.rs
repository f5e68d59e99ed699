//! Messages, as Anthropic has them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::api::{AnswerReader, Unreadable};
use super::claude;
use super::failure::Excess;
use super::heard::{Heard, WrittenCall};
use super::limits::{self, MAX_ARGUMENT_BYTES};
use super::request::{Assistant, Conversation, Written, WrittenResult, tools};
use super::sse::SseEvent;
use super::thoughts::Block;
use super::{Part, ProviderKind, Request, Thinking, known};
use crate::tools::ToolSpec;

/// The body of `request`.
pub(super) fn body_of(request: &Request, has_temperature: bool) -> Value {
    let kind = ProviderKind::Anthropic;
    let name = &request.model.name;
    let mut messages: Vec<Value> = Vec::new();
    for written in Conversation::write(request, kind) {
        let (role, blocks) = match written {
            Written::User(parts) => ("user", parts.iter().map(|part| block_of(part)).collect()),
            Written::Assistant(said) => ("assistant", blocks_of(&said)),
            Written::Results(results) => ("user", results.iter().map(result_block).collect::<Vec<_>>()),
        };
        messages.push(json!({ "role": role, "content": blocks }));
    }
    // The next request begins with all that is in this one.
    let last = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut());
    if let Some(last) = last {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    messages.iter_mut().for_each(simplify);
    let mut body = json!({
        "model": name,
        "stream": true,
        "max_tokens": claude::max_output_tokens(name),
        "system": request.system,
        "messages": messages,
    });
    let tools = tools(request, kind);
    if !tools.is_empty() {
        let tool = |tool: &ToolSpec| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema });
        body["tools"] = tools.iter().map(tool).collect();
    }
    let effort = request.thinking.effort().filter(|_| known::thinks(kind, name));
    if let Some(effort) = effort {
        think(&mut body, name, request.thinking, effort);
    } else if has_temperature {
        // A model that thinks has its own temperature.
        body["temperature"] = json!(request.temperature.number());
    }
    body
}

/// One text alone needs no block.
fn simplify(message: &mut Value) {
    if let [only] = message["content"].as_array().map_or(&[][..], Vec::as_slice)
        && only.get("cache_control").is_none()
        && let Some(text) = only["text"].as_str()
    {
        message["content"] = json!(text);
    }
}

/// Asks the model `name` to think with this effort, in the way of its version.
fn think(body: &mut Value, name: &str, thinking: Thinking, effort: &str) {
    if claude::has_effort(name) {
        body["output_config"] = json!({ "effort": effort });
        if claude::thinks_adaptively(name) {
            body["thinking"] = json!({ "type": "adaptive", "display": "summarized" });
        }
        return;
    }
    let budget = match thinking {
        Thinking::Default | Thinking::Low => 1_024,
        Thinking::Medium => 8_000,
        Thinking::High => 24_000,
    };
    body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
}

fn block_of(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image { mime_type, data } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            json!({ "type": "image", "source": source })
        }
    }
}

/// Thoughts come first.
fn blocks_of(said: &Assistant<'_>) -> Vec<Value> {
    let thoughts = said.thoughts.iter().flat_map(|thoughts| &thoughts.blocks).map(|block| match block {
        Block::Signed { signature, text } => {
            json!({ "type": "thinking", "thinking": text.as_deref().unwrap_or_default(), "signature": signature })
        }
        Block::Opaque(data) => data.clone(),
    });
    let texts = said.texts.iter().map(|text| json!({ "type": "text", "text": text }));
    let calls = said
        .calls
        .iter()
        .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments }));
    thoughts.chain(texts).chain(calls).collect()
}

fn result_block(result: &WrittenResult<'_>) -> Value {
    let is_something = |part: &&Part| part.text().is_none_or(|text| !text.trim().is_empty());
    let content: Vec<Value> = result.parts.iter().filter(is_something).map(block_of).collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id, "content": content });
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Reads an answer.
#[derive(Default)]
pub(super) struct Reader {
    /// The blocks that have begun and not ended, by their numbers.
    open: BTreeMap<u64, Open>,
    n_blocks: usize,
}

/// A block that has begun.
enum Open {
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        id: String,
        name: String,
        input: String,
        whole_input: Value,
    },
    /// Text, which is said as it comes, or a kind of block that is not known.
    Other,
}

impl AnswerReader for Reader {
    fn read(&mut self, event: &SseEvent, heard: &mut Heard) -> Result<(), Unreadable> {
        // Each event has a name. If one has none, the stream was damaged, and something may be missing.
        let Some(name) = event.name.as_deref() else { return Err(Unreadable::Torn) };
        let data: Value = serde_json::from_str(&event.data)?;
        match name {
            "message_start" => read_usage(&data["message"]["usage"], heard),
            "content_block_start" => {
                heard.hold(event.data.len())?;
                self.begin(&data, heard)?;
            }
            "content_block_delta" => self.add(&data, heard)?,
            "content_block_stop" => {
                if let Some(block) = self.open.remove(&number_of(&data)) {
                    end(block, heard);
                }
            }
            "message_delta" => {
                read_usage(&data["usage"], heard);
                if let Some(reason) = data["delta"]["stop_reason"].as_str() {
                    heard.reason = Some(reason.to_owned());
                }
            }
            "message_stop" => heard.is_over = true,
            "error" => return Err(Unreadable::Failed(data)),
            // Pings, and kinds that are not known.
            _ => {}
        }
        Ok(())
    }

    /// A block that the limit on tokens cuts short has no end.
    fn finish(&mut self, heard: &mut Heard) {
        for block in std::mem::take(&mut self.open).into_values() {
            end(block, heard);
        }
    }
}

impl Reader {
    fn begin(&mut self, data: &Value, heard: &mut Heard) -> Result<(), Unreadable> {
        Heard::has_room_for_another(self.n_blocks)?;
        self.n_blocks += 1;
        let block = &data["content_block"];
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        let open = match text("type") {
            "text" => {
                heard.say(text("text"))?;
                Open::Other
            }
            "thinking" => {
                heard.think(text("thinking"))?;
                Open::Thinking { text: text("thinking").to_owned(), signature: text("signature").to_owned() }
            }
            "redacted_thinking" => {
                heard.keep(Block::Opaque(block.clone()));
                Open::Other
            }
            "tool_use" => {
                let whole_input = block["input"].clone();
                let (id, name) = (text("id").to_owned(), text("name").to_owned());
                Open::Call { id, name, input: String::new(), whole_input }
            }
            _ => Open::Other,
        };
        if let Some(before) = self.open.insert(number_of(data), open) {
            end(before, heard);
        }
        Ok(())
    }

    fn add(&mut self, data: &Value, heard: &mut Heard) -> Result<(), Unreadable> {
        let delta = &data["delta"];
        let Some(block) = self.open.get_mut(&number_of(data)) else { return Err(Unreadable::Torn) };
        let piece = |name: &str| delta[name].as_str().unwrap_or_default();
        match block {
            Open::Thinking { text, signature } => {
                heard.think(piece("thinking"))?;
                heard.hold(piece("signature").len())?;
                text.push_str(piece("thinking"));
                signature.push_str(piece("signature"));
            }
            Open::Call { input, .. } => {
                let more = piece("partial_json");
                heard.hold(more.len())?;
                if input.len() + more.len() > MAX_ARGUMENT_BYTES {
                    return Err(Excess::Arguments(MAX_ARGUMENT_BYTES).into());
                }
                input.push_str(more);
            }
            Open::Other => heard.say(piece("text"))?,
        }
        Ok(())
    }
}

fn end(block: Open, heard: &mut Heard) {
    match block {
        // Thoughts without a signature are not taken back.
        Open::Thinking { signature, .. } if signature.is_empty() => {}
        Open::Thinking { text, signature } => heard.keep(Block::Signed { signature, text: Some(text) }),
        Open::Call { id, name, input, whole_input } => {
            // Some gateways send the input with the block itself.
            let arguments = if input.is_empty() { whole_input } else { Value::String(input) };
            heard.call(WrittenCall { id, name, arguments, signature: None });
        }
        Open::Other => {}
    }
}

fn number_of(data: &Value) -> u64 {
    data["index"].as_u64().unwrap_or_default()
}

/// Reads what was counted. What an event leaves out stays as it was.
fn read_usage(usage: &Value, heard: &mut Heard) {
    let count = |name: &str| limits::tokens(usage[name].as_u64());
    let cached = count("cache_read_input_tokens");
    if let Some(input) = count("input_tokens") {
        // The input does not include what the cache was given, or had.
        let created = count("cache_creation_input_tokens").unwrap_or_default();
        heard.usage.input = input + created + cached.unwrap_or_default();
    }
    heard.usage.cached = cached.unwrap_or(heard.usage.cached);
    heard.usage.output = count("output_tokens").unwrap_or(heard.usage.output);
}
