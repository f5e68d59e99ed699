//! How a session is closed, or deleted: when its turn has ended, and not before.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use rejoin_transcript::FormerAgentSession;
use rejoin_transcript::json::Object;

use super::{AfterClose, Live};
use crate::Error;
use crate::agent::{Link, Seat};
use crate::client::Responder;
use crate::layer::Shared;
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
        let farewell = self.farewell(is_deleted);
        if !is_deleted {
            self.note_left_in_order().await;
        }
        self.leave_agent();
        self.end_unended().await;
        if let Some(recorder) = &mut self.recorder {
            recorder.release().await;
        }
        for passed in std::mem::take(&mut self.waiting) {
            self.respond(passed.responder, Err(Error::Cancelled));
        }
        let deleted = if is_deleted { self.layer.store.delete(&self.id).await } else { Ok(()) };
        if let Some(farewell) = farewell {
            let said = farewell.say(Arc::clone(&self.layer), is_deleted && deleted.is_ok());
            self.layer.see_to(said);
        }
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

    /// Lets others have the session: the agent closes it.
    pub(super) fn give_way(&mut self) {
        if let Some(agent) = self.agent.open() {
            let (link, id) = (agent.link.clone(), agent.id.clone());
            tokio::spawn(async move {
                // It may be about to open it again, and has closed it for that.
                if link.still_has(&id) {
                    link.close(&id, FAREWELL).await;
                }
            });
        }
        self.leave_agent();
    }

    /// What the agent may want to know of the end of the session. One that ends itself need not know that a session is
    /// closed.
    fn farewell(&mut self, is_deleted: bool) -> Option<Farewell> {
        if self.is_ending && !is_deleted {
            return None;
        }
        let facts = &self.session().ok()?.facts;
        let mut kept = facts.former_agent_sessions.clone();
        if let Some(known) = &facts.agent_session {
            kept.push(FormerAgentSession { agent: facts.agent.name.clone(), id: known.id.clone() });
        }
        let open = self.agent.open().map(|agent| (agent.link.clone(), agent.id.clone()));
        Some(Farewell { kept, open })
    }
}

/// What is needed to tell an agent that a session is closed, or deleted.
struct Farewell {
    /// What agents keep of the session, as far as we remember.
    kept: Vec<FormerAgentSession>,
    /// Where an agent has the session open, and as which.
    open: Option<(Seat, String)>,
}

impl Farewell {
    /// Tells the agent, if it wants to know.
    async fn say(self, layer: Arc<Shared>, is_deleted: bool) {
        let Self { kept, open } = self;
        let (link, id) = match open {
            Some((link, id)) => (link, Some(id)),
            // Only to delete is an agent worth starting.
            None if is_deleted && !kept.is_empty() => match layer.agents.seat().await {
                Ok(link) => (link, None),
                Err(_) => return,
            },
            None => return,
        };
        let can = link.capabilities();
        if let Some(id) = id.as_ref().filter(|_| can.close) {
            link.close(id, FAREWELL).await;
        }
        if is_deleted && can.delete {
            let name = link.info().name;
            let kept = kept.into_iter().filter(|kept| kept.agent == name).map(|kept| kept.id);
            let ids: BTreeSet<String> = kept.chain(id).collect();
            join_all(ids.iter().map(|id| delete(&link, id))).await;
        }
    }
}

async fn delete(link: &Link, id: &str) {
    let params = Object::default().with_string("sessionId", id).finish();
    if let Err(error) = link.call("session/delete", &params, FAREWELL).await {
        tracing::warn!(agent = link.program(), %error, "the agent did not delete its copy of a session");
    }
}
