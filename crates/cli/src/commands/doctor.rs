//! `rejoin doctor`: what works, what does not, and what to do about it.
//!
//! Everything is looked at at once, each thing within its own limit. No text holds a secret of the configuration.

mod agents;
mod check;
mod config;
mod mcp_servers;
mod progress;
mod providers;
mod store;

use std::io::Write;

use futures::future::join_all;
use serde::Serialize;

use self::check::{Check, State};
use self::progress::Progress;
use super::{Context, Outcome, count};
use crate::error::Error;
use crate::output::{BAD, DIM, GOOD, NOTE, Output, columns, one_line, wrap};

#[derive(Serialize)]
struct ReportRow<'a> {
    checks: Vec<CheckRow<'a>>,
}

#[derive(Serialize)]
struct CheckRow<'a> {
    name: &'a str,
    ok: bool,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

impl<'a> From<&'a Check> for CheckRow<'a> {
    fn from(check: &'a Check) -> Self {
        let Check { name, state, detail, hint } = check;
        Self { name, ok: *state != State::Bad, detail, hint: hint.as_deref() }
    }
}

/// See what works, what doesn't, and what to do
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Looks at the configuration and the store, starts each agent and each MCP server of the configuration, and asks each \
provider for its models. Exit code 1 says that something of it does not work. Secrets are not shown.

Examples:
  rejoin doctor
  rejoin doctor --json")]
pub(crate) struct DoctorArgs {
    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: DoctorArgs, context: &mut Context) -> Result<Outcome, Error> {
    let settings = &context.settings;
    let progress = Progress::new(settings.agents.len() + 3);
    let (store, agents, mcp_servers, providers) = tokio::join!(
        progress.watch(store::check(&settings.store)),
        join_all(settings.agents.iter().map(|(name, agent)| progress.watch(agents::check(name, agent, settings)))),
        progress.watch(mcp_servers::check(settings)),
        progress.watch(providers::check(settings)),
    );
    progress.clear();

    let mut checks = config::check(settings);
    checks.push(store);
    checks.extend(agents::check_default(settings));
    checks.extend(agents);
    checks.extend(mcp_servers);
    checks.extend(providers);
    write(&mut context.out, &checks, args.json)
}

/// Runs the command where `error` is what is wrong with the settings: nothing else can be looked at then.
pub(crate) fn run_without_settings(args: &DoctorArgs, error: &Error, out: &mut Output) -> Result<Outcome, Error> {
    write(out, &[config::broken(error)], args.json)
}

fn write(out: &mut Output, checks: &[Check], json: bool) -> Result<Outcome, Error> {
    let n_bad = checks.iter().filter(|check| check.state == State::Bad).count() as u64;
    if json {
        out.write_json(&ReportRow { checks: checks.iter().map(CheckRow::from).collect() })?;
    } else {
        write_checks(out, checks)?;
        let verdict = match n_bad {
            0 => out.paint(GOOD, "everything works"),
            _ => out.paint(BAD, &format!("{} found", count(n_bad, "problem", "problems"))),
        };
        writeln!(out, "\n{verdict}")?;
    }
    Ok(if n_bad == 0 { Outcome::Done } else { Outcome::FoundProblems })
}

fn write_checks(out: &mut Output, checks: &[Check]) -> Result<(), Error> {
    let names: Vec<String> = checks.iter().map(|check| one_line(&check.name)).collect();
    let widest = names.iter().map(|name| columns(name)).max().unwrap_or(0);
    for (check, name) in checks.iter().zip(names) {
        let mark = match check.state {
            State::Good => out.paint(GOOD, "✓"),
            State::Note => out.paint(NOTE, "!"),
            State::Bad => out.paint(BAD, "✗"),
        };
        let (blanks, indent) = (" ".repeat(widest - columns(&name)), " ".repeat(widest + 4));
        let room = out.width().map_or(usize::MAX, |width| width.saturating_sub(widest + 4).max(20));
        let lines = |text: &str| wrap(&one_line(text), room).join(&format!("\n{indent}"));
        writeln!(out, "{mark} {name}{blanks}  {}", lines(&check.detail))?;
        if let Some(hint) = &check.hint {
            writeln!(out, "{indent}{}", out.paint(DIM, &lines(&format!("hint: {hint}"))))?;
        }
    }
    Ok(())
}
