//! Records the end of a turn that could not be recorded when the turn ended.
//!
//! A turn that has no end in the record keeps other processes out of the session for as long as its owner lives. So the
//! owner tries again until the end is recorded, or until somebody else has the session.

use std::time::Duration;

use rejoin_store::StoreError;
use tokio::time::{Instant, sleep};

use super::Live;
use crate::Error;

/// How long to wait before the first try, and at most between two of them.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(800);

/// How long a prompt waits for an owner whose turn may have ended already: a little longer than the owner's longest pause.
const GRACE: Duration = Duration::from_millis(1_200);
const GRACE_STEP: Duration = Duration::from_millis(50);

/// A turn whose end is not in the record.
pub(super) struct Unended {
    pause: Duration,
    pub(super) next_try: Instant,
}

impl Unended {
    fn new() -> Self {
        Self { pause: FIRST_PAUSE, next_try: Instant::now() + FIRST_PAUSE }
    }

    fn later(self) -> Self {
        let pause = (self.pause * 2).min(LONGEST_PAUSE);
        Self { pause, next_try: Instant::now() + pause }
    }
}

impl Live {
    /// Takes note of a turn whose end could not be recorded because of `error`.
    pub(super) fn note_unended(&mut self, error: &Error) {
        if may_pass(error) {
            self.unended = Some(Unended::new());
        }
    }

    /// Tries to record the end of the turn that has none in the record.
    pub(super) async fn end_unended(&mut self) {
        let Some(unended) = self.unended.take() else { return };
        match self.take().await {
            Ok(()) => tracing::info!(session = %self.id, "the end of a turn is recorded, later than it was"),
            Err(error) if may_pass(&error) => self.unended = Some(unended.later()),
            Err(error) => tracing::info!(session = %self.id, %error, "the end of a turn is left to others"),
        }
    }

    /// Records the end of the turn that has none in the record, since the next one is about to begin.
    pub(super) async fn end_before_next(&mut self) -> Result<(), Error> {
        if self.unended.is_none() {
            return Ok(());
        }
        if self.recorder()?.take().await? {
            self.leave_agent();
        }
        self.unended = None;
        Ok(())
    }

    /// Looks for a turn that the task which ran this session left unended when it broke down.
    pub(super) async fn recover(&mut self) {
        if let Err(error) = self.find().await {
            tracing::warn!(session = %self.id, %error, "a session whose task broke down can't be read");
        }
        let is_running = |live: &Self| live.session().is_ok_and(|session| session.facts.running_since.is_some());
        if !self.machine.is_in_turn() && is_running(self) {
            self.unended = Some(Unended::new());
        }
    }

    /// Takes the right to write for a new turn. An owner whose turn has ended is given a moment to record that.
    pub(crate) async fn take_for_turn(&mut self) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            match self.take().await {
                Err(Error::Store(StoreError::InUse { .. })) if begin.elapsed() < GRACE => sleep(GRACE_STEP).await,
                taken => return taken,
            }
        }
    }
}

/// Whether the store may work again later. Else it is closed, or the session is gone or somebody else's.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Store(error) if error.kind() == "store_failed" && !matches!(error, StoreError::Closed))
}
