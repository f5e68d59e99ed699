//! Which lines of a file are part of the conversation: read once before anything is told.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;

use rejoin_transcript::Timestamp;
use rejoin_transcript::json::{Members, read_string};

use crate::lines::Lines;

/// What a file says of itself, and which of its lines count.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) session_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) version: Option<String>,
    /// Whether anything was said, and whether a subagent said anything.
    pub(super) has_words: bool,
    pub(super) has_subagent: bool,
    /// When the first thing was said.
    pub(super) created_at: Option<Timestamp>,
    /// When the last thing was said.
    pub(super) updated_at: Option<Timestamp>,
    /// The title that a person gave.
    pub(super) custom_title: Option<String>,
    /// The title that the tool made.
    pub(super) ai_title: Option<String>,
    /// How many lines are no records at all.
    pub(super) damaged: u64,
    /// By the lines' numbers, from 1.
    places: Vec<Place>,
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In the conversation.
    Inside,
    /// Beside it: tools that ran at once have their results on branches of their own.
    Beside,
    /// Nowhere: a branch that was given up, a subagent's, or no part of any conversation.
    Outside,
}

/// A record that others can follow.
struct Node {
    line: usize,
    parent: Parent,
    kind: Kind,
    /// Stands for the id of the message that it is a piece of.
    message: Option<u64>,
}

enum Parent {
    /// It begins a conversation.
    Nobody,
    /// It follows that node.
    Node(usize),
    /// It follows one that is not there; then the one before it must do.
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Assistant,
    Other,
}

impl Chain {
    /// Reads all of `lines`.
    pub(super) fn read(mut lines: Lines) -> io::Result<Self> {
        let mut chain = Self::default();
        let (mut nodes, mut by_uuid): (Vec<Node>, HashMap<Box<str>, usize>) = (Vec::new(), HashMap::new());
        let mut summaries = Vec::new();
        while let Some((number, text)) = lines.next()? {
            let line = usize::try_from(number).unwrap_or(usize::MAX);
            chain.places.resize(line, Place::Outside);
            if text.is_empty() {
                continue;
            }
            let Some(record) = Members::read(text) else {
                lines.note_damaged();
                continue;
            };
            let text_of = |name: &str| record.get_some(name).and_then(read_string).map(Cow::into_owned);
            let kind = text_of("type").unwrap_or_default();
            match kind.as_str() {
                "custom-title" => chain.custom_title = text_of("customTitle").or(chain.custom_title),
                "ai-title" => chain.ai_title = text_of("aiTitle").or(chain.ai_title),
                "summary" => summaries.extend(text_of("leafUuid").zip(text_of("summary"))),
                _ => {}
            }
            if record.get("isSidechain") == Some("true") {
                chain.has_subagent = true;
                continue;
            }
            let kind = match kind.as_str() {
                "user" => Kind::User,
                "assistant" => Kind::Assistant,
                _ => Kind::Other,
            };
            let uuid = text_of("uuid");
            // What goes on from another file may have been copied more than once.
            if uuid.as_deref().map_or(kind == Kind::Other, |uuid| by_uuid.contains_key(uuid)) {
                continue;
            }
            if kind != Kind::Other {
                chain.note(&record, &text_of);
            }
            let parent = match text_of("parentUuid").or_else(|| text_of("logicalParentUuid")) {
                Some(parent) => by_uuid.get(parent.as_str()).copied().map_or(Parent::Lost, Parent::Node),
                None if text_of("subtype").as_deref() == Some("compact_boundary") => Parent::Lost,
                None if record.get("parentUuid").is_none() => Parent::Lost,
                None => Parent::Nobody,
            };
            by_uuid.extend(uuid.map(|uuid| (uuid.into_boxed_str(), nodes.len())));
            let message = (kind == Kind::Assistant).then(|| message_of(&record)).flatten();
            nodes.push(Node { line, parent, kind, message });
        }
        chain.damaged = lines.damaged();
        // A summary may be that of another conversation, which this one went on from.
        let own = summaries.into_iter().rfind(|(leaf, _)| by_uuid.contains_key(leaf.as_str()));
        chain.ai_title = chain.ai_title.or(own.map(|(_, summary)| summary));
        chain.mark(&nodes);
        Ok(chain)
    }

    /// Where the line `number` stands.
    pub(super) fn place(&self, number: u64) -> Place {
        let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.places.get(index).copied().unwrap_or(Place::Outside)
    }

    fn note(&mut self, record: &Members<'_>, text_of: &impl Fn(&str) -> Option<String>) {
        self.has_words = true;
        self.session_id = self.session_id.take().or_else(|| text_of("sessionId"));
        self.cwd = self.cwd.take().or_else(|| text_of("cwd").filter(|cwd| cwd.starts_with('/')));
        self.version = self.version.take().or_else(|| text_of("version"));
        let at = record.get_string("timestamp").and_then(|at| at.parse().ok());
        self.created_at = self.created_at.or(at);
        self.updated_at = self.updated_at.max(at);
    }

    /// Goes from the last thing that was said back to the first.
    fn mark(&mut self, nodes: &[Node]) {
        let mut messages = HashSet::new();
        let mut next = nodes.iter().rposition(|node| node.kind != Kind::Other);
        while let Some(index) = next {
            let node = &nodes[index];
            self.places[node.line - 1] = Place::Inside;
            messages.extend(node.message);
            next = match node.parent {
                Parent::Nobody => None,
                Parent::Node(parent) => Some(parent),
                Parent::Lost => index.checked_sub(1),
            };
        }
        for node in nodes {
            let place = &mut self.places[node.line - 1];
            if *place == Place::Outside {
                *place = match node.kind {
                    Kind::Assistant if node.message.is_some_and(|id| messages.contains(&id)) => Place::Inside,
                    Kind::User => Place::Beside,
                    Kind::Assistant | Kind::Other => Place::Outside,
                };
            }
        }
    }
}

/// Something that stands for the id of the message in `record`.
fn message_of(record: &Members<'_>) -> Option<u64> {
    let id = Members::read(record.get("message")?)?.get_string("id").filter(|id| !id.is_empty())?;
    let hash = blake3::hash(id.as_bytes());
    Some(u64::from_be_bytes(hash.as_bytes()[..8].try_into().ok()?))
}
