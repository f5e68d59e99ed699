//! One prompt, one answer, for scripts: no terminal is needed, and nobody is asked.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use rejoin_wire::{Connection, Incoming, Options, Outcome, RawValue, Received, RequestId, RpcError};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf};

use crate::client::{Interaction, initialize_params};
use crate::error::{Blame, ChatError};
use crate::options::Start;
use crate::protocol::{
    Answer, Ask, Failure, PermissionKind, PermissionOption, Role, StopReason, ToolCall, ToolStatus, Update, value_of,
};
use crate::text::{one_line, printable};

/// How long the answer to a turn that was cancelled is waited for.
const LAST_WORDS: Duration = Duration::from_secs(7);

/// What is written of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The agent's words, as they come.
    Text,
    /// One object at the end.
    Json,
    /// Each update of the session as it comes, one a line, and that object as the last.
    StreamJson,
}

/// What becomes of requests for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permissions {
    /// They are refused.
    Refused,
    /// They are granted, once each.
    Granted,
}

/// What is asked, and how.
#[derive(Debug)]
pub struct OnceOptions {
    /// The session: a new one, or one that is loaded.
    pub start: Start,
    /// The folder of a new session, an absolute path.
    pub cwd: String,
    /// What to say to the agent.
    pub prompt: String,
    /// What is written of the answer.
    pub form: Form,
    /// What becomes of requests for permission.
    pub permissions: Permissions,
}

/// Asks the layer at the other end of `stream` once. The answer goes to `out`, what is to be said beside it to `err`; when
/// `stop` comes, the turn is cancelled.
///
/// Must be called inside a Tokio runtime.
pub async fn prompt_once<S>(
    stream: S,
    options: OnceOptions,
    out: &mut dyn Write,
    err: &mut dyn Write,
    stop: impl Future<Output = ()>,
) -> Result<(), ChatError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (reader, writer) = tokio::io::split(stream);
    let (connection, incoming) = Connection::open(reader, writer, Options::default());
    let OnceOptions { start, cwd, prompt, form, permissions } = options;
    let told = Told::default();
    let mut once = Once { connection, incoming, form, permissions, told, out, err };
    tokio::pin!(stop);
    let asked = tokio::select! {
        asked = once.ask(start, &cwd, &prompt) => Some(asked),
        () = &mut stop => None,
    };
    let asked = match asked {
        Some(asked) => asked,
        None => once.cancel().await,
    };
    once.finish(asked)
}

/// All that an answer has told.
#[derive(Debug, Default)]
struct Told {
    session_id: Option<String>,
    text: String,
    /// The message that the last words belong to.
    message_id: Option<String>,
    calls: Vec<ToolCall>,
    refused: Vec<String>,
    notices: Vec<String>,
    context: Option<Value>,
}

struct Once<'a, S> {
    connection: Connection<()>,
    incoming: Incoming<ReadHalf<S>, ()>,
    form: Form,
    permissions: Permissions,
    told: Told,
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Once<'_, S> {
    /// Has the turn, and gives the result of the prompt.
    async fn ask(&mut self, start: Start, cwd: &str, prompt: &str) -> Result<Value, ChatError> {
        self.call("initialize", &initialize_params(Interaction::Unasked)).await?;
        let session_id = match start {
            Start::Load { session_id, cwd, .. } => {
                self.call("session/resume", &json!({ "sessionId": session_id, "cwd": cwd })).await?;
                session_id
            }
            Start::New | Start::Pick => {
                let made = self.call("session/new", &json!({ "cwd": cwd, "mcpServers": [] })).await?;
                made["sessionId"].as_str().unwrap_or_default().to_owned()
            }
        };
        self.told.session_id = Some(session_id.clone());
        let prompt = json!([{ "type": "text", "text": prompt }]);
        self.call("session/prompt", &json!({ "sessionId": session_id, "prompt": prompt })).await
    }

    /// Cancels the turn, and waits for its end, but not for long.
    async fn cancel(&mut self) -> Result<Value, ChatError> {
        let cancelled = json!({ "stopReason": "cancelled" });
        let Some(session_id) = self.told.session_id.clone() else { return Ok(cancelled) };
        let params = json!({ "sessionId": session_id }).to_string();
        self.connection.notify("session/cancel", &params).await.map_err(|_| ChatError::LayerGone)?;
        tokio::time::timeout(LAST_WORDS, self.answer()).await.unwrap_or(Ok(cancelled))
    }

    async fn call(&mut self, method: &str, params: &Value) -> Result<Value, ChatError> {
        self.connection.request(method, &params.to_string(), ()).await.map_err(|_| ChatError::LayerGone)?;
        self.answer().await
    }

    /// Takes what comes until the answer to the request does.
    async fn answer(&mut self) -> Result<Value, ChatError> {
        loop {
            match self.incoming.next().await {
                Some(Received::Response { outcome, .. }) => return result(outcome),
                Some(Received::Notification { method, params }) if method == "session/update" => {
                    self.update(params)?;
                }
                Some(Received::Request { id, method, params }) => self.asked(id, &method, &value_of(params)).await?,
                Some(Received::Notification { .. }) => {}
                Some(Received::Unreadable { error, .. }) => tracing::warn!(%error, "the layer sent what is no message"),
                Some(Received::Abandoned { .. }) | None => return Err(ChatError::LayerGone),
            }
        }
    }

    fn update(&mut self, params: Option<Box<RawValue>>) -> Result<(), ChatError> {
        if self.form == Form::StreamJson
            && let Some(update) = params.as_deref().and_then(raw_update)
        {
            writeln!(self.out, "{update}").and_then(|()| self.out.flush()).map_err(ChatError::Output)?;
        }
        let update = &value_of(params)["update"];
        match Update::read(update) {
            Some(Update::Chunk { role: Role::Agent, message_id, text }) => self.say(message_id, &text)?,
            Some(Update::Chunk { role: Role::Layer, text, .. }) => self.notice(&text)?,
            Some(Update::ToolCall(call)) => self.call_told(call)?,
            Some(Update::Notice { title, description, .. }) => {
                let text = [Some(title), description].into_iter().flatten().collect::<Vec<_>>().join(": ");
                self.notice(&text)?;
            }
            Some(Update::Usage(_)) => {
                let mut usage = update.as_object().cloned().unwrap_or_default();
                usage.shift_remove("sessionUpdate");
                self.told.context = Some(Value::Object(usage));
            }
            Some(
                Update::Chunk { .. }
                | Update::Plan(_)
                | Update::Commands(_)
                | Update::Mode(_)
                | Update::Options(_)
                | Update::Title(_)
                | Update::Compaction { .. }
                | Update::Unknown(_),
            )
            | None => {}
        }
        Ok(())
    }

    fn say(&mut self, message_id: Option<String>, text: &str) -> Result<(), ChatError> {
        let is_another = message_id.is_some() && message_id != self.told.message_id;
        let is_first = self.told.text.is_empty();
        let between = if is_another && !is_first { "\n\n" } else { "" };
        self.told.text.push_str(between);
        self.told.text.push_str(text);
        self.told.message_id = message_id.or(self.told.message_id.take());
        if self.form == Form::Text {
            let written = write!(self.out, "{between}{}", printable(text)).and_then(|()| self.out.flush());
            written.map_err(ChatError::Output)?;
        }
        Ok(())
    }

    fn call_told(&mut self, newer: ToolCall) -> Result<(), ChatError> {
        let known = self.told.calls.iter().position(|call| call.id == newer.id);
        let at = known.unwrap_or(self.told.calls.len());
        let had_ended = known.is_some_and(|at| self.told.calls[at].has_ended());
        match known {
            Some(at) => self.told.calls[at].merge(newer),
            None => self.told.calls.push(newer),
        }
        // Only what is told of it in the end is kept.
        let call = &mut self.told.calls[at];
        call.content = None;
        if had_ended || !call.has_ended() {
            return Ok(());
        }
        let mark = if call.status == Some(ToolStatus::Failed) { '✗' } else { '●' };
        let title = one_line(call.title.as_deref().unwrap_or(&call.id));
        self.remark(&format!("{mark} {title}"))
    }

    fn notice(&mut self, text: &str) -> Result<(), ChatError> {
        self.told.notices.push(text.trim().to_owned());
        self.remark(&format!("! {}", one_line(text)))
    }

    /// Says something beside the answer.
    fn remark(&mut self, text: &str) -> Result<(), ChatError> {
        writeln!(self.err, "{text}").map_err(ChatError::Output)
    }

    async fn asked(&mut self, id: RequestId, method: &str, params: &Value) -> Result<(), ChatError> {
        let outcome = match Ask::read(method, params) {
            Some(ask) => Ok(self.decide(&ask)?.to_string()),
            None => Err(RpcError::new(RpcError::METHOD_NOT_FOUND, format!("nobody is there to do `{method}`"))),
        };
        self.connection.respond(&id, outcome.as_deref()).await.map_err(|_| ChatError::LayerGone)
    }

    /// The result that answers `ask`, with nobody to ask.
    fn decide(&mut self, ask: &Ask) -> Result<Value, ChatError> {
        let Ask::Permission { call, options } = ask else { return Ok(ask.result(&Answer::Decline)) };
        let kinds = match self.permissions {
            Permissions::Granted => [PermissionKind::AllowOnce, PermissionKind::AllowAlways],
            Permissions::Refused => [PermissionKind::RejectOnce, PermissionKind::RejectAlways],
        };
        if self.permissions == Permissions::Refused {
            let title = one_line(call.title.as_deref().unwrap_or(&call.id));
            self.remark(&format!("refused: {title}"))?;
            if self.told.refused.is_empty() {
                self.remark("hint: pass `--allow` to permit this")?;
            }
            self.told.refused.push(title);
        }
        Ok(ask.result(&answer_of(options, kinds)))
    }

    /// Writes what is left to write, and says how it went.
    fn finish(&mut self, asked: Result<Value, ChatError>) -> Result<(), ChatError> {
        let told = std::mem::take(&mut self.told);
        match self.form {
            Form::Text if told.text.is_empty() || told.text.ends_with('\n') => {}
            Form::Text => writeln!(self.out).map_err(ChatError::Output)?,
            Form::Json | Form::StreamJson => {
                writeln!(self.out, "{}", told.result(&asked)).map_err(ChatError::Output)?;
            }
        }
        self.out.flush().map_err(ChatError::Output)?;
        let reason = StopReason::read(&asked?);
        let blame = if reason == StopReason::Cancelled { Blame::User } else { Blame::Agent };
        match reason.remark() {
            Some(remark) => Err(ChatError::NoWholeAnswer { remark, blame }),
            None => Ok(()),
        }
    }
}

impl Told {
    /// The object that a program gets.
    fn result(self, asked: &Result<Value, ChatError>) -> Value {
        let call = |call: &ToolCall| {
            let status = match call.status {
                Some(ToolStatus::Completed) => "completed",
                Some(ToolStatus::Failed) => "failed",
                Some(ToolStatus::InProgress) => "in_progress",
                Some(ToolStatus::Pending) | None => "pending",
            };
            json!({ "toolCallId": call.id, "title": call.title, "kind": call.kind, "status": status })
        };
        let mut result = Map::new();
        let mut put = |name: &str, value: Value| drop(result.insert(name.to_owned(), value));
        put("sessionId", json!(self.session_id));
        match asked {
            Ok(answer) => {
                put("stopReason", answer["stopReason"].clone());
                put("text", json!(self.text));
                put("usage", answer["usage"].clone());
            }
            Err(error) => {
                put("error", json!({ "message": error.to_string() }));
                put("text", json!(self.text));
            }
        }
        put("context", json!(self.context));
        put("toolCalls", self.calls.iter().map(call).collect());
        put("refused", json!(self.refused));
        put("notices", json!(self.notices));
        Value::Object(result)
    }
}

/// The member `update` of `params`, as it came.
fn raw_update(params: &RawValue) -> Option<&RawValue> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(params.get()).ok()?;
    members.get("update").copied()
}

/// The first of `options` that is of one of `kinds`; without one, the question is not answered.
fn answer_of(options: &[PermissionOption], kinds: [PermissionKind; 2]) -> Answer {
    let of_kind = |kind: PermissionKind| options.iter().find(|option| option.kind == kind);
    let option = kinds.into_iter().find_map(of_kind);
    option.map_or(Answer::Cancel, |option| Answer::Option(option.id.clone()))
}

fn result(outcome: Outcome) -> Result<Value, ChatError> {
    match outcome {
        Ok(result) => Ok(value_of(Some(result))),
        Err(error) => Err(Failure::of(&error).into()),
    }
}
