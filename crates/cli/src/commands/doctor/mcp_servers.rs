//! The MCP servers of the configuration: whether each can be connected to.

use rejoin_mcp::{LeftOut, ServerStatus, Servers, State};

use super::check::Check;
use crate::layer::built_in_config;
use crate::settings::Settings;

/// Connects to all of them, as a session of the built-in agent in this folder would.
pub(super) async fn check(settings: &Settings) -> Vec<Check> {
    if settings.mcp_servers.is_empty() {
        return Vec::new();
    }
    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let options = built_in_config(settings).mcp_options();
    let servers = Servers::connect(settings.mcp_servers.clone(), cwd, options).await;
    let checks = servers.status().into_iter().map(told).collect();
    servers.close().await;
    checks
}

fn told(status: ServerStatus) -> Check {
    let ServerStatus { server, transport, state, left_out } = status;
    let name = format!("MCP server {server}");
    match state {
        State::Connected { .. } if left_out.is_empty() => Check::good(name, format!("{transport}, {state}")),
        State::Connected { .. } => {
            let reasons: Vec<String> = left_out.iter().map(|LeftOut { what, why }| format!("{what}: {why}")).collect();
            Check::note(name, format!("{transport}, {state}"), format!("left out: {}", reasons.join("; ")))
        }
        State::Connecting | State::Reconnecting { .. } | State::Failed { .. } => {
            let hint = format!("correct [mcp_servers.{server}], or take it out");
            Check::bad(name, format!("{transport}, {state}"), Some(hint))
        }
    }
}
