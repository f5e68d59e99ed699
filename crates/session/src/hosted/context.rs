//! What an open session is about, and the way to its clients.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use agent_client_protocol_schema::v1::{
    ClientCapabilities, ContentBlock, ContentChunk, McpServer, MessageId, Meta, NewSessionRequest, Notice,
    NoticeSeverity, SessionId, SessionUpdate,
};
use rejoin_store::new_session_id;
use rejoin_transcript::json::{Object, write_string};
use rejoin_wire::{Connection, Outcome};
use serde_json::json;
use tokio::sync::{Notify, oneshot};

use super::log::Log;
use super::{AgentError, Past};
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

/// What the user should be told.
#[derive(Default)]
struct Remarks {
    waiting: Vec<Notice>,
    /// Whether the client knows the session.
    is_open: bool,
    is_in_turn: bool,
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
    /// or, to a client without notices, in front of what the agent says next. The model is not to be told of it.
    pub async fn remark(&self, title: impl Into<String>, description: impl Into<String>) -> Result<(), AgentError> {
        let notice = Notice::new(NoticeSeverity::Warning, title).description(description.into());
        self.remarks().waiting.push(notice);
        self.send_remarks().await
    }

    /// The client knows the session now.
    pub(super) async fn opened(&self) -> Result<(), AgentError> {
        self.remarks().is_open = true;
        self.send_remarks().await
    }

    /// A turn begins.
    pub(super) async fn turn_began(&self) -> Result<(), AgentError> {
        self.remarks().is_in_turn = true;
        self.send_remarks().await
    }

    /// The turn has ended.
    pub(super) fn turn_ended(&self) {
        self.remarks().is_in_turn = false;
    }

    async fn send_remarks(&self) -> Result<(), AgentError> {
        let shows_notices = self.client().session.as_ref().is_some_and(|session| session.notices.is_some());
        let due = {
            let mut remarks = self.remarks();
            let is_time = remarks.is_open && (shows_notices || remarks.is_in_turn);
            if is_time { std::mem::take(&mut remarks.waiting) } else { Vec::new() }
        };
        for notice in due {
            let update = if shows_notices { SessionUpdate::Notice(notice) } else { as_message(&notice) };
            self.send(update).await?;
        }
        Ok(())
    }

    fn remarks(&self) -> MutexGuard<'_, Remarks> {
        lock(&self.0.remarks)
    }
}

fn as_message(notice: &Notice) -> SessionUpdate {
    let description = notice.description.as_deref().unwrap_or_default();
    let text = format!("{}. {description}\n\n", notice.title);
    let mut meta = Meta::new();
    meta.insert("rejoin".to_owned(), json!({ "notice": true }));
    // It is a message of its own, not the beginning of what the agent says.
    let id = MessageId::new(new_session_id().as_str());
    SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text)).message_id(id).meta(meta))
}

impl fmt::Debug for SessionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The servers hold secrets.
        f.debug_struct("SessionContext").field("id", &self.0.id).field("cwd", &self.cwd()).finish_non_exhaustive()
    }
}
