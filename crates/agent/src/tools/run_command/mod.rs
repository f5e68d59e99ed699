//! `run_command`: runs a command of the shell, in a terminal of the client where it has some, else beside us.

mod always;
mod local;
mod output;
mod terminal;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ToolCallLocation, ToolKind};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{number, read, spec, text};
use super::files::{Files, blocking};
use super::shown::{fenced, short};
use super::{Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::session::OpenSession;

pub(super) const NAME: &str = "run_command";

/// So many seconds a command may take if the model does not say, and if it does.
const USUAL_LIMIT: u64 = 120;
const LONGEST_LIMIT: u64 = 3600;

pub(super) struct RunCommand;

#[derive(Deserialize)]
struct Input {
    command: String,
    cwd: Option<String>,
    timeout: Option<NonZeroU64>,
}

/// A command, ready to be run.
struct Job {
    command: String,
    /// As the client names it.
    cwd: PathBuf,
    limit: Duration,
}

/// How a command ended.
struct Ran {
    end: End,
    /// What it wrote, without what was left out.
    output: String,
    is_cut: bool,
    /// Whether people are shown it already, by a terminal.
    is_shown: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Exited(i32),
    /// A signal ended it.
    Killed(String),
    /// It took too long, and was ended.
    TimedOut,
    /// Nobody knows.
    Unknown,
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> ToolSpec {
        let description = "Runs a command of the shell (sh), without input, and gives its output and exit code. What it starts \
                           in the background ends with it. Of long output, the beginning and the end are given.";
        let properties = [
            ("command", text("The command.")),
            ("cwd?", text("The folder to run it in; without one, the session's.")),
            ("timeout?", number("How many seconds it may take: 120 if left out, 3600 at most.")),
        ];
        spec(NAME, description, &properties)
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Execute
    }

    fn effect(&self) -> Effect {
        Effect::Runs
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let job = Job::of(arguments, turn).await?;
        let plan = Plan::new(format!("`{}`", short(&job.command)));
        let always = always::of(&job.command, &job.cwd);
        Ok(plan.at(vec![ToolCallLocation::new(job.cwd)]).showing(vec![fenced(&job.command)]).always(always))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let job = Job::of(arguments, call.turn).await?;
        let in_terminal = if call.turn.client().terminal { terminal::run(&job, call).await? } else { None };
        let ran = match in_terminal {
            Some(ran) => ran,
            None => local::run(&job, call).await?,
        };
        Ok(ran.told(&job))
    }
}

impl Job {
    async fn of(arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Self, ToolError> {
        let input: Input = read(NAME, arguments)?;
        if input.command.trim().is_empty() {
            return Err(ToolError::failed("`command` is empty"));
        }
        let place = Files::of(turn).folder(input.cwd.as_deref())?;
        let cwd = place.path();
        if let Some(denial) = turn.session().deny.command(&input.command, &cwd) {
            return Err(ToolError::Failed(format!("the command can't be run: {denial}")));
        }
        blocking(move || place.open_folder().map(drop)).await?;
        let limit = input.timeout.map_or(USUAL_LIMIT, NonZeroU64::get).min(LONGEST_LIMIT);
        Ok(Self { command: input.command, cwd, limit: Duration::from_secs(limit) })
    }
}

impl Ran {
    fn told(self, job: &Job) -> Output {
        let end = match &self.end {
            End::Exited(code) => format!("[exit code {code}]"),
            End::Killed(signal) => format!("[ended by the signal {signal}]"),
            End::TimedOut => format!("[ended by us, since it took longer than {} s]", job.limit.as_secs()),
            End::Unknown => "[it is not known how it ended]".to_owned(),
        };
        let gap = if self.output.is_empty() || self.output.ends_with('\n') { "" } else { "\n" };
        let text = format!("{}{gap}{end}", self.output);
        let (code, signal) = match &self.end {
            End::Exited(code) => (Some(code), None),
            End::Killed(signal) => (None, Some(signal)),
            End::TimedOut | End::Unknown => (None, None),
        };
        let raw = json!({
            "exitCode": code,
            "signal": signal,
            "timedOut": self.end == End::TimedOut,
            "output": self.output,
            "truncated": self.is_cut,
        });
        let shown = if self.is_shown { Vec::new() } else { vec![fenced(&text)] };
        let is_error = self.end != End::Exited(0);
        Output { raw: Some(raw), is_error, ..Output::text(text).shown(shown) }
    }
}
