//! Takes in a session that was kept elsewhere: an export, the history of another tool, what an agent remembers.
//!
//! A session comes in whole or not at all, under its own id. Of one that is there already, only what is new is taken: an
//! import that was killed is taken up again, and a session that went on elsewhere goes on here, unless it went on here too.

use futures::{Stream, StreamExt, TryStreamExt, pin_mut};
use rejoin_transcript::{EntryNumber, Fact, Session, SessionId, Step, StepKind, Timestamp, Turn, UnfinishedTurn};

use crate::{Lease, Owner, SessionStore, StoreError, entries};

/// How many steps, and bytes of them, are appended at once.
const BATCH: usize = 512;
const BATCH_BYTES: usize = 1024 * 1024;

/// What was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// All of it: it was not there.
    All,
    /// What was new of it.
    More,
    /// Nothing: all of it was there, or the session has gone its own way here.
    Nothing,
}

/// When steps are those of a session that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Likeness {
    /// When they are the same, one by one.
    Exact,
    /// When they tell the same, as [`Step::retold`] has it: what we noted ourselves is not in a history.
    Retold,
}

/// Takes in the session `told`, whose entries are `steps`. [`SessionStore::flush`] is the caller's.
pub async fn take_in<E: From<StoreError>>(
    store: &dyn SessionStore,
    told: &Session,
    likeness: Likeness,
    steps: impl Stream<Item = Result<Step, E>>,
) -> Result<Taken, E> {
    pin_mut!(steps);
    let session_id = &told.facts.session_id;
    let was_there = match store.create(without_entries(told)).await {
        Err(StoreError::SessionExists { .. }) => true,
        created => created.map(|()| false)?,
    };
    let mut taking =
        Taking { store, session_id, likeness, last_turn: UnfinishedTurn::default(), last_at: None, closed: None };
    if was_there {
        let Some(begin) = taking.skip_known(&mut steps).await? else { return Ok(Taken::Nothing) };
        store.tell(session_id, vec![Fact::Imported(EntryNumber::MAX)]).await?;
        return taking.append_all(Some(begin), &mut steps).await.map(|()| Taken::More);
    }
    let taken = taking.append_all(None, &mut steps).await;
    if taken.is_err()
        && let Err(failure) = store.delete(session_id).await
    {
        // Why it could not be taken in is worth more than why its traces stay.
        tracing::warn!(session = %session_id, %failure, "a session that was taken in in part could not be removed");
    }
    taken.map(|()| Taken::All)
}

/// The session before its first entry, which is what a store makes.
fn without_entries(told: &Session) -> Session {
    let mut session = told.clone();
    session.forget_entries();
    // Entries can only move it on, and a fork may have been used last before it was made.
    session.facts.updated_at = told.facts.updated_at;
    session.facts.imported = EntryNumber::MAX;
    session
}

struct Taking<'a> {
    store: &'a dyn SessionStore,
    session_id: &'a SessionId,
    likeness: Likeness,
    last_turn: UnfinishedTurn,
    last_at: Option<Timestamp>,
    /// The last turn that is there, if it was closed there and may go on in the history.
    closed: Option<u32>,
}

impl Taking<'_> {
    /// Passes over the steps that the store has already, and gives the first that is new.
    ///
    /// There is none if the store has others, or more: then the session has gone its own way here.
    async fn skip_known<E: From<StoreError>>(
        &mut self,
        steps: &mut (impl Stream<Item = Result<Step, E>> + Unpin),
    ) -> Result<Option<Step>, E> {
        let known = entries(self.store, self.session_id, EntryNumber::START);
        pin_mut!(known);
        while let Some(known) = known.try_next().await? {
            if !self.counts(&known.step) {
                continue;
            }
            match self.next_counting(steps).await? {
                Some(step) if self.are_alike(&step, &known.step) => {}
                Some(_) | None => return Ok(None),
            }
        }
        let begin = self.next_counting(steps).await?;
        if self.likeness == Likeness::Retold && begin.is_some() {
            self.closed = Some(self.store.session(self.session_id).await?.facts.turns);
        }
        Ok(begin)
    }

    async fn next_counting<E>(
        &mut self,
        steps: &mut (impl Stream<Item = Result<Step, E>> + Unpin),
    ) -> Result<Option<Step>, E> {
        while let Some(step) = steps.next().await.transpose()? {
            self.observe(&step);
            if self.counts(&step) {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    fn counts(&self, step: &Step) -> bool {
        match self.likeness {
            Likeness::Exact => true,
            Likeness::Retold => step.retold().is_some(),
        }
    }

    fn are_alike(&self, told: &Step, known: &Step) -> bool {
        match self.likeness {
            Likeness::Exact => told == known,
            Likeness::Retold => told.retold() == known.retold(),
        }
    }

    /// Appends `begin` and what follows it, and closes the last turn if they end within it.
    async fn append_all<E: From<StoreError>>(
        &mut self,
        begin: Option<Step>,
        steps: &mut (impl Stream<Item = Result<Step, E>> + Unpin),
    ) -> Result<(), E> {
        let lease = self.store.acquire(self.session_id, &Owner::this_process()).await?;
        let appended = self.append_under(&lease, begin, steps).await;
        // Also after a failure: what is running can't be removed.
        let released = self.store.release(&lease).await;
        let last = appended?;
        released?;
        tracing::debug!(session = %self.session_id, entries = last.get(), "taken in");
        Ok(())
    }

    async fn append_under<E: From<StoreError>>(
        &mut self,
        lease: &Lease,
        mut next: Option<Step>,
        steps: &mut (impl Stream<Item = Result<Step, E>> + Unpin),
    ) -> Result<EntryNumber, E> {
        let mut after = lease.head;
        let (mut batch, mut n_bytes) = (Vec::with_capacity(BATCH), 0);
        loop {
            let step = match next.take() {
                Some(step) => step,
                None => match steps.next().await.transpose()? {
                    Some(step) => {
                        self.observe(&step);
                        step
                    }
                    None => break,
                },
            };
            let Some(step) = self.behind_closed(step) else { continue };
            n_bytes += step.body.as_str().len();
            batch.push(step);
            if batch.len() == BATCH || n_bytes > BATCH_BYTES {
                after = self.store.append(lease, after, std::mem::take(&mut batch), Vec::new()).await?;
                n_bytes = 0;
            }
        }
        if let Some(at) = self.last_at {
            // As old as the last step, so that the session does not look as if it had been used.
            let closing = std::mem::take(&mut self.last_turn).interrupt(at);
            batch.extend(closing.into_iter().filter_map(|step| self.behind_closed(step)));
        }
        let last = after.plus(u32::try_from(batch.len()).unwrap_or(u32::MAX));
        let facts = vec![Fact::Imported(last)];
        if batch.is_empty() {
            self.store.tell(self.session_id, facts).await?;
        } else {
            self.store.append(lease, after, batch, facts).await?;
        }
        Ok(last)
    }

    fn observe(&mut self, step: &Step) {
        self.last_at = Some(step.at);
        self.last_turn.observe(step);
    }

    /// `step` as it is appended: what goes on with a turn that was closed here comes behind it, and its end is known.
    fn behind_closed(&self, mut step: Step) -> Option<Step> {
        match (self.closed, step.turn) {
            (Some(closed), Turn::In(turn)) if turn == closed && step.kind != StepKind::Prompt => {
                if step.kind == StepKind::TurnEnded {
                    return None;
                }
                step.turn = Turn::After(turn);
            }
            _ => {}
        }
        Some(step)
    }
}
