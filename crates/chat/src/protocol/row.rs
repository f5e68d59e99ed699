//! A session in a list.

use serde_json::Value;

use super::{elements, text};

/// What is told of a session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) session_id: String,
    pub(crate) cwd: String,
    pub(crate) title: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) messages: Option<u64>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Row>,
    /// Where the next part begins.
    pub(crate) next: Option<String>,
}

impl Page {
    /// Reads the result of `session/list`.
    pub(crate) fn read(result: &Value) -> Self {
        let rows = elements(result, "sessions").filter_map(Row::read).collect();
        Self { rows, next: text(result, "nextCursor") }
    }
}

impl Row {
    fn read(row: &Value) -> Option<Self> {
        let ours = &row["_meta"]["rejoin"];
        Some(Self {
            session_id: text(row, "sessionId")?,
            cwd: text(row, "cwd")?,
            title: text(row, "title"),
            updated_at: text(row, "updatedAt"),
            agent: text(ours, "agent"),
            messages: ours["messages"].as_u64(),
        })
    }
}
