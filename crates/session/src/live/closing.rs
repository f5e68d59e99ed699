//! How a session is closed, or deleted: when its turn has ended, and not before.

use std::sync::Arc;
use std::time::Duration;

use rejoin_transcript::json::Object;

use super::{AfterClose, Live};
use crate::Error;
use crate::client::Responder;
use crate::turn::{Event, Machine};

/// How long an agent is waited for that was told of a session's end.
const FAREWELL: Duration = Duration::from_secs(5);

impl Live {
    /// Closes the session when its turn has ended, then answers.
    pub(crate) async fn begin_close(&mut self, responder: Responder, after: AfterClose) {
        self.closing.push((responder, after));
        self.handle(Event::Closing).await;
    }

    pub(super) async fn close(&mut self) {
        self.deadline = None;
        let is_deleted = self.closing.iter().any(|(_, after)| matches!(after, AfterClose::Delete));
        self.say_farewell(is_deleted);
        self.agent.leave();
        if let Some(recorder) = &mut self.recorder {
            recorder.release().await;
        }
        for passed in std::mem::take(&mut self.waiting) {
            self.respond(passed.responder, Err(Error::Cancelled));
        }
        let deleted = if is_deleted { self.layer.store.delete(&self.id).await } else { Ok(()) };
        for (responder, after) in std::mem::take(&mut self.closing) {
            let outcome = match (after, &deleted) {
                (AfterClose::Delete, Err(error)) => Err(error.clone().into()),
                (AfterClose::Delete, Ok(())) | (AfterClose::Answer, _) => Ok("{}".to_owned()),
            };
            self.respond(responder, outcome);
        }
        if is_deleted && deleted.is_ok() {
            self.recorder = None;
        }
        self.subscribers.end();
        self.opening = None;
        self.unsaid.clear();
        self.machine = Machine::new(self.machine.turn(), self.layer.options.while_busy);
    }

    /// Tells the agent that the session is closed, or deleted, if it wants to know.
    pub(super) fn say_farewell(&mut self, is_deleted: bool) {
        if self.is_ending {
            return;
        }
        let known = self.session().ok().and_then(|session| {
            let is_its_own = session.facts.agent.command == self.layer.agents.command().words();
            session.facts.agent_session.clone().filter(|_| is_its_own)
        });
        let is_open = self.agent.open().is_some();
        let link = self.agent.open().map(|agent| Arc::clone(&agent.link));
        let (Some(agent_session), layer) = (known, Arc::clone(&self.layer)) else { return };
        let client = self.opening.as_ref().map(|(_, client, profile)| (Arc::clone(client), profile.clone()));
        tokio::spawn(async move {
            let link = match (link, client) {
                (Some(link), _) => link,
                // Only to delete is an agent worth starting.
                (None, Some((client, profile))) if is_deleted => match layer.agents.link(&profile, &client).await {
                    Ok(link) => link,
                    Err(_) => return,
                },
                (None, _) => return,
            };
            let can = link.capabilities();
            let params = Object::default().with_string("sessionId", &agent_session.id).finish();
            if is_open && can.close {
                let _ = link.call("session/close", &params, FAREWELL).await;
            }
            if is_deleted && can.delete {
                let _ = link.call("session/delete", &params, FAREWELL).await;
            }
        });
    }
}
