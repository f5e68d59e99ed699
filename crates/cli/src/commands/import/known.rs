//! The tools' own sessions that belong to sessions here: what was made through us is not brought in once more.

use std::collections::HashMap;

use rejoin_history::{About, Tool};
use rejoin_store::{SessionStore, agent_sessions};
use rejoin_transcript::SessionId;

use crate::commands::OWNER;
use crate::error::Error;

/// Sessions, by the tools' own ids of them.
pub(super) struct Known(HashMap<(Tool, String), SessionId>);

impl Known {
    /// Reads the list of all sessions.
    pub(super) async fn read(store: &dyn SessionStore) -> Result<Self, Error> {
        let owned = agent_sessions(store, OWNER).await?.into_iter();
        Ok(Self(
            owned.filter_map(|owned| Some(((Tool::of_agent(&owned.agent)?, owned.id), owned.session_id))).collect(),
        ))
    }

    /// The session that the conversation `about` belongs to.
    pub(super) fn session(&self, about: &About) -> Option<&SessionId> {
        self.0.get(&(about.tool, about.id.clone()))
    }
}
