//! Where an agent comes from: a program that is started, or something in this process. The rest can't tell.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rejoin_wire::{Command, Process};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::secrets::Secrets;
use crate::Error;

/// How an agent is started.
#[derive(Debug, Clone)]
pub struct AgentCommand {
    /// The name by which its sessions are listed; by default the one that the agent tells.
    pub name: Option<String>,
    /// The program.
    pub command: Command,
    /// Who shares a process.
    pub sharing: Sharing,
}

/// Which sessions share an agent process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// All whose clients can do the same.
    #[default]
    Shared,
    /// None: the agent can't keep sessions apart, and each has a process of its own.
    OneEach,
}

/// Where an agent comes from.
#[derive(Clone)]
pub struct AgentSource(Source);

#[derive(Clone)]
enum Source {
    Program(AgentCommand),
    Here { name: Arc<str>, serve: Arc<Serve> },
}

/// Has an agent speak ACP over a stream, until it ends.
type Serve = dyn Fn(DuplexStream) -> BoxFuture<'static, ()> + Send + Sync;

/// How many bytes may be on their way to or from an agent in this process.
const ROOM: usize = 64 * 1024;

/// How long an agent in this process is given to end by itself, when its input has ended.
const LAST_DEEDS: Duration = Duration::from_millis(2500);

impl AgentSource {
    /// An agent in this process that speaks ACP over the stream it is given, such as one made with the official SDK.
    /// When the stream ends, so should the future.
    pub fn in_process<F, Fut>(name: &str, serve: F) -> Self
    where
        F: Fn(DuplexStream) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |stream| serve(stream).boxed());
        Self(Source::Here { name: name.into(), serve })
    }

    /// The program, or what else it is, as errors name it.
    pub(crate) fn program(&self) -> &str {
        match &self.0 {
            Source::Program(command) => &command.command.program,
            Source::Here { name, .. } => name,
        }
    }

    /// The name that was given to it.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.0 {
            Source::Program(command) => command.name.as_deref(),
            Source::Here { .. } => None,
        }
    }

    pub(super) fn sharing(&self) -> Sharing {
        match &self.0 {
            Source::Program(command) => command.sharing,
            Source::Here { .. } => Sharing::Shared,
        }
    }

    pub(super) fn failed(&self, what: impl Into<String>, stderr: String) -> Error {
        Error::AgentFailed { agent: self.program().to_owned(), what: what.into(), stderr }
    }

    /// Starts the agent, which may come to know `secrets`, and knows what it is given here; gives its input and its output.
    pub(super) fn start(&self, secrets: &Arc<Secrets>) -> Result<(Body, Input, Output), Error> {
        match &self.0 {
            Source::Program(command) => {
                secrets.learn(command.command.env.iter().map(|(_, value)| value.clone()).collect());
                let secrets = Arc::clone(secrets);
                let started = Process::start_logged_as(&command.command, move |line| secrets.hide(line).into_owned());
                let (process, stdin, stdout) = started.map_err(|error| {
                    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                    self.failed(format!("can't be started: {error}{cause}"), String::new())
                })?;
                Ok((Body::Process(process), Box::new(stdin), Box::new(stdout)))
            }
            Source::Here { serve, .. } => {
                let (ours, theirs) = tokio::io::duplex(ROOM);
                let (output, input) = tokio::io::split(ours);
                Ok((Body::start(serve(theirs)), Box::new(input), Box::new(output)))
            }
        }
    }
}

impl fmt::Debug for AgentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentSource").field(&self.program()).finish()
    }
}

impl From<AgentCommand> for AgentSource {
    fn from(command: AgentCommand) -> Self {
        Self(Source::Program(command))
    }
}

pub(super) type Input = Box<dyn AsyncWrite + Send + Unpin>;
pub(super) type Output = Box<dyn AsyncRead + Send + Unpin>;

/// What an agent runs in.
pub(super) enum Body {
    Process(Process),
    /// A task of ours, and how it ended.
    Task {
        task: AbortHandle,
        end: watch::Receiver<Option<String>>,
    },
}

impl Body {
    fn start(agent: BoxFuture<'static, ()>) -> Self {
        let (sender, end) = watch::channel(None);
        let task = tokio::spawn(async move {
            let what = match AssertUnwindSafe(agent).catch_unwind().await {
                Ok(()) => "its work done".to_owned(),
                Err(panic) => format!("a panic: {}", message_of(&*panic)),
            };
            sender.send_replace(Some(what));
        });
        Self::Task { task: task.abort_handle(), end }
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Process(process) => process.has_ended(),
            Self::Task { task, .. } => task.is_finished(),
        }
    }

    /// Waits for its end, and says how that was.
    pub(super) async fn wait(&self) -> Option<String> {
        match self {
            Self::Process(process) => process.wait().await.map(|status| status.to_string()),
            Self::Task { end, .. } => end.clone().wait_for(Option::is_some).await.ok()?.clone(),
        }
    }

    /// Ends it, and all that it started. Its input has ended before.
    pub(super) async fn end(&self) {
        match self {
            Self::Process(process) => process.end().await,
            Self::Task { task, .. } => {
                if tokio::time::timeout(LAST_DEEDS, self.wait()).await.is_err() {
                    task.abort();
                }
            }
        }
    }

    /// How many bytes of what it was sent it has read, as far as that can be known: else all of them.
    pub(super) fn n_read(&self) -> u64 {
        match self {
            Self::Process(process) => process.n_read(),
            Self::Task { .. } => u64::MAX,
        }
    }

    /// The last of what it wrote for people.
    pub(super) fn stderr_tail(&self) -> String {
        match self {
            Self::Process(process) => process.stderr_tail(),
            Self::Task { .. } => String::new(),
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}
