//! `rejoin check`: which session rules an agent breaks.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anstyle::Style;
use rejoin_check::{Check, Finding, Level, Limits, Prompts, Report, Rule, Status, Teller, junit, rules};
use rejoin_wire::Command;
use serde_json::json;

use super::{Context, Outcome, count};
use crate::error::Error;
use crate::known_agents;
use crate::layer::{AgentArgs, taps_of, typed_command};
use crate::output::{BAD, BOLD, DIM, GOOD, Output, one_line, printable};
use crate::settings::Settings;
use crate::signals::Signals;
use crate::table::{Column, Fit, Side, write_table};

/// How many broken rules are explained.
const EXPLAINED: usize = 5;

const TABLE: [Column; 3] = [
    Column { name: "RULE", fit: Fit::Whole, side: Side::Left },
    Column { name: "LEVEL", fit: Fit::Whole, side: Side::Left },
    Column { name: "THE AGENT", fit: Fit::CutEnd(30), side: Side::Left },
];

/// Test an agent from outside: which session rules does it break?
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent works in a folder of its own, which is removed in the end; its sessions stay in its own store. It is asked a
few plain questions; where its model needs others, a TOML file of `--prompts` has them:

  remember = \"…\"   asks to remember the word {word}        recall = \"…\"   asks for the word
  long = \"…\"       an answer of ten seconds or more        tool = \"…\"     has a tool write rejoin-check.txt

Exit code 0: the agent keeps every rule of the levels MUST and quality; 3: it breaks one, or does not start.

Examples:
  rejoin check -- my-agent --acp            every rule
  rejoin check --rule load. -- my-agent     the rules whose ids begin with `load.`
  rejoin check --junit out.xml -- my-agent  a report for CI
  rejoin check --list                       the rules")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) agent: AgentArgs,

    /// Only rules whose ids begin with ID; can be given more than once
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Vec<String>,

    /// List the rules, and check nothing
    #[arg(long)]
    pub(crate) list: bool,

    /// How long an answer may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,

    /// Take what is said to the agent from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: Option<PathBuf>,

    /// Write a report in the form of `JUnit` to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: CheckArgs, context: &mut Context) -> Result<Outcome, Error> {
    if let Some(rule) = args.rule.iter().find(|start| !rules().any(|rule| rule.id.starts_with(start.as_str()))) {
        return Err(Error::UnknownRule { rule: rule.clone() });
    }
    if args.list {
        return list(&args, context);
    }
    let command = command_of(args.agent, &context.settings)?;
    let prompts = args.prompts.map(read_prompts).transpose()?.unwrap_or_default();
    let limits = Limits::with_answer(Duration::from_secs(args.timeout));
    let tap = taps_of(context.trace.take()).agents;
    let progress = Progress::on_terminal();
    let check = Check { command, limits, prompts, only: args.rule, tap, progress: progress.teller() };

    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    let report = tokio::select! {
        report = check.run() => report?,
        // The agent's processes and folders go with what is dropped here.
        () = signals.any() => return Err(Error::Interrupted),
    };
    drop(progress);
    if args.json {
        let counts = json!({
            "pass": report.count(Status::Pass),
            "fail": report.count(Status::Fail),
            "skip": report.count(Status::Skip),
            "report": report.count(Status::Report),
        });
        let Report { agent, rules } = &report;
        context.out.write_json(&json!({ "agent": agent, "counts": counts, "rules": rules }))?;
    } else {
        write_report(&mut context.out, &report)?;
    }
    if let Some(file) = args.junit {
        let failed = |source| Error::CannotWrite { path: file.clone(), source };
        std::fs::write(&file, junit(&report)).map_err(failed)?;
    }
    Ok(if report.is_good() { Outcome::Done } else { Outcome::AgentFailed })
}

fn list(args: &CheckArgs, context: &mut Context) -> Result<Outcome, Error> {
    let is_meant = |id: &str| args.rule.is_empty() || args.rule.iter().any(|start| id.starts_with(start.as_str()));
    let chosen = rules().filter(|rule| is_meant(rule.id));
    if args.json {
        let row = |rule: &Rule| json!({ "rule": rule.id, "level": rule.level.name(), "title": rule.title, "spec": rule.spec() });
        context.out.write_json(&chosen.map(row).collect::<Vec<_>>())?;
    } else {
        let row = |rule: &Rule| [rule.id.to_owned(), rule.level.name().to_owned(), rule.title.to_owned()];
        write_table(&mut context.out, &TABLE, &chosen.map(row).collect::<Vec<_>>())?;
    }
    Ok(Outcome::Done)
}

/// How the agent is started that was typed or named.
fn command_of(args: AgentArgs, settings: &Settings) -> Result<Command, Error> {
    if let Some(command) = typed_command(args.command) {
        return Ok(command);
    }
    let Some(name) = args.agent.or_else(|| settings.default_agent.clone()) else { return Err(Error::NoAgent) };
    let configured = settings.agents.get(&name).map(crate::settings::AgentCommand::to_command);
    let known = || known_agents::find(&name).map(known_agents::KnownAgent::to_command);
    configured.or_else(known).ok_or_else(|| {
        let known = settings.agents.keys().cloned().chain(known_agents::ALL.iter().map(|agent| agent.name.to_owned()));
        Error::UnknownAgent { name: name.clone(), known: known.collect() }
    })
}

fn read_prompts(path: PathBuf) -> Result<Prompts, Error> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| Error::CannotRead { file: file.clone(), source })?;
    toml::from_str(&text).map_err(|source| Error::NotPrompts { file, source })
}

/// Tells on the terminal what is being done; where there is none, nothing.
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn on_terminal() -> Self {
        Self { is_shown: std::io::stderr().is_terminal() }
    }

    fn teller(&self) -> Option<Teller> {
        self.is_shown.then(|| -> Teller {
            Arc::new(|what: &str| {
                // Where it can't be written, nobody looks.
                let _ = write!(std::io::stderr(), "{CLEAR}{what} …");
            })
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

/// To the beginning of the line, and away with what is on it.
const CLEAR: &str = "\r\x1b[2K";

fn write_report(out: &mut Output, report: &Report) -> Result<(), Error> {
    let with = |status: Status| report.rules.iter().filter(move |finding| finding.status == status);
    let (fatal, minor): (Vec<&Finding>, Vec<&Finding>) = with(Status::Fail).partition(|finding| finding.is_fatal());
    for (number, finding) in fatal.iter().enumerate() {
        write_broken(out, finding, BAD, number < EXPLAINED)?;
    }
    for finding in &minor {
        write_broken(out, finding, BOLD, fatal.is_empty())?;
    }
    if fatal.len() > EXPLAINED {
        writeln!(out, "{}\n", out.paint(DIM, "what was sent and came for each of them: `--json`"))?;
    }
    write_told(out, with(Status::Report))?;
    write_skipped(out, with(Status::Skip))?;

    let name = report.agent.name.as_deref().unwrap_or("the agent");
    let name = one_line(&format!("{name} {}", report.agent.version.as_deref().unwrap_or_default()));
    let rules = |n: usize| count(n as u64, "rule", "rules");
    let broken = match (fatal.len(), minor.len()) {
        (0, 0) => out.paint(GOOD, "breaks none"),
        (0, minor) => out.paint(GOOD, &format!("breaks {minor} that it only should keep")),
        (fatal, 0) => out.paint(BAD, &format!("breaks {fatal}")),
        (fatal, minor) => out.paint(BAD, &format!("breaks {fatal}, and {minor} that it only should keep")),
    };
    let (kept, skipped) = (rules(report.count(Status::Pass)), report.count(Status::Skip));
    writeln!(out, "{name} keeps {kept} and {broken}; {skipped} skipped")?;
    Ok(())
}

fn write_broken(out: &mut Output, finding: &Finding, style: Style, is_explained: bool) -> Result<(), Error> {
    let mark = out.paint(style, if finding.level == Level::Should { "should" } else { "BROKEN" });
    let level = out.paint(DIM, finding.level.name());
    writeln!(out, "{mark}  {}  {level}  {}", out.paint(BOLD, finding.rule), finding.title)?;
    if let Some(evidence) = finding.evidence.as_ref().filter(|_| is_explained) {
        let parts = [
            ("sent", evidence.sent.as_str()),
            ("came", &evidence.came),
            ("expected", &evidence.expected),
            ("see", &finding.spec),
        ];
        for (name, text) in parts {
            let text = printable(text).replace('\n', "\n                    ");
            writeln!(out, "        {}{text}", out.paint(DIM, &format!("{name:<12}")))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn write_told<'a>(out: &mut Output, told: impl Iterator<Item = &'a Finding>) -> Result<(), Error> {
    let told: Vec<&Finding> = told.collect();
    for finding in &told {
        let what = format!("{}: {}", finding.title, finding.detail);
        writeln!(out, "{}  {}  {}", out.paint(DIM, "told  "), finding.rule, one_line(&what))?;
    }
    if !told.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// Writes what was skipped, by reason.
fn write_skipped<'a>(out: &mut Output, skipped: impl Iterator<Item = &'a Finding>) -> Result<(), Error> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in skipped {
        match reasons.iter_mut().find(|(reason, _)| *reason == finding.detail) {
            Some((_, rules)) => rules.push(finding.rule),
            None => reasons.push((&finding.detail, vec![finding.rule])),
        }
    }
    for (reason, rules) in &reasons {
        writeln!(out, "{}  {}: {}", out.paint(DIM, "skipped"), one_line(reason), rules.join(", "))?;
    }
    if !reasons.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}
