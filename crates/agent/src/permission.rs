//! Whether the user agrees to a call.

use rejoin::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::models::ToolUse;
use crate::session::OpenSession;
use crate::tools::{Always, Plan};

const ONCE: &str = "allow";
const ALWAYS: &str = "always";
const NO: &str = "reject";

/// Asks whether the call `id`, which does what `plan` says, may be made; without asking where the user always agrees.
pub(crate) async fn ask(
    turn: &Turn<OpenSession>,
    id: &ToolCallId,
    wanted: &ToolUse,
    plan: &Plan,
) -> Result<bool, AgentError> {
    // What is remembered, and what people read.
    let always = match &plan.always {
        Always::Tool => Some((wanted.name.clone(), wanted.name.clone())),
        Always::Program(program) => Some((format!("{} {program}", wanted.name), format!("`{program}`"))),
        Always::NotOffered => None,
    };
    if always.as_ref().is_some_and(|(key, _)| turn.session().is_allowed(key)) {
        return Ok(true);
    }
    let mut options = vec![PermissionOption::new(ONCE, "Allow", PermissionOptionKind::AllowOnce)];
    if let Some((_, what)) = &always {
        let name = format!("Always allow {what} in this session");
        options.push(PermissionOption::new(ALWAYS, name, PermissionOptionKind::AllowAlways));
    }
    options.push(PermissionOption::new(NO, "Reject", PermissionOptionKind::RejectOnce));
    match turn.ask_permission(shown(id, wanted, plan), options).await? {
        RequestPermissionOutcome::Selected(selected) => match (&*selected.option_id.0, always) {
            (ALWAYS, Some((key, _))) => {
                turn.session().allow(&key);
                Ok(true)
            }
            (chosen, _) => Ok(chosen == ONCE),
        },
        RequestPermissionOutcome::Cancelled => Err(AgentError::Cancelled),
        _ => Ok(false),
    }
}

/// All that the user needs to decide, also in a client that shows nothing else.
fn shown(id: &ToolCallId, wanted: &ToolUse, plan: &Plan) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(plan.title.clone())
        .kind(plan.kind)
        .status(ToolCallStatus::Pending)
        .content(plan.content.clone())
        .locations(plan.locations.clone())
        .raw_input(Value::Object(wanted.arguments.clone()));
    ToolCallUpdate::new(id.clone(), fields)
}
