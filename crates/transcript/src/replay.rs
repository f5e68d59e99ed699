//! Replay: entries → the shortest list of updates that shows a client the same conversation.
//!
//! Within a turn, text chunks of one message are joined, a tool call comes once, in its place and in its final state,
//! and a plan comes once, at the turn's end. State updates (usage, commands, mode, options, info) come once, at the end
//! of all, merged by the rules of [`States`]. Any other update that has `_meta`, or a member that ACP does not define, is
//! never folded away: it comes in its place, as it was.
//!
//! Entries are pushed one by one and what is finished is taken out. What is folded together is a *segment*: a turn, or, of
//! a very long turn, each [`SEGMENT`] bytes. Past such a border a tool call may come as a call and a later update, which
//! folds the same. Segments do not depend on how a replay is made, so its lines are always the same.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json::{Members, offset_in, write_string};
use crate::state::States;
use crate::update::{Chunk, UpdateKind, with_message_id};
use crate::{Audience, Entry, Json, MessageId, Step, StepKind, Turn};

/// Joined text grows to this many bytes; a longer message comes in several chunks.
const LONGEST_TEXT: usize = 64 * 1024;

/// After this many bytes of entries a segment ends, even if the turn goes on.
const SEGMENT: usize = 8 * 1024 * 1024;

/// The replay of all `entries`.
pub fn replay<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Replayed> {
    let (mut replay, mut all) = (Replay::default(), Vec::new());
    for entry in entries {
        all.extend(replay.push(entry));
    }
    let (last, states) = replay.finish();
    all.extend(last);
    all.extend(states.updates());
    all
}

/// What a client that is there gets of `entry`: the params of each `session/update`, without the session id.
///
/// Nothing, if it is not for clients.
pub fn live(entry: &Entry) -> Vec<Json> {
    let step = &entry.step;
    match step.kind {
        _ if step.audience != Audience::Client => Vec::new(),
        StepKind::Prompt => user_chunks(entry).map(|update| params(update.as_str(), None)).collect(),
        StepKind::Update(kind) => vec![params(as_shown(kind, step).as_str(), step.extra.as_ref())],
        StepKind::TurnEnded
        | StepKind::PermissionAsked
        | StepKind::PermissionAnswered
        | StepKind::StateSet
        | StepKind::Restored
        | StepKind::ForkedFrom => Vec::new(),
    }
}

/// The update of `step` with the message id that we assigned.
fn as_shown(kind: UpdateKind, step: &Step) -> Cow<'_, Json> {
    match &step.message_id {
        Some(id) if kind.is_chunk() => Cow::Owned(with_message_id(&step.body, id)),
        _ => Cow::Borrowed(&step.body),
    }
}

/// A prompt as updates, block by block, as it was sent.
fn user_chunks(entry: &Entry) -> impl Iterator<Item = Json> {
    let id = write_string(prompt_message_id(entry).as_str());
    let blocks = entry.step.body.elements().unwrap_or_default().into_iter();
    blocks.map(move |block| {
        let update = format!(r#"{{"sessionUpdate":"user_message_chunk","content":{block},"messageId":{id}}}"#);
        Json::from_stored(update)
    })
}

/// The params of a `session/update` without the session id: an object that begins with `update`.
fn params(update: &str, extra: Option<&Json>) -> Json {
    let extra = extra.map(Json::as_str).and_then(|extra| extra.strip_prefix('{')?.strip_suffix('}'));
    Json::from_stored(match extra.map(str::trim) {
        None | Some("") => format!("{{\"update\":{update}}}"),
        Some(extra) => format!("{{\"update\":{update},{extra}}}"),
    })
}

/// One update of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// The turn it belongs to; none for the state updates behind all turns.
    pub turn: Option<Turn>,
    /// The params of the `session/update`, all but the session id: an object that begins with `update`.
    pub params: Json,
}

impl Replayed {
    pub(crate) fn new(turn: Option<Turn>, update: &str, extra: Option<&Json>) -> Self {
        Self { turn, params: params(update, extra) }
    }

    /// The update alone.
    pub fn update(&self) -> Option<&str> {
        Members::read(self.params.as_str())?.get("update")
    }
}

/// A replay in the making.
#[derive(Debug, Default)]
pub struct Replay {
    turn: Option<Turn>,
    slots: Vec<Slot>,
    /// The bytes of the segment's entries.
    bytes: usize,
    has_ended: bool,
    tools: HashMap<String, OpenTool>,
    plan: Option<Json>,
    states: States,
}

/// A tool call that this turn has told of.
#[derive(Debug, Clone, Copy, Default)]
struct OpenTool {
    /// Whether it began in this turn; else only updates of an earlier call came.
    is_called: bool,
    /// The slot that its next plain update changes.
    slot: Option<usize>,
}

/// One update to be, in its place.
#[derive(Debug)]
enum Slot {
    /// As it came.
    Whole { update: Json, extra: Option<Json> },
    /// Plain text of one message; `end` is where more of it goes.
    Text { kind: UpdateKind, id: Box<str>, update: String, text_len: usize, end: usize },
    /// A tool call's members.
    Tool { members: Vec<(String, String)> },
}

impl Replay {
    /// Takes the next entry, and gives out the segment before it if it begins another.
    pub fn push(&mut self, entry: &Entry) -> Vec<Replayed> {
        let step = &entry.step;
        let finished = if self.is_at_end() || self.turn != Some(step.turn) { self.take() } else { Vec::new() };
        self.turn = Some(step.turn);
        self.has_ended = step.kind == StepKind::TurnEnded;
        if self.has_ended {
            self.states.end_turn();
        }
        self.bytes += step.body.as_str().len();
        if step.audience != Audience::Client {
            return finished;
        }
        match step.kind {
            StepKind::Prompt => self.push_prompt(entry),
            StepKind::Update(kind) => self.push_update(kind, step),
            StepKind::TurnEnded
            | StepKind::PermissionAsked
            | StepKind::PermissionAnswered
            | StepKind::StateSet
            | StepKind::Restored
            | StepKind::ForkedFrom => {}
        }
        finished
    }

    /// Whether a segment ends with the entry that was pushed last.
    pub fn is_at_end(&self) -> bool {
        self.has_ended || self.bytes > SEGMENT
    }

    /// Gives out what is left, and the state updates that belong behind everything.
    pub fn finish(mut self) -> (Vec<Replayed>, States) {
        let last = self.take();
        (last, self.states)
    }

    /// A prompt comes block by block, as it was sent.
    fn push_prompt(&mut self, entry: &Entry) {
        for update in user_chunks(entry) {
            self.push_whole(update, None);
        }
    }

    fn push_update(&mut self, kind: UpdateKind, step: &Step) {
        let extra = step.extra.as_ref();
        let update = || as_shown(kind, step).into_owned();
        let is_plain = || {
            let known = kind.known_members();
            extra.is_none() && step.body.members().is_some_and(|members| members.are_all_among(known))
        };
        match kind {
            UpdateKind::Notice => {}
            UpdateKind::AvailableCommands
            | UpdateKind::CurrentMode
            | UpdateKind::ConfigOption
            | UpdateKind::SessionInfo
            | UpdateKind::Usage => self.states.push(kind, step.turn, &step.body, extra),
            UpdateKind::Plan => {
                let has_entries = step.body.members().is_some_and(|members| members.get_some("entries").is_some());
                let is_plain = is_plain();
                if has_entries {
                    self.plan = is_plain.then(update);
                }
                if !(has_entries && is_plain) {
                    self.push_whole(update(), extra);
                }
            }
            UpdateKind::ToolCall | UpdateKind::ToolCallUpdate => self.push_tool(kind, is_plain(), update(), extra),
            UpdateKind::AgentMessageChunk | UpdateKind::AgentThoughtChunk if is_plain() => {
                self.push_chunk(kind, update());
            }
            UpdateKind::UserMessageChunk
            | UpdateKind::AgentMessageChunk
            | UpdateKind::AgentThoughtChunk
            | UpdateKind::Other => self.push_whole(update(), extra),
        }
    }

    fn push_chunk(&mut self, kind: UpdateKind, update: Json) {
        let chunk = Chunk::read(kind, update.as_str());
        let text = chunk.as_ref().and_then(Chunk::plain_text);
        let (Some(id), Some(text)) = (chunk.and_then(|chunk| chunk.message_id), text) else {
            return self.push_whole(update, None);
        };
        if let Some(Slot::Text { kind: open_kind, id: open_id, update, text_len, end }) = self.slots.last_mut()
            && *open_kind == kind
            && **open_id == *id
            && *text_len + text.len() <= LONGEST_TEXT
        {
            update.insert_str(*end, text);
            *end += text.len();
            *text_len += text.len();
            return;
        }
        let (text_len, end) = (text.len(), offset_in(update.as_str(), text) + text.len());
        let id = id.into();
        self.slots.push(Slot::Text { kind, id, update: update.as_str().to_owned(), text_len, end });
    }

    fn push_tool(&mut self, kind: UpdateKind, is_plain: bool, update: Json, extra: Option<&Json>) {
        let members = update.members();
        let id = members.as_ref().and_then(|members| members.get_string("toolCallId"));
        let (Some(members), Some(id)) = (members, id) else { return self.push_whole(update, extra) };
        let tool = self.tools.get(id.as_ref()).copied().unwrap_or_default();
        let begins = kind == UpdateKind::ToolCall && !tool.is_called;
        if is_plain
            && !begins
            && let Some(slot) = tool.slot
        {
            return self.change_tool(slot, &members);
        }
        // A call keeps its own extras and takes in later updates; an update with extras stays as it is.
        let can_grow = extra.is_none() && (is_plain || begins);
        let slot = can_grow.then_some(self.slots.len());
        self.tools.insert(id.into_owned(), OpenTool { is_called: tool.is_called || begins, slot });
        if can_grow {
            let members = members.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            self.slots.push(Slot::Tool { members });
        } else {
            self.push_whole(update, extra);
        }
    }

    fn change_tool(&mut self, slot: usize, change: &Members<'_>) {
        let Some(Slot::Tool { members }) = self.slots.get_mut(slot) else { return };
        for (name, value) in change.iter() {
            // `null` leaves a member as it is.
            if matches!(name, "sessionUpdate" | "toolCallId") || value == "null" {
                continue;
            }
            // Of members with one name, the last counts.
            match members.iter_mut().rev().find(|(known, _)| known == name) {
                Some((_, old)) => value.clone_into(old),
                None => members.push((name.to_owned(), value.to_owned())),
            }
        }
    }

    fn push_whole(&mut self, update: Json, extra: Option<&Json>) {
        self.slots.push(Slot::Whole { update, extra: extra.cloned() });
    }

    /// Ends the segment.
    fn take(&mut self) -> Vec<Replayed> {
        let turn = self.turn;
        (self.bytes, self.has_ended) = (0, false);
        self.tools.clear();
        let plan = self.plan.take().map(|plan| Replayed::new(turn, plan.as_str(), None));
        let slots = self.slots.drain(..).map(|slot| match slot {
            Slot::Whole { update, extra } => Replayed::new(turn, update.as_str(), extra.as_ref()),
            Slot::Text { update, .. } => Replayed::new(turn, &update, None),
            Slot::Tool { members } => {
                let members: Vec<String> =
                    members.iter().map(|(name, value)| format!("{}:{value}", write_string(name))).collect();
                Replayed::new(turn, &format!("{{{}}}", members.join(",")), None)
            }
        });
        slots.chain(plan).collect()
    }
}

/// The id of a prompt's message; one made of the entry's number, should none have been assigned.
pub(crate) fn prompt_message_id(entry: &Entry) -> MessageId {
    entry.step.message_id.clone().unwrap_or_else(|| MessageId::new(format!("prompt-{}", entry.number)))
}
