//! Requests, as genai wants them.

use std::collections::{BTreeSet, HashSet};

use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort, Tool, ToolCall,
    ToolResponse,
};
use serde_json::{Value, json};

use super::thoughts::Thoughts;
use super::{Message, ModelId, Part, ProviderKind, Request, Said, Thinking, ToolUse, known};
use crate::tools::ToolSpec;

/// The longest id of a call that every provider takes.
const LONGEST_ID: usize = 40;

/// What the model is asked.
pub(super) fn chat_request(request: &Request, kind: ProviderKind) -> ChatRequest {
    let ids = CallIds::of_all(&request.messages);
    let mut writer = Writer { kind, model: &request.model, ids, messages: Vec::new(), images: Vec::new() };
    for message in &request.messages {
        writer.push(message);
    }
    let mut messages = writer.finish();
    if kind == ProviderKind::Anthropic
        && let Some(last) = messages.pop()
    {
        // The next request begins with all that is in this one.
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
    let asked = ChatRequest::new(messages).with_system(request.system.clone());
    let tools = tools(request, kind);
    if tools.is_empty() { asked } else { asked.with_tools(tools) }
}

/// What the model may call. Anthropic wants tools where there were calls, so those that were called are named.
fn tools(request: &Request, kind: ProviderKind) -> Vec<Tool> {
    let tool = |spec: &ToolSpec| {
        Tool::new(spec.name.clone()).with_description(spec.description.clone()).with_schema(spec.input_schema.clone())
    };
    if kind != ProviderKind::Anthropic || !request.tools.is_empty() {
        return request.tools.iter().map(tool).collect();
    }
    let said = request.messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(said),
        Message::User(_) | Message::ToolResult { .. } => None,
    });
    let names: BTreeSet<&str> = said
        .flatten()
        .filter_map(|said| match said {
            Said::Call(call) => Some(call.name.as_str()),
            Said::Text(_) | Said::Kept(_) => None,
        })
        .collect();
    let gone = |name| Tool::new(name).with_description("Can't be called now.").with_schema(json!({ "type": "object" }));
    names.into_iter().map(gone).collect()
}

/// How the model is asked; `temperature` is left out for one that takes none.
pub(super) fn chat_options(request: &Request, kind: ProviderKind, has_temperature: bool) -> ChatOptions {
    let name = &request.model.name;
    let thinks = known::thinks(kind, name);
    let effort = match request.thinking {
        Thinking::Low if thinks => Some(ReasoningEffort::Low),
        Thinking::Medium if thinks => Some(ReasoningEffort::Medium),
        Thinking::High if thinks => Some(ReasoningEffort::High),
        Thinking::Default | Thinking::Low | Thinking::Medium | Thinking::High => None,
    };
    // Anthropic's models think at their own temperature.
    let is_free = kind != ProviderKind::Anthropic || effort.is_none();
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        // Those of chat completions we read ourselves; genai makes room for as many as the highest number says.
        .with_capture_tool_calls(kind != ProviderKind::OpenAi)
        // Gemini's models that do not think refuse to be asked for thoughts.
        .with_capture_reasoning_content(kind != ProviderKind::Gemini || thinks);
    if has_temperature && is_free {
        options = options.with_temperature(request.temperature.number());
    }
    // genai takes an ending like `-max` off a name, and makes it an effort, unless there is one. These are none.
    let effort = effort.or(match kind {
        ProviderKind::OpenAi => Some(ReasoningEffort::Budget(0)),
        ProviderKind::Anthropic if !name.starts_with("claude") => Some(ReasoningEffort::Zero),
        ProviderKind::Anthropic | ProviderKind::Gemini => None,
    });
    if let Some(effort) = effort {
        options = options.with_reasoning_effort(effort);
    }
    if kind == ProviderKind::Gemini { options } else { options.with_extra_body(json!({ "model": name })) }
}

struct Writer<'a> {
    kind: ProviderKind,
    model: &'a ModelId,
    ids: CallIds<'a>,
    messages: Vec<ChatMessage>,
    /// What calls gave that can't be in their results: it follows all of them.
    images: Vec<ContentPart>,
}

impl Writer<'_> {
    fn push(&mut self, message: &Message) {
        match message {
            Message::User(parts) => {
                let mut all = std::mem::take(&mut self.images);
                all.extend(parts.iter().map(content_part));
                self.messages.push(ChatMessage::user(MessageContent::from_parts(all)));
            }
            Message::Assistant(said) => {
                self.push_images();
                self.push_said(said);
            }
            Message::ToolResult { call, name, parts, is_error } => self.push_result(call, name, parts, *is_error),
        }
    }

    fn finish(mut self) -> Vec<ChatMessage> {
        self.push_images();
        self.messages
    }

    fn push_images(&mut self) {
        if !self.images.is_empty() {
            let images = std::mem::take(&mut self.images);
            self.messages.push(ChatMessage::user(MessageContent::from_parts(images)));
        }
    }

    fn push_said(&mut self, said: &[Said]) {
        let has_calls = said.iter().any(|said| matches!(said, Said::Call(_)));
        let thoughts = said.iter().find_map(|said| match said {
            Said::Kept(kept) => Thoughts::read(kept, self.model),
            Said::Text(_) | Said::Call(_) => None,
        });
        let mut parts: Vec<ContentPart> = thoughts.iter().flat_map(|thoughts| thoughts.parts(has_calls)).collect();
        let mut n_calls = 0;
        for said in said {
            match said {
                Said::Text(text) => parts.push(ContentPart::from_text(text)),
                Said::Call(ToolUse { id, name, arguments }) => {
                    parts.push(ContentPart::ToolCall(ToolCall {
                        call_id: self.ids.made(id, self.kind),
                        fn_name: name.clone(),
                        fn_arguments: Value::Object(arguments.clone()),
                        thought_signatures: thoughts.as_ref().and_then(|thoughts| thoughts.of_call(n_calls)),
                    }));
                    n_calls += 1;
                }
                Said::Kept(_) => {}
            }
        }
        self.messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
    }

    /// Results of one answer's calls are one message. Only Anthropic takes images in them: elsewhere they follow.
    fn push_result(&mut self, call: &str, name: &str, parts: &[Part], is_error: bool) {
        let id = self.ids.of(call, self.kind);
        let (result, images) = match self.kind {
            ProviderKind::Anthropic => (anthropic_result(&id, parts, is_error), Vec::new()),
            ProviderKind::OpenAi | ProviderKind::Gemini => {
                let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
                let text = if is_error { format!("error: {}", texts.join("\n")) } else { texts.join("\n") };
                let response = ToolResponse::new(id, text).with_fn_name(name);
                let images: Vec<&Part> = parts.iter().filter(|part| part.text().is_none()).collect();
                (ContentPart::ToolResponse(response), images)
            }
        };
        match self.messages.last_mut() {
            Some(last) if last.role == genai::chat::ChatRole::Tool => last.content.push(result),
            _ => self.messages.push(ChatMessage::tool(MessageContent::from_parts(vec![result]))),
        }
        if !images.is_empty() {
            self.images.push(ContentPart::from_text(format!("What {name} gave:")));
            self.images.extend(images.into_iter().map(content_part));
        }
    }
}

fn content_part(part: &Part) -> ContentPart {
    match part {
        Part::Text(text) => ContentPart::from_text(text),
        Part::Image { mime_type, data } => ContentPart::from_binary_base64(mime_type, data.as_str(), None),
    }
}

/// A result as Anthropic writes it, since genai has neither its errors nor its images.
fn anthropic_result(id: &str, parts: &[Part], is_error: bool) -> ContentPart {
    let block = |part: &Part| match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(json!({ "type": "text", "text": text })),
        Part::Image { mime_type, data } => {
            let source = json!({ "type": "base64", "media_type": mime_type, "data": data });
            Some(json!({ "type": "image", "source": source }))
        }
    };
    let content: Vec<Value> = parts.iter().filter_map(block).collect();
    let mut result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if is_error {
        result["is_error"] = Value::Bool(true);
    }
    ContentPart::from_custom(result, None)
}

/// The ids of calls as a provider takes them: calls of another provider's model may have others. Each is the id of one call.
#[derive(Default)]
struct CallIds<'a> {
    /// The calls' own ids.
    own: HashSet<&'a str>,
    /// The own id of each call so far, and the one that is sent.
    sent: Vec<(String, String)>,
    /// How many were made so that they fit.
    n_made: usize,
}

impl<'a> CallIds<'a> {
    /// For the calls of `messages`.
    fn of_all(messages: &'a [Message]) -> Self {
        let said = messages.iter().flat_map(|message| match message {
            Message::Assistant(said) => said.as_slice(),
            Message::User(_) | Message::ToolResult { .. } => &[],
        });
        let own = said.filter_map(|said| match said {
            Said::Call(call) => Some(call.id.as_str()),
            Said::Text(_) | Said::Kept(_) => None,
        });
        Self { own: own.collect(), ..Self::default() }
    }

    /// The id of a call that is made.
    fn made(&mut self, id: &str, kind: ProviderKind) -> String {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_fine = kind == ProviderKind::Gemini || !id.is_empty() && id.len() <= LONGEST_ID && id.chars().all(fits);
        let sent = if is_fine { id.to_owned() } else { self.unused() };
        self.sent.push((id.to_owned(), sent.clone()));
        sent
    }

    /// The id of a call that was made.
    fn of(&mut self, id: &str, kind: ProviderKind) -> String {
        let known = self.sent.iter().rev().find(|(own, _)| own == id).map(|(_, sent)| sent.clone());
        known.unwrap_or_else(|| self.made(id, kind))
    }

    /// An id that no call has.
    fn unused(&mut self) -> String {
        loop {
            let id = format!("call_{}", self.n_made);
            self.n_made += 1;
            if !self.own.contains(id.as_str()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Temperature;

    fn call(id: &str) -> Said {
        Said::Call(ToolUse { id: id.to_owned(), name: "look".to_owned(), arguments: serde_json::Map::new() })
    }

    fn result(call: &str, parts: &[Part]) -> Message {
        Message::ToolResult { call: call.to_owned(), name: "look".to_owned(), parts: parts.to_vec(), is_error: false }
    }

    fn asked(messages: Vec<Message>) -> Request {
        Request {
            model: ModelId { provider: "p".to_owned(), name: "m".to_owned() },
            system: "Be kind.".to_owned(),
            messages,
            tools: Vec::new(),
            temperature: Temperature::Medium,
            thinking: Thinking::Default,
        }
    }

    /// Each message's role, and how many parts it has.
    fn shape(request: &ChatRequest) -> Vec<(String, usize)> {
        request
            .messages
            .iter()
            .map(|message| (message.role.to_string().to_lowercase(), message.content.len()))
            .collect()
    }

    #[test]
    fn results_of_one_answer_are_together_and_images_where_the_provider_takes_them() {
        let image = Part::Image { mime_type: "image/png".to_owned(), data: "AAAA".to_owned() };
        let text = Part::Text("text".to_owned());
        let messages = vec![
            Message::User(vec![text.clone()]),
            Message::Assistant(vec![call("1"), call("2")]),
            result("1", &[text.clone(), image]),
            result("2", &[text]),
        ];
        let asked = asked(messages);
        let roles = |kind| shape(&chat_request(&asked, kind));
        let of = |role: &str, n: usize| (role.to_owned(), n);
        let together = [of("user", 1), of("assistant", 2), of("tool", 2)];
        assert_eq!(roles(ProviderKind::Anthropic), together);
        let followed = [together.to_vec(), vec![of("user", 2)]].concat();
        assert_eq!((roles(ProviderKind::OpenAi), roles(ProviderKind::Gemini)), (followed.clone(), followed));
    }

    #[test]
    fn ids_of_other_providers_calls_are_made_to_fit() {
        let messages = [Message::Assistant(["toolu_1", "call#look#0", "", "call_1"].map(call).to_vec())];
        let mut ids = CallIds::of_all(&messages);
        let made = ["toolu_1", "call#look#0", "", "call_1"].map(|id| ids.made(id, ProviderKind::Anthropic));
        assert_eq!(made, ["toolu_1", "call_0", "call_2", "call_1"]);
        assert_eq!(ids.of("call#look#0", ProviderKind::Anthropic), "call_0");
        assert_eq!(CallIds::default().made("call#look#0", ProviderKind::Gemini), "call#look#0");
    }

    #[test]
    fn anthropic_is_told_of_tools_that_were_called() {
        let asked = asked(vec![Message::Assistant(vec![call("1")]), result("1", &[])]);
        let n_tools = |kind| chat_request(&asked, kind).tools.map_or(0, |tools| tools.len());
        assert_eq!((n_tools(ProviderKind::Anthropic), n_tools(ProviderKind::OpenAi)), (1, 0));
    }
}
