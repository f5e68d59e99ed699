//! What a turn may ask of the client.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, CreateTerminalRequest, PermissionOption, ReadTextFileRequest,
    ReadTextFileResponse, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    ToolCallUpdate, WriteTextFileRequest, WriteTextFileResponse,
};
use rejoin_wire::{Closed, Connection, Outcome, RequestId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::Answer;
use super::{AgentError, Terminal, Turn};
use crate::layer_methods::{FORK, SET_TITLE};

impl<S> Turn<S> {
    /// Asks the user whether `call` may go on.
    pub async fn ask_permission(
        &self,
        call: ToolCallUpdate,
        options: Vec<PermissionOption>,
    ) -> Result<RequestPermissionOutcome, AgentError> {
        let request = RequestPermissionRequest::new(self.id().clone(), call, options);
        let response: RequestPermissionResponse = self.ask("session/request_permission", &request).await?;
        Ok(response.outcome)
    }

    /// Reads a text file as the client has it, unsaved changes included. Only for clients that can:
    /// [`client().fs.read_text_file`](super::SessionContext::client).
    pub async fn read_file(&self, path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<String, AgentError> {
        let request = ReadTextFileRequest::new(self.id().clone(), path).line(line).limit(limit);
        let response: ReadTextFileResponse = self.ask("fs/read_text_file", &request).await?;
        Ok(response.content)
    }

    /// Writes a text file through the client. Only for clients that can.
    pub async fn write_file(&self, path: &Path, content: &str) -> Result<(), AgentError> {
        let request = WriteTextFileRequest::new(self.id().clone(), path, content);
        let _: WriteTextFileResponse = self.ask("fs/write_text_file", &request).await?;
        Ok(())
    }

    /// Runs a command in a terminal of the client. Only for clients that can. The session id of `request` is put in.
    pub async fn terminal(&self, mut request: CreateTerminalRequest) -> Result<Terminal<'_, S>, AgentError> {
        request.session_id = self.id().clone();
        Terminal::create(self, &request).await
    }

    /// Asks the user for input. Only for clients that can.
    pub async fn ask_input(&self, request: CreateElicitationRequest) -> Result<CreateElicitationResponse, AgentError> {
        self.ask("elicitation/create", &request).await
    }

    /// Names the session, as the user would.
    pub async fn set_title(&self, title: &str) -> Result<(), AgentError> {
        let params = json!({ "sessionId": self.id(), "title": title });
        let _: Value = self.ask(SET_TITLE, &params).await?;
        Ok(())
    }

    /// Makes another session that begins with this one's conversation, up to this turn; gives its id, as clients know it.
    pub async fn fork(&self) -> Result<String, AgentError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Forked {
            session_id: String,
        }
        let forked: Forked = self.ask(FORK, &json!({ "sessionId": self.id() })).await?;
        Ok(forked.session_id)
    }

    /// Asks the client anything; an end of the turn ends the waiting.
    pub async fn ask<T: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<T, AgentError> {
        let params = serde_json::to_string(params).map_err(AgentError::failed)?;
        let (caller, answer) = tokio::sync::oneshot::channel();
        let connection = &self.context.0.connection;
        let id = connection.request(method, &params, caller).await?;
        tokio::select! {
            outcome = answer => read(method, outcome.map_err(|_| AgentError::Closed)?),
            () = self.cancellation.cancelled() => {
                drop(connection.forget(&id));
                take_back(connection, &id).await?;
                Err(AgentError::Cancelled)
            }
        }
    }
}

/// Tells the client that nobody waits for its answer to the request `id`.
pub(super) async fn take_back(connection: &Connection<Answer>, id: &RequestId) -> Result<(), Closed> {
    connection.notify("$/cancel_request", &format!("{{\"requestId\":{}}}", id.as_json())).await
}

/// Reads what the client answered to `method`.
pub(super) fn read<T: DeserializeOwned>(method: &str, outcome: Outcome) -> Result<T, AgentError> {
    let result = outcome.map_err(AgentError::Client)?;
    // Some clients answer nothing where there is nothing to say.
    let text = if result.get() == "null" { "{}" } else { result.get() };
    serde_json::from_str(text).map_err(|error| AgentError::Failed(format!("the client's answer to {method}: {error}")))
}
