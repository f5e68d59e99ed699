//! `/rename TITLE`: names the session.

use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

pub(super) async fn run(turn: &Turn<OpenSession>, title: &str) -> Result<(), AgentError> {
    if title.is_empty() {
        return turn.say("Write the new title behind it: `/rename The blue door`.\n").await;
    }
    turn.set_title(title).await?;
    turn.say(format!("This session is now called {title:?}.\n")).await
}
