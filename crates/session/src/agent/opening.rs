//! What a client sent to open a session, and what an agent is sent of it.

use rejoin_store::resolve_cwd;
use rejoin_transcript::Json;
use rejoin_transcript::json::{Members, Object, set_member, write_string};

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
    /// The same of the `session/new` that made the session, as far as it is known.
    pub(crate) made_with: Option<Json>,
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
        let Self { cwd, directories, mcp, extra, made_with } = self;
        let mut params = Object::default();
        if let Some(id) = id {
            params = params.with_string("sessionId", id);
        }
        params = params.with_string("cwd", cwd).with("mcpServers", &mcp.for_agent(can).0);
        if can.additional_directories && !directories.is_empty() {
            let directories: Vec<String> = directories.iter().map(|folder| write_string(folder)).collect();
            params = params.with("additionalDirectories", &format!("[{}]", directories.join(",")));
        }
        let extra = extra.as_ref().map_or("{}", Json::as_str);
        match made_with {
            Some(made_with) if id.is_none() => params.with_members_of(&merged(made_with.as_str(), extra)).finish(),
            Some(_) | None => params.with_members_of(extra).finish(),
        }
    }
}

/// The members of `earlier`, with those of `later` in their place; the same for what is in `_meta`.
fn merged(earlier: &str, later: &str) -> String {
    let meta = |members: &str| Some(Members::read(members)?.get_some("_meta")?.to_owned());
    let mut all = with_members(earlier, later);
    if let (Some(earlier), Some(later)) = (meta(earlier), meta(later)) {
        all = set_member(&all, "_meta", &with_members(&earlier, &later)).unwrap_or(all);
    }
    all
}

fn with_members(object: &str, members: &str) -> String {
    let set = |object: String, (name, value): (&str, &str)| set_member(&object, name, value).unwrap_or(object);
    Members::read(members).iter().flat_map(Members::iter).fold(object.to_owned(), set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_session_gets_what_it_was_made_with_and_what_was_sent_since() {
        let opening = Opening {
            cwd: "/p".to_owned(),
            directories: Vec::new(),
            mcp: McpServers::default(),
            extra: Some(Json::parse(r#"{"_meta":{"b":3},"y":true}"#).unwrap()),
            made_with: Some(Json::parse(r#"{"_meta":{"a":1,"b":2},"x":7}"#).unwrap()),
        };
        let params = |id| opening.params(&AgentCapabilities::default(), id);
        let made = r#"{"cwd":"/p","mcpServers":[],"_meta":{"a":1,"b":3},"x":7,"y":true}"#;
        assert_eq!(params(None), made);
        assert_eq!(params(Some("s")), r#"{"sessionId":"s","cwd":"/p","mcpServers":[],"_meta":{"b":3},"y":true}"#);
    }
}
