//! What was seen on the course: the rules decide by nothing else.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::ability::Ability;
use crate::limits::Limits;
use crate::log::{Log, Update};
use crate::rule::Skipped;

/// How much of a message is shown as evidence, in characters.
const SHOWN: usize = 600;

/// A process of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proc {
    First,
    Second,
    /// Beside the second.
    Third,
    Rough,
    Version,
    Servers,
}

impl Proc {
    /// Whether it gets nothing that it may break off at.
    pub(crate) const fn is_treated_well(self) -> bool {
        match self {
            Self::First | Self::Second | Self::Third | Self::Servers => true,
            Self::Rough | Self::Version => false,
        }
    }
}

/// A session, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// The one that has several turns, and is loaded again.
    Main,
    /// The one that is never prompted.
    Never,
    /// The one in which a tool is used.
    Tool,
    /// The one in which turns are cancelled.
    Cancel,
    /// The one whose turn is cut off by `kill -9`.
    Killed,
    /// The one whose turn ends right before `kill -9`.
    Last,
    /// The one whose folder is told by a link.
    Linked,
    /// One of several with a single turn.
    Spare(u8),
}

/// Something that the course does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Initialize,
    UnknownMethod,
    Unadvertised,
    BadParams,
    New(Who),
    NewWithDirectories,
    Remember(Who),
    Recall,
    Link,
    PromptUnknown,
    Tool,
    HeldPermission,
    BesidePermission,
    Cancelled,
    AfterCancel,
    AfterIdleCancel,
    EarlyCancel,
    Busy,
    SecondPrompt,
    Beside,
    SetMode,
    SetUnknownMode,
    SetModeToResume,
    SetOption,
    SetUnknownValue,
    ListHere,
    ListThere,
    ListNowhere,
    ListAll,
    ListBadCursor,
    ListSpelled,
    ListLinked,
    Fork,
    ListAfterFork,
    RecallForked,
    Delete,
    ListAfterDelete,
    LoadDeleted,
    DeleteUnknown,
    Close,
    ClosedTurn,
    ListAfterClose,
    LoadClosed,
    SetTitle,
    ListAfterTitle,
    Archive,
    ListAfterArchive,
    Status,
    KilledTurn,
    InitializeAgain,
    ListAfterKill,
    LoadMain,
    ListAfterLoad,
    LoadAgain,
    RecallLoaded,
    LoadTool,
    LoadCancelled,
    LoadKilled,
    LoadLast,
    LoadUnknown,
    LoadElsewhere,
    LoadGone,
    LoadWithServer,
    LoadBeside,
    Resume,
    ResumeUnknown,
    RecallResumed,
    ResumeLast,
    RecallLast,
    AfterUnknownNotification,
    AfterGarbage,
    AfterLongLine,
    InitializeHigh,
    NewWithFailingServer,
    NewWithHangingServer,
    CloseWithServer,
}

/// A request, and what became of it.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) process: Proc,
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The place in the log before which it was sent.
    pub(crate) from: usize,
    pub(crate) reply: Reply,
    /// What happened to it before it was answered.
    pub(crate) interrupted: Option<Interrupted>,
}

/// How a request ended.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Result {
        value: Value,
        at: usize,
    },
    Error {
        error: Value,
        at: usize,
    },
    /// Nothing came for so long.
    Silence {
        limit: Duration,
        at: usize,
    },
    /// The agent has ended.
    Gone {
        how: String,
        at: usize,
    },
}

/// A cancel, or what amounts to it.
#[derive(Debug, Clone)]
pub(crate) struct Interrupted {
    /// How long the answer took from then on; `None` if it was not there within the limit.
    pub(crate) waited: Option<Duration>,
}

/// A session that was opened.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    pub(crate) id: String,
    pub(crate) cwd: PathBuf,
    /// What it was told to remember.
    pub(crate) word: String,
}

/// A prompt and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) who: Who,
    pub(crate) text: String,
    /// Whether the prompt was that text and nothing else.
    pub(crate) is_plain: bool,
    pub(crate) exchange: Exchange,
}

/// How a process ended.
#[derive(Debug, Clone)]
pub(crate) struct Exit {
    /// How long it took; `None` if it had not ended within the limit.
    pub(crate) took: Option<Duration>,
    /// What it had started and left behind; `None` where that can't be known.
    pub(crate) left_behind: Option<Vec<String>>,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) limits: Limits,
    pub(crate) logs: BTreeMap<Proc, Arc<Log>>,
    pub(crate) sessions: BTreeMap<Who, Opened>,
    pub(crate) turns: Vec<Turn>,
    /// How those ended whose input ended.
    pub(crate) ended_input: BTreeMap<Proc, Exit>,
    /// How the one ended that was told to.
    pub(crate) terminated: Option<Exit>,
    /// The file that the tool was to write, if it was there then.
    pub(crate) tool_file: Option<String>,
    /// What the hanging MCP server was sent.
    pub(crate) server_got: Option<String>,
    /// Whether that server still ran some time after its session was closed; `None` where that can't be known.
    pub(crate) is_server_left: Option<bool>,
    /// A secret that an MCP server was given, and what the agent then wrote to stderr.
    pub(crate) secret: Option<(String, String)>,
    exchanges: BTreeMap<Step, Vec<Exchange>>,
    /// Why a process did not get to the end of its part.
    pub(crate) stopped: BTreeMap<Proc, String>,
    left_out: BTreeMap<Step, String>,
}

impl Run {
    pub(crate) fn add(&mut self, step: Step, exchange: Exchange) {
        self.exchanges.entry(step).or_default().push(exchange);
    }

    /// Notes why `step` was not made.
    pub(crate) fn leave_out(&mut self, step: Step, reason: &str) {
        self.left_out.insert(step, reason.to_owned());
    }

    /// Takes in what was seen on another part.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { limits: _, logs, sessions, turns, ended_input, terminated, .. } = other;
        self.logs.extend(logs);
        self.sessions.extend(sessions);
        self.turns.extend(turns);
        self.ended_input.extend(ended_input);
        self.terminated = self.terminated.take().or(terminated);
        self.tool_file = self.tool_file.take().or(other.tool_file);
        self.server_got = self.server_got.take().or(other.server_got);
        self.is_server_left = self.is_server_left.or(other.is_server_left);
        self.secret = self.secret.take().or(other.secret);
        self.exchanges.extend(other.exchanges);
        self.stopped.extend(other.stopped);
        self.left_out.extend(other.left_out);
    }

    /// Goes on only if the agent advertises `ability`.
    pub(crate) fn need(&self, ability: Ability) -> Result<(), Skipped> {
        if self.can(ability)? {
            return Ok(());
        }
        Err(Skipped(format!("the agent does not advertise agentCapabilities{}", ability.pointer().replace('/', "."))))
    }

    /// Whether the agent advertises `ability`.
    pub(crate) fn can(&self, ability: Ability) -> Result<bool, Skipped> {
        let initialized = self.initialized()?;
        Ok(ability.is_in(initialized))
    }

    /// What the agent answered to `initialize`.
    pub(crate) fn initialized(&self) -> Result<&Value, Skipped> {
        let first = self.exchanges.get(&Step::Initialize).and_then(|exchanges| exchanges.first());
        let result = first.and_then(Exchange::result);
        result.ok_or_else(|| Skipped("the agent did not get through `initialize`".to_owned()))
    }

    /// What was exchanged at `step`; the first thing, if there was more.
    ///
    /// That the agent has ended there is one rule's business, and says nothing of the others.
    pub(crate) fn one(&self, step: Step) -> Result<&Exchange, Skipped> {
        let exchange = self.all(step)?.first().ok_or_else(|| self.why_not(step))?;
        match &exchange.reply {
            Reply::Gone { how, .. } if exchange.process.is_treated_well() => Err(Skipped(how.clone())),
            _ => Ok(exchange),
        }
    }

    /// All that was exchanged at `step`.
    pub(crate) fn all(&self, step: Step) -> Result<&[Exchange], Skipped> {
        self.exchanges.get(&step).map(Vec::as_slice).ok_or_else(|| self.why_not(step))
    }

    /// All that was exchanged.
    pub(crate) fn every(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.values().flatten()
    }

    /// What was exchanged at `step`, if the agent did what was asked.
    pub(crate) fn done(&self, step: Step) -> Result<(&Exchange, &Value), Skipped> {
        let exchange = self.one(step)?;
        let result = exchange.result().ok_or_else(|| {
            Skipped(format!("{} was not answered with a result: {}", exchange.method, exchange.came()))
        })?;
        Ok((exchange, result))
    }

    pub(crate) fn session(&self, who: Who) -> Result<&Opened, Skipped> {
        self.sessions.get(&who).ok_or_else(|| self.why_not(Step::New(who)))
    }

    /// The turns of `who`, in their order.
    pub(crate) fn turns(&self, who: Who) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(move |turn| turn.who == who)
    }

    pub(crate) fn log(&self, process: Proc) -> Result<&Log, Skipped> {
        self.logs.get(&process).map(Arc::as_ref).ok_or_else(|| Skipped("that process was not started".to_owned()))
    }

    /// The updates of the session `id` that came while `exchange` was open.
    pub(crate) fn updates_during(&self, exchange: &Exchange, id: &str) -> Vec<Update> {
        self.updates(exchange, exchange.range(), id)
    }

    /// The updates of the session `id` that came after `exchange`, before anything else was asked of that session.
    pub(crate) fn updates_after(&self, exchange: &Exchange, id: &str) -> Vec<Update> {
        let Some(log) = self.logs.get(&exchange.process) else { return Vec::new() };
        let after = exchange.answered_at() + 1;
        let until = log.next_request_in(after, id);
        self.updates(exchange, after..until, id)
    }

    /// The updates of the session of `turn` from its prompt until the next one, also those that came outside of any turn.
    pub(crate) fn updates_until_next_turn(&self, turn: &Turn) -> Vec<Update> {
        let is_later =
            |other: &&Turn| other.exchange.process == turn.exchange.process && other.exchange.from > turn.exchange.from;
        let next = self.turns(turn.who).filter(is_later).map(|other| other.exchange.from).min();
        let range = turn.exchange.from..next.unwrap_or(usize::MAX);
        let id = self.sessions.get(&turn.who).map(|opened| opened.id.as_str()).unwrap_or_default();
        self.updates(&turn.exchange, range, id)
    }

    fn updates(&self, exchange: &Exchange, range: Range<usize>, id: &str) -> Vec<Update> {
        self.logs.get(&exchange.process).map(|log| log.updates(range, Some(id))).unwrap_or_default()
    }

    /// Why there is nothing about `step`.
    fn why_not(&self, step: Step) -> Skipped {
        let stopped = || self.stopped.values().next().cloned();
        let reason = self.left_out.get(&step).cloned().or_else(stopped);
        Skipped(reason.unwrap_or_else(|| "the course did not come to it".to_owned()))
    }
}

impl Exchange {
    pub(crate) fn result(&self) -> Option<&Value> {
        match &self.reply {
            Reply::Result { value, .. } => Some(value),
            Reply::Error { .. } | Reply::Silence { .. } | Reply::Gone { .. } => None,
        }
    }

    pub(crate) fn error(&self) -> Option<&Value> {
        match &self.reply {
            Reply::Error { error, .. } => Some(error),
            Reply::Result { .. } | Reply::Silence { .. } | Reply::Gone { .. } => None,
        }
    }

    /// Whether the agent answered at all.
    pub(crate) fn is_answered(&self) -> bool {
        matches!(self.reply, Reply::Result { .. } | Reply::Error { .. })
    }

    /// The stop reason of a turn.
    pub(crate) fn stop_reason(&self) -> Option<&str> {
        self.result()?["stopReason"].as_str()
    }

    /// The place of the answer, or where it was given up.
    pub(crate) fn answered_at(&self) -> usize {
        match &self.reply {
            Reply::Result { at, .. } | Reply::Error { at, .. } | Reply::Silence { at, .. } | Reply::Gone { at, .. } => {
                *at
            }
        }
    }

    /// The places from the request to its answer.
    pub(crate) fn range(&self) -> Range<usize> {
        self.from..self.answered_at()
    }

    /// The request, to be shown.
    pub(crate) fn sent(&self) -> String {
        shown(&json!({ "method": self.method, "params": self.params }).to_string())
    }

    /// The answer, to be shown.
    pub(crate) fn came(&self) -> String {
        match &self.reply {
            Reply::Result { value, .. } => shown(&json!({ "result": value }).to_string()),
            Reply::Error { error, .. } => shown(&json!({ "error": error }).to_string()),
            Reply::Silence { limit, .. } => format!("no answer within {} s", limit.as_secs_f32()),
            Reply::Gone { how, .. } => how.clone(),
        }
    }
}

/// As much of `text` as is shown.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}
