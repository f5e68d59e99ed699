//! The agents' own sessions that belong to sessions here: what was made through us is not brought in once more.

use std::collections::HashMap;

use rejoin_history::{About, Tool};
use rejoin_store::{ArchivedFilter, ListFilter, SessionStore};
use rejoin_transcript::{SessionFacts, SessionId};

use crate::commands::OWNER;
use crate::error::Error;

/// How many sessions are asked for at once.
const PAGE: u32 = 1000;

/// Sessions, by the agents' own ids of them.
#[derive(Default)]
pub(super) struct Known(HashMap<(Tool, String), SessionId>);

impl Known {
    /// Reads the list of all sessions.
    pub(super) async fn read(store: &dyn SessionStore) -> Result<Self, Error> {
        let archived = ArchivedFilter::Include;
        let filter = ListFilter { owner: OWNER.to_owned(), archived, ..ListFilter::default() };
        let (mut known, mut cursor) = (Self::default(), None);
        loop {
            let page = store.list(&filter, cursor.as_ref(), PAGE).await?;
            page.sessions.iter().for_each(|facts| known.add(facts));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(known);
            }
        }
    }

    fn add(&mut self, facts: &SessionFacts) {
        let current = facts.agent_session.iter().map(|session| (&facts.agent.name, &session.id));
        let former = facts.former_agent_sessions.iter().map(|session| (&session.agent, &session.id));
        for (agent, id) in current.chain(former) {
            if let Some(tool) = Tool::of_agent(agent) {
                self.0.entry((tool, id.clone())).or_insert_with(|| facts.session_id.clone());
            }
        }
    }

    /// The session that the conversation `about` belongs to.
    pub(super) fn session(&self, about: &About) -> Option<&SessionId> {
        self.0.get(&(about.tool, about.id.clone()))
    }
}
