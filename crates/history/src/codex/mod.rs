//! Codex: `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, packed with Zstandard when it is old.
//!
//! One item a line, in the order in which it happened. What a model was sent and answered are `response_item`s; the user's
//! own words are told apart from what the tool says in the user's name by the events about them. Old files have no such
//! events, and no wrapping of their items. What the user took back is not told.

mod commands;
mod items;
mod patch;
mod taken_back;

use std::collections::VecDeque;
use std::path::Path;

use rejoin_transcript::{Timestamp, Told};
use serde_json::Value;

use crate::blocks::{str_of, time_of};
use crate::conversation::LeftOut;
use crate::lines::Lines;
use crate::{About, Conversation, HistoryError, Tool, input};
use items::Speaker;
use taken_back::TakenBack;

/// How many lines the beginning of a file may have before it says which session it is.
const BEGINNING: usize = 50;

/// The conversation in `file`.
pub(crate) fn read(file: &Path) -> Result<Conversation, HistoryError> {
    let mut lines = Lines::new(input::open(file)?);
    let (mut beginning, mut meta, mut cwd) = (VecDeque::new(), None, None);
    while (meta.is_none() || cwd.is_none()) && beginning.len() < BEGINNING {
        let Some(line) = lines.next_object()? else { break };
        meta = meta.or_else(|| meta_of(&line).cloned());
        cwd = cwd.or_else(|| cwd_of(&line));
        beginning.push_back((lines.number(), line));
    }
    let lacks = |what| HistoryError::Lacks { what };
    let meta = meta.ok_or(lacks("which session it is"))?;
    if !meta["source"]["subagent"].is_null() {
        return Err(HistoryError::Subagent);
    }
    let about = About {
        tool: Tool::Codex,
        id: str_of(&meta, "id").ok_or(lacks("which session it is"))?.to_owned(),
        cwd: cwd.ok_or(lacks("in which folder it was"))?,
        created_at: time_of(&meta, "timestamp").ok_or(lacks("when it was"))?,
        updated_at: None,
        version: str_of(&meta, "cli_version").map(str::to_owned),
        title: None,
    };
    let left_out = LeftOut::default();
    let mut teller = Teller {
        speaker: Speaker::new(&about.cwd),
        last_at: about.created_at,
        taken_back: TakenBack::read(Lines::new(input::open(file)?))?,
        beginning,
        lines,
        left_out: left_out.clone(),
    };
    Conversation::new(about, Box::new(move || teller.read_on()), left_out)
}

/// What `line` says of the session.
fn meta_of(line: &Value) -> Option<&Value> {
    match str_of(line, "type") {
        Some("session_meta") => Some(&line["payload"]).filter(|meta| meta["id"].is_string()),
        None => Some(line).filter(|line| line["id"].is_string() && line["timestamp"].is_string()),
        Some(_) => None,
    }
}

/// The folder, if `line` says it: as such, or, in old files, in the first words to the model.
fn cwd_of(line: &Value) -> Option<String> {
    let payload = line.get("payload").unwrap_or(line);
    if let Some(cwd) = str_of(payload, "cwd") {
        return Some(cwd.to_owned());
    }
    let texts = payload["content"].as_array()?.iter().filter_map(|block| str_of(block, "text"));
    let told = texts.filter(|text| text.trim_start().starts_with("<environment_context>")).find_map(|text| {
        let marked = text.split_once("<cwd>").and_then(|(_, rest)| rest.split_once("</cwd>")).map(|(cwd, _)| cwd);
        marked.or_else(|| text.split_once("Current working directory: ")?.1.lines().next())
    });
    told.map(|cwd| cwd.trim().to_owned())
}

/// Tells the lines of one file.
struct Teller {
    /// Lines that were read to find out what the file is, with their numbers.
    beginning: VecDeque<(u64, Value)>,
    taken_back: TakenBack,
    lines: Lines,
    speaker: Speaker,
    last_at: Timestamp,
    left_out: LeftOut,
}

impl Teller {
    /// What the next line tells.
    fn read_on(&mut self) -> Result<Option<Vec<Told>>, HistoryError> {
        let line = match self.beginning.pop_front() {
            Some(line) => Some(line),
            None => self.lines.next_object()?.map(|line| (self.lines.number(), line)),
        };
        self.left_out.set(self.lines.damaged());
        let Some((number, line)) = line else {
            let last = self.speaker.finish();
            return Ok((!last.is_empty()).then_some(last));
        };
        if self.taken_back.has(number) {
            return Ok(Some(Vec::new()));
        }
        self.last_at = time_of(&line, "timestamp").unwrap_or(self.last_at).max(self.last_at);
        Ok(Some(self.speaker.speak(self.last_at, &line)))
    }
}
