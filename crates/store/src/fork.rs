//! Where a fork may begin, and what it is, whatever keeps it.

use futures::TryStreamExt;
use rejoin_transcript::json::write_string;
use rejoin_transcript::{
    AgentMemory, Entry, EntryNumber, Fact, Json, LayerKind, Parent, Session, SessionId, Step, StepKind, Timestamp, Turn,
};

use crate::{SessionStore, StoreError, entries};

/// The last entry that a fork of `session` shares with it: that of the last turn that has ended, or of the one that holds
/// the message `at`. `None`, if no turn that has ended holds it.
pub async fn fork_point<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    at: Option<&str>,
) -> Result<Option<EntryNumber>, StoreError> {
    let ended = last_ended(store, session).await?;
    let Some(message) = at else { return Ok(Some(ended)) };
    let (mut turn, mut last) = (None, None);
    let all = entries(store, session, EntryNumber::START);
    futures::pin_mut!(all);
    while let Some(entry) = all.try_next().await?.filter(|entry| entry.number <= ended) {
        match turn {
            None if is_of(&entry, message) => (turn, last) = (Some(entry.step.turn.number()), Some(entry.number)),
            Some(found) if found == entry.step.turn.number() => last = Some(entry.number),
            Some(_) => break,
            None => {}
        }
    }
    Ok(last)
}

/// The last entry that is in no running turn, also while others use the session.
async fn last_ended<S: SessionStore + ?Sized>(store: &S, session: &SessionId) -> Result<EntryNumber, StoreError> {
    let mut before = store.session(session).await?.facts;
    loop {
        if let Some(since) = before.running_since {
            return Ok(EntryNumber::new(since.get().saturating_sub(1)));
        }
        let head = store.head(session).await?;
        let facts = store.session(session).await?.facts;
        // If a turn began meanwhile, the last entry may be in it.
        if facts.running_since.is_none() && facts.turns == before.turns {
            return Ok(head);
        }
        before = facts;
    }
}

fn is_of(entry: &Entry, message: &str) -> bool {
    let step = &entry.step;
    match step.kind {
        StepKind::Prompt => step.message_id.as_ref().is_some_and(|id| id.as_str() == message),
        _ => step.chunk_message_id().as_deref() == Some(message),
    }
}

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
    session.facts.imported = session.facts.imported.min(at);
    // It is there to be used.
    session.facts.archived = false;
    session.facts.child = false;
    // The agent's session is the source's; the fork needs one of its own.
    session.facts.agent_session = None;
    session.facts.agent_memory = AgentMemory::default();
    session.facts.former_agent_sessions.clear();
    for fact in facts {
        session.apply(fact);
    }
    Step::of_layer(now, Turn::After(session.facts.turns), LayerKind::ForkedFrom, Json::from_stored(body))
}
