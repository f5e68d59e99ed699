//! All servers of one session: the one thing that users of this crate hold.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use rmcp::model::{
    self, CallToolResult, GetPromptResult, JsonObject, Prompt, ReadResourceResult, Resource, ResourceTemplate,
    ToolAnnotations,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::names::{labels, model_names};
use crate::request::Progress;
use crate::server::{Context, Server};
use crate::supervisor::supervise;
use crate::{CallError, Folders, Options, ServerSpec, ServerStatus};

/// So long [`Servers::close`] waits for servers to end by themselves or by force.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// The MCP servers of one session. Dropping it ends them at once; [`Servers::close`] lets them end by themselves.
#[derive(Debug)]
pub struct Servers {
    all: Vec<Arc<Server>>,
    changes: watch::Receiver<u64>,
    closing: watch::Sender<bool>,
    supervisors: Mutex<Vec<JoinHandle<()>>>,
}

/// A tool of a server, as a model is offered it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its unique name for models: `server__tool`, of at most 64 letters, digits, `_` and `-`. It ends in the tool's own
    /// name.
    pub name: String,
    /// The server's name, as in [`ServerStatus::server`].
    pub server: String,
    /// Its own name.
    pub own_name: String,
    /// What people read.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its arguments; its `type` is `object`.
    pub input_schema: Arc<JsonObject>,
    /// What the server says about it: whether it only reads, whether it may destroy.
    pub annotations: Option<ToolAnnotations>,
}

impl Tool {
    /// Whether the server says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|it| it.read_only_hint).unwrap_or(false)
    }

    /// Whether it may destroy something: so unless the server says otherwise.
    pub fn is_destructive(&self) -> bool {
        !self.is_read_only() && self.annotations.as_ref().and_then(|it| it.destructive_hint).unwrap_or(true)
    }
}

/// What a server lists: a resource, a template or a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The server's name, as in [`ServerStatus::server`].
    pub server: String,
    /// What it lists.
    pub item: T,
}

impl Servers {
    /// Connects to all of `specs` at once, and returns when each is connected or has failed: within
    /// [`Options::start_limit`].
    ///
    /// Must be called inside a Tokio runtime, on which tasks then attend to the servers.
    pub async fn connect(specs: Vec<ServerSpec>, folders: impl Into<Folders>, options: Options) -> Self {
        let (change, changes) = watch::channel(0);
        let context = Arc::new(Context::new(folders.into(), options, change));
        let labels = labels(specs.iter().map(|spec| spec.name.as_str()));
        let all: Vec<_> = labels
            .into_iter()
            .zip(specs)
            .map(|(label, spec)| Arc::new(Server::new(label, spec, Arc::clone(&context))))
            .collect();
        let (closing, is_closing) = watch::channel(false);
        let supervisors =
            all.iter().map(|server| tokio::spawn(supervise(Arc::clone(server), is_closing.clone()))).collect();
        let this = Self { all, changes, closing, supervisors: Mutex::new(supervisors) };
        join_all(this.all.iter().map(|server| server.settled())).await;
        this
    }

    /// How each server is, in the order in which they were given.
    pub fn status(&self) -> Vec<ServerStatus> {
        self.all.iter().map(|server| server.status()).collect()
    }

    /// Wakes whenever a server's state, its tools, its resources or its prompts have changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.clone()
    }

    /// The tools of all servers. Those of a server that was lost stay, since a call connects to it again.
    pub fn tools(&self) -> Vec<Tool> {
        self.named_tools().into_iter().map(|(_, tool)| tool).collect()
    }

    /// The resources of all servers.
    pub fn resources(&self) -> Vec<Listed<Resource>> {
        self.listed(|server| server.lists().resources)
    }

    /// The resource templates of all servers.
    pub fn resource_templates(&self) -> Vec<Listed<ResourceTemplate>> {
        self.listed(|server| server.lists().templates)
    }

    /// The prompts of all servers.
    pub fn prompts(&self) -> Vec<Listed<Prompt>> {
        self.listed(|server| server.lists().prompts)
    }

    /// Calls the tool that [`Servers::tools`] names `tool`.
    ///
    /// Each progress restarts [`Options::call_limit`] and is given to `on_progress`. Dropping the future tells the server
    /// that nobody waits for the answer. A server that was lost is connected to again first.
    pub async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        on_progress: impl FnMut(Progress) + Send,
    ) -> Result<CallToolResult, CallError> {
        let found = self.named_tools().into_iter().find(|(_, candidate)| candidate.name == tool);
        let (server, tool) = found.ok_or_else(|| CallError::UnknownTool { tool: tool.to_owned() })?;
        server.call(tool.own_name, arguments, on_progress).await
    }

    /// Reads the resource `uri` of `server`.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<ReadResourceResult, CallError> {
        self.server(server)?.read_resource(uri).await
    }

    /// Gets the prompt `name` of `server`, made with `arguments`.
    pub async fn get_prompt(
        &self,
        server: &str,
        name: &str,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, CallError> {
        self.server(server)?.get_prompt(name, arguments).await
    }

    /// Connects again to `server` if it is not connected, and says how it then is.
    pub async fn retry(&self, server: &str) -> Result<ServerStatus, CallError> {
        let server = self.server(server)?;
        // Why it failed is in its status.
        let _ = server.link(None).await;
        Ok(server.status())
    }

    /// Ends all servers, with everything they started. One that does not end by itself is told to after half a second,
    /// and killed a second later.
    pub async fn close(&self) {
        self.closing.send_replace(true);
        let supervisors = std::mem::take(&mut *self.supervisors.lock().unwrap_or_else(PoisonError::into_inner));
        let aborts: Vec<_> = supervisors.iter().map(JoinHandle::abort_handle).collect();
        if timeout(CLOSE_LIMIT, join_all(supervisors)).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }

    fn server(&self, label: &str) -> Result<&Arc<Server>, CallError> {
        let found = self.all.iter().find(|server| server.label() == label);
        found.ok_or_else(|| CallError::UnknownServer { server: label.to_owned() })
    }

    fn listed<T>(&self, items: impl Fn(&Server) -> Vec<T>) -> Vec<Listed<T>> {
        let with_server = |server: &Arc<Server>| {
            let label = server.label().to_owned();
            items(server).into_iter().map(move |item| Listed { server: label.clone(), item })
        };
        self.all.iter().flat_map(with_server).collect()
    }

    /// Each tool with its server. Names follow from the order of servers and tools alone.
    fn named_tools(&self) -> Vec<(&Arc<Server>, Tool)> {
        let tools: Vec<(&Arc<Server>, model::Tool)> = self
            .all
            .iter()
            .flat_map(|server| server.lists().tools.into_iter().map(move |tool| (server, tool)))
            .collect();
        let names = model_names(tools.iter().map(|(server, tool)| (server.label(), tool.name.as_ref())));
        names.into_iter().zip(tools).map(|(name, (server, tool))| (server, named(name, server.label(), tool))).collect()
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let supervisors = self.supervisors.get_mut().unwrap_or_else(PoisonError::into_inner);
        supervisors.iter().for_each(JoinHandle::abort);
    }
}

fn named(name: String, server: &str, tool: model::Tool) -> Tool {
    Tool {
        name,
        server: server.to_owned(),
        own_name: tool.name.into_owned(),
        title: tool.title.or_else(|| tool.annotations.as_ref().and_then(|it| it.title.clone())),
        description: tool.description.map(std::borrow::Cow::into_owned),
        input_schema: tool.input_schema,
        annotations: tool.annotations,
    }
}
