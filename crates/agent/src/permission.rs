//! Whether the user agrees to a call.

use rejoin::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCall, ToolCallUpdate, ToolCallUpdateFields,
};
use rejoin::{AgentError, Turn};

use crate::models::ToolUse;
use crate::session::OpenSession;
use crate::tools::Always;

const ONCE: &str = "allow";
const ALWAYS: &str = "always";
const NO: &str = "reject";

/// Asks whether `call` may be made; without asking where the user always agrees.
pub(crate) async fn ask(
    turn: &Turn<OpenSession>,
    call: &ToolCall,
    wanted: &ToolUse,
    always: &Always,
) -> Result<bool, AgentError> {
    // What is remembered, and what people read.
    let always = match always {
        Always::Tool => Some((wanted.name.clone(), wanted.name.clone())),
        Always::ToolAsDefined { definition } => Some((format!("{} {definition}", wanted.name), wanted.name.clone())),
        Always::Command { shown, key } => Some((format!("{} {key}", wanted.name), shown.clone())),
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
    match turn.ask_permission(shown(call), options).await? {
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
fn shown(call: &ToolCall) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .title(call.title.clone())
        .kind(call.kind)
        .status(call.status)
        .content(call.content.clone())
        .locations(call.locations.clone())
        .raw_input(call.raw_input.clone());
    ToolCallUpdate::new(call.tool_call_id.clone(), fields)
}
