//! What a fork is, whatever keeps it.

use rejoin_transcript::json::write_string;
use rejoin_transcript::{EntryNumber, Fact, Json, LayerKind, Parent, Session, SessionId, Step, Timestamp, Turn};

/// Makes `session`, which is what was known of `source` at entry `at`, into the fork `fork`; gives the step that the
/// fork begins with.
pub(crate) fn become_fork(
    session: &mut Session,
    fork: SessionId,
    at: EntryNumber,
    now: Timestamp,
    facts: Vec<Fact>,
) -> Step {
    let source = std::mem::replace(&mut session.facts.session_id, fork);
    let body = format!("{{\"sessionId\":{},\"entry\":{at}}}", write_string(source.as_str()));
    session.facts.parent = Some(Parent { session_id: source, at });
    session.facts.created_at = now;
    session.facts.updated_at = now;
    session.facts.running_since = None;
    // It is there to be used.
    session.facts.archived = false;
    session.facts.child = false;
    // The agent's session is the source's; the fork needs one of its own.
    session.facts.agent_session = None;
    session.facts.former_agent_sessions.clear();
    for fact in facts {
        session.apply(fact);
    }
    Step::of_layer(now, Turn::After(session.facts.turns), LayerKind::ForkedFrom, Json::from_stored(body))
}
