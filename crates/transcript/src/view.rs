//! View: entries → what people see.
//!
//! The fold that replay must not change: whatever list of updates tells the same story folds to the same view.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use crate::json::{Members, keep, read_string};
use crate::replay::prompt_message_id;
use crate::state::States;
use crate::update::{Chunk, content_text};
use crate::{Audience, Entry, EntryNumber, Json, StepKind, Turn, TurnEnd, UpdateKind};

/// A conversation as people see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// What was said and done, in the order in which each began.
    pub items: Vec<Item>,
    /// What is in force at the end.
    pub state: State,
    /// The latest plan of each turn: its `entries`.
    pub plans: BTreeMap<Turn, Json>,
    /// How each turn ended; a turn that is not here is still running, or was cut off.
    pub ends: BTreeMap<u32, TurnEnd>,
}

/// One thing in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The turn it belongs to.
    pub turn: Turn,
    /// The entry that began it.
    pub first: EntryNumber,
    /// The latest entry that added to it.
    pub last: EntryNumber,
    /// What it is.
    pub what: What,
}

/// What an [`Item`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A message or a thought.
    Message(Message),
    /// A tool call, in its latest state.
    ToolCall(ToolCall),
    /// An update of a kind that we do not know, whole.
    Other(Json),
}

/// A message or a thought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Whose it is.
    pub role: Role,
    /// Its id.
    pub id: Option<String>,
    /// What it says.
    pub parts: Vec<Part>,
}

/// Whose a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user's.
    User,
    /// The agent's.
    Agent,
    /// The agent's, spoken to itself.
    Thought,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain text, escaped as between the quotes of a JSON string: what is cut between two chunks need not be a
    /// character.
    Text(String),
    /// Any other content block, or one that came with more than content: the members of the chunk, without the id.
    Block(Vec<(String, Json)>),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The latest value of each member.
    pub members: BTreeMap<String, Json>,
}

/// What is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The latest `usage_update`.
    pub usage: Option<Json>,
    /// The latest `available_commands_update`.
    pub commands: Option<Json>,
    /// The latest `current_mode_update`.
    pub mode: Option<Json>,
    /// The latest `config_option_update`.
    pub options: Option<Json>,
    /// The latest value of each member of `session_info_update`.
    pub info: BTreeMap<String, Json>,
}

impl View {
    /// The view of `entries`.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut fold = Fold::default();
        for entry in entries {
            fold.push(entry);
        }
        fold.finish()
    }
}

impl State {
    fn of(states: &States) -> Self {
        let latest = |kind| states.latest(kind).cloned();
        let info = states.latest(UpdateKind::SessionInfo).and_then(Json::members);
        let info = info.iter().flat_map(Members::iter).filter(|(name, _)| *name != "sessionUpdate");
        Self {
            usage: latest(UpdateKind::Usage),
            commands: latest(UpdateKind::AvailableCommands),
            mode: latest(UpdateKind::CurrentMode),
            options: latest(UpdateKind::ConfigOption),
            info: info.map(|(name, value)| (name.to_owned(), keep(value))).collect(),
        }
    }
}

impl Item {
    /// The text that a search finds it by: what was said, or what a tool call is called. Thoughts are not searched.
    pub fn searchable_text(&self) -> Option<String> {
        let text = match &self.what {
            What::Message(message) if message.role != Role::Thought => message.text(),
            What::ToolCall(call) => call.title()?,
            What::Message(_) | What::Other(_) => return None,
        };
        (!text.trim().is_empty()).then_some(text)
    }
}

impl Message {
    /// Its text, without what is not text.
    pub fn text(&self) -> String {
        // The blocks of a prompt are apart; the chunks of an answer are not.
        let between = if self.role == Role::User { "\n" } else { "" };
        let texts: Vec<String> = self.parts.iter().filter_map(Part::text).collect();
        texts.join(between)
    }
}

impl Part {
    /// Its text.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Text(escaped) => read_string(&format!("\"{escaped}\"")).map(Cow::into_owned),
            Self::Block(_) => content_text(self.content()?.as_str()).map(Cow::into_owned),
        }
    }

    /// Its content block, if it is not plain text.
    pub fn content(&self) -> Option<&Json> {
        match self {
            Self::Text(_) => None,
            Self::Block(members) => members.iter().find(|(name, _)| name == "content").map(|(_, content)| content),
        }
    }
}

impl ToolCall {
    /// Its title.
    pub fn title(&self) -> Option<String> {
        self.string("title")
    }

    /// Its status.
    pub fn status(&self) -> Option<String> {
        self.string("status")
    }

    fn string(&self, name: &str) -> Option<String> {
        read_string(self.members.get(name)?.as_str()).map(Cow::into_owned)
    }
}

/// A view in the making. The maps say where in `view.items` a thing is that may still grow.
#[derive(Debug, Default)]
pub struct Fold {
    view: View,
    messages: HashMap<(Turn, Role, String), usize>,
    tools: HashMap<String, usize>,
    states: States,
}

impl Fold {
    /// The view of what was pushed.
    pub fn finish(self) -> View {
        View { state: State::of(&self.states), ..self.view }
    }

    /// Takes the next entry.
    pub fn push(&mut self, entry: &Entry) {
        match entry.step.kind {
            StepKind::TurnEnded => {
                if let Turn::In(turn) = entry.step.turn {
                    self.view.ends.insert(turn, TurnEnd::from_json(&entry.step.body));
                }
                self.states.end_turn();
            }
            _ if entry.step.audience != Audience::Client => {}
            StepKind::Prompt => self.push_prompt(entry),
            StepKind::Update(kind) => self.push_update(kind, entry),
            StepKind::PermissionAsked
            | StepKind::PermissionAnswered
            | StepKind::StateSet
            | StepKind::Restored
            | StepKind::ForkedFrom => {}
        }
    }

    fn push_prompt(&mut self, entry: &Entry) {
        let id = prompt_message_id(entry);
        for block in entry.step.body.elements().unwrap_or_default() {
            let part = Part::Block(vec![("content".to_owned(), keep(block))]);
            self.add_part(entry, Role::User, Some(id.as_str()), part);
        }
    }

    fn push_update(&mut self, kind: UpdateKind, entry: &Entry) {
        match kind {
            UpdateKind::UserMessageChunk => self.push_chunk(Role::User, kind, entry),
            UpdateKind::AgentMessageChunk => self.push_chunk(Role::Agent, kind, entry),
            UpdateKind::AgentThoughtChunk => self.push_chunk(Role::Thought, kind, entry),
            UpdateKind::ToolCall | UpdateKind::ToolCallUpdate => self.push_tool(kind, entry),
            UpdateKind::Plan => self.push_plan(entry),
            UpdateKind::AvailableCommands
            | UpdateKind::CurrentMode
            | UpdateKind::ConfigOption
            | UpdateKind::SessionInfo
            | UpdateKind::Usage => {
                self.states.push(kind, entry.step.turn, &entry.step.body, entry.step.extra.as_ref());
            }
            UpdateKind::Notice => {}
            UpdateKind::Other => self.push_other(entry),
        }
    }

    fn push_chunk(&mut self, role: Role, kind: UpdateKind, entry: &Entry) {
        let step = &entry.step;
        let Some(chunk) = Chunk::read(kind, step.body.as_str()) else { return self.push_other(entry) };
        let assigned = step.message_id.as_ref().map(|id| id.as_str().to_owned());
        let is_plain = role != Role::User && step.extra.is_none();
        let part = match chunk.plain_text().filter(|_| is_plain) {
            Some(text) => Part::Text(text.to_owned()),
            None => Part::Block(chunk_members(&step.body, step.extra.as_ref())),
        };
        let id = chunk.message_id.map(Cow::into_owned).or(assigned);
        self.add_part(entry, role, id.as_deref(), part);
    }

    fn add_part(&mut self, entry: &Entry, role: Role, id: Option<&str>, part: Part) {
        let key = id.map(|id| (entry.step.turn, role, id.to_owned()));
        let known = key.as_ref().and_then(|key| self.messages.get(key)).copied();
        let index = known.unwrap_or_else(|| {
            let message = Message { role, id: id.map(str::to_owned), parts: Vec::new() };
            self.begin(entry, What::Message(message))
        });
        if let Some(key) = key {
            self.messages.insert(key, index);
        }
        let item = &mut self.view.items[index];
        item.last = entry.number;
        if let What::Message(message) = &mut item.what {
            match (message.parts.last_mut(), part) {
                (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
                (_, part) => message.parts.push(part),
            }
        }
    }

    fn push_tool(&mut self, kind: UpdateKind, entry: &Entry) {
        let members = entry.step.body.members();
        let id = members.as_ref().and_then(|members| members.get_string("toolCallId"));
        let (Some(members), Some(id)) = (members, id) else { return self.push_other(entry) };
        // A call in a later turn is another one, even if the agent counts its ids from one in each turn.
        let known = self.tools.get(id.as_ref()).copied();
        let known =
            known.filter(|index| kind == UpdateKind::ToolCallUpdate || self.view.items[*index].turn == entry.step.turn);
        let index = known.unwrap_or_else(|| {
            let call = ToolCall { id: id.clone().into_owned(), members: BTreeMap::new() };
            self.begin(entry, What::ToolCall(call))
        });
        self.tools.insert(id.into_owned(), index);
        let item = &mut self.view.items[index];
        item.last = entry.number;
        if let What::ToolCall(call) = &mut item.what {
            let extra = entry.step.extra.as_ref().map(|extra| ("(params)", extra.as_str()));
            for (name, value) in members.iter().chain(extra) {
                if !matches!(name, "sessionUpdate" | "toolCallId") && value != "null" {
                    call.members.insert(name.to_owned(), keep(value));
                }
            }
        }
    }

    fn push_plan(&mut self, entry: &Entry) {
        let members = entry.step.body.members();
        match members.as_ref().and_then(|members| members.get_some("entries")) {
            Some(entries) => {
                self.view.plans.insert(entry.step.turn, keep(entries));
            }
            None => self.push_other(entry),
        }
    }

    fn push_other(&mut self, entry: &Entry) {
        self.begin(entry, What::Other(entry.step.body.clone()));
    }

    fn begin(&mut self, entry: &Entry, what: What) -> usize {
        self.view.items.push(Item { turn: entry.step.turn, first: entry.number, last: entry.number, what });
        self.view.items.len() - 1
    }
}

fn chunk_members(update: &Json, extra: Option<&Json>) -> Vec<(String, Json)> {
    let members = update.members();
    let own =
        members.iter().flat_map(Members::iter).filter(|(name, _)| !matches!(*name, "sessionUpdate" | "messageId"));
    let extra = extra.map(|extra| ("(params)", extra.as_str()));
    own.chain(extra).map(|(name, value)| (name.to_owned(), keep(value))).collect()
}
