//! An agent that says what it hears, with sessions that last. Try it in any ACP client: `cargo run --example echo`.

use std::error::Error;
use std::sync::Arc;

use rejoin::schema::StopReason;
use rejoin::store::SqliteStore;
use rejoin::{About, Agent, AgentError, Chosen, Offer, SessionContext, SessionLayer, Transport, Turn};

struct Echo;

impl Agent for Echo {
    type Session = ();

    fn about(&self) -> About {
        About::new("echo", "1.0.0")
    }
    async fn open(&self, _: SessionContext) -> Result<(), AgentError> {
        Ok(())
    }
    fn offer(&self, (): &(), _: &Chosen) -> Offer {
        Offer::default()
    }
    async fn prompt(&self, turn: Turn<()>) -> Result<StopReason, AgentError> {
        turn.say(turn.prompt_text()).await?;
        Ok(StopReason::EndTurn)
    }
    async fn close(&self, (): &()) {}
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = Arc::new(SqliteStore::open("echo.db")?);
    SessionLayer::new(store).agent(Echo).serve(Transport::stdio()?).await;
    Ok(())
}
