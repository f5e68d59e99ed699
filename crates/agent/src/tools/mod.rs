//! Tools: what a model may call, and `/call` too. One file each.

mod mcp;
mod resources;

use std::sync::Arc;

use async_trait::async_trait;
use rejoin::schema::{ToolCallContent, ToolCallLocation, ToolKind};
use rejoin::{AgentError, Turn};
use serde_json::{Map, Value};

use crate::calls::Call;
use crate::mode::Mode;
use crate::models::Part;
use crate::session::OpenSession;

pub(crate) use mcp::McpTool;

/// The arguments of a call.
pub(crate) type Arguments = Map<String, Value>;

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) input_schema: Value,
}

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It only looks.
    Reads,
    /// It changes files.
    Writes,
    /// It runs something, and nobody knows what that does.
    Runs,
}

/// A call before it is done, as people are shown it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) title: String,
    pub(crate) kind: ToolKind,
    pub(crate) locations: Vec<ToolCallLocation>,
    /// What it would do, such as a diff.
    pub(crate) content: Vec<ToolCallContent>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Output {
    /// What the model gets.
    pub(crate) parts: Vec<Part>,
    /// What people are shown.
    pub(crate) content: Vec<ToolCallContent>,
    /// The whole of it, for those who look closer.
    pub(crate) raw: Option<Value>,
}

/// Why a call came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ToolError {
    /// The model is told, and may do better.
    #[error("{0}")]
    Failed(String),
    /// The turn itself can't go on.
    #[error(transparent)]
    Turn(#[from] AgentError),
}

impl ToolError {
    pub(crate) fn failed(what: impl std::fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }
}

/// Something that can be called.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    fn effect(&self) -> Effect;

    /// What a call with `arguments` would do. Changes nothing.
    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError>;

    /// Does it. Dropping the future ends it.
    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError>;
}

/// The tools that `session` has in `mode`.
pub(crate) fn tools_of(session: &OpenSession, mode: Mode) -> Vec<Arc<dyn Tool>> {
    let servers = &session.servers;
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if !servers.resources().is_empty() || !servers.resource_templates().is_empty() {
        tools.push(Arc::new(resources::ListResources));
        tools.push(Arc::new(resources::ReadResource));
    }
    tools.extend(servers.tools().into_iter().map(|tool| -> Arc<dyn Tool> { Arc::new(McpTool(tool)) }));
    tools.retain(|tool| mode.offers(tool.effect()));
    tools
}
