//! Generated content, as Gemini has it.

use serde_json::{Value, json};

use super::api::{AnswerReader, Unreadable};
use super::heard::{Heard, WrittenCall};
use super::limits;
use super::request::{Assistant, Conversation, Written, WrittenResult};
use super::sse::SseEvent;
use super::thoughts::Block;
use super::{Part, ProviderKind, Request, Thinking, known};
use crate::tools::ToolSpec;

/// What Gemini 3 accepts in place of a signature that is missing.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// What a signature takes besides its text.
const SIGNATURE_OVERHEAD: usize = 64;

/// The body of `request`.
pub(super) fn body_of(request: &Request, has_temperature: bool) -> Value {
    let kind = ProviderKind::Gemini;
    let name = &request.model.name;
    let mut contents: Vec<Value> = Vec::new();
    for written in Conversation::write(request, kind) {
        let (role, parts) = match written {
            Written::User(parts) => ("user", parts.iter().map(|part| part_of(part)).collect()),
            Written::Assistant(said) => ("model", parts_of(&said, name)),
            Written::Results(results) => ("user", results.iter().map(result_part).collect::<Vec<_>>()),
        };
        contents.push(json!({ "role": role, "parts": parts }));
    }
    let mut body = json!({
        "systemInstruction": { "parts": [{ "text": request.system }] },
        "contents": contents,
    });
    if !request.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
            let (name, description, schema) = (&tool.name, &tool.description, &tool.input_schema);
            json!({ "name": name, "description": description, "parametersJsonSchema": schema })
        };
        let declarations: Vec<Value> = request.tools.iter().map(tool).collect();
        body["tools"] = json!([{ "functionDeclarations": declarations }]);
    }
    // Models that do not think refuse to be asked for thoughts.
    if known::thinks(kind, name) {
        body["generationConfig"]["thinkingConfig"] = thinking_config(request.thinking, name);
    }
    if has_temperature {
        body["generationConfig"]["temperature"] = json!(request.temperature.number());
    }
    body
}

fn thinking_config(thinking: Thinking, name: &str) -> Value {
    let (level, budget) = match thinking {
        Thinking::Default => return json!({ "includeThoughts": true }),
        Thinking::Low => ("LOW", 1_000),
        Thinking::Medium => ("MEDIUM", 8_000),
        Thinking::High => ("HIGH", 24_000),
    };
    if ["gemini-3", "gemma-4"].iter().any(|model| name.contains(model)) {
        json!({ "includeThoughts": true, "thinkingLevel": level })
    } else {
        json!({ "includeThoughts": true, "thinkingBudget": budget })
    }
}

fn part_of(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Image { mime_type, data } => json!({ "inline_data": { "mime_type": mime_type, "data": data } }),
    }
}

/// Each part has the signature that came with it.
fn parts_of(said: &Assistant<'_>, model: &str) -> Vec<Value> {
    let mut of_text = said.thoughts.as_ref().and_then(|thoughts| thoughts.of_text());
    let mut parts = Vec::new();
    for text in &said.texts {
        parts.push(signed(json!({ "text": text }), of_text.take()));
    }
    for (index, call) in said.calls.iter().enumerate() {
        let mut function = json!({ "name": call.name, "args": call.arguments });
        if !is_made(&call.id) {
            function["id"] = json!(call.id);
        }
        let of_call = said.thoughts.as_ref().and_then(|thoughts| thoughts.of_call(index));
        // The first call of a turn must have one.
        let missing = (model.contains("gemini-3") && index == 0).then_some(NO_SIGNATURE);
        let signature = of_call.or_else(|| of_text.take()).or(missing);
        parts.push(signed(json!({ "functionCall": function }), signature));
    }
    parts
}

fn signed(mut part: Value, signature: Option<&str>) -> Value {
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

fn result_part(result: &WrittenResult<'_>) -> Value {
    let response = json!({ "name": result.name, "content": result.text() });
    let mut function = json!({ "name": result.name, "response": response });
    if !is_made(&result.id) {
        function["id"] = json!(result.id);
    }
    json!({ "functionResponse": function })
}

/// The id of a call that came without one. `Context::unused_id` makes others of the same form.
fn made_id(name: &str, number: usize) -> String {
    format!("call#{name}#{number}")
}

/// Whether the model does not know this id.
fn is_made(id: &str) -> bool {
    let number = id.strip_prefix("call#").and_then(|rest| rest.rsplit_once('#')).map(|(_, number)| number);
    id.is_empty() || number.is_some_and(|number| number.parse::<usize>().is_ok())
}

/// Reads an answer.
pub(super) struct Reader;

impl AnswerReader for Reader {
    fn read(&mut self, event: &SseEvent, heard: &mut Heard) -> Result<(), Unreadable> {
        let chunk: Value = serde_json::from_str(&event.data)?;
        if !chunk["error"].is_null() {
            return Err(Unreadable::Failed(chunk));
        }
        read_usage(&chunk["usageMetadata"], heard);
        if !chunk["promptFeedback"]["blockReason"].is_null() {
            heard.is_refused = true;
            heard.is_over = true;
        }
        let candidate = &chunk["candidates"][0];
        let n_calls = heard.n_calls();
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            read_part(part, heard)?;
        }
        if heard.n_calls() > n_calls {
            heard.hold(event.data.len())?;
        }
        if let Some(reason) = candidate["finishReason"].as_str().filter(|reason| !reason.is_empty()) {
            heard.reason = Some(reason.to_owned());
            heard.is_over = true;
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Heard) {}
}

fn read_part(part: &Value, heard: &mut Heard) -> Result<(), Unreadable> {
    let signature = part["thoughtSignature"].as_str().map(str::to_owned);
    heard.hold(signature.as_deref().map_or(0, |signature| signature.len() + SIGNATURE_OVERHEAD))?;
    let function = &part["functionCall"];
    if function.is_object() {
        Heard::has_room_for_another(heard.n_calls())?;
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        let id = function["id"].as_str().map_or_else(|| made_id(&name, heard.n_calls()), str::to_owned);
        let arguments = function["args"].clone();
        heard.call(WrittenCall { id, name, arguments, signature });
        return Ok(());
    }
    let text = part["text"].as_str().unwrap_or_default();
    let is_thought = part["thought"].as_bool() == Some(true);
    if is_thought { heard.think(text) } else { heard.say(text) }?;
    if let Some(signature) = signature {
        heard.keep(Block::Signed { signature, text: None });
    }
    Ok(())
}

fn read_usage(usage: &Value, heard: &mut Heard) {
    if !usage.is_object() {
        return;
    }
    let count = |name: &str| limits::tokens(usage[name].as_u64()).unwrap_or_default();
    heard.usage.input = count("promptTokenCount") + count("toolUsePromptTokenCount");
    heard.usage.cached = count("cachedContentTokenCount");
    heard.usage.output = count("candidatesTokenCount") + count("thoughtsTokenCount");
}
