//! The agents' own sessions that belong to sessions in a store.

use rejoin_transcript::SessionId;

use crate::{ArchivedFilter, ListFilter, SessionStore, StoreError};

/// How many sessions are asked for at once.
const PAGE: u32 = 1000;

/// An agent's own session, and the session that it belongs or belonged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedAgentSession {
    /// The agent's name.
    pub agent: String,
    /// The agent's id of it.
    pub id: String,
    /// The session here.
    pub session_id: SessionId,
}

/// Every agent session of the sessions of `owner`, archived ones among them.
pub async fn agent_sessions(store: &dyn SessionStore, owner: &str) -> Result<Vec<OwnedAgentSession>, StoreError> {
    let archived = ArchivedFilter::Include;
    let filter = ListFilter { owner: owner.to_owned(), archived, ..ListFilter::default() };
    let (mut found, mut cursor) = (Vec::new(), None);
    loop {
        let page = store.list(&filter, cursor.as_ref(), PAGE).await?;
        for facts in page.sessions {
            let found_as = |agent, id| OwnedAgentSession { agent, id, session_id: facts.session_id.clone() };
            found.extend(facts.agent_session.map(|session| found_as(facts.agent.name, session.id)));
            found.extend(facts.former_agent_sessions.into_iter().map(|former| found_as(former.agent, former.id)));
        }
        cursor = page.next;
        if cursor.is_none() {
            return Ok(found);
        }
    }
}
