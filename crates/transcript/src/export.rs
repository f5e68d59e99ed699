//! The lossless file form of a transcript: JSON Lines.
//!
//! The first line is a header with the session's facts, each further line one entry. Reading what was written gives the
//! same facts and entries, byte for byte where they came from the wire.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use crate::{
    Audience, Entry, EntryNumber, Json, MessageId, Session, SessionFacts, Settings, Step, StepKind, Timestamp,
    TranscriptError, Turn,
};

/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Header<F, S> {
    /// Says what the file is.
    rejoin: Box<str>,
    version: u64,
    session: F,
    settings: S,
}

/// One entry. Flat, because raw JSON can't be read inside a flattened struct.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    number: EntryNumber,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after_turn: Option<u32>,
    kind: Box<str>,
    audience: Audience,
    protocol: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extra: Option<Json>,
    body: Json,
}

/// Writes the first line.
pub fn write_header(out: &mut impl Write, session: &Session) -> std::io::Result<()> {
    let Session { facts, settings } = session;
    // Where the entries came from matters only where they are.
    let facts = &SessionFacts { imported: EntryNumber::START, ..facts.clone() };
    let header = Header { rejoin: "transcript".into(), version: VERSION, session: facts, settings };
    serde_json::to_writer(&mut *out, &header)?;
    out.write_all(b"\n")
}

/// Writes one entry as a line.
pub fn write_entry(out: &mut impl Write, entry: &Entry) -> std::io::Result<()> {
    let step = &entry.step;
    let (turn, after_turn) = match step.turn {
        Turn::In(turn) => (Some(turn), None),
        Turn::After(turn) => (None, Some(turn)),
    };
    let line = Line {
        number: entry.number,
        at: step.at,
        turn,
        after_turn,
        kind: step.kind.name().into(),
        audience: step.audience,
        protocol: step.protocol,
        message_id: step.message_id.clone(),
        extra: step.extra.clone(),
        body: step.body.clone(),
    };
    serde_json::to_writer(&mut *out, &line)?;
    out.write_all(b"\n")
}

/// An exported transcript that is being read.
pub struct Reader<R> {
    input: R,
    line: u64,
    next: EntryNumber,
    buffer: String,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    pub fn open(input: R) -> Result<(Session, Self), ReadError> {
        let mut reader = Self { input, line: 0, next: EntryNumber::START.next(), buffer: String::new() };
        if !reader.read_line()? {
            return Err(TranscriptError::NotAnExport.into());
        }
        let header: Header<Json, Json> =
            serde_json::from_str(&reader.buffer).map_err(|_| TranscriptError::NotAnExport)?;
        if &*header.rejoin != "transcript" {
            return Err(TranscriptError::NotAnExport.into());
        }
        if header.version > VERSION {
            return Err(TranscriptError::UnknownVersion { found: header.version, known: VERSION }.into());
        }
        let bad = |source| TranscriptError::BadLine { line: 1, source };
        let facts: SessionFacts = serde_json::from_str(header.session.as_str()).map_err(bad)?;
        let settings: Settings = serde_json::from_str(header.settings.as_str()).map_err(bad)?;
        Ok((Session { facts, settings }, reader))
    }

    /// The next entry; `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, ReadError> {
        loop {
            if !self.read_line()? {
                return Ok(None);
            }
            if self.buffer.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&self.buffer)
                .map_err(|source| TranscriptError::BadLine { line: self.line, source })?;
            let entry = line.into_entry().map_err(|reason| TranscriptError::BadLine {
                line: self.line,
                source: serde::de::Error::custom(reason),
            })?;
            if entry.number != self.next {
                let (expected, found) = (self.next.get().into(), entry.number.get().into());
                return Err(TranscriptError::OutOfOrder { line: self.line, expected, found }.into());
            }
            self.next = self.next.next();
            return Ok(Some(entry));
        }
    }

    fn read_line(&mut self) -> Result<bool, ReadError> {
        self.buffer.clear();
        self.line += 1;
        Ok(self.input.read_line(&mut self.buffer)? > 0)
    }
}

impl Line {
    fn into_entry(self) -> Result<Entry, &'static str> {
        let kind =
            StepKind::from_name(&self.kind, &self.body).ok_or("`kind` is unknown, or `body` is not of that kind")?;
        let turn = match (self.turn, self.after_turn) {
            (Some(0), None) => return Err("turns are counted from 1"),
            (Some(turn), None) => Turn::In(turn),
            (None, Some(turn)) => Turn::After(turn),
            _ => return Err("one of `turn` and `afterTurn` must be there"),
        };
        if matches!(kind, StepKind::Prompt | StepKind::TurnEnded) && matches!(turn, Turn::After(_)) {
            return Err("a prompt, and the end of a turn, must be in a `turn`");
        }
        if kind == StepKind::Prompt && self.body.elements().is_none() {
            return Err("the `body` of a prompt must be an array");
        }
        let step = Step {
            at: self.at,
            turn,
            kind,
            audience: self.audience,
            protocol: self.protocol,
            message_id: self.message_id,
            extra: self.extra,
            body: self.body,
        };
        Ok(Entry { number: self.number, step })
    }
}

/// Why an exported transcript could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Reading itself failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// What was read is not a transcript.
    #[error(transparent)]
    Content(#[from] TranscriptError),
}
