//! A request's conversation, in the shape that all APIs share: results of one answer's calls are together, images are where
//! the API takes them, names and ids are ones that it accepts.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::thoughts::Thoughts;
use super::{Message, ModelId, Part, ProviderKind, Request, Said, ToolUse};
use crate::tools::ToolSpec;

/// The longest id of a call that every provider takes.
const LONGEST_ID: usize = 40;

/// The longest name of a tool that every provider takes.
const LONGEST_NAME: usize = 64;

/// One message.
pub(super) enum Written<'a> {
    User(Vec<Cow<'a, Part>>),
    Assistant(Assistant<'a>),
    /// The results of the calls of the message before.
    Results(Vec<WrittenResult<'a>>),
}

/// What the assistant said, and then called.
pub(super) struct Assistant<'a> {
    /// Those of the model that is asked.
    pub(super) thoughts: Option<Thoughts>,
    pub(super) texts: Vec<&'a str>,
    pub(super) calls: Vec<Call<'a>>,
}

/// A call that was made.
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: Cow<'a, str>,
    pub(super) arguments: &'a Map<String, Value>,
}

/// What a call gave.
pub(super) struct WrittenResult<'a> {
    /// The id of the call.
    pub(super) id: String,
    pub(super) name: Cow<'a, str>,
    pub(super) parts: &'a [Part],
    pub(super) is_error: bool,
}

impl WrittenResult<'_> {
    /// Its texts, for APIs that have nothing else in results.
    pub(super) fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n");
        if self.is_error { format!("error: {texts}") } else { texts }
    }
}

/// Writes a conversation.
pub(super) struct Conversation<'a> {
    kind: ProviderKind,
    model: &'a ModelId,
    ids: CallIds<'a>,
    messages: Vec<Written<'a>>,
    /// What calls gave that can't be in their results: it follows all of them.
    images: Vec<Cow<'a, Part>>,
}

impl<'a> Conversation<'a> {
    /// The messages of `request`, for this kind of provider.
    pub(super) fn write(request: &'a Request, kind: ProviderKind) -> Vec<Written<'a>> {
        let ids = CallIds::of_all(&request.messages);
        let mut writer = Self { kind, model: &request.model, ids, messages: Vec::new(), images: Vec::new() };
        for message in &request.messages {
            writer.push(message);
        }
        writer.push_images();
        writer.messages
    }

    fn push(&mut self, message: &'a Message) {
        match message {
            Message::User(parts) => {
                let mut all = std::mem::take(&mut self.images);
                all.extend(parts.iter().map(Cow::Borrowed));
                self.messages.push(Written::User(all));
            }
            Message::Assistant(said) => {
                self.push_images();
                self.push_said(said);
            }
            Message::ToolResult { call, name, parts, is_error } => self.push_result(call, name, parts, *is_error),
        }
    }

    fn push_images(&mut self) {
        if !self.images.is_empty() {
            let images = std::mem::take(&mut self.images);
            self.messages.push(Written::User(images));
        }
    }

    fn push_said(&mut self, said: &'a [Said]) {
        let mut assistant = Assistant { thoughts: None, texts: Vec::new(), calls: Vec::new() };
        for said in said {
            match said {
                Said::Text(text) => assistant.texts.push(text),
                Said::Call(ToolUse { id, name, arguments }) => {
                    let (id, name) = (self.ids.made(id, self.kind), sendable_name(name));
                    assistant.calls.push(Call { id, name, arguments });
                }
                Said::Kept(kept) => {
                    assistant.thoughts = assistant.thoughts.or_else(|| Thoughts::read(kept, self.model));
                }
            }
        }
        self.messages.push(Written::Assistant(assistant));
    }

    /// Only Anthropic takes images in results: elsewhere they follow.
    fn push_result(&mut self, call: &str, name: &'a str, parts: &'a [Part], is_error: bool) {
        let id = self.ids.of(call, self.kind);
        let result = WrittenResult { id, name: sendable_name(name), parts, is_error };
        match self.messages.last_mut() {
            Some(Written::Results(results)) => results.push(result),
            _ => self.messages.push(Written::Results(vec![result])),
        }
        let mut images = parts.iter().filter(|part| part.text().is_none()).peekable();
        if self.kind != ProviderKind::Anthropic && images.peek().is_some() {
            self.images.push(Cow::Owned(Part::Text(format!("What {name} gave:"))));
            self.images.extend(images.map(Cow::Borrowed));
        }
    }
}

/// What the model may call. Anthropic wants tools where there were calls, so those that were called are named.
pub(super) fn tools(request: &Request, kind: ProviderKind) -> Cow<'_, [ToolSpec]> {
    if kind != ProviderKind::Anthropic || !request.tools.is_empty() {
        return Cow::Borrowed(&request.tools);
    }
    let said = request.messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(said),
        Message::User(_) | Message::ToolResult { .. } => None,
    });
    let names: BTreeSet<Cow<'_, str>> = said
        .flatten()
        .filter_map(|said| match said {
            Said::Call(call) => Some(sendable_name(&call.name)),
            Said::Text(_) | Said::Kept(_) => None,
        })
        .collect();
    let gone = |name: Cow<'_, str>| ToolSpec {
        name: name.into_owned(),
        description: "Can't be called now.".to_owned(),
        input_schema: json!({ "type": "object" }),
    };
    names.into_iter().map(gone).collect()
}

/// `name` as every provider takes it. A model may call what can't be a tool, and the call is told again in each request.
fn sendable_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String = name.chars().take(LONGEST_NAME).map(|c| if fits(c) { c } else { '_' }).collect();
    if made.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(made) }
}

/// The ids of calls as a provider takes them: calls of another provider's model may have others. Each is the id of one call.
#[derive(Default)]
struct CallIds<'a> {
    /// The calls' own ids.
    own: HashSet<&'a str>,
    /// The id that is sent for each call so far, by its own.
    sent: HashMap<String, String>,
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
        self.sent.insert(id.to_owned(), sent.clone());
        sent
    }

    /// The id of a call that was made.
    fn of(&mut self, id: &str, kind: ProviderKind) -> String {
        self.sent.get(id).cloned().unwrap_or_else(|| self.made(id, kind))
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
    use crate::models::{Temperature, Thinking};

    fn call(id: &str) -> Said {
        Said::Call(ToolUse { id: id.to_owned(), name: "look".to_owned(), arguments: Map::new() })
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
    fn shape(request: &Request, kind: ProviderKind) -> Vec<(&'static str, usize)> {
        let shape = |written: &Written<'_>| match written {
            Written::User(parts) => ("user", parts.len()),
            Written::Assistant(said) => ("assistant", said.texts.len() + said.calls.len()),
            Written::Results(results) => ("results", results.len()),
        };
        Conversation::write(request, kind).iter().map(shape).collect()
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
        let together = [("user", 1), ("assistant", 2), ("results", 2)];
        assert_eq!(shape(&asked, ProviderKind::Anthropic), together);
        let followed = [&together[..], &[("user", 2)]].concat();
        for kind in [ProviderKind::OpenAi, ProviderKind::Gemini] {
            assert_eq!(shape(&asked, kind), followed);
        }
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
        let n_tools = |kind| tools(&asked, kind).len();
        assert_eq!((n_tools(ProviderKind::Anthropic), n_tools(ProviderKind::OpenAi)), (1, 0));
    }

    #[test]
    fn a_name_that_no_tool_can_have_is_sent_as_one_that_every_provider_takes() {
        let names = ["read_file", "do it!", "", "a.b:c"].map(sendable_name);
        assert_eq!(names, ["read_file", "do_it_", "_", "a_b_c"]);
        assert_eq!(sendable_name(&"\u{e4}".repeat(200)), "_".repeat(LONGEST_NAME));
    }
}
