//! A session as `--json` shows it.

use rejoin_transcript::{Cost, SessionFacts, SessionId, Timestamp};
use serde::Serialize;

use crate::resume::resume_command;

/// What is told of a session in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row<'a> {
    session_id: &'a SessionId,
    cwd: &'a str,
    title: Option<&'a str>,
    updated_at: Timestamp,
    created_at: Timestamp,
    agent: &'a str,
    messages: u32,
    turns: u32,
    has_errors: bool,
    archived: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_of: Option<&'a SessionId>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    additional_directories: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    resume_command: Option<String>,
}

impl<'a> From<&'a SessionFacts> for Row<'a> {
    fn from(facts: &'a SessionFacts) -> Self {
        Self {
            session_id: &facts.session_id,
            cwd: &facts.cwd.raw,
            title: facts.title(),
            updated_at: facts.updated_at,
            created_at: facts.created_at,
            agent: &facts.agent.name,
            messages: facts.messages,
            turns: facts.turns,
            has_errors: facts.has_errors,
            archived: facts.archived,
            cost: facts.cost.as_ref(),
            fork_of: facts.parent.as_ref().map(|parent| &parent.session_id),
            additional_directories: &facts.additional_directories,
            resume_command: resume_command(facts),
        }
    }
}
