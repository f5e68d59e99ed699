//! What an open session is about, and the way to its clients.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, McpServer, Meta, NewSessionRequest, SessionId, SessionUpdate,
};
use rejoin_transcript::json::{Object, write_string};
use rejoin_wire::{Connection, Outcome};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use super::log::Log;
use super::{AgentError, Past};
use crate::layer_methods::REMARK;
use crate::lock::lock;

/// An open session: its folders and servers, and the way to its clients. Cheap to clone.
#[derive(Clone)]
pub struct SessionContext(pub(super) Arc<Inner>);

pub(super) type Answer = oneshot::Sender<Outcome>;

pub(super) struct Inner {
    id: SessionId,
    request: NewSessionRequest,
    client: ClientCapabilities,
    pub(super) connection: Connection<Answer>,
    pub(super) log: Log,
    /// Woken when the offer may have changed.
    pub(super) refresh: Notify,
    remarks: Mutex<Remarks>,
}

/// Remarks that wait for the layer to know the session.
#[derive(Default)]
struct Remarks {
    /// The params of each.
    waiting: Vec<String>,
    is_open: bool,
}

impl SessionContext {
    pub(super) fn new(
        id: SessionId,
        mut request: NewSessionRequest,
        client: ClientCapabilities,
        connection: Connection<Answer>,
    ) -> Self {
        // It may be big, and is in the log from now on.
        let ours = request.meta.as_mut().and_then(|meta| meta.get_mut("rejoin")?.as_object_mut());
        let log = Log::of(ours.and_then(|ours| ours.remove("transcript")));
        let (refresh, remarks) = (Notify::new(), Mutex::default());
        Self(Arc::new(Inner { id, request, client, connection, log, refresh, remarks }))
    }

    /// The session's id. It is the agent's own: another one after the session was opened again.
    pub fn id(&self) -> &SessionId {
        &self.0.id
    }

    /// The folder that the session works in.
    pub fn cwd(&self) -> &Path {
        &self.0.request.cwd
    }

    /// Further folders that it works in.
    pub fn directories(&self) -> &[PathBuf] {
        &self.0.request.additional_directories
    }

    /// The MCP servers that the session is to be connected to.
    pub fn mcp_servers(&self) -> &[McpServer] {
        &self.0.request.mcp_servers
    }

    /// What the client sent along to open the session.
    pub fn meta(&self) -> Option<&Meta> {
        self.0.request.meta.as_ref()
    }

    /// The conversation so far, from the record; nothing in a new session. In a turn, [`Turn::history`](super::Turn::history)
    /// is what was before it.
    pub fn history(&self) -> Arc<Vec<Past>> {
        self.0.log.so_far()
    }

    /// What the client can do.
    pub fn client(&self) -> &ClientCapabilities {
        &self.0.client
    }

    /// Sends an update. When this returns, it is on its way, in its place.
    pub async fn send(&self, update: SessionUpdate) -> Result<(), AgentError> {
        let json = serde_json::to_string(&update).map_err(AgentError::failed)?;
        let params = Object::default().with("sessionId", &write_string(&self.id().0)).with("update", &json).finish();
        self.0.log.push(update);
        Ok(self.0.connection.notify("session/update", &params).await?)
    }

    /// Asks for [`Agent::offer`](super::Agent::offer) again, and tells the client what is new.
    pub fn refresh(&self) {
        self.0.refresh.notify_one();
    }

    /// Tells the user something that is not part of the conversation, such as that a server can't be reached: as a notice,
    /// or, to a client without notices, in front of what the agent says next. The model is not told of it.
    pub async fn remark(&self, title: impl Into<String>, description: impl Into<String>) -> Result<(), AgentError> {
        let (title, description) = (title.into(), description.into());
        let params = json!({ "sessionId": self.id(), "title": title, "description": description }).to_string();
        let is_open = {
            let mut remarks = lock(&self.0.remarks);
            if !remarks.is_open {
                remarks.waiting.push(params.clone());
            }
            remarks.is_open
        };
        if is_open { self.send_remark(&params).await } else { Ok(()) }
    }

    /// Sends the remarks that waited until the layer knows the session.
    pub(super) async fn opened(&self) -> Result<(), AgentError> {
        let waiting = {
            let mut remarks = lock(&self.0.remarks);
            remarks.is_open = true;
            std::mem::take(&mut remarks.waiting)
        };
        for params in waiting {
            self.send_remark(&params).await?;
        }
        Ok(())
    }

    async fn send_remark(&self, params: &str) -> Result<(), AgentError> {
        Ok(self.0.connection.notify(REMARK, params).await?)
    }
}

impl fmt::Debug for SessionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The servers hold secrets.
        f.debug_struct("SessionContext").field("id", &self.0.id).field("cwd", &self.cwd()).finish_non_exhaustive()
    }
}
