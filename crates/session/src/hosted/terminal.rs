//! A command that runs in a terminal of the client.

use agent_client_protocol_schema::v1::{
    KillTerminalRequest, KillTerminalResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus,
    TerminalId, TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{AgentError, Turn};

/// A command that runs in a terminal of the client. Show it by its [`id`](Terminal::id), as content of a tool call.
///
/// If it is dropped, as when the turn is cancelled, the client is told to end the command and let go of the terminal.
#[derive(Debug)]
pub struct Terminal<'a, S> {
    turn: &'a Turn<S>,
    id: TerminalId,
    is_released: bool,
}

impl<'a, S> Terminal<'a, S> {
    pub(super) fn new(turn: &'a Turn<S>, id: TerminalId) -> Self {
        Self { turn, id, is_released: false }
    }

    /// Its id.
    pub fn id(&self) -> &TerminalId {
        &self.id
    }

    /// What it has written so far, and how it ended if it has.
    pub async fn output(&self) -> Result<TerminalOutputResponse, AgentError> {
        self.turn.ask("terminal/output", &TerminalOutputRequest::new(self.turn.id().clone(), self.id.clone())).await
    }

    /// Waits for its end.
    pub async fn wait(&self) -> Result<TerminalExitStatus, AgentError> {
        let request = WaitForTerminalExitRequest::new(self.turn.id().clone(), self.id.clone());
        let response: WaitForTerminalExitResponse = self.turn.ask("terminal/wait_for_exit", &request).await?;
        Ok(response.exit_status)
    }

    /// Ends the command; what it wrote can still be read.
    pub async fn kill(&self) -> Result<(), AgentError> {
        let request = KillTerminalRequest::new(self.turn.id().clone(), self.id.clone());
        let _: KillTerminalResponse = self.turn.ask("terminal/kill", &request).await?;
        Ok(())
    }

    /// Ends the command if it runs, and lets go of the terminal.
    pub async fn release(mut self) -> Result<(), AgentError> {
        let _: ReleaseTerminalResponse = self.turn.ask(RELEASE, &self.release_request()).await?;
        self.is_released = true;
        Ok(())
    }

    fn release_request(&self) -> ReleaseTerminalRequest {
        ReleaseTerminalRequest::new(self.turn.id().clone(), self.id.clone())
    }
}

impl<S> Drop for Terminal<'_, S> {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        let (Ok(runtime), Ok(params)) = (Handle::try_current(), serde_json::to_string(&self.release_request())) else {
            return;
        };
        let connection = self.turn.context.0.connection.clone();
        // Not by `ask`, which a cancelled turn takes back at once. Whether it worked, nobody waits to hear.
        runtime.spawn(async move { drop(connection.request(RELEASE, &params, oneshot::channel().0).await) });
    }
}

const RELEASE: &str = "terminal/release";
