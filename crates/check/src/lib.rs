//! Conformance rules for the sessions of ACP agents, checked from outside.
//!
//! A check has two halves. The **course** drives: it starts the agent, speaks ACP to it as a client does, kills it, starts
//! it again, and notes what was sent and what came, deciding nothing. The **rules** decide: each is a plain function over
//! what was seen, so no rule can disturb another, and all of them share the same few processes and sessions.
//!
//! No wait is without a limit, and no process outlives the check.

mod ability;
mod answers;
mod conversation;
mod course;
mod error;
mod leftovers;
mod limits;
mod log;
mod prompts;
mod report;
mod rule;
mod rules;
mod run;
pub mod schema;
mod settings;
mod subject;

use std::sync::Arc;

pub use error::CheckError;
pub use limits::Limits;
pub use prompts::Prompts;
use rejoin_wire::{Command, Tap};
pub use report::{Finding, Report, Status, Tested, junit};
pub use rule::{Evidence, Level, Rule};
pub use rules::all as rules;

/// Is told what is being done.
pub type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// What is checked, and how.
pub struct Check {
    /// How the agent is started.
    pub command: Command,
    /// How long things may take.
    pub limits: Limits,
    /// What is said to the agent.
    pub prompts: Prompts,
    /// Which rules are checked: those whose ids begin with one of these, and all if there are none.
    pub only: Vec<String>,
    /// Sees the traffic.
    pub tap: Option<Arc<dyn Tap>>,
    /// Is told what is being done.
    pub progress: Option<Teller>,
}

impl Check {
    /// Takes the agent over the course, and gives what each rule says.
    ///
    /// Whatever was started ends with it, also if this is dropped before it ends.
    pub async fn run(&self) -> Result<Report, CheckError> {
        let rules: Vec<&'static Rule> = self.chosen().collect();
        let run = Box::pin(course::run(self, &rules)).await?;
        if let Some(progress) = &self.progress {
            progress("looking at what was seen");
        }
        Ok(Report::of(&run, &rules))
    }

    fn chosen(&self) -> impl Iterator<Item = &'static Rule> {
        rules::all().filter(|rule| self.only.is_empty() || self.only.iter().any(|start| rule.id.starts_with(start)))
    }
}
