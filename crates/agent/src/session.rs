//! What the agent has of a session that is open.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rejoin::{AgentError, DenyRules, SessionContext};
use rejoin_mcp::{Folders, Options, ServerSpec, Servers, State};
use rejoin_wire::Inherited;
use tokio::task::JoinHandle;

use crate::models::ModelInfo;
use crate::tools::{Roots, Seen};

/// What the agent has of a session that is open.
pub struct OpenSession {
    pub(crate) servers: Arc<Servers>,
    /// The folders that it works in, as they were when it was opened.
    pub(crate) roots: Roots,
    /// What the user's configuration denies.
    pub(crate) deny: Arc<DenyRules>,
    /// Servers of the configuration that it does without.
    pub(crate) unused_servers: Vec<String>,
    /// The models that can be chosen.
    pub(crate) models: Vec<ModelInfo>,
    /// Which of our environment variables a command gets.
    pub(crate) command_environment: Inherited,
    /// The versions of files that the model knows.
    pub(crate) seen: Seen,
    /// The tools that the user always allows here.
    allowed: Mutex<HashSet<String>>,
    /// Tells when the servers offer something else.
    watcher: JoinHandle<()>,
}

/// Connects the session of `context` to the servers of `specs`, and says which can't be used.
pub(crate) async fn connect(
    context: &SessionContext,
    specs: Vec<ServerSpec>,
    options: Options,
) -> Result<Arc<Servers>, AgentError> {
    let folders = Folders { cwd: context.cwd().to_owned(), additional: context.directories().to_vec() };
    let servers = Arc::new(Servers::connect(specs, folders, options).await);
    for status in servers.status() {
        if let State::Failed { reason } | State::Reconnecting { reason } = &status.state {
            context.remark(format!("MCP server {} is not connected", status.server), reason.to_string()).await?;
        }
        for left_out in &status.left_out {
            let title = format!("{} of MCP server {} can't be used", left_out.what, status.server);
            context.remark(title, left_out.why.clone()).await?;
        }
    }
    Ok(servers)
}

impl OpenSession {
    /// A session with these servers and models.
    pub(crate) fn new(
        context: &SessionContext,
        servers: Arc<Servers>,
        models: Vec<ModelInfo>,
        command_environment: Inherited,
        unused_servers: Vec<String>,
        deny: DenyRules,
    ) -> Self {
        let watcher = tokio::spawn(refresh_on_change(context.clone(), servers.changes()));
        let deny = Arc::new(deny);
        let (roots, seen) = (Roots::of(context, &deny), Seen::of(&context.history()));
        let allowed = Mutex::default();
        Self { servers, roots, deny, unused_servers, models, command_environment, seen, allowed, watcher }
    }

    /// Whether the user always allows `tool` here.
    pub(crate) fn is_allowed(&self, tool: &str) -> bool {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }

    /// The user always allows `tool` here.
    pub(crate) fn allow(&self, tool: &str) {
        self.allowed.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
    }

    pub(crate) async fn close(&self) {
        self.watcher.abort();
        self.servers.close().await;
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

async fn refresh_on_change(context: SessionContext, mut changes: tokio::sync::watch::Receiver<u64>) {
    while changes.changed().await.is_ok() {
        context.refresh();
    }
}
