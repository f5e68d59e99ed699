//! `/fork`: another session that begins with this conversation.

use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

pub(super) async fn run(turn: &Turn<OpenSession>) -> Result<(), AgentError> {
    let fork = turn.fork().await?;
    turn.say(format!("Session {fork} begins with this conversation. It is in your client's list of sessions.\n")).await
}
