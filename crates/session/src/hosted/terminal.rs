//! A command that runs in a terminal of the client.
//!
//! A terminal that nobody here has any more is released, so that its command ends: also one that the client makes for a turn
//! that was cancelled meanwhile.

use agent_client_protocol_schema::v1::{
    CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse, ReleaseTerminalRequest,
    ReleaseTerminalResponse, TerminalExitStatus, TerminalId, TerminalOutputRequest, TerminalOutputResponse,
    WaitForTerminalExitRequest, WaitForTerminalExitResponse,
};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::asks::{read, take_back};
use super::{AgentError, SessionContext, Turn};

const CREATE: &str = "terminal/create";
const RELEASE: &str = "terminal/release";

/// A command that runs in a terminal of the client. Show it by its [`id`](Terminal::id), as content of a tool call.
///
/// If it is dropped, as when the turn is cancelled, the client is told to end the command and let go of the terminal.
#[derive(Debug)]
pub struct Terminal<'a, S> {
    turn: &'a Turn<S>,
    made: Made,
}

impl<'a, S> Terminal<'a, S> {
    /// Has the client make it.
    pub(super) async fn create(turn: &'a Turn<S>, request: &CreateTerminalRequest) -> Result<Self, AgentError> {
        let params = serde_json::to_string(request).map_err(AgentError::failed)?;
        let (context, connection) = (turn.context.clone(), &turn.context.0.connection);
        let (caller, answer) = oneshot::channel();
        let asked = connection.request(CREATE, &params, caller).await?;
        let (sender, made) = oneshot::channel();
        // On its own, so that there is somebody to release it however the turn goes on.
        tokio::spawn(async move {
            let outcome = answer.await.map_err(|_| AgentError::Closed).and_then(|outcome| read(CREATE, outcome));
            let made =
                |response: CreateTerminalResponse| Made { context, id: response.terminal_id, is_released: false };
            drop(sender.send(outcome.map(made)));
        });
        tokio::select! {
            made = made => Ok(Self { turn, made: made.map_err(|_| AgentError::Closed)?? }),
            () = turn.cancellation().cancelled() => {
                take_back(connection, &asked).await?;
                Err(AgentError::Cancelled)
            }
        }
    }

    /// Its id.
    pub fn id(&self) -> &TerminalId {
        &self.made.id
    }

    /// What it has written so far, and how it ended if it has.
    pub async fn output(&self) -> Result<TerminalOutputResponse, AgentError> {
        self.turn.ask("terminal/output", &TerminalOutputRequest::new(self.turn.id().clone(), self.id().clone())).await
    }

    /// Waits for its end.
    pub async fn wait(&self) -> Result<TerminalExitStatus, AgentError> {
        let request = WaitForTerminalExitRequest::new(self.turn.id().clone(), self.id().clone());
        let response: WaitForTerminalExitResponse = self.turn.ask("terminal/wait_for_exit", &request).await?;
        Ok(response.exit_status)
    }

    /// Ends the command; what it wrote can still be read.
    pub async fn kill(&self) -> Result<(), AgentError> {
        let request = KillTerminalRequest::new(self.turn.id().clone(), self.id().clone());
        let _: KillTerminalResponse = self.turn.ask("terminal/kill", &request).await?;
        Ok(())
    }

    /// Ends the command if it runs, and lets go of the terminal.
    pub async fn release(mut self) -> Result<(), AgentError> {
        let released: Result<ReleaseTerminalResponse, _> = self.turn.ask(RELEASE, &self.made.release_request()).await;
        // Only what was taken back is to be tried again.
        self.made.is_released = !matches!(released, Err(AgentError::Cancelled));
        released.map(|_| ())
    }
}

/// A terminal that the client has made. It is released when this is dropped.
#[derive(Debug)]
struct Made {
    context: SessionContext,
    id: TerminalId,
    is_released: bool,
}

impl Made {
    fn release_request(&self) -> ReleaseTerminalRequest {
        ReleaseTerminalRequest::new(self.context.id().clone(), self.id.clone())
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        let (Ok(runtime), Ok(params)) = (Handle::try_current(), serde_json::to_string(&self.release_request())) else {
            return;
        };
        if !self.is_released {
            let connection = self.context.0.connection.clone();
            // Not by `ask`, which a cancelled turn takes back at once. Whether it worked, nobody waits to hear.
            runtime.spawn(async move { drop(connection.request(RELEASE, &params, oneshot::channel().0).await) });
        }
    }
}
