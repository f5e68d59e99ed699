//! What went between us and one process of the agent, in its order.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rejoin_transcript::UpdateKind;
use rejoin_wire::{Direction, Tap};
use serde_json::Value;
use tokio::sync::watch;

/// What is kept of one process, in bytes. What comes beyond it is not looked at.
const ROOM: usize = 64 * 1024 * 1024;

/// A line of ours that is longer is not kept: it is one that only has to be long.
const LONG: usize = 1024 * 1024;

/// Sees and keeps the traffic with one process.
pub(crate) struct Log {
    seen: Mutex<Seen>,
    /// How many lines there are.
    news: watch::Sender<usize>,
    other: Option<Arc<dyn Tap>>,
}

#[derive(Default)]
struct Seen {
    lines: Vec<Line>,
    n_bytes: usize,
    last_in: usize,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) direction: Direction,
    pub(crate) text: String,
    /// What it says; null if it is no JSON.
    pub(crate) message: Value,
}

/// An update of a session.
#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// Its place among the lines.
    pub(crate) at: usize,
    pub(crate) session: String,
    /// The object `update`.
    pub(crate) body: Value,
}

impl Log {
    /// A log whose lines `other` sees too.
    pub(crate) fn new(other: Option<Arc<dyn Tap>>) -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), news: watch::Sender::new(0), other })
    }

    /// The place of the next line.
    pub(crate) fn end(&self) -> usize {
        self.seen().lines.len()
    }

    /// The place of the latest line that the agent has sent.
    pub(crate) fn last_in(&self) -> usize {
        self.seen().last_in
    }

    /// Tells of every line.
    pub(crate) fn news(&self) -> watch::Receiver<usize> {
        self.news.subscribe()
    }

    /// All lines.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.seen().lines.clone()
    }

    /// The lines that the agent sent in `range`, as texts.
    pub(crate) fn came_in(&self, range: Range<usize>) -> Vec<String> {
        let is_theirs = |line: &&Line| line.direction == Direction::In;
        slice(&self.seen().lines, range).iter().filter(is_theirs).map(|line| line.text.clone()).collect()
    }

    /// The updates in `range` of the session `id`, or of all sessions.
    pub(crate) fn updates(&self, range: Range<usize>, id: Option<&str>) -> Vec<Update> {
        let start = range.start;
        let seen = self.seen();
        let numbered = slice(&seen.lines, range).iter().zip(start..);
        let updates = numbered.filter_map(|(line, at)| {
            let is_update = line.direction == Direction::In && line.message["method"] == "session/update";
            let params = is_update.then(|| &line.message["params"])?;
            let session = params["sessionId"].as_str()?;
            let is_meant = id.is_none_or(|id| id == session);
            is_meant.then(|| Update { at, session: session.to_owned(), body: params["update"].clone() })
        });
        updates.collect()
    }

    /// The place from `from` on where the session `id` is asked for something next.
    pub(crate) fn next_request_in(&self, from: usize, id: &str) -> usize {
        let seen = self.seen();
        let is_request = |line: &Line| {
            let is_ours = line.direction == Direction::Out && line.message["method"].is_string();
            is_ours && !line.message["id"].is_null() && line.message["params"]["sessionId"] == id
        };
        let lines = slice(&seen.lines, from..seen.lines.len());
        lines.iter().position(is_request).map_or(seen.lines.len(), |place| from + place)
    }

    /// The requests and notifications `method` that the agent sent in `range`: their params.
    pub(crate) fn asked(&self, range: Range<usize>, method: &str) -> Vec<Value> {
        let seen = self.seen();
        let is_meant = |line: &&Line| line.direction == Direction::In && line.message["method"] == method;
        slice(&seen.lines, range).iter().filter(is_meant).map(|line| line.message["params"].clone()).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        // Each change is one step, so what a panicking holder left behind is whole.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap for Log {
    fn line(&self, direction: Direction, line: &str) {
        if let Some(other) = &self.other {
            other.line(direction, line);
        }
        let is_kept = direction == Direction::In || line.len() < LONG;
        let text = if is_kept { line.to_owned() } else { format!("{}…", line.chars().take(100).collect::<String>()) };
        let message = serde_json::from_str(&text).unwrap_or_default();
        let mut seen = self.seen();
        if seen.n_bytes + text.len() > ROOM {
            return;
        }
        seen.n_bytes += text.len();
        if direction == Direction::In {
            seen.last_in = seen.lines.len();
        }
        seen.lines.push(Line { direction, text, message });
        let end = seen.lines.len();
        drop(seen);
        self.news.send_replace(end);
    }
}

impl Update {
    /// Its kind.
    pub(crate) fn kind(&self) -> UpdateKind {
        UpdateKind::from_name(self.body["sessionUpdate"].as_str().unwrap_or_default())
    }

    /// Whether it is a part of the conversation, and no mere state.
    pub(crate) fn is_conversation(&self) -> bool {
        let kind = self.kind();
        !kind.is_state() && !matches!(kind, UpdateKind::Notice | UpdateKind::Other)
    }
}

fn slice(lines: &[Line], range: Range<usize>) -> &[Line] {
    let end = range.end.min(lines.len());
    &lines[range.start.min(end)..end]
}
