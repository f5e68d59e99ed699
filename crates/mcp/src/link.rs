//! A connection to a server, from its start to its end.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use rejoin_wire::{Command, Process, ProcessError};
use rmcp::model::ServerPeerInfo;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, RoleClient, RunningService, RunningServiceCancellationToken,
    serve_client_with_lifecycle,
};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use crate::handler::{Changed, Handler, Routes};
use crate::lists::Lists;
use crate::secrets::Secrets;
use crate::server::Server;
use crate::transport::{LegacySse, Stdin, Stdio, failure_in, http};
use crate::{Failure, Transport};

/// So long it may take until it is known how a process exited whose output has ended.
const FOR_EXIT: Duration = Duration::from_millis(500);

/// So long the reason is waited for: how a process exited is known a little after its output has ended.
const FOR_REASON: Duration = Duration::from_secs(1);

/// The same where there is no process.
const FOR_REASON_OF_NETWORK: Duration = Duration::from_millis(100);

/// So long a server may take to hear that its session ends.
const FOR_GOODBYE: Duration = Duration::from_secs(1);

/// What requests need of a connection. It stays usable when the connection has ended, and says so.
pub(crate) struct Link {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) routes: Arc<Routes>,
    lost: watch::Sender<Option<Failure>>,
    /// Where the transport and the calls put what ends the connection.
    notice: Notice,
    /// So long the reason is waited for once the connection has ended.
    for_reason: Duration,
}

/// What is known to have ended a connection.
pub(crate) type Notice = Arc<watch::Sender<Option<Failure>>>;

/// An open connection, with the process at its end. Dropping it ends both at once.
pub(crate) struct Running {
    pub(crate) link: Arc<Link>,
    pub(crate) info: Option<Arc<ServerPeerInfo>>,
    pub(crate) changed: watch::Receiver<Changed>,
    /// Resolves when the connection has ended.
    ended: BoxFuture<'static, ()>,
    token: Option<RunningServiceCancellationToken>,
    /// What the transport and the calls find out about its end.
    noticed: watch::Receiver<Option<Failure>>,
    program: Option<Program>,
}

struct Program {
    process: Process,
    stdin: Stdin,
    secrets: Secrets,
}

impl Link {
    /// Waits until the connection has ended, and says why.
    pub(crate) async fn lost(&self) -> Failure {
        let mut lost = self.lost.subscribe();
        let reason = lost.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or(Failure::Disconnected { problem: String::new() })
    }

    /// Ends the connection, as a call found that it can't be used any more.
    pub(crate) fn give_up(&self, failure: &Failure) {
        self.notice.send_replace(Some(failure.clone()));
    }

    /// Why the connection ended, of one that has ended or is about to.
    pub(crate) async fn reason(&self, otherwise: Failure) -> Failure {
        timeout(self.for_reason, self.lost()).await.unwrap_or(otherwise)
    }
}

impl Running {
    /// Connects to `server` and reads its lists; all of it within the limit for that.
    pub(crate) async fn start(server: &Server) -> Result<(Self, Lists), Failure> {
        let limit = server.context().options.start_limit;
        let deadline = Instant::now() + limit;
        let mut program = None;
        let connected = timeout_at(deadline, connect(server, &mut program)).await;
        let slow = |method, program: Option<&Program>| Failure::TooSlow {
            method,
            limit,
            stderr: program.map(Program::stderr),
        };
        let mut running = match connected {
            Ok(Ok(running)) => running,
            Ok(Err(failure)) => return Err(failure),
            Err(_) => return Err(slow("initialize", program.as_ref())),
        };
        running.program = program;
        let info = running.info.clone();
        let link = Arc::clone(&running.link);
        let read = Lists::read(&link, info.as_deref(), deadline);
        let lists = tokio::select! {
            biased;
            lists = read => lists,
            failure = running.end() => Err(failure),
        };
        match lists {
            Ok(lists) => Ok((running, lists)),
            Err(Failure::TooSlow { method, .. }) => Err(slow(method, running.program.as_ref())),
            Err(failure) => Err(failure),
        }
    }

    /// Waits until the connection ends by itself, and says why. The link's requests then know it too.
    pub(crate) async fn end(&mut self) -> Failure {
        let Self { ended, noticed, program, .. } = self;
        let noticed_failure = async {
            let failure = noticed.wait_for(Option::is_some).await.ok().and_then(|failure| failure.clone());
            match failure {
                Some(failure) => failure,
                // A transport that is gone notices nothing; that its connection has ended is seen below.
                None => std::future::pending().await,
            }
        };
        let failure = if let Some(program) = program {
            tokio::select! {
                () = ended => program.after_output().await,
                failure = program.exit() => failure,
            }
        } else {
            tokio::select! {
                biased;
                failure = noticed_failure => failure,
                () = ended => Failure::Disconnected { problem: String::new() },
            }
        };
        self.link.lost.send_replace(Some(failure.clone()));
        failure
    }

    /// Ends the connection as both sides would have it, and the program with all it has started.
    pub(crate) async fn close(mut self) {
        self.link.lost.send_replace(Some(Failure::Closed));
        if let Some(token) = self.token.take() {
            token.cancel();
        }
        match &self.program {
            Some(program) => {
                program.stdin.close();
                program.process.end().await;
            }
            None => {
                let _ = timeout(FOR_GOODBYE, &mut self.ended).await;
            }
        }
    }
}

impl Program {
    fn stderr(&self) -> String {
        self.secrets.hide(&self.process.stderr_tail())
    }

    async fn exit(&self) -> Failure {
        let how = self.process.wait().await.map_or_else(|| "in an unknown way".to_owned(), shown_exit);
        Failure::Exited { how, stderr: self.stderr() }
    }

    /// Why its output has ended.
    async fn after_output(&self) -> Failure {
        let silent = Failure::Disconnected { problem: "it closed its output".to_owned() };
        timeout(FOR_EXIT, self.exit()).await.unwrap_or(silent)
    }
}

async fn connect(to: &Server, program: &mut Option<Program>) -> Result<Running, Failure> {
    let context = to.context();
    let handler = Handler::new(&context.folders, &context.options);
    let notice = Notice::default();
    match &to.spec().transport {
        Transport::Stdio { command, args, env } => {
            let command = Command {
                program: command.clone(),
                args: args.clone(),
                inherited: context.options.inherited.clone(),
                env: env.clone(),
                cwd: Some(context.folders.cwd.clone()),
            };
            let (process, stdin, stdout) = Process::start_unlogged(&command).map_err(cannot_start)?;
            let (transport, stdin) = Stdio::new(stdin, stdout, context.options.message_limit);
            let program = program.insert(Program { process, stdin, secrets: to.secrets().clone() });
            let served = tokio::select! {
                biased;
                served = serve(handler, transport) => served,
                failure = program.exit() => return Err(failure),
            };
            match served {
                Ok(service) => Ok(running(service, notice, FOR_REASON)),
                Err(StartError::Ended | StartError::Failed(Failure::Disconnected { .. })) => {
                    Err(program.after_output().await)
                }
                Err(StartError::Failed(failure)) => Err(failure),
            }
        }
        Transport::Http { url, headers } => {
            let target = http::Target::new(context.client()?, url, headers, to.secrets(), &context.options)?;
            let served = serve(handler, http::transport(target, Arc::clone(&notice))).await;
            served.map(|service| running(service, notice, FOR_REASON_OF_NETWORK)).map_err(Failure::from)
        }
        Transport::Sse { url, headers } => {
            let target = http::Target::new(context.client()?, url, headers, to.secrets(), &context.options)?;
            let transport = LegacySse::open(target, Arc::clone(&notice)).await?;
            let served = serve(handler, transport).await;
            served.map(|service| running(service, notice, FOR_REASON_OF_NETWORK)).map_err(Failure::from)
        }
    }
}

enum StartError {
    /// The connection ended.
    Ended,
    Failed(Failure),
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Ended => Self::Disconnected { problem: "nothing came in answer to `initialize`".to_owned() },
            StartError::Failed(failure) => failure,
        }
    }
}

type Service = RunningService<RoleClient, Handler>;

async fn serve<T>(handler: Handler, transport: T) -> Result<Service, StartError>
where
    T: rmcp::transport::Transport<RoleClient> + 'static,
{
    // The handshake of 2025-11-25. Probing for a later one costs ten seconds with servers that do not answer probes.
    let served = serve_client_with_lifecycle(handler, transport, ClientLifecycleMode::Initialize).await;
    served.map_err(|error| match error {
        ClientInitializeError::ConnectionClosed(_) => StartError::Ended,
        ClientInitializeError::TransportError { error, .. } => match failure_in(error.error.as_ref()) {
            Some(failure) => StartError::Failed(failure),
            None => StartError::Ended,
        },
        ClientInitializeError::JsonRpcError(error) => {
            StartError::Failed(Failure::Refused { method: "initialize", message: error.message.into_owned() })
        }
        _ => {
            StartError::Failed(Failure::Protocol { problem: "its answer to `initialize` is not understood".to_owned() })
        }
    })
}

fn running(service: Service, notice: Notice, for_reason: Duration) -> Running {
    let noticed = notice.subscribe();
    let link = Link {
        peer: service.peer().clone(),
        routes: Arc::clone(&service.service().routes),
        lost: watch::Sender::new(None),
        notice,
        for_reason,
    };
    Running {
        link: Arc::new(link),
        info: service.peer().peer_info(),
        changed: service.service().changed.subscribe(),
        token: Some(service.cancellation_token()),
        ended: service.waiting().map(drop).boxed(),
        noticed,
        program: None,
    }
}

fn cannot_start(error: ProcessError) -> Failure {
    match error {
        ProcessError::NotFound { program } => Failure::NotFound { program },
        ProcessError::CannotStart { program, source } => Failure::CannotStart { program, problem: source.to_string() },
        _ => Failure::CannotStart { program: String::new(), problem: error.to_string() },
    }
}

fn shown_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}
