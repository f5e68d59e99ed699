//! `rejoin chat`: talk with an agent in the terminal, or ask it once; and what `rejoin` does without a command.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use rejoin::Transport;
use rejoin_chat::{ChatOptions, ChatOutcome, Colours, Form, OnceOptions, Permissions, Start, prompt_once, run_chat};
use rejoin_store::{ListFilter, resolve_cwd};
use rejoin_transcript::{SessionFacts, Timestamp};

use super::{Context, OWNER, Outcome, SHORT_ID, acp};
use crate::args::LogLevel;
use crate::env_vars;
use crate::error::Error;
use crate::layer::{AgentArgs, agent_names, layer_of, quoted};
use crate::output::{DIM, short_path};
use crate::report;
use crate::settings::{Settings, Source, keys};
use crate::signals::Signals;
use crate::times;

/// How many bytes may be on the way between the chat and the layer.
const ROOM: usize = 64 * 1024;

/// What stands for standard input as a prompt.
const STDIN: &str = "-";

/// Talk with an agent in the terminal, or ask it once
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin chat                               a new session with the built-in or the default agent
  rejoin chat -- claude-agent-acp           with any ACP agent
  rejoin chat --continue                    the newest session of this folder
  rejoin chat --session 0c5f2a91            any session, by the beginning of its id
  rejoin chat -p 'What is in here?'         ask once, and print the answer
  git diff | rejoin chat --output json      the prompt from standard input, the answer for a program

In the chat, `?` shows the keys.")]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    agent: AgentArgs,

    /// Rejoin the session with this id, or the beginning of it that no other id has
    #[arg(long, value_name = "ID", conflicts_with = "newest")]
    session: Option<String>,

    /// Rejoin the newest session of this folder
    #[arg(short = 'c', long = "continue")]
    newest: bool,

    /// Ask once and print the answer; `-` takes the prompt from standard input, as does a pipe without this option
    #[arg(short, long, value_name = "PROMPT", allow_hyphen_values = true)]
    prompt: Option<String>,

    /// What to print of the answer to a single prompt [default: text]
    #[arg(long, value_name = "FORM")]
    output: Option<OutputForm>,

    /// Let the agent do what it asks permission for, where nobody can be asked; without this, it is refused
    #[arg(long)]
    allow: bool,
}

/// What is printed of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OutputForm {
    /// The agent's words as they come; tool calls and notices go to standard error
    Text,
    /// One JSON object
    Json,
    /// One ACP update a line, then that object
    StreamJson,
}

/// What is a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Terminals {
    input: bool,
    output: bool,
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Talk,
    /// Ask this.
    Ask(String),
    /// Ask what is read from standard input.
    AskFromInput,
}

/// Who says which agent goes on with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The user, for all of them.
    Typed,
    /// Each session, whose own agent goes on with it if that can be started by its name.
    OfSessions,
}

/// Runs the command.
pub(super) async fn run(args: ChatArgs, context: &mut Context) -> Result<Outcome, Error> {
    let way = way(&args, Terminals::find())?;
    let cwd = current_folder()?;
    let (start, of_session) = start_of(&args, &cwd, context).await?;
    // A session is rejoined with its own agent, unless another is named.
    let agent = if args.agent.is_empty() { of_session.unwrap_or_default() } else { args.agent.clone() };
    match way {
        Way::Talk => {
            let choice = if args.agent.is_empty() { Choice::OfSessions } else { Choice::Typed };
            talk_with(agent, choice, start, cwd, context).await
        }
        Way::Ask(prompt) => ask(agent, &args, prompt, start, cwd, context).await,
        Way::AskFromInput => {
            let prompt = read_prompt(context)?;
            ask(agent, &args, prompt, start, cwd, context).await
        }
    }
}

/// Runs `rejoin` without a command: the chat for people, ACP for programs.
pub(super) async fn run_without_command(context: &mut Context) -> Result<Outcome, Error> {
    match Terminals::find() {
        Terminals { input: true, output: true } => {
            talk_with(AgentArgs::default(), Choice::OfSessions, Start::Pick, current_folder()?, context).await
        }
        Terminals { input: false, output: false } => acp::run(acp::AcpArgs::default(), context).await,
        Terminals { input: true, output: false } => Err(Error::HalfTerminal { terminal: "input", other: "output" }),
        Terminals { input: false, output: true } => Err(Error::HalfTerminal { terminal: "output", other: "input" }),
    }
}

impl Terminals {
    fn find() -> Self {
        Self { input: std::io::stdin().is_terminal(), output: std::io::stdout().is_terminal() }
    }
}

fn way(args: &ChatArgs, terminals: Terminals) -> Result<Way, Error> {
    match &args.prompt {
        Some(prompt) if prompt == STDIN => Ok(Way::AskFromInput),
        Some(prompt) => Ok(Way::Ask(prompt.clone())),
        None if !terminals.input => Ok(Way::AskFromInput),
        None if args.output.is_some() => Err(Error::NoPrompt { option: "--output" }),
        None if args.allow => Err(Error::NoPrompt { option: "--allow" }),
        None if !terminals.output => Err(Error::NoTerminal { reason: "standard output is none".to_owned() }),
        None => Ok(Way::Talk),
    }
}

/// All of standard input. What is no text in it, such as a piece of another encoding in a diff, is replaced, and that is said.
fn read_prompt(context: &mut Context) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map_err(|source| Error::CannotRead { file: "standard input".to_owned(), source })?;
    String::from_utf8(bytes).or_else(|error| {
        report::write_note(&mut context.err, "standard input is not all UTF-8; what is not is replaced")?;
        Ok(String::from_utf8_lossy(error.as_bytes()).into_owned())
    })
}

fn current_folder() -> Result<String, Error> {
    let folder = std::env::current_dir().map_err(Error::NoCurrentFolder)?;
    Ok(folder.to_string_lossy().into_owned())
}

/// The session that `args` ask for, and its agent, if that can be started.
async fn start_of(args: &ChatArgs, cwd: &str, context: &Context) -> Result<(Start, Option<AgentArgs>), Error> {
    match &args.session {
        Some(id) => start_in(id, context).await,
        None if args.newest => Ok(load_of(newest(cwd, context).await?, context)),
        None => Ok((Start::New, None)),
    }
}

/// The session that `id` means, and its agent, if that can be started.
async fn start_in(id: &str, context: &Context) -> Result<(Start, Option<AgentArgs>), Error> {
    let store = context.settings.open_store_to_read()?;
    let id = store.resolve(OWNER, id).await?;
    Ok(load_of(store.session(&id).await?.facts, context))
}

fn load_of(facts: SessionFacts, context: &Context) -> (Start, Option<AgentArgs>) {
    let agent = AgentArgs::known(&facts.agent, &context.settings);
    let title = facts.title().map(str::to_owned);
    (Start::Load { session_id: facts.session_id.to_string(), cwd: facts.cwd.raw, title }, agent)
}

/// The newest session of the folder `cwd`.
async fn newest(cwd: &str, context: &Context) -> Result<SessionFacts, Error> {
    let store = context.settings.open_store_to_read()?;
    let folder = Some(resolve_cwd(cwd).canonical);
    let filter = ListFilter { owner: OWNER.to_owned(), cwd: folder, ..ListFilter::default() };
    let page = store.list(&filter, None, 1).await?;
    let none = || Error::NothingToContinue { cwd: short_path(cwd, context.settings.home.as_deref()) };
    page.sessions.into_iter().next().ok_or_else(none)
}

/// Talks, beginning with `agent`, until the user leaves.
async fn talk_with(
    mut agent: AgentArgs,
    choice: Choice,
    mut start: Start,
    cwd: String,
    context: &mut Context,
) -> Result<Outcome, Error> {
    if std::env::var_os(env_vars::TERM).is_none_or(|kind| kind.is_empty() || kind == "dumb") {
        return Err(Error::NoTerminal { reason: format!("{} names none that can be drawn on", env_vars::TERM) });
    }
    let log = &context.settings.log;
    if log.level != LogLevel::Off && log.file.is_none() && std::io::stderr().is_terminal() {
        return Err(Error::LogOnScreen);
    }
    while let Some(session_id) = talk_until(&agent, choice, start, &cwd, context).await? {
        let (load, of_session) = start_in(&session_id, context).await?;
        (start, agent) = (load, of_session.unwrap_or(agent));
    }
    Ok(Outcome::Done)
}

/// Talks with `agent` until the user leaves, or chooses a session that another agent goes on with, which is given.
async fn talk_until(
    agent: &AgentArgs,
    choice: Choice,
    start: Start,
    cwd: &str,
    context: &mut Context,
) -> Result<Option<String>, Error> {
    let mut options = talk_options(start, cwd, context);
    if choice == Choice::OfSessions {
        options.is_of_another = others(agent, &context.settings);
    }
    let layer = layer_of(agent.clone(), context)?;
    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    let (ours, theirs) = tokio::io::duplex(ROOM);
    let talking = async {
        match run_chat(ours, options, signals.any()).await? {
            ChatOutcome::Elsewhere { session_id } => Ok(Some(session_id)),
            ChatOutcome::Quit { session_id } => {
                // A session finds its own agent.
                let typed = if choice == Choice::Typed { agent.typed() } else { String::new() };
                write_way_back(session_id, &typed, context).await?;
                Ok(None)
            }
        }
    };
    // The layer ends what runs when the chat is over.
    let (talked, (), ()) = tokio::join!(talking, layer.serve(Transport::stream(theirs)), layer.tidy());
    talked
}

/// Says of an agent's name whether another than `agent` is started by it.
fn others(agent: &AgentArgs, settings: &Settings) -> Box<dyn Fn(&str) -> bool + Send> {
    let current = agent.name(settings).to_owned();
    let names: BTreeSet<String> = agent_names(settings).map(str::to_owned).collect();
    Box::new(move |name| name != current && names.contains(name))
}

fn talk_options(start: Start, cwd: &str, context: &Context) -> ChatOptions {
    let home: Option<PathBuf> = context.settings.home.clone();
    ChatOptions {
        start,
        cwd: cwd.to_owned(),
        is_of_another: Box::new(|_| false),
        colours: if context.out.painter().is_coloured() { Colours::Shown } else { Colours::Hidden },
        version: env!("CARGO_PKG_VERSION"),
        age: Box::new(age),
        path: Box::new(move |path| short_path(path, home.as_deref())),
    }
}

/// How long ago the time `at` was.
fn age(at: &str) -> String {
    match at.parse::<Timestamp>() {
        Ok(at) => times::ago(at, rejoin_store::now()).unwrap_or_else(|| times::day(at)),
        Err(_) => at.to_owned(),
    }
}

/// Says how to come back to the session, with the agent as it was `typed`.
async fn write_way_back(session_id: Option<String>, typed: &str, context: &mut Context) -> Result<(), Error> {
    let Some(id) = session_id else { return Ok(()) };
    let store = match context.settings.sources.get(keys::STORE) {
        Some(Source::Flag { .. }) => format!(" --store {}", quoted(&context.settings.store.to_string_lossy())),
        _ => String::new(),
    };
    let short: String = id.chars().take(SHORT_ID).collect();
    let is_enough = context.settings.open_store_to_read()?.resolve(OWNER, &short).await.is_ok();
    let id = if is_enough { short } else { id };
    let words = context.out.paint(DIM, "To rejoin this session:");
    writeln!(context.out, "\n{words} rejoin{store} chat --session {}{typed}", quoted(&id))?;
    Ok(context.out.flush()?)
}

async fn ask(
    agent: AgentArgs,
    args: &ChatArgs,
    prompt: String,
    start: Start,
    cwd: String,
    context: &mut Context,
) -> Result<Outcome, Error> {
    if prompt.trim().is_empty() {
        return Err(Error::EmptyPrompt);
    }
    let form = match args.output {
        None | Some(OutputForm::Text) => Form::Text,
        Some(OutputForm::Json) => Form::Json,
        Some(OutputForm::StreamJson) => Form::StreamJson,
    };
    let permissions = if args.allow { Permissions::Granted } else { Permissions::Refused };
    let options = OnceOptions { start, cwd, prompt: prompt.trim_end().to_owned(), form, permissions };
    let layer = layer_of(agent, context)?;
    let mut signals = Signals::new().map_err(Error::CannotStart)?;
    let (ours, theirs) = tokio::io::duplex(ROOM);
    let asking = prompt_once(ours, options, &mut context.out, &mut context.err, signals.any());
    let (asked, (), ()) = tokio::join!(asking, layer.serve(Transport::stream(theirs)), layer.tidy());
    asked?;
    Ok(Outcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(args: &ChatArgs, input: bool, output: bool, expected: Result<Way, &str>) {
        let found = way(args, Terminals { input, output }).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{args:?} {input} {output}");
    }

    #[test]
    fn what_is_typed_and_what_is_a_terminal_say_what_is_wanted() {
        let prompt = |text: &str| ChatArgs { prompt: Some(text.to_owned()), ..ChatArgs::default() };
        check(&ChatArgs::default(), true, true, Ok(Way::Talk));
        check(&ChatArgs::default(), false, true, Ok(Way::AskFromInput));
        check(&ChatArgs::default(), true, false, Err("the chat needs a terminal: standard output is none"));
        check(&prompt("hi"), false, false, Ok(Way::Ask("hi".to_owned())));
        check(&prompt("-"), true, true, Ok(Way::AskFromInput));
        let allowed = ChatArgs { allow: true, ..ChatArgs::default() };
        check(&allowed, true, true, Err("`--allow` is for a single prompt"));
    }
}
