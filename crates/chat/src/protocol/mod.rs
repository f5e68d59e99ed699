//! What the layer says, read as far as the chat shows it.
//!
//! Nothing here fails: what is missing or of another kind is left out, and an update that nobody knows keeps its name.

mod ask;
mod choices;
mod content;
mod diff;
mod plan;
mod reply;
mod row;
mod tool_call;
mod update;

use rejoin_wire::RawValue;
use serde_json::Value;

pub(crate) use ask::{Answer, Ask, Field, FieldKind, Form, PermissionKind, PermissionOption};
pub(crate) use choices::{Choice, Choices};
pub(crate) use diff::{Diff, DiffLine};
pub(crate) use plan::{PlanEntry, PlanStatus};
pub(crate) use reply::{Failure, FailureKind, StopReason};
pub(crate) use row::{Page, Row};
pub(crate) use tool_call::{Location, ToolCall, ToolContent, ToolStatus};
pub(crate) use update::{Command, Role, Severity, Update, Usage};

/// What is in `json`; null, if there is nothing that can be read.
pub(crate) fn value_of(json: Option<Box<RawValue>>) -> Value {
    json.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default()
}

/// The text in the member `name` of `object`.
fn text(object: &Value, name: &str) -> Option<String> {
    object.get(name)?.as_str().map(str::to_owned)
}

/// The elements of the member `name` of `object`.
fn elements<'a>(object: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    object.get(name).and_then(Value::as_array).into_iter().flatten()
}
