//! What agents keep of deleted sessions: each agent that can be started is asked to delete its copies.
//!
//! The sessions are gone by then, so nothing that an agent does or does not do is a failure of the command. What stays is
//! said.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rejoin_transcript::SessionFacts;
use rejoin_transcript::json::Object;
use rejoin_wire::{Command, Tap};

use crate::commands::{Context, count};
use crate::direct_agent::{AskError, DirectAgent};
use crate::error::Error;
use crate::layer::{BUILT_IN, taps_of, typed_command};
use crate::report;
use crate::settings::AgentCommand;

/// How long an agent may take to delete one copy.
const LIMIT: Duration = Duration::from_secs(10);

/// The agents' ids of the copies, by the agents' names.
#[derive(Default)]
pub(super) struct Copies(BTreeMap<String, BTreeSet<String>>);

/// Why copies stay.
#[derive(Debug, thiserror::Error)]
enum Kept {
    #[error("its command is not known; next time, name it with `rejoin delete ID -- COMMAND`")]
    NoCommand,
    #[error("the command starts `{0}`")]
    AnotherAgent(String),
    #[error("it can't delete")]
    CantDelete,
    #[error(transparent)]
    Failed(#[from] AskError),
}

impl Copies {
    /// Notes the copies of a session.
    pub(super) fn note(&mut self, facts: &SessionFacts) {
        let former = facts.former_agent_sessions.iter().map(|former| (&former.agent, &former.id));
        let current = facts.agent_session.iter().map(|session| (&facts.agent.name, &session.id));
        for (agent, id) in former.chain(current) {
            self.0.entry(agent.clone()).or_default().insert(id.clone());
        }
    }

    /// Asks the agents to delete them, each started by its command in the configuration, or by `typed`.
    pub(super) async fn delete(self, typed: Vec<String>, context: &mut Context) -> Result<(), Error> {
        let (typed, tap) = (typed_command(typed), taps_of(context.trace.take()).agents);
        let limit = context.settings.behaviour.agent_start_limit;
        for (name, ids) in &self.0 {
            let configured = context.settings.agents.get(name).map(AgentCommand::to_command);
            // Our own agent keeps nothing beside the record.
            if configured.is_none() && name == BUILT_IN {
                continue;
            }
            let kept = match (&configured, &typed) {
                (Some(command), _) => delete_all(command, ids, limit, tap.clone(), |_| Ok(())).await,
                (None, Some(command)) => {
                    let check = |agent: &DirectAgent| {
                        let told = agent.name().unwrap_or_else(|| base_name(&command.program).to_owned());
                        if told == *name { Ok(()) } else { Err(Kept::AnotherAgent(told)) }
                    };
                    delete_all(command, ids, limit, tap.clone(), check).await
                }
                (None, None) => Err(Kept::NoCommand),
            };
            if let Err(why) = kept {
                let copies = count(ids.len() as u64, "copy", "copies");
                report::write_note(&mut context.err, &format!("agent `{name}` may keep {copies} of its own: {why}"))?;
            }
        }
        Ok(())
    }
}

/// Starts the agent, and has it delete its sessions `ids`, if it passes `check`.
async fn delete_all(
    command: &Command,
    ids: &BTreeSet<String>,
    start_limit: Duration,
    tap: Option<Arc<dyn Tap>>,
    check: impl Fn(&DirectAgent) -> Result<(), Kept>,
) -> Result<(), Kept> {
    let agent = DirectAgent::start(command, start_limit, tap).await?;
    let deleted = async {
        check(&agent)?;
        if !agent.can_delete() {
            return Err(Kept::CantDelete);
        }
        for id in ids {
            let params = Object::default().with_string("sessionId", id).finish();
            agent.call("session/delete", &params, LIMIT).await?;
        }
        Ok(())
    };
    let deleted = deleted.await;
    agent.end().await;
    deleted
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
