//! One server: what is known of it, and how it is used whatever becomes of its connection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock, GetPromptRequest,
    GetPromptRequestParams, GetPromptResult, JsonObject, ReadResourceRequest, ReadResourceRequestParams,
    ReadResourceResult, ServerResult,
};
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use crate::link::{Link, Running};
use crate::lists::{Lists, Part, shown};
use crate::request::{Limits, NoResult, Progress, request};
use crate::secrets::Secrets;
use crate::transport::http;
use crate::{CallError, Failure, Folders, LeftOut, Options, ServerSpec, ServerStatus, State};

/// What the servers of a session share.
pub(crate) struct Context {
    pub(crate) folders: Folders,
    pub(crate) options: Options,
    change: watch::Sender<u64>,
    client: OnceLock<Result<reqwest::Client, Failure>>,
}

impl Context {
    pub(crate) fn new(folders: Folders, options: Options, change: watch::Sender<u64>) -> Self {
        Self { folders, options, change, client: OnceLock::new() }
    }

    /// The session's HTTP client, made when the first server needs it.
    pub(crate) fn client(&self) -> Result<reqwest::Client, Failure> {
        self.client.get_or_init(|| http::client(self.options.start_limit)).clone()
    }
}

/// One server of a session.
pub(crate) struct Server {
    label: String,
    spec: ServerSpec,
    secrets: Secrets,
    context: Arc<Context>,
    view: Mutex<View>,
    standing: watch::Sender<Standing>,
    /// Asks the supervisor to connect now.
    pub(crate) wanted: Notify,
}

struct View {
    state: State,
    lists: Lists,
}

/// How a request finds the server.
#[derive(Clone)]
enum Standing {
    Trying,
    Up(Arc<Link>),
    Down(Failure),
}

impl Server {
    pub(crate) fn new(label: String, spec: ServerSpec, context: Arc<Context>) -> Self {
        let view = View { state: State::Connecting, lists: Lists::default() };
        Self {
            label,
            secrets: Secrets::of(&spec),
            spec,
            context,
            view: Mutex::new(view),
            standing: watch::Sender::new(Standing::Trying),
            wanted: Notify::new(),
        }
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(crate) fn lists(&self) -> Lists {
        self.view().lists.clone()
    }

    pub(crate) fn status(&self) -> ServerStatus {
        let view = self.view();
        ServerStatus {
            server: self.label.clone(),
            transport: self.spec.transport.kind(),
            state: view.state.clone(),
            left_out: view.lists.left_out.iter().flatten().map(|it| self.hide_in(it)).collect(),
        }
    }

    /// Waits until the first attempt to connect has succeeded or failed.
    pub(crate) async fn settled(&self) {
        let mut standing = self.standing.subscribe();
        let _ = standing.wait_for(|standing| !matches!(standing, Standing::Trying)).await;
    }

    /// A connection that requests can use, other than `old`. A server that is not connected is connected to.
    pub(crate) async fn link(&self, old: Option<&Arc<Link>>) -> Result<Arc<Link>, Failure> {
        let mut standing = self.standing.subscribe();
        let mut may_ask = true;
        let find = async {
            loop {
                let now = standing.borrow_and_update().clone();
                match now {
                    Standing::Up(link) if !old.is_some_and(|old| Arc::ptr_eq(old, &link)) => return Ok(link),
                    Standing::Down(failure) if !may_ask || failure == Failure::Closed => return Err(failure),
                    Standing::Up(_) => {}
                    Standing::Trying | Standing::Down(_) => {
                        if may_ask {
                            self.wanted.notify_one();
                        }
                        may_ask = false;
                    }
                }
                if standing.changed().await.is_err() {
                    return Err(Failure::Closed);
                }
            }
        };
        match timeout(self.context.options.start_limit, find).await {
            Ok(found) => found,
            Err(_) => Err(match self.status().state {
                State::Failed { reason } | State::Reconnecting { reason } => reason,
                State::Connecting | State::Connected { .. } => Failure::Disconnected { problem: String::new() },
            }),
        }
    }

    pub(crate) async fn call(
        &self,
        tool: String,
        arguments: JsonObject,
        on_progress: impl FnMut(Progress) + Send,
    ) -> Result<CallToolResult, CallError> {
        let params = CallToolRequestParams::new(tool).with_arguments(arguments);
        let call = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        match self.request(call, on_progress).await? {
            ServerResult::CallToolResult(result) => Ok(result),
            other => tool_result(shown(other)).map_err(|problem| self.unusable(problem)),
        }
    }

    pub(crate) async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let params = ReadResourceRequestParams::new(uri);
        match self.request(ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params)), drop).await? {
            ServerResult::ReadResourceResult(result) => Ok(result),
            _ => Err(self.unusable("it is no content of a resource".to_owned())),
        }
    }

    pub(crate) async fn get_prompt(&self, name: &str, arguments: JsonObject) -> Result<GetPromptResult, CallError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        match self.request(ClientRequest::GetPromptRequest(GetPromptRequest::new(params)), drop).await? {
            ServerResult::GetPromptResult(result) => Ok(result),
            _ => Err(self.unusable("it is no prompt".to_owned())),
        }
    }

    /// Sends a request over the current connection, and once more over the next if the server did not get it.
    async fn request(
        &self,
        message: ClientRequest,
        mut on_progress: impl FnMut(Progress) + Send,
    ) -> Result<ServerResult, CallError> {
        let Options { call_limit, call_total_limit, .. } = self.context.options;
        let limits = Limits { idle: call_limit, total: call_total_limit };
        let link = self.link(None).await.map_err(|failure| self.not_connected(failure))?;
        let result = match once(&link, message.clone(), limits, &mut on_progress).await {
            Err(NoResult::NotSent(_)) => {
                let link = self.link(Some(&link)).await.map_err(|failure| self.not_connected(failure))?;
                once(&link, message, limits, &mut on_progress).await
            }
            result => result,
        };
        result.map_err(|error| self.call_error(error))
    }

    /// Takes note of an open connection.
    pub(crate) fn set_up(&self, running: &Running, lists: Lists) {
        let about = running.info.as_ref().and_then(|info| info.server_info.as_ref());
        let (name, version) = about.map(|it| (it.name.clone(), it.version.clone())).unwrap_or_default();
        {
            let mut view = self.view();
            view.state = State::Connected { name, version, n_tools: 0, n_resources: 0, n_prompts: 0 };
            view.lists = lists;
            view.count();
        }
        self.stand(Standing::Up(Arc::clone(&running.link)));
    }

    /// Puts newly read lists in the place of old ones.
    pub(crate) fn set_part(&self, part: Part) {
        {
            let mut view = self.view();
            view.lists.take(part);
            view.count();
        }
        self.changed();
    }

    /// Takes note that the server is connected to again.
    pub(crate) fn set_reconnecting(&self, reason: Failure) {
        let reason = self.hide(reason);
        self.view().state = State::Reconnecting { reason };
        self.stand(Standing::Trying);
    }

    /// Takes note that the server can't be used.
    pub(crate) fn set_failed(&self, reason: Failure) {
        let reason = self.hide(reason);
        self.view().state = State::Failed { reason: reason.clone() };
        self.stand(Standing::Down(reason));
    }

    fn hide_in(&self, LeftOut { what, why }: &LeftOut) -> LeftOut {
        LeftOut { what: self.secrets.hide(what), why: self.secrets.hide(why) }
    }

    /// A failure without the server's secrets.
    fn hide(&self, failure: Failure) -> Failure {
        let hide = |text: String| self.secrets.hide(&text);
        match failure {
            Failure::Status { status, text } => Failure::Status { status, text: hide(text) },
            Failure::Refused { method, message } => Failure::Refused { method, message: hide(message) },
            Failure::Protocol { problem } => Failure::Protocol { problem: hide(problem) },
            Failure::Disconnected { problem } => Failure::Disconnected { problem: hide(problem) },
            failure => failure,
        }
    }

    fn stand(&self, standing: Standing) {
        self.standing.send_replace(standing);
        self.changed();
    }

    fn changed(&self) {
        self.context.change.send_modify(|n_changes| *n_changes += 1);
    }

    fn not_connected(&self, reason: Failure) -> CallError {
        CallError::NotConnected { server: self.label.clone(), reason }
    }

    fn unusable(&self, problem: String) -> CallError {
        CallError::Unusable { server: self.label.clone(), problem }
    }

    fn call_error(&self, error: NoResult) -> CallError {
        let server = self.label.clone();
        match error {
            NoResult::NotSent(reason) => CallError::NotConnected { server, reason: self.hide(reason) },
            NoResult::Lost(reason) | NoResult::Broken(reason) | NoResult::Failed(reason) => {
                CallError::Lost { server, reason: self.hide(reason) }
            }
            NoResult::TooSlow(limit) => CallError::TooSlow { server, limit },
            NoResult::Refused(error) => {
                CallError::Refused { server, code: error.code.0, message: self.secrets.hide(&error.message) }
            }
        }
    }

    fn view(&self) -> MutexGuard<'_, View> {
        // Each change is one step, so what a panicking holder left behind is whole.
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.status()).finish()
    }
}

impl View {
    fn count(&mut self) {
        if let State::Connected { n_tools, n_resources, n_prompts, .. } = &mut self.state {
            *n_tools = self.lists.tools.len();
            *n_resources = self.lists.resources.len() + self.lists.templates.len();
            *n_prompts = self.lists.prompts.len();
        }
    }
}

/// Sends a request, and gives the connection up if it proves to be of no more use.
async fn once(
    link: &Link,
    message: ClientRequest,
    limits: Limits,
    on_progress: impl FnMut(Progress) + Send,
) -> Result<ServerResult, NoResult> {
    let result = request(link, message, limits, on_progress).await;
    match result {
        Err(NoResult::NotSent(ref failure) | NoResult::Failed(ref failure @ Failure::Unauthorized { .. })) => {
            link.give_up(failure);
            result
        }
        Err(NoResult::Broken(failure)) => {
            link.give_up(&failure);
            // How a process exited says more than that it did not take a message.
            Err(NoResult::Lost(link.reason(failure).await))
        }
        result => result,
    }
}

/// Makes a tool's result out of one that is not quite as it should be: unknown content becomes text.
fn tool_result(result: Value) -> Result<CallToolResult, String> {
    let Value::Object(mut result) = result else { return Err("it is no object".to_owned()) };
    let blocks = match result.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return Err("its `content` is no list".to_owned()),
        None => Vec::new(),
    };
    let block = |block: Value| {
        let text = block.to_string();
        serde_json::from_value(block).unwrap_or_else(|_| ContentBlock::text(text))
    };
    let content = blocks.into_iter().map(block).collect();
    let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
    let mut made = if is_error { CallToolResult::error(content) } else { CallToolResult::success(content) };
    made.structured_content = result.remove("structuredContent");
    Ok(made)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_content_becomes_text() {
        let made = tool_result(json!({ "content": [{ "type": "smell", "of": "rain" }], "isError": true })).unwrap();

        assert_eq!(made.content, [ContentBlock::text(r#"{"type":"smell","of":"rain"}"#)]);
        assert_eq!(made.is_error, Some(true));
    }
}
