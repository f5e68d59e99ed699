//! What a server may ask of us and tell us: the session's folders, progress, changed lists. All else is declined.

// Roots are deprecated as of a later protocol version than the one we speak.
#![expect(deprecated, reason = "servers of the version that we speak ask for roots")]

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::Url;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ErrorData, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::{Mutex, mpsc, watch};

use crate::request::Progress;
use crate::{Folders, Options};

/// As much progress waits for one call; what is more is left out.
pub(crate) const PROGRESS_ROOM: usize = 64;

/// Our side of one connection.
#[derive(Clone)]
pub(crate) struct Handler {
    config: ClientConfig,
    roots: Vec<Root>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) changed: Arc<watch::Sender<Changed>>,
}

/// How often a server said that its lists have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) tools: u64,
    pub(crate) resources: u64,
    pub(crate) prompts: u64,
}

/// Who waits for which progress. It is locked while a request is sent, so no progress comes before its route is known.
pub(crate) type Routes = Mutex<HashMap<ProgressToken, mpsc::Sender<Progress>>>;

impl Handler {
    pub(crate) fn new(folders: &Folders, options: &Options) -> Self {
        let (name, version) = options.client.clone();
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let mut config = ClientConfig::new(capabilities, Implementation::new(name, version));
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        let paths = std::iter::once(&folders.cwd).chain(&folders.additional);
        let roots = paths.filter_map(|path| {
            let uri = Url::from_file_path(path).ok()?;
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let root = Root::new(uri);
            Some(if let Some(name) = name { root.with_name(name) } else { root })
        });
        Self { config, roots: roots.collect(), routes: Arc::default(), changed: Arc::default() }
    }
}

impl ClientHandler for Handler {
    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(self.roots.clone()))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let ProgressNotificationParam { progress_token, progress, total, message, .. } = params;
        if let Some(route) = self.routes.lock().await.get(&progress_token) {
            // One that can't take it has enough to show.
            let _ = route.try_send(Progress { progress, total, message });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|changed| changed.tools += 1);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|changed| changed.resources += 1);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send_modify(|changed| changed.prompts += 1);
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
