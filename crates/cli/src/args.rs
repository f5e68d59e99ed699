//! The arguments, as typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Sessions of ACP agents, kept and found again.
#[derive(Debug, Parser)]
#[command(name = "rejoin", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const STORE_HELP: &str = "Where sessions are kept [env: REJOIN_STORE] [default: $XDG_DATA_HOME/rejoin/sessions.db]";
const LOG_HELP: &str = "How much to log, to standard error or `--log-file` [env: REJOIN_LOG] [default: off]";

const CONFIG_HELP: &str = "Take the user's settings from this file [env: REJOIN_CONFIG] [default: \
                           $XDG_CONFIG_HOME/rejoin/config.toml]";
const TRACE_HELP: &str = "Write the traffic to this file, without secrets [env: REJOIN_TRACE]";

/// Options that come before the command.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct GlobalArgs {
    /// Where sessions are kept.
    #[arg(long, value_name = "PATH", help = STORE_HELP)]
    pub(crate) store: Option<PathBuf>,

    /// The user's settings.
    #[arg(long, value_name = "FILE", help = CONFIG_HELP)]
    pub(crate) config: Option<PathBuf>,

    /// How much to log, to standard error or `log_file`.
    #[arg(long, value_name = "LEVEL", help = LOG_HELP)]
    pub(crate) log: Option<LogLevel>,

    /// Log to this file; without `--log`, at level `info`
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<PathBuf>,

    /// Where the traffic is written.
    #[arg(long, value_name = "FILE", help = TRACE_HELP)]
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

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Acp(AcpArgs),
    List(ListArgs),
    Show(ShowArgs),
    Search(SearchArgs),
    Export(ExportArgs),
    Import(ImportArgs),
    Verify(VerifyArgs),
    Config(ConfigArgs),
}

/// Speak ACP on standard input and output, with an agent behind
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin acp                          the built-in agent
  rejoin acp -- claude-agent-acp      any ACP agent, with sessions that last
  rejoin acp --agent claude           an agent from the configuration")]
pub(crate) struct AcpArgs {
    /// The agent with this name in the configuration; `rejoin` is the built-in one
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub(crate) agent: Option<String>,

    /// The command that starts the agent, and its arguments [default: `default_agent` of the configuration, else the built-in agent]
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// List sessions, the most recently used first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin list --cwd                   sessions of the current folder
  rejoin list --agent claude-code     sessions of one agent
  rejoin list --limit 0 --json        all sessions, for a program")]
pub(crate) struct ListArgs {
    /// Only sessions that work in DIR, or in the current folder
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) cwd: Option<PathBuf>,

    /// Only sessions of the agent NAME
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// Show the archived sessions instead
    #[arg(long)]
    pub(crate) archived: bool,

    /// Show at most N sessions; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u32,

    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show a conversation
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin show 0c5f2a91                a session, by the beginning of its id
  rejoin show 0c5f2a91 --tail 1       its last turn
  rejoin show 0c5f2a91 | less         page by page
  rejoin show 0c5f2a91 --json         what a client gets when it loads the session")]
pub(crate) struct ShowArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// Show only the last N turns
    #[arg(long, value_name = "N", conflicts_with = "json")]
    pub(crate) tail: Option<u32>,

    /// Write a JSON object with the updates that a load replays
    #[arg(long, conflicts_with = "raw")]
    pub(crate) json: bool,

    /// Write the stored entries, as `export` does
    #[arg(long)]
    pub(crate) raw: bool,
}

/// Find sessions by the words in them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All words must be there, in any order, in what was said or in the title.

Examples:
  rejoin search time zone             both words
  rejoin search '\"time zone\"'         the words together
  rejoin search 'migrat*'             a beginning of a word")]
pub(crate) struct SearchArgs {
    /// What to search for
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,

    /// Show what was said last first, instead of what fits best
    #[arg(long)]
    pub(crate) newest: bool,

    /// Show at most N sessions
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u32,

    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a session to standard output, without loss
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin export 0c5f2a91 > session.jsonl
  rejoin export 0c5f2a91 | ssh host rejoin import -")]
pub(crate) struct ExportArgs {
    /// The session's id, or a beginning of it that no other id has
    #[arg(value_name = "ID")]
    pub(crate) id: String,

    /// The form to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
}

/// A form in which a session can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// JSON Lines that `import` reads: a header, then one entry a line
    Jsonl,
}

/// Take in exported sessions
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A session keeps its id. Of one that is there already, only what is new is taken.

Examples:
  rejoin import session.jsonl
  rejoin import backup/*.jsonl
  ssh host rejoin export 0c5f2a91 | rejoin import -")]
pub(crate) struct ImportArgs {
    /// What `rejoin export` has written; `-` for standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check the store for damage
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every stored byte that has a checksum is read. Exit code 1 says that something is damaged.

Examples:
  rejoin verify
  rejoin --store backup.db verify --json")]
pub(crate) struct VerifyArgs {
    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// See the settings, and trust those of a project
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A setting is what was typed, else what the environment says, else the project's `.rejoin.toml`, else the user's file.

Examples:
  rejoin config                       every setting, and where it comes from
  rejoin config path                  the files that are looked into
  rejoin config trust                 let the project's file name programs and places")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with the settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Show(ConfigShowArgs),
    Path(ConfigPathArgs),
    Trust(ConfigTrustArgs),
}

/// Show every setting, its value, and where that comes from
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Of an agent's environment only the names are shown.

Examples:
  rejoin config show
  REJOIN_LEASE=1min rejoin config show --json")]
pub(crate) struct ConfigShowArgs {
    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Show the files that settings are taken from
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config path
  rejoin --config other.toml config path --json")]
pub(crate) struct ConfigPathArgs {
    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

/// Let a project's file name programs and places
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Look at the file first: it can make `rejoin` start any program. If it changes, it is not trusted any more.

Examples:
  rejoin config trust                 the file of the project in whose folder you are
  rejoin config trust ~/src/app/.rejoin.toml")]
pub(crate) struct ConfigTrustArgs {
    /// The file, if not the one of the current project
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}
