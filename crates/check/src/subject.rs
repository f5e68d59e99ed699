//! One process of the agent, and a client that speaks with it.
//!
//! Everything that is asked has a limit. The process, its group and what it has marked as its own are gone when this is
//! dropped.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin_wire::{
    Command, Connection, Incoming, InvalidUtf8, Options, Outcome, Process, RawValue, Received, RequestId, Tap,
    notification_line,
};
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::CheckError;
use crate::answers::{Answers, ClientAbilities, cancelled_permission};
use crate::leftovers;
use crate::log::Log;
use crate::run::{Exchange, Exit, Interrupted, Proc, Reply};

/// One process of the agent.
pub(crate) struct Subject {
    id: Proc,
    process: Process,
    connection: Connection<oneshot::Sender<Answered>>,
    log: Arc<Log>,
    answers: Arc<Answers>,
    mark: String,
    /// How long it may take until it reads what it is sent.
    patience: Duration,
}

/// An answer, and its place in the log.
struct Answered {
    outcome: Outcome,
    at: usize,
}

/// A request that is not answered yet.
pub(crate) struct Open {
    process: Proc,
    method: String,
    params: Value,
    from: usize,
    answer: oneshot::Receiver<Answered>,
}

impl Subject {
    /// Starts `command`, as the process `id`; the client of it touches no files outside of `root`.
    pub(crate) fn start(
        id: Proc,
        command: &Command,
        abilities: ClientAbilities,
        root: &Path,
        patience: Duration,
        tap: Option<Arc<dyn Tap>>,
    ) -> Result<Self, CheckError> {
        let mark = leftovers::new_mark();
        let mut command = command.clone();
        command.env.push((leftovers::MARK.to_owned(), mark.clone()));
        let (process, stdin, stdout) = Process::start(&command)?;
        let log = Log::new(tap);
        let tap: Arc<dyn Tap> = Arc::clone(&log) as Arc<dyn Tap>;
        let options = Options { invalid_utf8: InvalidUtf8::Refuse, tap: Some(tap), ..Options::default() };
        let (connection, incoming) = Connection::open(stdout, stdin, options);
        let answers = Arc::new(Answers::new(abilities, root.to_owned()));
        tokio::spawn(read(incoming, connection.clone(), Arc::clone(&log), Arc::clone(&answers)));
        Ok(Self { id, process, connection, log, answers, mark, patience })
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// The last lines that it wrote to stderr.
    pub(crate) fn stderr(&self) -> String {
        self.process.stderr_tail()
    }

    /// Asks, and waits for the answer for as long as `limit`.
    pub(crate) async fn ask(&self, method: &str, params: Value, limit: Duration) -> Exchange {
        let open = self.begin(method, params).await;
        self.finish(open, limit).await
    }

    /// Asks.
    pub(crate) async fn begin(&self, method: &str, params: Value) -> Open {
        let (sender, answer) = oneshot::channel();
        let from = self.log.end();
        let text = params.to_string();
        // Where it can't be sent, the sender is dropped: the agent is gone, or does not read.
        let _ = timeout(self.patience, self.connection.request(method, &text, sender)).await;
        Open { process: self.id, method: method.to_owned(), params, from, answer }
    }

    /// Waits for the answer for as long as `limit`.
    pub(crate) async fn finish(&self, mut open: Open, limit: Duration) -> Exchange {
        let reply = self.reply(&mut open, limit).await;
        open.ended(reply, None)
    }

    /// Waits for the answer from an interruption on: for as long as `limit`, and, to see what becomes of it, as `patience`.
    pub(crate) async fn finish_interrupted(&self, mut open: Open, limit: Duration, patience: Duration) -> Exchange {
        let start = Instant::now();
        let reply = self.reply(&mut open, limit).await;
        let waited = (!matches!(reply, Reply::Silence { .. })).then(|| start.elapsed());
        let reply = if waited.is_none() { self.reply(&mut open, patience).await } else { reply };
        open.ended(reply, Some(Interrupted { waited }))
    }

    /// Whether the answer to `open` is not there yet.
    pub(crate) fn is_open(open: &Open) -> bool {
        open.answer.is_empty() && !open.answer.is_terminated()
    }

    async fn reply(&self, open: &mut Open, limit: Duration) -> Reply {
        match timeout(limit, &mut open.answer).await {
            Ok(Ok(Answered { outcome: Ok(result), at })) => Reply::Result { value: read_json(&result), at },
            Ok(Ok(Answered { outcome: Err(error), at })) => {
                Reply::Error { error: serde_json::from_str(error.as_json()).unwrap_or_default(), at }
            }
            Ok(Err(_)) => Reply::Gone { how: self.how_it_ended().await, at: self.log.end() },
            Err(_) => Reply::Silence { limit, at: self.log.end() },
        }
    }

    /// Tells something.
    pub(crate) async fn tell(&self, method: &str, params: &Value) {
        self.send_raw(notification_line(method, &params.to_string()).trim_end()).await;
    }

    /// Sends `line`, whatever it is.
    pub(crate) async fn send_raw(&self, line: &str) {
        // An agent that is gone, or does not read, is noticed at the next request.
        let _ = timeout(self.patience, self.connection.send_lines(format!("{line}\n"))).await;
    }

    /// Waits until `is_enough` of the log, but not longer than `limit`; says whether it is.
    pub(crate) async fn until(&self, limit: Duration, mut is_enough: impl FnMut(&Log) -> bool) -> bool {
        let mut news = self.log.news();
        timeout(limit, news.wait_for(|_| is_enough(&self.log))).await.is_ok_and(|news| news.is_ok())
    }

    /// Leaves permissions unanswered from now on.
    pub(crate) fn hold_permissions(&self) {
        self.answers.hold_permissions();
    }

    /// Answers the permissions that waited as a client does that cancels.
    pub(crate) async fn cancel_permissions(&self) {
        for id in self.answers.release_permissions() {
            let _ = self.connection.respond(&id, Ok(&cancelled_permission().to_string())).await;
        }
    }

    /// Kills it at once.
    pub(crate) async fn kill(self) {
        self.process.kill().await;
    }

    /// Ends its input, and waits for as long as `limit` until it has exited.
    pub(crate) async fn end_input(self, limit: Duration) -> Exit {
        let start = Instant::now();
        // It may not read any more; then the process does not end either.
        let has_exited = timeout(limit, async {
            self.connection.finish().await;
            self.process.wait().await
        });
        let has_exited = has_exited.await.is_ok();
        self.see_out(has_exited.then(|| start.elapsed()), limit).await
    }

    /// Tells it to end, and waits for as long as `limit` until it has exited.
    pub(crate) async fn terminate(self, limit: Duration) -> Exit {
        let start = Instant::now();
        self.process.terminate();
        let has_exited = timeout(limit, self.process.wait()).await.is_ok();
        self.see_out(has_exited.then(|| start.elapsed()), limit).await
    }

    /// Looks what the process has left behind, and ends that.
    async fn see_out(self, took: Option<Duration>, limit: Duration) -> Exit {
        let mut left_behind = None;
        if took.is_some() {
            // What was told to end may need a moment.
            let deadline = Instant::now() + limit;
            loop {
                left_behind = leftovers::find(&self.mark);
                if left_behind.as_ref().is_none_or(Vec::is_empty) || Instant::now() > deadline {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        self.process.kill().await;
        Exit { took, left_behind }
    }

    async fn how_it_ended(&self) -> String {
        let exit = timeout(Duration::from_secs(1), self.process.wait()).await.ok().flatten();
        let how = match exit {
            Some(exit) => format!("the agent ended ({exit})"),
            None => "the agent closed its output, or reads no more".to_owned(),
        };
        self.with_last_words(how)
    }

    /// `what`, and behind it the last lines of stderr.
    pub(crate) fn with_last_words(&self, what: String) -> String {
        let stderr = self.stderr();
        if stderr.is_empty() { what } else { format!("{what}; it wrote to stderr: {}", stderr.trim_end()) }
    }
}

impl Open {
    fn ended(self, reply: Reply, interrupted: Option<Interrupted>) -> Exchange {
        let Self { process, method, params, from, answer: _ } = self;
        Exchange { process, method, params, from, reply, interrupted }
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        leftovers::end(&self.mark);
    }
}

async fn read<R: AsyncRead + Unpin>(
    mut incoming: Incoming<R, oneshot::Sender<Answered>>,
    connection: Connection<oneshot::Sender<Answered>>,
    log: Arc<Log>,
    answers: Arc<Answers>,
) {
    while let Some(received) = incoming.next().await {
        match received {
            Received::Response { tag, outcome } => drop(tag.send(Answered { outcome, at: log.last_in() })),
            Received::Request { id, method, params } => {
                let params = params.as_deref().map(read_json).unwrap_or_default();
                answer(&connection, &answers, &id, &method, &params).await;
            }
            // The log has them.
            Received::Notification { .. } | Received::Unreadable { .. } | Received::Abandoned { .. } => {}
        }
    }
}

async fn answer<T: Send + 'static>(
    connection: &Connection<T>,
    answers: &Answers,
    id: &RequestId,
    method: &str,
    params: &Value,
) {
    let Some(answer) = answers.answer(id, method, params) else { return };
    let text = answer.as_ref().map(Value::to_string);
    let _ = connection.respond(id, text.as_deref().map_err(|error| *error)).await;
}

fn read_json(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| json!({ "unreadable": raw.get() }))
}
