//! An agent's plan.

use serde_json::Value;

use super::{elements, text};

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) status: PlanStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

impl PlanEntry {
    /// The entries in the member `entries` of `plan`.
    pub(super) fn read_all(plan: &Value) -> Vec<Self> {
        let read = |entry: &Value| {
            let status = match entry["status"].as_str() {
                Some("completed") => PlanStatus::Completed,
                Some("in_progress") => PlanStatus::InProgress,
                _ => PlanStatus::Pending,
            };
            Some(Self { content: text(entry, "content")?, status })
        };
        elements(plan, "entries").filter_map(read).collect()
    }
}
