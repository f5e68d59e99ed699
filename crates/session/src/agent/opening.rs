//! What a client sent to open a session, and what an agent is sent of it.

use rejoin_store::resolve_cwd;
use rejoin_transcript::Json;
use rejoin_transcript::json::{Object, write_string};

use crate::capabilities::AgentCapabilities;
use crate::mcp_servers::McpServers;

/// What a client sent to open a session: the latest of new, load, resume and fork counts.
#[derive(Clone)]
pub(crate) struct Opening {
    /// The folder, as sent.
    pub(crate) cwd: String,
    /// Further folders.
    pub(crate) directories: Vec<String>,
    /// The MCP servers, with their secrets.
    pub(crate) mcp: McpServers,
    /// The other members of its params, such as `_meta`.
    pub(crate) extra: Option<Json>,
}

impl Opening {
    /// Whether an agent that can do `can` would be sent the same by both.
    pub(crate) fn is_same_for(&self, other: &Self, can: &AgentCapabilities) -> bool {
        let is_same_folder = resolve_cwd(&self.cwd).canonical == resolve_cwd(&other.cwd).canonical;
        let has_same_folders = !can.additional_directories || self.directories == other.directories;
        is_same_folder && has_same_folders && self.mcp == other.mcp
    }

    /// The params that open a session in an agent that can do `can`, with its own id if it has one.
    pub(crate) fn params(&self, can: &AgentCapabilities, id: Option<&str>) -> String {
        let Self { cwd, directories, mcp, extra } = self;
        let mut params = Object::default();
        if let Some(id) = id {
            params = params.with_string("sessionId", id);
        }
        params = params.with_string("cwd", cwd).with("mcpServers", &mcp.for_agent(can).0);
        if can.additional_directories && !directories.is_empty() {
            let directories: Vec<String> = directories.iter().map(|folder| write_string(folder)).collect();
            params = params.with("additionalDirectories", &format!("[{}]", directories.join(",")));
        }
        params.with_members_of(extra.as_ref().map_or("{}", Json::as_str)).finish()
    }
}
