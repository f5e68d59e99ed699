//! The reading side of a link: each message to whom it is for, in the order in which they came.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rejoin_transcript::json::Members;
use rejoin_wire::{Incoming, Outcome, RawValue, Received, RequestId, RpcError};
use tokio::time::Instant;

use super::link::{Link, ROOM, Reply};
use super::routes::{AgentEvent, Destination};
use super::source::Output;
use super::strangers::Stranger;
use crate::Error;
use crate::policy::AgentUpdate;

/// How long the output of a process that has ended is read on.
const LAST_WORDS: Duration = Duration::from_millis(300);

impl Link {
    /// Reads until the agent is gone, and tells everyone.
    pub(super) async fn run(self: Arc<Self>, mut incoming: Incoming<Output, Reply>) {
        let (mut abandoned, mut end) = (Vec::new(), None);
        while let Some(received) = self.next(&mut incoming, &mut end).await {
            self.lock().last_used = Instant::now();
            match received {
                Received::Notification { method, params } => self.notified(method, params).await,
                Received::Request { id, method, params } => self.asked(id, method, params).await,
                Received::Response { tag, outcome } => self.answered(tag, outcome).await,
                Received::Abandoned { tag } => abandoned.push(tag),
                Received::Unreadable { id, error, head } => {
                    tracing::warn!(agent = self.program(), %error, "a line of the agent is no message, and was skipped");
                    match id {
                        _ if error.code() != RpcError::LINE_TOO_LONG => {}
                        // It asked for something, and waits.
                        Some(id) => self.respond(&id, Err(&error)),
                        None => self.left_out(&head, &error).await,
                    }
                }
            }
        }
        let error = self.fate().await;
        self.gone.send_replace(Some(error.clone()));
        // What was asked while the process ended, or while something that it left behind held its output open.
        abandoned.extend(self.connection.abandon());
        self.tell_gone(abandoned, &error).await;
    }

    /// What the agent says next; nothing at the end of its output, or soon after that of its process: what the process
    /// left behind may hold the output open.
    async fn next(&self, incoming: &mut Incoming<Output, Reply>, end: &mut Option<Instant>) -> Option<Received<Reply>> {
        if end.is_none() {
            tokio::select! {
                biased;
                received = incoming.next() => return received,
                _ = self.body.wait() => *end = Some(Instant::now() + LAST_WORDS),
            }
        }
        tokio::time::timeout_at((*end)?, incoming.next()).await.ok().flatten()
    }

    async fn notified(&self, method: String, params: Option<Box<RawValue>>) {
        let params = params.unwrap_or_else(empty_object);
        if method == "$/cancel_request" {
            let id = Members::read(params.get()).and_then(|members| RequestId::parse(members.get("requestId")?));
            let Some(id) = id else { return };
            let session = self.lock().settle(&id);
            match session {
                Some(session) => self.hand_on(&session, AgentEvent::TookBack { id }).await,
                None => self.clients.each(|client| client.withdraw(&id)),
            }
            return;
        }
        if method == "session/update" {
            let Some((session, mut update)) = AgentUpdate::read(params.get()) else {
                return tracing::warn!(agent = self.program(), "an update that is not one was dropped");
            };
            let bytes = u32::try_from(params.get().len()).unwrap_or(ROOM).min(ROOM);
            // Never closed; and a message that is bigger than all room takes all of it.
            update.room = Arc::clone(&self.room).acquire_many_owned(bytes).await.ok();
            return self.hand_on(&session, AgentEvent::Update(update)).await;
        }
        match session_of(&params) {
            Some(session) => self.hand_on(&session, AgentEvent::Told { method, params }).await,
            None => self.clients.each(|client| client.tell(&method, params.get())),
        }
    }

    async fn asked(self: &Arc<Self>, id: RequestId, method: String, params: Option<Box<RawValue>>) {
        let params = params.unwrap_or_else(empty_object);
        match (session_of(&params), self.clients.first()) {
            (Some(session), _) => {
                self.lock().note_asked(id.clone(), session.clone());
                self.hand_on(&session, AgentEvent::Asked { id, method, params }).await;
            }
            (None, Some(client)) => client.ask_for_link(self, id, &method, params.get()),
            (None, None) => self.respond(&id, Err(&RpcError::new(RpcError::INTERNAL, "no client is there to ask"))),
        }
    }

    async fn answered(&self, reply: Reply, outcome: Outcome) {
        let outcome = outcome.map_err(|error| self.secrets.hide_in(error));
        let outcome_of = |outcome: Outcome| outcome.map_err(Error::Agent);
        // Whoever does not wait any more does not need an answer either.
        match reply {
            Reply::Caller(caller) => drop(caller.send(outcome_of(outcome))),
            Reply::Opener { events, caller } => {
                let id = outcome.as_ref().ok().and_then(|result| session_of(result));
                let held = id.as_ref().map_or(Some(Vec::new()), |id| self.lock().go_live(id, events.clone()));
                let Some(held) = held else {
                    let error = self.source.failed("gave the id of a running session to another", String::new());
                    return drop(caller.send(Err(error)));
                };
                if caller.send(outcome_of(outcome)).is_err() {
                    return id.iter().for_each(|id| self.leave(id));
                }
                for event in held {
                    let _ = events.send(event).await;
                }
            }
            Reply::Passed { events, ticket } => {
                let _ = events.send(AgentEvent::Passed { ticket, outcome }).await;
            }
            Reply::Turn { events, turn } => {
                self.has_answered.store(true, Ordering::Relaxed);
                let _ = events.send(AgentEvent::Answered { turn, outcome }).await;
            }
        }
    }

    /// A line that begins with `head` was left out: tells the session that it was for, or all if that can't be seen.
    async fn left_out(&self, head: &str, error: &RpcError) {
        let event = || AgentEvent::LeftOut { reason: error.message().to_owned() };
        if let Some(session) = session_in(head) {
            return self.hand_on(&session, event()).await;
        }
        let sessions = self.lock().live();
        for events in sessions {
            // One that is gone needs not know.
            let _ = events.send(event()).await;
        }
    }

    async fn hand_on(&self, session: &str, event: AgentEvent) {
        let destination = self.lock().destination(session, event);
        let undelivered = match destination {
            Destination::Taken => None,
            Destination::Session(events, event) => events.send(event).await.err().map(|error| error.0),
            Destination::Nobody(event) => Some(event),
        };
        if let Some(event) = undelivered {
            self.undelivered(session, event);
        }
    }

    /// Nobody has the session that `event` is for.
    pub(super) fn undelivered(&self, session: &str, event: AgentEvent) {
        match event {
            AgentEvent::Asked { id, .. } => {
                let error = RpcError::new(RpcError::INVALID_PARAMS, "`sessionId` names no session that is open");
                self.respond(&id, Err(&error));
            }
            AgentEvent::Update(update) if !self.lock().was_left(session) => {
                let stranger = Stranger { agent: self.info(), session: session.to_owned(), update };
                if self.strangers.try_send(stranger).is_err() {
                    tracing::warn!(agent = self.program(), "an update of a session that nobody knows was dropped");
                }
            }
            AgentEvent::Update(_)
            | AgentEvent::LeftOut { .. }
            | AgentEvent::TookBack { .. }
            | AgentEvent::Told { .. }
            | AgentEvent::Passed { .. }
            | AgentEvent::Answered { .. }
            | AgentEvent::Gone(_) => {}
        }
    }

    /// Why the output has ended. The process mostly has too, and otherwise is of no use any more.
    async fn fate(&self) -> Error {
        let status = tokio::time::timeout(Duration::from_secs(1), self.body.wait()).await.ok().flatten();
        self.body.end().await;
        let what = status.map_or("closed its output".to_owned(), |status| format!("ended with {status}"));
        self.source.failed(what, self.stderr_tail())
    }

    /// Tells everyone that the agent is gone.
    async fn tell_gone(&self, abandoned: Vec<Reply>, error: &Error) {
        for reply in abandoned {
            match reply {
                Reply::Caller(caller) | Reply::Opener { caller, .. } => drop(caller.send(Err(error.clone()))),
                // The session is told below.
                Reply::Passed { .. } | Reply::Turn { .. } => {}
            }
        }
        let sessions = self.lock().take_all();
        for events in sessions {
            let _ = events.send(AgentEvent::Gone(error.clone())).await;
        }
    }
}

/// The session that `params`, or a result, names.
pub(super) fn session_of(params: &RawValue) -> Option<String> {
    Some(Members::read(params.get())?.get_string("sessionId")?.into_owned())
}

/// The session that a line is about which begins with `head`, as far as that can be seen.
fn session_in(head: &str) -> Option<String> {
    const KEY: &str = "\"sessionId\"";
    let value = head[head.find(KEY)? + KEY.len()..].trim_start().strip_prefix(':')?.trim_start();
    let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
    values.next()?.ok()
}

fn empty_object() -> Box<RawValue> {
    serde_json::value::to_raw_value(&serde_json::Map::new()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_seen_in_the_beginning_of_a_line() {
        let head =
            r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId" : "a\"b","update":{"content":"xx"#;
        assert_eq!(session_in(head).as_deref(), Some("a\"b"));
    }

    #[test]
    fn a_session_that_is_only_quoted_or_cut_off_is_not_seen() {
        for head in [r#"{"text":"\"sessionId\":\"a\""#, r#"{"sessionId":"abc"#, r#"{"sessionId":7,"#, "{"] {
            assert_eq!(session_in(head), None, "{head}");
        }
    }
}
