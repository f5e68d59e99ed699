//! An agent that is asked a few things directly, without a session: started, introduced to, asked, ended.

use std::time::Duration;

use rejoin_transcript::json::{Members, read_string};
use rejoin_wire::{
    Command, Connection, Incoming, InvalidUtf8, Options, Outcome, Process, ProcessError, RawValue, Received, RpcError,
    Tap,
};
use tokio::io::AsyncRead;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// A client that can do nothing for the agent.
const INTRODUCTION: &str = concat!(
    r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"#,
    r#""clientInfo":{"name":"rejoin","version":""#,
    env!("CARGO_PKG_VERSION"),
    r#""}}"#
);

/// Why an agent did not do what it was asked. No text holds a value of the environment that it was given.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AskError {
    /// It did not start.
    #[error(transparent)]
    Start(#[from] ProcessError),
    /// It ended before it answered.
    #[error("it ended without an answer to `{method}`{}", said(stderr))]
    Ended {
        /// What it was asked.
        method: &'static str,
        /// The last lines that it wrote to standard error.
        stderr: String,
    },
    /// It did not answer in time.
    #[error("it did not answer `{method}` within {limit:?}{}", said(stderr))]
    TooLate {
        /// What it was asked.
        method: &'static str,
        /// How long it was given.
        limit: Duration,
        /// The last lines that it wrote to standard error.
        stderr: String,
    },
    /// It answered with an error.
    #[error("it answered `{method}` with an error: {message}")]
    Refused {
        /// What it was asked.
        method: &'static str,
        /// What it answered.
        message: String,
    },
}

fn said(stderr: &str) -> String {
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty());
    line.map(|line| format!("; the last it said: {}", line.trim())).unwrap_or_default()
}

/// A running agent. It ends with this, and with everything it started.
pub(crate) struct DirectAgent {
    process: Process,
    connection: Connection<oneshot::Sender<Outcome>>,
    /// The values of the environment that it was given.
    secrets: Vec<String>,
    /// What it answered to `initialize`.
    told: String,
}

impl DirectAgent {
    /// Starts the agent, and introduces itself. Its traffic is shown to `tap`.
    ///
    /// What it writes to standard error is in no log: it may be given secrets.
    pub(crate) async fn start(
        command: &Command,
        limit: Duration,
        tap: Option<std::sync::Arc<dyn Tap>>,
    ) -> Result<Self, AskError> {
        let (process, input, output) = Process::start_unlogged(command)?;
        let options = Options { invalid_utf8: InvalidUtf8::Repair, tap, ..Options::default() };
        let (connection, incoming) = Connection::open(output, input, options);
        tokio::spawn(answer_all(connection.clone(), incoming));
        let secrets = command.env.iter().map(|(_, value)| value.clone()).filter(|value| !value.is_empty()).collect();
        let mut agent = Self { process, connection, secrets, told: String::new() };
        match agent.call("initialize", INTRODUCTION, limit).await {
            Ok(told) => {
                told.get().clone_into(&mut agent.told);
                Ok(agent)
            }
            Err(error) => {
                agent.end().await;
                Err(error)
            }
        }
    }

    /// What it calls itself.
    pub(crate) fn name(&self) -> Option<String> {
        self.info("name")
    }

    /// The version that it tells.
    pub(crate) fn version(&self) -> Option<String> {
        self.info("version")
    }

    /// The version of the protocol that it speaks, as JSON.
    pub(crate) fn protocol_version(&self) -> Option<&str> {
        Members::read(&self.told)?.get_some("protocolVersion")
    }

    /// Whether it says that it can delete sessions.
    pub(crate) fn can_delete(&self) -> bool {
        let path = ["agentCapabilities", "sessionCapabilities", "delete"];
        let found = path.into_iter().try_fold(self.told.as_str(), |object, name| Members::read(object)?.get_some(name));
        found.is_some_and(|value| value != "false")
    }

    /// Asks the agent, and waits for its answer at most `limit`.
    pub(crate) async fn call(
        &self,
        method: &'static str,
        params: &str,
        limit: Duration,
    ) -> Result<Box<RawValue>, AskError> {
        let (sender, answer) = oneshot::channel();
        let stderr = || self.hide(&self.process.stderr_tail());
        let answered = async {
            self.connection.request(method, params, sender).await.ok()?;
            answer.await.ok()
        };
        match timeout(limit, answered).await {
            Ok(Some(outcome)) => {
                outcome.map_err(|error| AskError::Refused { method, message: self.hide(error.message()) })
            }
            Ok(None) => {
                // What it said last tells why.
                let _ = timeout(Duration::from_secs(1), self.process.wait()).await;
                Err(AskError::Ended { method, stderr: stderr() })
            }
            Err(_) => Err(AskError::TooLate { method, limit, stderr: stderr() }),
        }
    }

    /// Ends it.
    pub(crate) async fn end(self) {
        let _ = timeout(Duration::from_millis(500), self.connection.finish()).await;
        self.process.end().await;
    }

    /// `text` without the secrets, which the agent may have said.
    fn hide(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[redacted]"))
    }

    fn info(&self, name: &str) -> Option<String> {
        let info = Members::read(&self.told)?.get_some("agentInfo")?;
        Some(read_string(Members::read(info)?.get(name)?)?.into_owned())
    }
}

/// Gives each answer to whoever waits for it. What the agent asks for is refused.
async fn answer_all(
    connection: Connection<oneshot::Sender<Outcome>>,
    mut incoming: Incoming<impl AsyncRead + Unpin, oneshot::Sender<Outcome>>,
) {
    while let Some(received) = incoming.next().await {
        match received {
            Received::Response { tag, outcome } => drop(tag.send(outcome)),
            Received::Request { id, method, .. } => {
                let error = RpcError::new(RpcError::METHOD_NOT_FOUND, format!("there is no method `{method}` here"));
                let _ = connection.respond(&id, Err(&error)).await;
            }
            Received::Notification { .. } | Received::Abandoned { .. } | Received::Unreadable { .. } => {}
        }
    }
}
