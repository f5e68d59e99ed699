//! The program `rejoin`: reads its arguments, runs one command, and says how it ended.
//!
//! Standard output holds what was asked for and nothing else; everything said beside it goes to standard error.

mod args;
mod ask;
mod commands;
mod conversation;
mod direct_agent;
mod env_vars;
mod error;
mod known_agents;
mod layer;
mod logging;
mod money;
mod output;
mod pager;
mod progress;
mod report;
mod resume;
mod row;
mod settings;
mod signals;
mod sizes;
mod table;
mod times;
mod trace;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::commands::config::{ConfigArgs, ConfigCommand};
use crate::commands::{Context, Outcome, completions, doctor, man};
use crate::error::Error;
use crate::output::Output;
use crate::settings::{Settings, Warning};
use crate::trace::Trace;

/// The program was called in a way that makes no sense.
const USAGE: u8 = 2;
/// The agent did not do what it should.
const AGENT: u8 = 3;
/// A bug of ours.
const BUG: u8 = 255;

fn main() -> ExitCode {
    // The panic itself has been written to standard error by then.
    std::panic::catch_unwind(start).unwrap_or(ExitCode::from(BUG))
}

fn start() -> ExitCode {
    hide_memory();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(answer) => {
            let code = u8::try_from(answer.exit_code()).unwrap_or(BUG);
            // Help that can't be written is not given; of an error the exit code says enough.
            let is_lost = answer.print().is_err_and(|error| error.kind() != ErrorKind::BrokenPipe);
            return ExitCode::from(if is_lost { code.max(1) } else { code });
        }
    };
    let store = args.global.store.clone();
    match run(args) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::FoundProblems | Outcome::NotWanted) => ExitCode::from(1),
        Ok(Outcome::AgentFailed) => ExitCode::from(AGENT),
        Err(error) => {
            if error.exit_code() != 0 {
                let _ = report::write_error_with(&mut anstream::stderr(), &error, store.as_deref());
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Keeps other processes of the user, such as commands that a model runs, from reading our memory and environment, which
/// hold keys. Programs that we start can be read as usual: this ends with `exec`.
#[cfg(target_os = "linux")]
fn hide_memory() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    // It fails only on kernels that do not know it, and there is nothing else to do there.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Does nothing: only Linux has a switch for it.
#[cfg(not(target_os = "linux"))]
fn hide_memory() {}

fn run(args: Args) -> Result<Outcome, Error> {
    let cwd = std::env::current_dir().ok();
    let settings = Settings::resolve(args.global, |name| std::env::var_os(name), cwd.as_deref());
    let settings = match (settings, &args.command) {
        (Err(error), Some(Command::Doctor(args))) => {
            return print(|out| doctor::run_without_settings(args, &error, out));
        }
        // What is told of the program alone needs no settings.
        (Err(_), Some(Command::Completions(args))) => return print(|out| completions::run(args, out)),
        (Err(_), Some(Command::Man(args))) => return print(|out| man::run(args, out)),
        (settings, _) => settings?,
    };
    let mut err = Box::new(anstream::stderr());
    write_warnings(&settings, args.command.as_ref(), &mut err);
    logging::start(&settings.log)?;
    let trace = settings.trace.as_deref().map(Trace::open).transpose()?;
    tracing::debug!(store = %settings.store.display(), "the store");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::CannotStart)?;
    {
        let _inside = runtime.enter();
        signals::outlive_full_files().map_err(Error::CannotStart)?;
    }
    let mut context = Context { settings, trace, out: Output::stdout(), err };
    let outcome = runtime.block_on(commands::run(args.command, &mut context));
    // Somebody may still wait for input that never comes.
    runtime.shutdown_background();
    // What was written before a failure is shown too.
    match (outcome, context.out.finish()) {
        // Who could not be shown anything has not had enough of it.
        (_, Err(error @ Error::Pager { .. })) | (Err(error), _) | (Ok(_), Err(error)) => Err(error),
        (Ok(outcome), Ok(())) => Ok(outcome),
    }
}

/// Runs `command`, which only writes.
fn print(command: impl FnOnce(&mut Output) -> Result<Outcome, Error>) -> Result<Outcome, Error> {
    let mut out = Output::stdout();
    let outcome = command(&mut out)?;
    out.finish()?;
    Ok(outcome)
}

/// Says what is wrong with the files of settings, unless the command does. One that is about to be trusted need not be said
/// to be not trusted.
fn write_warnings(settings: &Settings, command: Option<&Command>, err: &mut dyn Write) {
    if matches!(command, Some(Command::Doctor(_))) {
        return;
    }
    let is_trusting = matches!(command, Some(Command::Config(ConfigArgs { command: Some(ConfigCommand::Trust(_)) })));
    for warning in &settings.warnings {
        if !(is_trusting && matches!(warning, Warning::NotTrusted { .. })) {
            // Where this can't be written, the command may still do what was asked.
            let _ = report::write_warning(err, warning);
        }
    }
}
