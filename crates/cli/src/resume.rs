//! How a session goes on without us: the command of the tool whose agent keeps it.

use rejoin_history::Tool;
use rejoin_transcript::SessionFacts;

use crate::layer::quoted;

/// The command that opens the session in its agent's own tool, as a shell takes it; `None` if there is no such tool, or it does
/// not hold the whole session.
///
/// An imported session may name anything as its agent's. So each word is quoted, and an id that the tool would take for an
/// option is left out.
pub(crate) fn resume_command(facts: &SessionFacts) -> Option<String> {
    let session = facts.agent_session.as_ref().filter(|session| session.lacks == 0 && !session.id.starts_with('-'))?;
    let program = facts.agent.command.first().and_then(|program| program.rsplit('/').next());
    let tool = [Some(facts.agent.name.as_str()), program].into_iter().flatten().find_map(Tool::of_agent)?;
    let words = tool.resume_command(&session.id);
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use rejoin_transcript::{AgentInfo, AgentSession, Cwd, Session, SessionId, Timestamp};

    use super::*;

    fn command(id: &str) -> Option<String> {
        let cwd = Cwd { raw: "/".to_owned(), canonical: "/".to_owned() };
        let agent = AgentInfo { name: "claude-code".to_owned(), ..AgentInfo::default() };
        let session = Session::new(SessionId::parse("s").unwrap(), cwd, agent, Timestamp::from_millis(0));
        let agent_session = Some(AgentSession { id: id.to_owned(), generation: 1, lacks: 0 });
        resume_command(&SessionFacts { agent_session, ..session.facts })
    }

    #[test]
    fn a_resume_command_is_quoted_for_the_shell() {
        assert_eq!(command("0c5f-2a91").as_deref(), Some("claude --resume 0c5f-2a91"));
        assert_eq!(command("x; rm -rf ~").as_deref(), Some("claude --resume 'x; rm -rf ~'"));
        assert_eq!(command("$(id)\nls").as_deref(), Some("claude --resume '$(id)\nls'"));
        assert_eq!(command("--dangerously-skip-permissions"), None);
    }
}
