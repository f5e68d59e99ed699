//! `update_plan`: tells the user what the agent intends to do, and how far it is.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{Plan as Steps, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolKind};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{read, spec};
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

const NAME: &str = "update_plan";

pub(super) struct UpdatePlan;

#[derive(Deserialize)]
struct Input {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    content: String,
    #[serde(default = "medium")]
    priority: PlanEntryPriority,
    #[serde(default = "pending")]
    status: PlanEntryStatus,
}

#[async_trait]
impl Tool for UpdatePlan {
    fn spec(&self) -> ToolSpec {
        let description = "Shows the user a plan: all steps, the done ones too. Use it for work of several steps, and again \
                           whenever a step begins or is done.";
        let entry = json!({
            "type": "object",
            "properties": {
                "content": { "type": "string", "description": "What is to be done." },
                "priority": { "type": "string", "enum": ["high", "medium", "low"] },
                "status": { "type": "string", "enum": ["pending", "in_progress", "completed"] },
            },
            "required": ["content", "priority", "status"],
            "additionalProperties": false,
        });
        spec(NAME, description, &[("entries", json!({ "type": "array", "items": entry }))])
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Think
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn plan(&self, arguments: &Arguments, _: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let _: Input = read(NAME, arguments)?;
        Ok(Plan::new("Update the plan".to_owned()))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let input: Input = read(NAME, arguments)?;
        let entry = |entry: Entry| PlanEntry::new(entry.content, entry.priority, entry.status);
        let steps = Steps::new(input.entries.into_iter().map(entry).collect());
        call.turn.send(SessionUpdate::Plan(steps)).await?;
        Ok(Output::text("The user sees the plan.".to_owned()))
    }
}

fn medium() -> PlanEntryPriority {
    PlanEntryPriority::Medium
}

fn pending() -> PlanEntryStatus {
    PlanEntryStatus::Pending
}
