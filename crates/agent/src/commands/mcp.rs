//! `/mcp`: the session's MCP servers, how they are, and what they have.

use rejoin::{AgentError, Turn};

use crate::session::OpenSession;

pub(super) async fn run(turn: &Turn<OpenSession>, server: &str) -> Result<(), AgentError> {
    let OpenSession { servers, unused_servers: unused, .. } = &**turn.session();
    if !server.is_empty() {
        return match servers.retry(server).await {
            Ok(status) => turn.say(format!("{status}\n")).await,
            Err(error) => turn.say(format!("{error}\n")).await,
        };
    }
    let all = servers.status();
    if all.is_empty() {
        return turn
            .say("No MCP server is connected: your client gives them, or `mcp_servers` in the configuration.\n")
            .await;
    }
    let tools = servers.tools();
    let line = |status: &rejoin_mcp::ServerStatus| {
        let names: Vec<String> = tools
            .iter()
            .filter(|tool| tool.server == status.server)
            .map(|tool| format!("`{}`", tool.own_name))
            .collect();
        let tools = if names.is_empty() { String::new() } else { format!("  \n  tools: {}", names.join(", ")) };
        format!("- {status}{tools}\n")
    };
    let unused = unused.iter().map(|name| {
        format!("- {name} (of the configuration): not used, since your client gave another server of this name\n")
    });
    turn.say(all.iter().map(line).chain(unused).collect::<String>()).await
}
