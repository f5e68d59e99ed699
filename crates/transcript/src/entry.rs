//! The entry: one numbered step of a session.
//!
//! An entry is never changed, merged or renumbered after it was stored. What it holds of the wire is verbatim.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::update::{Chunk, UpdateKind, may_have_message_id};
use crate::{Json, MessageId, Timestamp, TranscriptError, TurnEnd};

/// An entry's place in its session, from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryNumber(u32);

impl EntryNumber {
    /// The place before the first entry.
    pub const START: Self = Self(0);

    /// A place that no entry is behind.
    pub const MAX: Self = Self(u32::MAX);

    /// The place `number`.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The place after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// The place `count` further on.
    #[must_use]
    pub const fn plus(self, count: u32) -> Self {
        Self(self.0.saturating_add(count))
    }
}

impl std::fmt::Display for EntryNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// One stored, numbered step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its place.
    pub number: EntryNumber,
    /// What happened.
    pub step: Step,
}

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// In which turn, or after which.
    pub turn: Turn,
    /// What kind of thing.
    pub kind: StepKind,
    /// Whom it is for.
    pub audience: Audience,
    /// The ACP version spoken.
    pub protocol: u16,
    /// The message id that we assigned, because the agent gave none.
    pub message_id: Option<MessageId>,
    /// The members of the message's `params` beside the session id and what is in `body`, as an object.
    pub extra: Option<Json>,
    /// The thing itself, verbatim.
    pub body: Json,
}

impl Step {
    /// One `session/update`: `update` is the object of that name in its params.
    pub fn update(at: Timestamp, turn: Turn, update: Json) -> Result<Self, TranscriptError> {
        let kind = UpdateKind::of(&update).ok_or(TranscriptError::NotAnUpdate)?;
        Ok(Self::new(at, turn, StepKind::Update(kind), Audience::Client, update))
    }

    /// An accepted prompt: `blocks` is the array of content blocks as sent, `id` the message's.
    pub fn prompt(at: Timestamp, turn: u32, id: MessageId, blocks: Json) -> Result<Self, TranscriptError> {
        if turn == 0 {
            return Err(TranscriptError::TurnZero);
        }
        blocks.elements().ok_or(TranscriptError::NotAPrompt)?;
        Ok(Self { message_id: Some(id), ..Self::new(at, Turn::In(turn), StepKind::Prompt, Audience::Client, blocks) })
    }

    /// The end of turn `turn`.
    pub fn turn_ended(at: Timestamp, turn: u32, end: &TurnEnd) -> Self {
        Self::new(at, Turn::In(turn), StepKind::TurnEnded, Audience::Layer, end.to_json())
    }

    /// A step that only the layer reads, such as [`StepKind::PermissionAsked`], with `body` saying what it was.
    pub fn of_layer(at: Timestamp, turn: Turn, kind: LayerKind, body: Json) -> Self {
        Self::new(at, turn, kind.into(), Audience::Layer, body)
    }

    /// The same step for another audience.
    #[must_use]
    pub fn with_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// The same step with the message id that we assigned.
    #[must_use]
    pub fn with_message_id(self, id: MessageId) -> Self {
        Self { message_id: Some(id), ..self }
    }

    /// The same step with the other members of its params.
    #[must_use]
    pub fn with_extra(self, extra: Json) -> Self {
        Self { extra: Some(extra), ..self }
    }

    /// The id of the message that this is a chunk of: the agent's own, or the one we assigned.
    pub fn chunk_message_id(&self) -> Option<Cow<'_, str>> {
        let StepKind::Update(kind) = self.kind else { return None };
        let assigned = self.message_id.as_ref().map(|id| id.as_str().into());
        // What does not even hold the word need not be read.
        let may_have_own = kind.is_chunk() && (assigned.is_none() || may_have_message_id(self.body.as_str()));
        let own = if may_have_own { Chunk::read(kind, self.body.as_str())?.message_id } else { None };
        own.or(assigned)
    }

    fn new(at: Timestamp, turn: Turn, kind: StepKind, audience: Audience, body: Json) -> Self {
        Self { at, turn, kind, audience, protocol: 1, message_id: None, extra: None, body }
    }
}

/// Where in a session's turns a step stands. Turns are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Turn {
    /// In the turn of that number.
    In(u32),
    /// After the turn of that number and before the next; after turn 0 is before the first.
    After(u32),
}

impl Turn {
    /// The turn's number, also for what comes after it.
    pub fn number(self) -> u32 {
        match self {
            Self::In(number) | Self::After(number) => number,
        }
    }

    /// As one number: positive in a turn, else the negative of the turn it comes after.
    pub fn code(self) -> i64 {
        match self {
            Self::In(number) => i64::from(number),
            Self::After(number) => -i64::from(number),
        }
    }

    /// The turn with that [`Turn::code`].
    pub fn from_code(code: i64) -> Option<Self> {
        let number = u32::try_from(code.unsigned_abs()).ok()?;
        Some(if code > 0 { Self::In(number) } else { Self::After(number) })
    }
}

/// Whom an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Audience {
    /// Clients: it is forwarded and replayed.
    Client,
    /// The agent: it is given back when the session is restored, and never shown.
    Agent,
    /// The session layer.
    Layer,
}

impl Audience {
    /// As a number.
    pub fn code(self) -> u8 {
        match self {
            Self::Client => 0,
            Self::Agent => 1,
            Self::Layer => 2,
        }
    }

    /// The audience with that [`Audience::code`].
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Client, Self::Agent, Self::Layer].into_iter().find(|audience| audience.code() == code)
    }
}

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// The agent sent a `session/update`.
    Update(UpdateKind),
    /// A client's prompt was accepted; a turn begins. Should the agent send it back as `user_message_chunk`s, these are
    /// not for clients, who would see it twice.
    Prompt,
    /// The turn is over; see [`TurnEnd`].
    TurnEnded,
    /// The agent asked for permission.
    PermissionAsked,
    /// Permission was given, refused, or the question was withdrawn.
    PermissionAnswered,
    /// A client set a mode, model, option or title.
    StateSet,
    /// The session was restored in an agent.
    Restored,
    /// The session begins here as a fork of another.
    ForkedFrom,
}

/// The kinds of step that only the layer reads, [`StepKind::TurnEnded`] aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerKind {
    /// See [`StepKind::PermissionAsked`].
    PermissionAsked,
    /// See [`StepKind::PermissionAnswered`].
    PermissionAnswered,
    /// See [`StepKind::StateSet`].
    StateSet,
    /// See [`StepKind::Restored`].
    Restored,
    /// See [`StepKind::ForkedFrom`].
    ForkedFrom,
}

impl From<LayerKind> for StepKind {
    fn from(kind: LayerKind) -> Self {
        match kind {
            LayerKind::PermissionAsked => Self::PermissionAsked,
            LayerKind::PermissionAnswered => Self::PermissionAnswered,
            LayerKind::StateSet => Self::StateSet,
            LayerKind::Restored => Self::Restored,
            LayerKind::ForkedFrom => Self::ForkedFrom,
        }
    }
}

/// Kinds beside updates: number, name.
const NAMED: [(StepKind, u8, &str); 7] = [
    (StepKind::Prompt, 1, "prompt"),
    (StepKind::TurnEnded, 2, "turn_ended"),
    (StepKind::PermissionAsked, 3, "permission_asked"),
    (StepKind::PermissionAnswered, 4, "permission_answered"),
    (StepKind::StateSet, 5, "state_set"),
    (StepKind::Restored, 6, "restored"),
    (StepKind::ForkedFrom, 7, "forked_from"),
];

impl StepKind {
    /// As a number.
    pub fn code(self) -> u8 {
        match self {
            Self::Update(update) => update.code(),
            other => NAMED.iter().find(|(kind, ..)| *kind == other).map_or(0, |(_, code, _)| *code),
        }
    }

    /// The kind with that [`StepKind::code`].
    pub fn from_code(code: u8) -> Option<Self> {
        let named = NAMED.iter().find(|(_, number, _)| *number == code).map(|(kind, ..)| *kind);
        named.or_else(|| UpdateKind::from_code(code).map(Self::Update))
    }

    /// As a word; all updates have the same, since their body says which one it is.
    pub fn name(self) -> &'static str {
        NAMED.iter().find(|(kind, ..)| *kind == self).map_or("update", |(.., name)| *name)
    }

    /// The kind with that [`StepKind::name`] and that body.
    pub fn from_name(name: &str, body: &Json) -> Option<Self> {
        let named = NAMED.iter().find(|(.., known)| *known == name).map(|(kind, ..)| *kind);
        named.or_else(|| (name == "update").then(|| UpdateKind::of(body)).flatten().map(Self::Update))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_code_and_comes_back_from_it() {
        let kinds: Vec<StepKind> = (0..=u8::MAX).filter_map(StepKind::from_code).collect();
        assert_eq!(kinds.len(), NAMED.len() + UpdateKind::ALL.len());
        assert!(kinds.iter().all(|kind| StepKind::from_code(kind.code()) == Some(*kind)));
    }

    #[test]
    fn turns_come_back_from_their_codes() {
        for turn in [Turn::After(0), Turn::In(1), Turn::After(1), Turn::In(u32::MAX), Turn::After(u32::MAX)] {
            assert_eq!(Turn::from_code(turn.code()), Some(turn));
        }
        assert_eq!(Turn::from_code(i64::MAX), None);
    }

    #[test]
    fn a_step_is_made_only_of_what_it_claims_to_be() {
        let at = Timestamp::from_millis(0);
        for text in ["[]", "{}", r#"{"sessionUpdate":1}"#, "\"plan\""] {
            assert!(Step::update(at, Turn::In(1), Json::parse(text).unwrap()).is_err(), "{text}");
        }
        assert!(Step::prompt(at, 1, MessageId::new("m"), Json::parse("{}").unwrap()).is_err());
        assert!(Step::prompt(at, 0, MessageId::new("m"), Json::parse("[]").unwrap()).is_err());
    }
}
