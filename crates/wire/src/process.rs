//! A program at the other end of a connection, with everything it starts.
//!
//! The program leads a process group of its own, and it is the group that is ended. The leader stays unreaped until then:
//! as long as it does, its number, which is also the group's, can't become another process's. So no signal ever hits a
//! stranger, and what the program left behind is found even after it has exited.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal as Kill, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::lock::lock;
use crate::stderr::Tail;
use crate::stdin::{ReadCount, Stdin};
use crate::watchdog::Watchdog;
use crate::{Inherited, ProcessError};

/// Looks whether a process has ended, without reaping it.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED.union(WaitIdOptions::NOHANG).union(WaitIdOptions::NOWAIT);

/// So long a program may take to exit once its stdin is closed.
const AFTER_INPUT_ENDS: Duration = Duration::from_millis(500);

/// So long it may take to exit once it was told to.
const AFTER_TERM: Duration = Duration::from_secs(1);

/// So long the rest of its stderr is waited for: something it started may hold that open.
const FOR_STDERR: Duration = Duration::from_millis(200);

/// How to start a program.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Command {
    /// The program: a path, or a name that is looked up.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Which of our environment variables it gets.
    pub inherited: Inherited,
    /// The variables that it gets besides.
    pub env: Vec<(String, String)>,
    /// The folder it starts in; ours if there is none.
    pub cwd: Option<PathBuf>,
}

impl Command {
    /// A program that starts in our folder, and gets most of our environment.
    pub fn new(program: impl Into<String>, args: impl IntoIterator<Item = String>) -> Self {
        let args = args.into_iter().collect();
        Self { program: program.into(), args, inherited: Inherited::Most, env: Vec::new(), cwd: None }
    }
}

/// A running program. It and all that is left of its group is killed when this is dropped, and also when we die.
#[derive(Debug)]
pub struct Process {
    id: u32,
    group: Arc<Mutex<Group>>,
    read: ReadCount,
    tail: Arc<Mutex<Tail>>,
    exit: watch::Receiver<Option<ExitStatus>>,
    /// Tells the attendant that the group was killed.
    is_killed: Arc<Notify>,
    /// Closed when the attendant has ended: all is reaped.
    attended: watch::Receiver<()>,
}

impl Process {
    /// Starts the program of `command`, and gives the pipes to it and from it. What it writes to stderr is logged too.
    ///
    /// Must be called inside a Tokio runtime, on which tasks then attend to the program.
    pub fn start(command: &Command) -> Result<(Self, Stdin, ChildStdout), ProcessError> {
        Self::start_logged_as(command, str::to_owned)
    }

    /// The same for a program that is given secrets: what it writes to stderr is logged as `as_logged` makes it.
    pub fn start_logged_as(
        command: &Command,
        as_logged: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Result<(Self, Stdin, ChildStdout), ProcessError> {
        Self::launch(command, move |id, line| tracing::debug!(id, "stderr: {}", as_logged(line)))
    }

    /// The same, and nothing of what it writes to stderr is logged: it may be anything.
    pub fn start_unlogged(command: &Command) -> Result<(Self, Stdin, ChildStdout), ProcessError> {
        Self::launch(command, |_, _| {})
    }

    fn launch(
        command: &Command,
        log: impl Fn(u32, &str) + Send + Sync + 'static,
    ) -> Result<(Self, Stdin, ChildStdout), ProcessError> {
        let failed = |source| ProcessError::CannotStart { program: command.program.clone(), source };
        let exits = signal(SignalKind::child()).map_err(failed)?;
        let mut child = spawn(command)?;
        let group = Pid::from_child(&child);
        let parts = pipes(&mut child).and_then(|pipes| Ok((pipes, Watchdog::start(group)?)));
        let ((stdin, stdout, stderr), watchdog) = parts.map_err(|source| {
            // Nobody attends to it yet.
            kill(group, Kill::KILL);
            let _ = child.wait();
            failed(source)
        })?;

        let (stdin, read) = Stdin::new(stdin);
        let (exit_sender, exit) = watch::channel(None);
        let (attending, attended) = watch::channel(());
        let process = Self {
            id: child.id(),
            group: Arc::new(Mutex::new(Group { number: group, is_reaped: false })),
            read,
            tail: Arc::default(),
            exit,
            is_killed: Arc::default(),
            attended,
        };
        let stderr = tokio::spawn(keep_tail(stderr, Arc::clone(&process.tail), process.id, log));
        let attendant = Attendant {
            child,
            group: Arc::clone(&process.group),
            exits,
            stderr,
            exit: exit_sender,
            is_killed: Arc::clone(&process.is_killed),
            watchdog,
        };
        tokio::spawn(async move {
            attendant.run().await;
            drop(attending);
        });
        Ok((process, stdin, stdout))
    }

    /// The process id, which is also the number of its group.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether the program has exited, as the system knows it at this moment.
    pub fn has_ended(&self) -> bool {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        // One that is not ours any more was reaped.
        id.is_none_or(|id| !matches!(waitid(WaitId::Pid(id), LOOK), Ok(None)))
    }

    /// How many bytes of its stdin have been read, by the program or what it started; all that were written, where the
    /// system does not tell.
    pub fn n_read(&self) -> u64 {
        self.read.n_read()
    }

    /// The last lines that were written to stderr: at most 20 lines and 4 KiB. What is not UTF-8 becomes U+FFFD.
    pub fn stderr_tail(&self) -> String {
        lock(&self.tail).text()
    }

    /// Waits until the program has exited, and until its stderr was read; `None` if it can't be known how it exited.
    ///
    /// Something else that holds the program's stderr open is not waited for.
    pub async fn wait(&self) -> Option<ExitStatus> {
        let mut exit = self.exit.clone();
        exit.wait_for(Option::is_some).await.ok().and_then(|exit| *exit)
    }

    /// Ends the program and all that is left of its group; returns when it is reaped.
    ///
    /// The caller closes stdin first, upon which the program may exit by itself; it is told to after half a second, and
    /// killed a second later.
    pub async fn end(&self) {
        if timeout(AFTER_INPUT_ENDS, self.wait()).await.is_err() {
            self.terminate();
            // It is killed either way: others of its group may not have obeyed.
            let _ = timeout(AFTER_TERM, self.wait()).await;
        }
        self.kill().await;
    }

    /// Kills the program and all that is left of its group at once, as `kill -9` does; returns when it is reaped.
    pub async fn kill(&self) {
        self.strike();
        let mut attended = self.attended.clone();
        while attended.changed().await.is_ok() {}
    }

    /// Tells the program and its group to end, as `kill` does; whether it obeys is seen by [`Process::wait`].
    pub fn terminate(&self) {
        self.signal(Kill::TERM);
    }

    fn strike(&self) {
        self.signal(Kill::KILL);
        self.is_killed.notify_one();
    }

    fn signal(&self, signal: Kill) {
        let group = lock(&self.group);
        if !group.is_reaped {
            kill(group.number, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.strike();
    }
}

/// A group, and whether its number may be another's by now.
#[derive(Debug)]
struct Group {
    number: Pid,
    is_reaped: bool,
}

/// Sees a program out: tells how it exited, and reaps it when its group was killed.
struct Attendant {
    child: Child,
    group: Arc<Mutex<Group>>,
    exits: Signal,
    stderr: JoinHandle<()>,
    exit: watch::Sender<Option<ExitStatus>>,
    is_killed: Arc<Notify>,
    watchdog: Watchdog,
}

impl Attendant {
    async fn run(mut self) {
        let exit = exit_of(Pid::from_child(&self.child), &mut self.exits).await;
        if timeout(FOR_STDERR, &mut self.stderr).await.is_err() {
            tracing::debug!(id = self.child.id(), "stderr is still open after the exit");
        }
        self.exit.send_replace(exit);
        // Closed, so that nobody waits for an exit that can't be known.
        drop(self.exit);
        self.is_killed.notified().await;
        {
            let mut group = lock(&self.group);
            group.is_reaped = true;
            if let Err(error) = self.child.try_wait() {
                tracing::debug!(%error, id = self.child.id(), "reaping failed");
            }
        }
        self.watchdog.dismiss(&mut self.exits).await;
    }
}

/// Waits until the process `id` has exited, without reaping it. `exits` wakes when a process of ours exits.
///
/// `None` if that process is not ours.
pub(crate) async fn exit_of(id: Pid, exits: &mut Signal) -> Option<ExitStatus> {
    loop {
        if let Some(exit) = waitid(WaitId::Pid(id), LOOK).ok()? {
            // As `wait` would give it: the code in the second byte, or the signal in the first.
            let code = exit.exit_status().map(|code| (code & 0xff) << 8);
            return code.or(exit.terminating_signal()).map(ExitStatus::from_raw);
        }
        exits.recv().await?;
    }
}

fn spawn(command: &Command) -> Result<Child, ProcessError> {
    let program = command.program.clone();
    let mut builder = std::process::Command::new(&program);
    command.inherited.limit(&mut builder);
    builder.args(&command.args).envs(command.env.iter().map(|(name, value)| (name, value)));
    builder.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    if let Some(cwd) = &command.cwd {
        builder.current_dir(cwd);
    }
    builder.spawn().map_err(|source| match &command.cwd {
        // The system reports a missing folder as it reports a missing program.
        Some(cwd) if source.kind() == io::ErrorKind::NotFound && !cwd.is_dir() => {
            let source = io::Error::new(source.kind(), format!("there is no folder `{}`", cwd.display()));
            ProcessError::CannotStart { program, source }
        }
        _ if source.kind() == io::ErrorKind::NotFound => ProcessError::NotFound { program },
        _ => ProcessError::CannotStart { program, source },
    })
}

fn pipes(child: &mut Child) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("it has no pipes"));
    };
    Ok((ChildStdin::from_std(stdin)?, ChildStdout::from_std(stdout)?, ChildStderr::from_std(stderr)?))
}

/// Keeps the end of what is written to `stderr`; `log` is given the process's id and each line.
async fn keep_tail(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>, id: u32, log: impl Fn(u32, &str)) {
    let show = |line: &str| log(id, line);
    let mut bytes = [0; 4096];
    while let Ok(n_bytes @ 1..) = stderr.read(&mut bytes).await {
        lock(&tail).feed(&bytes[..n_bytes], show);
    }
    lock(&tail).end(show);
}

fn kill(group: Pid, signal: Kill) {
    match kill_process_group(group, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => tracing::debug!(%error, group = group.as_raw_nonzero(), "the group could not be signalled"),
    }
}
