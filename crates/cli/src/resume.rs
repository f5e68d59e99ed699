//! How a session goes on without us: the command of the tool whose agent keeps it.

use rejoin_history::Tool;
use rejoin_transcript::SessionFacts;

/// The command that opens the session in its agent's own tool, if that has one and holds all of it.
pub(crate) fn resume_command(facts: &SessionFacts) -> Option<String> {
    let session = facts.agent_session.as_ref().filter(|session| session.lacks == 0)?;
    let program = facts.agent.command.first().and_then(|program| program.rsplit('/').next());
    let tool = [Some(facts.agent.name.as_str()), program].into_iter().flatten().find_map(Tool::of_agent)?;
    Some(tool.resume_command(&session.id).join(" "))
}
