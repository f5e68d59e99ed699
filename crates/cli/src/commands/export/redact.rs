//! A session without what looks like a secret or a name: otherwise the same, entry by entry.
//!
//! What an agent says comes in chunks, and a secret may lie across several. So the chunks of a message are looked at
//! together, when their turn is over; what is replaced stands where it began.

mod rules;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use rejoin_transcript::export::{self, Reader};
use rejoin_transcript::json::{Members, map_strings, set_member, write_string};
use rejoin_transcript::{Entry, Json, MessageId, Session, StepKind, UpdateKind};
use rejoin_wire::secrets_in_args;

pub(super) use self::rules::Rules;

/// Redacts entries, turn by turn.
pub(super) struct Redactor {
    rules: Rules,
    /// The entries of the turn that has not ended.
    turn: Vec<Entry>,
}

impl Redactor {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, turn: Vec::new() }
    }

    /// Takes the next entry, and gives those that are done: the turn before it, if it begins another.
    pub(super) fn push(&mut self, entry: Entry) -> Vec<Entry> {
        let begins = self.turn.last().is_some_and(|last| last.step.turn.number() != entry.step.turn.number());
        let done = if begins { self.end() } else { Vec::new() };
        self.turn.push(entry);
        done
    }

    /// Gives those that are left.
    pub(super) fn end(&mut self) -> Vec<Entry> {
        let mut turn = std::mem::take(&mut self.turn);
        self.redact_messages(&mut turn);
        for entry in &mut turn {
            let step = &mut entry.step;
            step.body = self.rules.json(&step.body);
            step.extra = step.extra.as_ref().map(|extra| self.rules.json(extra));
            let id = step.message_id.as_ref().and_then(|id| self.rules.text(id.as_str()));
            step.message_id = id.map(MessageId::new).or(step.message_id.take());
        }
        turn
    }

    /// Redacts what lies across the chunks of a message.
    fn redact_messages(&self, turn: &mut [Entry]) {
        let mut messages: BTreeMap<(u8, String), Vec<(usize, String)>> = BTreeMap::new();
        for (index, entry) in turn.iter().enumerate() {
            if let Some((message, text)) = chunk_of(entry) {
                messages.entry(message).or_default().push((index, text));
            }
        }
        for chunks in messages.into_values().filter(|chunks| chunks.len() > 1) {
            let whole: String = chunks.iter().map(|(_, text)| text.as_str()).collect();
            let found = self.rules.find(&whole);
            if found.is_empty() {
                continue;
            }
            let mut from = 0;
            for (index, text) in chunks {
                let chunk = from..from + text.len();
                let redacted = rules::replace_in(&whole, chunk.clone(), &found);
                from = chunk.end;
                if redacted != text {
                    let body = &mut turn[index].step.body;
                    *body = with_text(body, &redacted).unwrap_or_else(|| body.clone());
                }
            }
        }
    }
}

impl Rules {
    /// What is known of a session, redacted.
    pub(super) fn session(&self, session: &Session) -> io::Result<Session> {
        let mut line = Vec::new();
        export::write_header(&mut line, session)?;
        let redacted = self.json(&Json::from_stored(String::from_utf8_lossy(&line).trim_end().to_owned()));
        match Reader::open(redacted.as_str().as_bytes()) {
            Ok((mut session, _)) => {
                let command = &mut session.facts.agent.command;
                let secrets = secrets_in_args(command);
                for word in command {
                    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
                        *word = word.replace(secret, rules::SECRET);
                    }
                }
                Ok(session)
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Each text in `json`, redacted.
    fn json(&self, json: &Json) -> Json {
        Json::from_stored(map_strings(json.as_str(), |name, text| {
            self.text(text).or_else(|| name.and_then(|name| rules::member(name, text)))
        }))
    }

    /// `text`, redacted; `None` if there is nothing to redact in it, or it is data.
    fn text(&self, text: &str) -> Option<String> {
        if is_data(text) {
            return None;
        }
        let found = self.find(text);
        (!found.is_empty()).then(|| rules::replace_in(text, 0..text.len(), &found))
    }
}

/// Whether `text` is an image or the like, in which letters mean nothing.
fn is_data(text: &str) -> bool {
    text.len() > 1024 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// The message that `entry` is a chunk of, by its kind and id, and the chunk's text.
fn chunk_of(entry: &Entry) -> Option<((u8, String), String)> {
    let step = &entry.step;
    let is_chunk = matches!(
        step.kind,
        StepKind::Update(UpdateKind::UserMessageChunk | UpdateKind::AgentMessageChunk | UpdateKind::AgentThoughtChunk)
    );
    let members = step.body.members().filter(|_| is_chunk)?;
    let text = Members::read(members.get("content")?)?.get_string("text")?.into_owned();
    let id = step.chunk_message_id().map(Cow::into_owned).unwrap_or_default();
    Some(((step.kind.code(), id), text))
}

/// The chunk `body` with another text.
fn with_text(body: &Json, text: &str) -> Option<Json> {
    let members = body.members()?;
    let content = set_member(members.get("content")?, "text", &write_string(text))?;
    Some(Json::from_stored(set_member(body.as_str(), "content", &content)?))
}
