//! A command that runs in a terminal of the client.

use agent_client_protocol_schema::v1::{
    KillTerminalRequest, KillTerminalResponse, ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus,
    TerminalId, TerminalOutputRequest, TerminalOutputResponse, WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};

use super::{AgentError, Turn};

/// A command that runs in a terminal of the client. Show it by its [`id`](Terminal::id), as content of a tool call.
#[derive(Debug)]
pub struct Terminal<'a, S> {
    turn: &'a Turn<S>,
    id: TerminalId,
}

impl<'a, S> Terminal<'a, S> {
    pub(super) fn new(turn: &'a Turn<S>, id: TerminalId) -> Self {
        Self { turn, id }
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
    pub async fn release(self) -> Result<(), AgentError> {
        let request = ReleaseTerminalRequest::new(self.turn.id().clone(), self.id.clone());
        let _: ReleaseTerminalResponse = self.turn.ask("terminal/release", &request).await?;
        Ok(())
    }
}
