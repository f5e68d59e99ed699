//! The agents of the configuration: whether each can be started, and speaks the protocol.

use rejoin_wire::ProcessError;

use super::check::Check;
use crate::direct_agent::{AskError, DirectAgent};
use crate::known_agents;
use crate::layer::BUILT_IN;
use crate::settings::{AgentCommand, Settings};

/// The version of the protocol that we speak.
const PROTOCOL: &str = "1";

/// Starts the agent `name`, and hears what it tells of itself.
pub(super) async fn check(name: &str, agent: &AgentCommand, settings: &Settings) -> Check {
    let title = format!("agent {name}");
    match DirectAgent::start(&agent.to_command(), settings.behaviour.agent_start_limit, None).await {
        Ok(running) => {
            let check = heard(title, &running);
            running.end().await;
            check
        }
        Err(error) => Check::bad(title, error.to_string(), Some(hint(name, &error))),
    }
}

/// Whether there is the agent that is used where none is named.
pub(super) fn check_default(settings: &Settings) -> Option<Check> {
    let name = settings.default_agent.as_deref()?;
    if name == BUILT_IN || settings.agents.contains_key(name) || known_agents::find(name).is_some() {
        return None;
    }
    let hint = format!("add a table [agents.{name}], or name another as `default_agent`");
    Some(Check::bad("default agent", format!("there is no agent `{name}`"), Some(hint)))
}

fn heard(title: String, agent: &DirectAgent) -> Check {
    let (name, version) = (agent.name().unwrap_or_else(|| "it".to_owned()), agent.version().unwrap_or_default());
    let who = format!("{name} {version}");
    match agent.protocol_version() {
        Some(PROTOCOL) | None => Check::good(title, format!("{} starts and answers", who.trim_end())),
        Some(other) => {
            let detail = format!("{} speaks version {other} of the protocol, and we speak {PROTOCOL}", who.trim_end());
            Check::bad(title, detail, Some("use a version of the agent that speaks it".to_owned()))
        }
    }
}

fn hint(name: &str, error: &AskError) -> String {
    match error {
        AskError::Start(ProcessError::NotFound { .. }) => {
            format!("install it, or write where it is as `command` of [agents.{name}]")
        }
        AskError::Start(_) | AskError::Ended { .. } | AskError::TooLate { .. } | AskError::Refused { .. } => {
            format!("see all that it says with `rejoin --log debug chat --agent {name} -p hello`")
        }
    }
}
