//! Keeps one server connected: connects, reads lists again when they change, and connects again when it was lost.
//!
//! A server that can't be connected to at first is left alone until somebody wants it. One that was lost is tried again at
//! once, then less and less often, then only when somebody wants it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::Failure;
use crate::handler::Changed;
use crate::link::Running;
use crate::lists::{Kind, Part};
use crate::server::Server;

/// The pause before the second attempt; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// So often a lost server is tried again without being wanted.
const MOST_ATTEMPTS: u32 = 6;

/// A connection that held for so long was a good one: pauses start anew after it.
const LONG: Duration = Duration::from_secs(60);

/// So long lists stay as they are: a server may say with each list that it has changed.
const LIST_GAP: Duration = Duration::from_millis(200);

/// Attends to `server` until `closing` holds true.
pub(crate) async fn supervise(server: Arc<Server>, mut closing: watch::Receiver<bool>) {
    let mut pauses = Pauses::default();
    loop {
        let started = tokio::select! {
            started = Running::start(&server) => started,
            () = is_closing(&mut closing) => break,
        };
        let failure = match started {
            Ok((mut running, lists)) => {
                server.set_up(&running, lists);
                let since = Instant::now();
                let failure = tokio::select! {
                    failure = attend(&server, &mut running) => failure,
                    () = is_closing(&mut closing) => {
                        server.set_failed(Failure::Closed);
                        running.close().await;
                        return;
                    }
                };
                tracing::debug!(server = server.label(), "an MCP server was lost");
                pauses.lost(since.elapsed());
                failure
            }
            Err(failure) => {
                tracing::debug!(server = server.label(), "an MCP server can't be used");
                failure
            }
        };
        let pause = if failure.is_lasting() { None } else { pauses.next() };
        let pause = if let Some(pause) = pause {
            server.set_reconnecting(failure);
            pause
        } else {
            server.set_failed(failure);
            Duration::MAX
        };
        tokio::select! {
            () = sleep(pause) => {}
            () = server.wanted.notified() => {}
            () = is_closing(&mut closing) => break,
        }
    }
    server.set_failed(Failure::Closed);
}

/// Reads lists again when they change, until the server is lost.
async fn attend(server: &Server, running: &mut Running) -> Failure {
    let mut changed = running.changed.clone();
    let link = Arc::clone(&running.link);
    let refresh = async {
        // What changed while the lists were read for the first time is read again.
        let mut seen = Changed::default();
        loop {
            let now = *changed.borrow_and_update();
            let kinds = [
                (now.tools != seen.tools, Kind::Tools),
                (now.resources != seen.resources, Kind::Resources),
                (now.prompts != seen.prompts, Kind::Prompts),
            ];
            seen = now;
            for (_, kind) in kinds.into_iter().filter(|(is_changed, _)| *is_changed) {
                let deadline = Instant::now() + server.context().options.start_limit;
                if let Ok(part) = Part::read(&link, kind, deadline).await {
                    server.set_part(part);
                } else {
                    tracing::debug!(server = server.label(), "a list stays as it was");
                }
            }
            sleep(LIST_GAP).await;
            if changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        failure = running.end() => failure,
        () = refresh => Failure::Closed,
    }
}

async fn is_closing(closing: &mut watch::Receiver<bool>) {
    // An end of the channel means the same: nobody is left who could close.
    let _ = closing.wait_for(|is_closing| *is_closing).await;
}

/// How long to wait before each attempt. A server that was never connected gets none.
#[derive(Debug, Default)]
struct Pauses {
    n_left: u32,
    n_made: u32,
}

impl Pauses {
    fn lost(&mut self, held: Duration) {
        if held >= LONG || self.n_made == 0 {
            *self = Self { n_left: MOST_ATTEMPTS, n_made: 0 };
        }
    }

    fn next(&mut self) -> Option<Duration> {
        self.n_left = self.n_left.checked_sub(1)?;
        self.n_made += 1;
        Some(if self.n_made == 1 { Duration::ZERO } else { FIRST_PAUSE * 2_u32.pow(self.n_made - 2) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_worked_is_not_tried_again() {
        assert_eq!(Pauses::default().next(), None);
    }

    #[test]
    fn pauses_grow_and_end() {
        let mut pauses = Pauses::default();
        pauses.lost(Duration::ZERO);
        let all: Vec<_> = std::iter::from_fn(|| pauses.next()).map(|pause| pause.as_millis()).collect();
        assert_eq!(all, [0, 500, 1000, 2000, 4000, 8000]);
    }

    #[test]
    fn a_connection_that_held_starts_the_pauses_anew_and_one_that_did_not_does_not() {
        let mut pauses = Pauses::default();
        pauses.lost(Duration::ZERO);
        assert_eq!(pauses.next(), Some(Duration::ZERO));
        pauses.lost(Duration::ZERO);
        assert_eq!(pauses.next(), Some(FIRST_PAUSE));
        pauses.lost(LONG);
        assert_eq!(pauses.next(), Some(Duration::ZERO));
    }
}
