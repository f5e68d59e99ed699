//! Whether the user agrees to a call.

use rejoin::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, ToolCallId, ToolCallUpdate, ToolCallUpdateFields,
};
use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

const ONCE: &str = "allow";
const ALWAYS: &str = "always";
const NO: &str = "reject";

/// Asks whether the call `id` of `tool`, shown as `title`, may be made; once the user always agrees, for this session without
/// asking.
pub(crate) async fn ask(
    turn: &Turn<OpenSession>,
    id: &ToolCallId,
    tool: &str,
    title: &str,
) -> Result<bool, AgentError> {
    if turn.session().is_allowed(tool) {
        return Ok(true);
    }
    let option = |id: &'static str, name: String, kind| PermissionOption::new(id, name, kind);
    let options = vec![
        option(ONCE, "Allow".to_owned(), PermissionOptionKind::AllowOnce),
        option(ALWAYS, format!("Always allow {tool} in this session"), PermissionOptionKind::AllowAlways),
        option(NO, "Reject".to_owned(), PermissionOptionKind::RejectOnce),
    ];
    let call = ToolCallUpdate::new(id.clone(), ToolCallUpdateFields::new().title(title.to_owned()));
    match turn.ask_permission(call, options).await? {
        RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALWAYS => {
            turn.session().allow(tool);
            Ok(true)
        }
        RequestPermissionOutcome::Selected(selected) => Ok(&*selected.option_id.0 == ONCE),
        RequestPermissionOutcome::Cancelled => Err(AgentError::Cancelled),
        _ => Ok(false),
    }
}
