//! Waiting that a cancel ends.

use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

/// Waits for `future`; an error as soon as the turn is cancelled.
pub(crate) async fn unless_cancelled<F: Future>(turn: &Turn<OpenSession>, future: F) -> Result<F::Output, AgentError> {
    tokio::select! {
        output = future => Ok(output),
        () = turn.cancellation().cancelled() => Err(AgentError::Cancelled),
    }
}
