//! What an agent is and takes.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, Implementation, InitializeResponse, McpCapabilities, PromptCapabilities, SessionCapabilities,
    SessionCloseCapabilities,
};
use serde_json::json;

/// What an agent is and takes: told to every client at `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Its name, by which its sessions are listed.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What a prompt may hold besides text and links.
    pub prompt: PromptCapabilities,
    /// The kinds of MCP servers that it connects to besides programs.
    pub mcp: McpCapabilities,
}

impl About {
    /// An agent that takes text and links, and MCP servers that are programs.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let (prompt, mcp) = (PromptCapabilities::default(), McpCapabilities::default());
        Self { name: name.into(), title: None, version: version.into(), prompt, mcp }
    }

    pub(super) fn initialize_response(self) -> InitializeResponse {
        let Self { name, title, version, prompt, mcp } = self;
        let session = SessionCapabilities::new()
            .close(SessionCloseCapabilities::new())
            .additional_directories(agent_client_protocol_schema::v1::SessionAdditionalDirectoriesCapabilities::new());
        let mut ours = serde_json::Map::new();
        ours.insert("rejoin".to_owned(), json!({ "transcript": true }));
        let capabilities = AgentCapabilities::new()
            .prompt_capabilities(prompt)
            .mcp_capabilities(mcp)
            .session_capabilities(session)
            .meta(ours);
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(Implementation::new(name, version).title(title))
    }
}
