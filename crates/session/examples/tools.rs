//! An agent with a tool, options and commands: it keeps notes in the session's folder.
//!
//! `note TEXT` adds a line to `notes.md`: with permission in the mode `careful`, at once in the mode `quick`. `/count` says
//! how many notes this session has made; it counts them in the conversation, so also after a restart.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use rejoin::schema::{
    AvailableCommand, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome, SessionConfigOption,
    SessionConfigOptionCategory, SessionConfigSelectOption, SessionUpdate, StopReason, ToolCall, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use rejoin::store::SqliteStore;
use rejoin::{About, Agent, AgentError, Chosen, Offer, Past, SessionContext, SessionLayer, Transport, Turn};

struct Notes;

impl Agent for Notes {
    /// Where the notes are. What was said is in the record, and needs no place here.
    type Session = PathBuf;

    fn about(&self) -> About {
        About::new("notes", "1.0.0")
    }

    async fn open(&self, context: SessionContext) -> Result<PathBuf, AgentError> {
        Ok(context.cwd().join("notes.md"))
    }

    fn offer(&self, _: &PathBuf, chosen: &Chosen) -> Offer {
        let modes = vec![
            SessionConfigSelectOption::new("careful", "Careful").description("Asks before it writes.".to_owned()),
            SessionConfigSelectOption::new("quick", "Quick").description("Writes at once.".to_owned()),
        ];
        let current = chosen.get("mode").unwrap_or("careful").to_owned();
        let mode =
            SessionConfigOption::select("mode", "Mode", current, modes).category(SessionConfigOptionCategory::Mode);
        Offer { options: vec![mode], commands: vec![AvailableCommand::new("count", "How many notes were made")] }
    }

    async fn prompt(&self, turn: Turn<PathBuf>) -> Result<StopReason, AgentError> {
        let text = turn.prompt_text();
        if text.trim() == "/count" {
            turn.say(format!("{} so far.", notes_in(turn.history()))).await?;
        } else if let Some(note) = text.strip_prefix("note ") {
            let said = if write(&turn, note).await? { "Noted." } else { "As you like." };
            turn.say(said).await?;
        } else {
            turn.say("Write `note` and what to remember.").await?;
        }
        Ok(StopReason::EndTurn)
    }

    async fn close(&self, _: &PathBuf) {}
}

/// Adds a note, if the user agrees.
async fn write(turn: &Turn<PathBuf>, note: &str) -> Result<bool, AgentError> {
    let path = turn.session().as_ref();
    let old = std::fs::read_to_string(path).unwrap_or_default();
    let new = format!("{old}- {note}\n");
    let id = format!("note-{}", turn.history().len());
    let diff = ToolCallContent::Diff(Diff::new(path, new.clone()).old_text(old));
    let call = ToolCall::new(id.clone(), "Write a note").kind(ToolKind::Edit).content(vec![diff]);
    turn.send(SessionUpdate::ToolCall(call)).await?;

    let is_allowed = turn.chosen().get("mode") == Some("quick") || {
        let options = vec![
            PermissionOption::new("yes", "Write it", PermissionOptionKind::AllowOnce),
            PermissionOption::new("no", "Don't", PermissionOptionKind::RejectOnce),
        ];
        let asked = ToolCallUpdate::new(id.clone(), ToolCallUpdateFields::new());
        let outcome = turn.ask_permission(asked, options).await?;
        matches!(outcome, RequestPermissionOutcome::Selected(chosen) if &*chosen.option_id.0 == "yes")
    };
    let status = if is_allowed { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    if is_allowed {
        std::fs::write(path, new).map_err(AgentError::failed)?;
    }
    let done = ToolCallUpdate::new(id, ToolCallUpdateFields::new().status(status));
    turn.send(SessionUpdate::ToolCallUpdate(done)).await?;
    Ok(is_allowed)
}

fn notes_in(history: &[Past]) -> usize {
    let is_note = |past: &&Past| matches!(past, Past::ToolCall(call) if call.status == ToolCallStatus::Completed);
    history.iter().filter(is_note).count()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(SqliteStore::open("notes.db")?);
    SessionLayer::new(store).agent(Notes).serve(Transport::stdio()?).await;
    Ok(())
}
