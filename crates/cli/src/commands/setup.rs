//! `rejoin setup`: what an editor must be told to use rejoin, and, if asked, telling it.

mod change;
mod editor;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use super::{Context, Outcome};
use crate::error::Error;
use crate::layer::AgentArgs;
use crate::output::{DIM, short_path};
use crate::report;
use change::{Change, write};
use editor::{Editor, Entry, Place};

/// Show, or write, the settings with which an editor uses rejoin
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without `--write` nothing is changed: the snippet is shown, and where it goes.

Examples:
  rejoin setup zed -- claude-agent-acp        Claude Code in Zed, with sessions that last
  rejoin setup zed --write -- claude-agent-acp
  rejoin setup jetbrains --agent claude       an agent from the configuration
  rejoin setup neovim                         the built-in agent")]
pub(crate) struct SetupArgs {
    /// The editor
    #[arg(value_enum)]
    pub(crate) editor: Editor,

    /// The name that the editor shows
    #[arg(long, value_name = "NAME", default_value = "Rejoin")]
    pub(crate) name: String,

    /// Change the editor's file, after showing the change; the old one is kept beside it
    #[arg(long)]
    pub(crate) write: bool,

    /// Do not ask before writing
    #[arg(long, requires = "write")]
    pub(crate) yes: bool,

    #[command(flatten)]
    pub(crate) agent: AgentArgs,
}

pub(super) fn run(args: SetupArgs, context: &mut Context) -> Result<Outcome, Error> {
    let entry = Entry { name: args.name, command: "rejoin".to_owned(), args: acp_args(args.agent) };
    match (args.editor.place(&context.settings), args.write) {
        (Place::File { path, keys }, true) => write_file(context, args.editor, (path, keys), &entry, args.yes),
        (place, is_to_write) => {
            if is_to_write {
                let note = format!("{} has no file that can be changed safely; nothing is written", args.editor.name());
                report::write_note(&mut context.err, &note)?;
            }
            let home = context.settings.home.as_deref();
            let place = match place {
                Place::File { path, .. } => short_path(&path.to_string_lossy(), home),
                Place::Elsewhere(place) => place.to_owned(),
            };
            writeln!(context.err, "{}", context.out.paint(DIM, &format!("in {place}:")))?;
            writeln!(context.out, "{}", args.editor.snippet(&entry))?;
            Ok(Outcome::Done)
        }
    }
}

/// What comes behind `rejoin` to have it speak ACP with the agent that was asked for.
fn acp_args(agent: AgentArgs) -> Vec<String> {
    let mut args = vec!["acp".to_owned()];
    if let Some(name) = agent.agent {
        args.extend(["--agent".to_owned(), name]);
    }
    if !agent.command.is_empty() {
        args.push("--".to_owned());
        args.extend(agent.command);
    }
    args
}

fn write_file(
    context: &mut Context,
    editor: Editor,
    (path, keys): (PathBuf, &[&str]),
    entry: &Entry,
    is_sure: bool,
) -> Result<Outcome, Error> {
    let change = Change::read(path, keys, &entry.name, &editor.value(entry))?;
    let file = short_path(&change.path.to_string_lossy(), context.settings.home.as_deref());
    if !change.is_one() {
        writeln!(context.out, "{file} has it already")?;
        return Ok(Outcome::Done);
    }
    write!(context.out, "{}", change.diff(&file))?;
    context.out.flush()?;
    if !is_sure && io::stdin().is_terminal() && !is_wanted(context, &file)? {
        writeln!(context.out, "nothing is written")?;
        return Ok(Outcome::Done);
    }
    match write(&change)? {
        Some(backup) => {
            let backup = short_path(&backup.to_string_lossy(), context.settings.home.as_deref());
            writeln!(context.out, "{file} is written; the old one is {backup}")?;
        }
        None => writeln!(context.out, "{file} is written")?,
    }
    Ok(Outcome::Done)
}

fn is_wanted(context: &mut Context, file: &str) -> Result<bool, Error> {
    write!(context.err, "Write {file}? [y/N] ")?;
    context.err.flush()?;
    let mut answer = String::new();
    let source = io::stdin().lock().read_line(&mut answer);
    source.map_err(|source| Error::CannotRead { file: "-".to_owned(), source })?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
