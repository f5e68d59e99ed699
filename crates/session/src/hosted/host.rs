//! The agent's side of the connection: reads what the layer asks, and has the agent do it.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    CancelNotification, ClientCapabilities, CloseSessionRequest, InitializeRequest, NewSessionRequest, PromptRequest,
    PromptResponse, SessionConfigOptionCategory, SessionId, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse, SetSessionModeRequest, StopReason,
};
use futures::FutureExt;
use rejoin_store::new_session_id;
use rejoin_wire::{Connection, Incoming, Options, RawValue, Received, RequestId, RpcError};
use serde::Serialize;
use serde_json::json;
use tokio::io::{DuplexStream, ReadHalf};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::context::Answer;
use super::requests::{SetModel, read};
use super::session::HostedSession;
use super::{Agent, AgentError, SessionContext, Turn};
use crate::lock::lock;

/// How long a cancelled turn may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// Has `agent` speak ACP over `stream`, until that ends.
pub(super) async fn serve<A: Agent>(agent: Arc<A>, stream: DuplexStream) {
    let (reader, writer) = tokio::io::split(stream);
    // What comes is from this process, and a session's record may be long.
    let options = Options { line_limit: usize::MAX, ..Options::default() };
    let (connection, incoming) = Connection::open(reader, writer, options);
    let host = Arc::new(Host { agent, connection, client: OnceLock::new(), sessions: Mutex::default() });
    host.run(incoming).await;
}

struct Host<A: Agent> {
    agent: Arc<A>,
    connection: Connection<Answer>,
    client: OnceLock<ClientCapabilities>,
    sessions: Mutex<HashMap<SessionId, Arc<HostedSession<A>>>>,
}

impl<A: Agent> Host<A> {
    async fn run(self: Arc<Self>, mut incoming: Incoming<ReadHalf<DuplexStream>, Answer>) {
        // What takes time runs here; it ends with the connection.
        let mut tasks = JoinSet::new();
        while let Some(received) = incoming.next().await {
            while tasks.try_join_next().is_some() {}
            match received {
                Received::Request { id, method, params } => self.asked(&mut tasks, id, &method, params).await,
                Received::Notification { method, params } => self.told(&method, params.as_deref()),
                // Whoever does not wait any more does not need it.
                Received::Response { tag, outcome } => drop(tag.send(outcome)),
                Received::Abandoned { tag } => drop(tag),
                Received::Unreadable { error, .. } => tracing::warn!(%error, "the layer sent what is no message"),
            }
        }
        let sessions: Vec<_> = lock(&self.sessions).drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.end();
        }
        drop(tokio::time::timeout(GRACE, async { while tasks.join_next().await.is_some() {} }).await);
        futures::future::join_all(sessions.iter().map(|session| self.agent.close(&session.state))).await;
    }

    async fn asked(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        id: RequestId,
        method: &str,
        params: Option<Box<RawValue>>,
    ) {
        let host = Arc::clone(self);
        match method {
            // These take time, and what comes meanwhile is not to wait.
            "session/new" => drop(tasks.spawn(async move { host.open(id, params).await })),
            // A cancel that comes right behind it is for this turn, so that begins before anything else is read.
            "session/prompt" => {
                let begun = self.begin_turn(params.as_deref());
                drop(tasks.spawn(async move { host.prompt(id, begun).await }));
            }
            "session/close" => drop(tasks.spawn(async move { host.close(id, params).await })),
            _ => {
                let outcome = self.answer(method, params.as_deref()).await;
                self.respond(&id, outcome).await;
            }
        }
    }

    fn told(&self, method: &str, params: Option<&RawValue>) {
        if method == "session/cancel"
            && let Ok(cancel) = read::<CancelNotification>(params)
            && let Ok(session) = self.session(&cancel.session_id)
        {
            session.cancel();
        }
    }

    /// What takes no time.
    async fn answer(&self, method: &str, params: Option<&RawValue>) -> Result<String, RpcError> {
        match method {
            "initialize" => {
                let request: InitializeRequest = read(params)?;
                self.client.get_or_init(|| request.client_capabilities);
                write(&self.agent.about().initialize_response())
            }
            "session/set_mode" => {
                let request: SetSessionModeRequest = read(params)?;
                let (session, mode) = (self.session(&request.session_id)?, ("modeId", &*request.mode_id.0));
                session.set_category(&SessionConfigOptionCategory::Mode, mode).await.map_err(|error| error.to_rpc())?;
                Ok("{}".to_owned())
            }
            "session/set_model" => {
                let request: SetModel = read(params)?;
                let (session, model) = (self.session(&request.session_id)?, ("modelId", &*request.model_id));
                session
                    .set_category(&SessionConfigOptionCategory::Model, model)
                    .await
                    .map_err(|error| error.to_rpc())?;
                Ok("{}".to_owned())
            }
            "session/set_config_option" => {
                let request: SetSessionConfigOptionRequest = read(params)?;
                let session = self.session(&request.session_id)?;
                let options = session.set(&request.config_id.0, &request.value).map_err(|error| error.to_rpc())?;
                write(&SetSessionConfigOptionResponse::new(options))
            }
            _ => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, format!("there is no method {method}"))),
        }
    }

    async fn open(self: Arc<Self>, id: RequestId, params: Option<Box<RawValue>>) {
        let request: NewSessionRequest = match read(params.as_deref()) {
            Ok(request) => request,
            Err(error) => return self.respond(&id, Err(error)).await,
        };
        let client = self.client.get().cloned().unwrap_or_default();
        let own_id = SessionId::new(new_session_id().as_str());
        let context = SessionContext::new(own_id.clone(), request, client, self.connection.clone());
        let opened = AssertUnwindSafe(self.agent.open(context.clone())).catch_unwind().await;
        let state = match opened.unwrap_or_else(|_| Err(AgentError::failed("the agent panicked"))) {
            Ok(state) => state,
            Err(error) => return self.respond(&id, Err(error.to_rpc())).await,
        };
        let session = Arc::new(HostedSession::new(Arc::clone(&self.agent), context, state));
        lock(&self.sessions).insert(own_id, Arc::clone(&session));
        self.respond(&id, write(&session.setup())).await;
        // It ends when the session is closed, or nobody can be told.
        let told = async {
            session.announce().await?;
            session.context.opened().await?;
            session.refresh_when_asked().await
        };
        tokio::select! {
            _ = told => {}
            () = session.closed() => {}
        }
    }

    async fn close(self: Arc<Self>, id: RequestId, params: Option<Box<RawValue>>) {
        let outcome = match read::<CloseSessionRequest>(params.as_deref()) {
            Ok(request) => {
                let session = lock(&self.sessions).remove(&request.session_id);
                if let Some(session) = session {
                    session.end();
                    self.agent.close(&session.state).await;
                }
                Ok("{}".to_owned())
            }
            Err(error) => Err(error),
        };
        self.respond(&id, outcome).await;
    }

    fn begin_turn(&self, params: Option<&RawValue>) -> Result<BegunTurn<A>, RpcError> {
        let prompt: PromptRequest = read(params)?;
        let session = self.session(&prompt.session_id)?;
        let cancellation = session.begin_turn();
        Ok(BegunTurn { session, prompt, cancellation })
    }

    async fn prompt(self: Arc<Self>, id: RequestId, begun: Result<BegunTurn<A>, RpcError>) {
        let outcome = match begun {
            Ok(BegunTurn { session, prompt, cancellation }) => {
                let outcome = self.turn(&session, prompt, cancellation).await;
                if matches!(outcome, Ok(StopReason::Cancelled) | Err(_)) {
                    session.context.0.log.cut_short();
                }
                outcome
            }
            Err(error) => Err(error),
        };
        self.respond(&id, outcome.and_then(|reason| write(&PromptResponse::new(reason)))).await;
    }

    async fn turn(
        &self,
        session: &Arc<HostedSession<A>>,
        prompt: PromptRequest,
        cancellation: CancellationToken,
    ) -> Result<StopReason, RpcError> {
        let context = session.context.clone();
        let history = context.0.log.begin_turn(&prompt.prompt);
        let state = Arc::clone(&session.state);
        let choosing = Arc::clone(session) as Arc<_>;
        let turn = Turn { context, session: state, prompt, cancellation: cancellation.clone(), history, choosing };
        let done = tokio::select! {
            done = AssertUnwindSafe(self.agent.prompt(turn)).catch_unwind() => done,
            () = given_up(&cancellation) => Ok(Err(AgentError::Cancelled)),
        };
        match done {
            // However it ended: it was cancelled, and a client wants to hear just that.
            _ if cancellation.is_cancelled() => Ok(StopReason::Cancelled),
            Ok(done) => done.map_err(|error| error.to_rpc()),
            Err(_) => Err(AgentError::failed("the agent panicked in this turn").to_rpc()),
        }
    }

    fn session(&self, id: &SessionId) -> Result<Arc<HostedSession<A>>, RpcError> {
        let session = lock(&self.sessions).get(id).cloned();
        session.ok_or_else(|| {
            let data = json!({ "kind": "session_not_found", "sessionId": id });
            RpcError::new(SESSION_NOT_FOUND, format!("there is no session {id}")).with_data(&data)
        })
    }

    async fn respond(&self, id: &RequestId, outcome: Result<String, RpcError>) {
        // If the layer is gone, nobody waits.
        let _ = self.connection.respond(id, outcome.as_deref()).await;
    }
}

/// A turn that can be cancelled from now on.
struct BegunTurn<A: Agent> {
    session: Arc<HostedSession<A>>,
    prompt: PromptRequest,
    cancellation: CancellationToken,
}

const SESSION_NOT_FOUND: i64 = -32002;

/// Comes when a turn that was cancelled had its time.
async fn given_up(cancellation: &CancellationToken) {
    cancellation.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

fn write(result: &impl Serialize) -> Result<String, RpcError> {
    serde_json::to_string(result).map_err(|error| RpcError::new(RpcError::INTERNAL, error.to_string()))
}
