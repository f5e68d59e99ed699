//! A session's MCP servers, as the protocol names them.

use rejoin::schema::{EnvVariable, HttpHeader, McpServer};
use rejoin_mcp::{ServerSpec, Transport};

/// The servers that a client gave, then those of `configured` whose names are not among them.
pub(crate) fn all(given: &[McpServer], configured: &[ServerSpec]) -> Vec<ServerSpec> {
    let mut all: Vec<ServerSpec> = given.iter().filter_map(spec).collect();
    all.extend(configured.iter().filter(|spec| !is_given(given, spec)).cloned());
    all
}

/// The names of those of `configured` that are not used, since the client gave others of that name.
pub(crate) fn unused(given: &[McpServer], configured: &[ServerSpec]) -> Vec<String> {
    configured.iter().filter(|spec| is_given(given, spec)).map(|spec| spec.name.clone()).collect()
}

fn is_given(given: &[McpServer], configured: &ServerSpec) -> bool {
    given.iter().filter_map(spec).any(|given| given.name == configured.name)
}

/// `server` for the crate that connects to it; nothing for a kind that we did not say we take.
fn spec(server: &McpServer) -> Option<ServerSpec> {
    let (name, transport) = match server {
        McpServer::Stdio(server) => {
            let command = server.command.to_string_lossy().into_owned();
            let variable = |variable: &EnvVariable| (variable.name.clone(), variable.value.clone());
            let env = server.env.iter().map(variable).collect();
            (&server.name, Transport::Stdio { command, args: server.args.clone(), env })
        }
        McpServer::Http(server) => {
            (&server.name, Transport::Http { url: server.url.clone(), headers: pairs(&server.headers) })
        }
        McpServer::Sse(server) => {
            (&server.name, Transport::Sse { url: server.url.clone(), headers: pairs(&server.headers) })
        }
        _ => return None,
    };
    Some(ServerSpec { name: name.clone(), transport })
}

fn pairs(headers: &[HttpHeader]) -> Vec<(String, String)> {
    headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect()
}
