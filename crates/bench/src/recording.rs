//! Writing sessions to a store.

use rejoin_store::{Lease, Owner, SearchOrder, SearchQuery, SessionStore};
use rejoin_transcript::{EntryNumber, Session, SessionId, Step};

use crate::Result;

/// The right to write a session, and where it stands.
pub(crate) struct Recording {
    lease: Lease,
    head: EntryNumber,
}

impl Recording {
    /// Makes `session` in `store` and takes the right to write it.
    pub(crate) async fn begin(store: &impl SessionStore, session: Session) -> Result<Self> {
        let id = session.facts.session_id.clone();
        store.create(session).await?;
        Self::take_over(store, &id).await
    }

    /// Takes the right to write a session that is there.
    pub(crate) async fn take_over(store: &impl SessionStore, session: &SessionId) -> Result<Self> {
        let lease = store.acquire(session, &Owner::this_process()).await?;
        Ok(Self { head: lease.head, lease })
    }

    /// The session's id.
    pub(crate) fn session_id(&self) -> &SessionId {
        &self.lease.session
    }

    /// The last entry.
    pub(crate) fn head(&self) -> EntryNumber {
        self.head
    }

    /// Appends `steps` in one commit.
    pub(crate) async fn append(&mut self, store: &impl SessionStore, steps: Vec<Step>) -> Result<()> {
        self.head = store.append(&self.lease, self.head, steps, Vec::new()).await?;
        Ok(())
    }
}

/// Waits until all turns that ended are sealed and everything can be searched.
pub(crate) async fn wait_until_indexed(store: &impl SessionStore) -> Result<()> {
    // A search finds what was written until now, so it waits for the index.
    let query = SearchQuery { text: "anything".to_owned(), owner: String::new(), order: SearchOrder::Newest, limit: 1 };
    store.search(&query).await?;
    Ok(())
}
