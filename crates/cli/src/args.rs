//! The arguments, as typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::commands::{
    acp, adopt, agents, archive, chat, check, completions, config, delete, doctor, export, fork, gc, import, list, man,
    rename, search, setup, show, stats, verify,
};

/// Sessions of ACP agents, kept and found again.
#[derive(Debug, Parser)]
#[command(name = "rejoin", version, max_term_width = 100, after_help = WITHOUT_COMMAND)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const WITHOUT_COMMAND: &str = "Without a command, `rejoin` is the chat at a terminal, and `rejoin acp` where both input and output are \
                               piped.";

const STORE_HELP: &str = "Where sessions are kept [env: REJOIN_STORE] [default: $XDG_DATA_HOME/rejoin/sessions.db]";
const LOG_HELP: &str = "How much to log, to standard error or `--log-file` [env: REJOIN_LOG] [default: off]";

const CONFIG_HELP: &str = "Take the user's settings from this file [env: REJOIN_CONFIG] [default: \
                           $XDG_CONFIG_HOME/rejoin/config.toml]";
const TRACE_HELP: &str = "Write the traffic to this file, without secrets [env: REJOIN_TRACE]";

/// Options that all commands have, before their name or behind it.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Where sessions are kept.
    #[arg(long, global = true, value_name = "PATH", help = STORE_HELP)]
    pub(crate) store: Option<PathBuf>,

    /// The user's settings.
    #[arg(long, global = true, value_name = "FILE", help = CONFIG_HELP)]
    pub(crate) config: Option<PathBuf>,

    /// How much to log, to standard error or `log_file`.
    #[arg(long, global = true, value_name = "LEVEL", help = LOG_HELP)]
    pub(crate) log: Option<LogLevel>,

    /// Log to this file; without `--log`, at level `info`
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Where the traffic is written.
    #[arg(long, global = true, value_name = "FILE", help = TRACE_HELP)]
    pub(crate) trace: Option<PathBuf>,
}

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// What to do; what can be typed behind a command stands in the command's file.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Acp(acp::AcpArgs),
    Chat(chat::ChatArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Search(search::SearchArgs),
    Fork(fork::ForkArgs),
    Rename(rename::RenameArgs),
    Archive(archive::ArchiveArgs),
    Unarchive(archive::UnarchiveArgs),
    Delete(delete::DeleteArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Adopt(adopt::AdoptArgs),
    Stats(stats::StatsArgs),
    Gc(gc::GcArgs),
    Verify(verify::VerifyArgs),
    Check(check::CheckArgs),
    Agents(agents::AgentsArgs),
    Setup(setup::SetupArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}
