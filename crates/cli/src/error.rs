//! What can go wrong with a command, and what to do about it.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rejoin_chat::{Blame, ChatError};
use rejoin_check::CheckError;
use rejoin_history::{HistoryError, Tool};
use rejoin_store::StoreError;
use rejoin_transcript::{SessionId, TranscriptError};

use crate::env_vars;
use crate::layer::quoted;
use crate::settings::{PROJECT_FILE, keys};

/// Why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The store did not do what was asked.
    #[error(transparent)]
    Store(#[from] StoreError),

    /// Nothing says where sessions are kept.
    #[error(
        "there is no place for the store: neither {} nor {} is set",
        env_vars::of_setting(keys::STORE),
        env_vars::HOME
    )]
    NoStorePath,

    /// The store is named by an address. Nothing of it is shown: it may hold a password.
    #[error("the store is to be at an address, and this program keeps sessions in a file")]
    StoreAddress,

    /// The file of settings that was named is not there.
    #[error("there is no file of settings {}", path.display())]
    NoConfigFile {
        /// The file.
        path: PathBuf,
    },

    /// A file of settings can't be understood.
    #[error("{}, line {line}: {message}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// The line in it, counted from 1.
        line: usize,
        /// What is wrong there.
        message: String,
    },

    /// A setting has a value that it can't have.
    #[error("{setting} can't be {found}")]
    BadSetting {
        /// The setting, and where it is set.
        setting: String,
        /// What it is.
        found: String,
        /// What to write instead.
        wanted: String,
    },

    /// There is no project file that could be trusted.
    #[error("there is no {PROJECT_FILE} in the current folder or above it")]
    NoProjectFile,

    /// A file that should be trusted is not there.
    #[error("there is no file {}", path.display())]
    NoFileToTrust {
        /// The file.
        path: PathBuf,
    },

    /// Nothing says where to remember which files are trusted.
    #[error(
        "there is no place to remember what is trusted: neither {} nor {} is set",
        env_vars::XDG_STATE_HOME,
        env_vars::HOME
    )]
    NoStateFolder,

    /// Nothing says where the user's settings are.
    #[error("there is no place for settings: neither {} nor {} is set", env_vars::XDG_CONFIG_HOME, env_vars::HOME)]
    NoConfigFolder,

    /// Which files are trusted can't be remembered.
    #[error("the list of trusted files {} can't be written", path.display())]
    TrustRecord {
        /// The list.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The trace can't be written.
    #[error("the trace {} can't be opened", path.display())]
    TraceFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The log file can't be written.
    #[error("the log file {} can't be opened", path.display())]
    LogFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// The folder in which the program runs is gone, or can't be named.
    #[error("the current folder can't be found")]
    NoCurrentFolder(#[source] io::Error),

    /// The configuration has no agent with this name.
    #[error("there is no agent `{name}` in the configuration")]
    UnknownAgent {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },

    /// Only one of input and output is a terminal, and nothing says what is wanted.
    #[error("standard {terminal} is a terminal, and standard {other} is not")]
    HalfTerminal {
        /// What is one.
        terminal: &'static str,
        /// What is not.
        other: &'static str,
    },

    /// The chat has nothing to be drawn on.
    #[error("the chat needs a terminal: {reason}")]
    NoTerminal {
        /// What is wrong with what there is.
        reason: String,
    },

    /// The log would be written over the chat.
    #[error("the log can't be written to the terminal on which the chat is")]
    LogOnScreen,

    /// An option is for a single prompt, and there is none.
    #[error("`{option}` is for a single prompt")]
    NoPrompt {
        /// The option.
        option: &'static str,
    },

    /// There is nothing to say to the agent.
    #[error("the prompt is empty")]
    EmptyPrompt,

    /// There is no session to continue.
    #[error("there is no session of {cwd}")]
    NothingToContinue {
        /// The folder.
        cwd: String,
    },

    /// The chat did not end well.
    #[error(transparent)]
    Chat(#[from] ChatError),

    /// What is to be imported is a pipe, a device or a socket.
    #[error("{file} is neither a file nor a folder")]
    NotAFile {
        /// It, as typed.
        file: String,
    },

    /// A file can't be read.
    #[error("{file} can't be read")]
    CannotRead {
        /// The file, as typed.
        file: String,
        /// Why.
        source: io::Error,
    },

    /// A file can't be written.
    #[error("{} can't be written", path.display())]
    CannotWrite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },

    /// A file to import does not hold a transcript.
    #[error("{file} is not a transcript that can be imported")]
    NotATranscript {
        /// The file, as typed.
        file: String,
        /// What is wrong with it.
        source: TranscriptError,
    },

    /// The agent did not do what was asked.
    #[error(transparent)]
    Agent(#[from] rejoin::Error),

    /// A file to import does not hold what it should.
    #[error("{file} is no history of {}", tool.name())]
    NotAHistory {
        /// The file, as typed or found.
        file: String,
        /// The tool whose history it should be.
        tool: Tool,
    },

    /// Nothing says which agent is meant.
    #[error("no agent is named")]
    NoAgent,

    /// The agent can't be checked.
    #[error(transparent)]
    Check(#[from] CheckError),

    /// There is no such rule.
    #[error("there is no rule `{rule}`")]
    UnknownRule {
        /// How its id was to begin.
        rule: String,
    },

    /// The file of prompts can't be understood.
    #[error("{file} does not hold prompts")]
    NotPrompts {
        /// The file, as typed.
        file: String,
        /// What is wrong with it.
        source: toml::de::Error,
    },

    /// No message of a turn that has ended has this id.
    #[error("no message of an ended turn of session `{session}` has the id `{message}`")]
    NoSuchMessage {
        /// The session.
        session: SessionId,
        /// The id.
        message: String,
    },

    /// A title without anything to be seen in it.
    #[error("the title is empty")]
    EmptyTitle,

    /// Something can't be undone, and nobody is there who could be asked whether it is wanted.
    #[error("nobody is there to be asked whether this is wanted, and it can't be undone")]
    NobodyToAsk,

    /// The answer to a question can't be read.
    #[error("the answer can't be read")]
    NoAnswer(#[source] io::Error),

    /// The pager can't be used.
    #[error("the pager `{command}` can't be started")]
    Pager {
        /// Its command.
        command: String,
        /// Why.
        source: io::Error,
    },

    /// A history of another tool can't be imported.
    #[error("{file} can't be imported")]
    BadHistory {
        /// The file, as typed or found.
        file: String,
        /// What is wrong with it.
        source: HistoryError,
    },

    /// A file of an editor's settings can't be understood.
    #[error("{} can't be changed: {message}", path.display())]
    NotSettings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },

    /// A time that was typed is none.
    #[error("{text:?} is no time")]
    NotATime {
        /// What was typed.
        text: String,
    },

    /// Somebody wanted the command to end before it had done what was asked.
    #[error("interrupted")]
    Interrupted,

    /// What was asked for can't be written. The only bare [`io::Error`] there is: the others are named above.
    #[error("the output can't be written")]
    Output(#[from] io::Error),

    /// The program's own machinery does not start.
    #[error("the program can't start")]
    CannotStart(#[source] io::Error),
}

impl Error {
    /// The code to end with: 0 for a reader that has had enough, 1 for what a user can change, 2 for wrong usage, 3 for the
    /// agent, 255 for a bug of ours.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Output(error) | Self::Chat(ChatError::Output(error)) if error.kind() == ErrorKind::BrokenPipe => 0,
            Self::HalfTerminal { .. }
            | Self::NoTerminal { .. }
            | Self::LogOnScreen
            | Self::NoPrompt { .. }
            | Self::EmptyPrompt
            | Self::NobodyToAsk
            | Self::EmptyTitle => crate::USAGE,
            Self::Chat(error) => match error.blame() {
                Blame::User => 1,
                Blame::Agent => crate::AGENT,
                Blame::Program => crate::BUG,
            },
            Self::Store(StoreError::Closed) => crate::BUG,
            Self::Check(_) | Self::Agent(_) => crate::AGENT,
            // As a shell tells it of a program that Ctrl-C has ended.
            Self::Interrupted => 130,
            Self::Store(_)
            | Self::NoStorePath
            | Self::StoreAddress
            | Self::NoConfigFile { .. }
            | Self::NotToml { .. }
            | Self::BadSetting { .. }
            | Self::NoProjectFile
            | Self::NoFileToTrust { .. }
            | Self::NoStateFolder
            | Self::NoConfigFolder
            | Self::TrustRecord { .. }
            | Self::TraceFile { .. }
            | Self::LogFile { .. }
            | Self::NoCurrentFolder(_)
            | Self::UnknownAgent { .. }
            | Self::NothingToContinue { .. }
            | Self::NotAFile { .. }
            | Self::CannotRead { .. }
            | Self::CannotWrite { .. }
            | Self::NotATranscript { .. }
            | Self::NoAgent
            | Self::UnknownRule { .. }
            | Self::NotPrompts { .. }
            | Self::NotAHistory { .. }
            | Self::BadHistory { .. }
            | Self::NotSettings { .. }
            | Self::NotATime { .. }
            | Self::NoSuchMessage { .. }
            | Self::NoAnswer(_)
            | Self::Pager { .. }
            | Self::Output(_)
            | Self::CannotStart(_) => 1,
        }
    }

    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::NoStorePath | Self::StoreAddress => Some("name a file with `--store PATH`".to_owned()),
            Self::NoConfigFile { .. } => Some("name one that is there with `--config FILE`".to_owned()),
            Self::BadSetting { wanted, .. } => Some(wanted.clone()),
            Self::NoProjectFile => Some("name the file with `rejoin config trust FILE`".to_owned()),
            Self::UnknownAgent { known, .. } => {
                let known = known.join(", ");
                Some(format!("there is {known}, and what `rejoin agents` lists; or write its command behind `--`"))
            }
            Self::NotAFile { .. } => Some(
                "to import what another program writes, use its standard output: `COMMAND | rejoin import -`"
                    .to_owned(),
            ),
            Self::NoAgent => Some("name its command behind `--`, or its name behind `--agent`".to_owned()),
            Self::UnknownRule { .. } => Some("see them all with `rejoin check --list`".to_owned()),
            Self::NotPrompts { .. } => Some("see what it can hold with `rejoin check --help`".to_owned()),
            Self::HalfTerminal { .. } => {
                Some("ask once with `rejoin chat -p PROMPT`, or speak ACP with `rejoin acp`".to_owned())
            }
            Self::NoTerminal { .. } => Some("ask once with `rejoin chat -p PROMPT`".to_owned()),
            Self::LogOnScreen => Some("write it to a file with `--log-file FILE`".to_owned()),
            Self::NoPrompt { .. } => Some("say what to ask with `-p PROMPT`".to_owned()),
            Self::EmptyPrompt => Some("write it behind `-p`, or to standard input".to_owned()),
            Self::NothingToContinue { .. } => Some("begin one with `rejoin chat`".to_owned()),
            Self::Chat(error) => error.hint(),
            Self::NotATranscript { .. } => {
                let names: Vec<&str> = Tool::ALL.iter().map(|tool| tool.name()).collect();
                Some(format!("import takes what `rejoin export ID` writes, and histories of {}", names.join(", ")))
            }
            Self::NotSettings { .. } => Some("show the snippet without `--write`, and put it in by hand".to_owned()),
            Self::NotATime { .. } => Some("write a date like 2026-05-04, or an age like \"7 days\"".to_owned()),
            Self::NoSuchMessage { session, .. } => {
                Some(format!("see the ids of messages with `rejoin show {} --json`", quoted(session.as_str())))
            }
            Self::EmptyTitle => Some("write at least one character that can be seen".to_owned()),
            Self::NobodyToAsk => Some("add `--yes`, if it is wanted".to_owned()),
            Self::Pager { .. } => Some("name another with REJOIN_PAGER, or use none with `--no-pager`".to_owned()),
            Self::NotToml { .. }
            | Self::NoFileToTrust { .. }
            | Self::NoStateFolder
            | Self::NoConfigFolder
            | Self::TrustRecord { .. }
            | Self::TraceFile { .. }
            | Self::LogFile { .. }
            | Self::NoCurrentFolder(_)
            | Self::CannotRead { .. }
            | Self::Agent(_)
            | Self::NotAHistory { .. }
            | Self::Check(_)
            | Self::BadHistory { .. }
            | Self::CannotWrite { .. }
            | Self::NoAnswer(_)
            | Self::Interrupted
            | Self::Output(_)
            | Self::CannotStart(_) => None,
        }
    }
}
