//! `rejoin agents`: which agents can be put behind `rejoin acp`, and whether they are there.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rejoin::Sharing;
use serde::Serialize;

use super::{Context, Outcome};
use crate::env_vars;
use crate::error::Error;
use crate::known_agents::{self, KnownAgent};
use crate::layer::BUILT_IN;
use crate::output::{one_line, short_path};
use crate::report;
use crate::settings::AgentCommand;
use crate::table::{Column, Fit, Side, write_table};

const TABLE: [Column; 4] = [
    Column { name: "NAME", fit: Fit::Whole, side: Side::Left },
    Column { name: "STATE", fit: Fit::Whole, side: Side::Left },
    Column { name: "COMMAND", fit: Fit::CutEnd(16), side: Side::Left },
    Column { name: "", fit: Fit::CutEnd(24), side: Side::Left },
];

/// List the agents that are configured, known, and installed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent of this list is started by its name: `rejoin acp --agent NAME`.

Examples:
  rejoin agents                       what is there
  rejoin agents --json                the same for a program")]
pub(crate) struct AgentsArgs {
    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// One agent.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    name: &'a str,
    title: Option<&'a str>,
    state: State,
    command: Vec<String>,
    /// Where its program is.
    path: Option<PathBuf>,
    is_default: bool,
    is_shared: bool,
    install: Option<&'a str>,
    remark: Option<&'a str>,
}

/// Whether an agent can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// It is in this program.
    BuiltIn,
    /// The configuration names it, and its program is there.
    Configured,
    /// It is known, and its program is there.
    Found,
    /// Its program is not there.
    Missing,
}

pub(super) fn run(args: &AgentsArgs, context: &mut Context) -> Result<Outcome, Error> {
    let path = std::env::var_os(env_vars::PATH).unwrap_or_default();
    let settings = &context.settings;
    let default = settings.default_agent.as_deref().unwrap_or(BUILT_IN);
    let own = settings.agents.iter().map(|(name, agent)| configured(name, agent, &path));
    let known = known_agents::ALL.iter().filter(|agent| !settings.agents.contains_key(agent.name));
    let mut rows: Vec<Row<'_>> = Vec::from([built_in()]);
    rows.extend(own);
    rows.extend(known.map(|agent| row_of(agent, &path)));
    for row in &mut rows {
        row.is_default = row.name == default;
    }
    // What can be used comes first; the order is kept otherwise.
    rows.sort_by_key(|row| row.state == State::Missing);
    if args.json {
        context.out.write_json(&rows)?;
    } else {
        let home = context.settings.home.as_deref();
        let rows: Vec<[String; 4]> = rows.iter().map(|row| cells(row, home)).collect();
        write_table(&mut context.out, &TABLE, &rows)?;
        report::write_hint(
            &mut context.err,
            "start one with `rejoin acp --agent NAME`, test one with `rejoin check --agent NAME`",
        )?;
    }
    Ok(Outcome::Done)
}

fn built_in() -> Row<'static> {
    Row {
        name: BUILT_IN,
        title: Some("the built-in agent"),
        state: State::BuiltIn,
        command: Vec::new(),
        path: None,
        is_default: false,
        is_shared: true,
        install: None,
        remark: None,
    }
}

fn configured<'a>(name: &'a str, agent: &AgentCommand, path: &OsStr) -> Row<'a> {
    let program = agent.command.first().and_then(|program| find_program(program, path));
    Row {
        name,
        title: None,
        state: if program.is_some() { State::Configured } else { State::Missing },
        command: agent.command.clone(),
        path: program,
        is_default: false,
        is_shared: agent.sharing == Sharing::Shared,
        install: None,
        remark: None,
    }
}

fn row_of<'a>(agent: &'static KnownAgent, path: &OsStr) -> Row<'a> {
    let program = agent.command.first().and_then(|program| find_program(program, path));
    Row {
        name: agent.name,
        title: Some(agent.title),
        state: if program.is_some() { State::Found } else { State::Missing },
        command: agent.command.iter().map(|word| (*word).to_owned()).collect(),
        path: program,
        is_default: false,
        is_shared: agent.sharing == Sharing::Shared,
        install: Some(agent.install),
        remark: agent.remark,
    }
}

fn cells(row: &Row<'_>, home: Option<&Path>) -> [String; 4] {
    let state = match row.state {
        State::BuiltIn => "built-in",
        State::Configured => "configured",
        State::Found => "found",
        State::Missing => "not found",
    };
    let name = format!("{}{}", one_line(row.name), if row.is_default { " (default)" } else { "" });
    let more = match (row.state, row.install, &row.path) {
        (State::Missing, Some(install), _) => install.to_owned(),
        (_, _, Some(path)) => {
            let remark = row.remark.map(|remark| format!(": {remark}")).unwrap_or_default();
            format!("{}{remark}", short_path(&path.display().to_string(), home))
        }
        (_, _, None) => row.title.unwrap_or_default().to_owned(),
    };
    [name, state.to_owned(), one_line(&row.command.join(" ")), more]
}

/// Where `program` is: itself if it is a path, else in the first folder of `path` that has it.
fn find_program(program: &str, path: &OsStr) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    std::env::split_paths(path).map(|folder| folder.join(program)).find(is_program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_the_folders_of_the_path() {
        let path = OsStr::new("/nowhere:/usr/bin:/bin");
        assert!(find_program("sh", path).is_some());
        assert_eq!(find_program("sh", OsStr::new("/nowhere")), None);
        assert_eq!(find_program("/bin/sh", OsStr::new("")), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find_program("/etc/passwd", path), None);
    }
}
