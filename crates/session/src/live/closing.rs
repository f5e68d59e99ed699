//! How a session is closed, or deleted: when its turn has ended, and not before.

use std::sync::Arc;
use std::time::Duration;

use rejoin_transcript::json::Object;

use super::{AfterClose, Live};
use crate::Error;
use crate::agent::Seat;
use crate::capabilities::ClientProfile;
use crate::client::{Client, Responder};
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
        let farewell = self.farewell();
        self.leave_agent();
        if let Some(recorder) = &mut self.recorder {
            recorder.release().await;
        }
        for passed in std::mem::take(&mut self.waiting) {
            self.respond(passed.responder, Err(Error::Cancelled));
        }
        let deleted = if is_deleted { self.layer.store.delete(&self.id).await } else { Ok(()) };
        if let Some(farewell) = farewell {
            tokio::spawn(farewell.say(Arc::clone(&self.layer), is_deleted && deleted.is_ok()));
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

    /// What the agent may want to know of the end of the session; nothing, if it ends itself.
    fn farewell(&mut self) -> Option<Farewell> {
        if self.is_ending {
            return None;
        }
        let facts = &self.session().ok()?.facts;
        let (name, known) = (facts.agent.name.clone(), facts.agent_session.clone());
        let open = self.agent.open().map(|agent| (agent.link.clone(), agent.id.clone()));
        let client = self.opening.as_ref().map(|(_, client, profile)| (Arc::clone(client), profile.clone()));
        Some(Farewell { name, known: known.map(|known| known.id), open, client })
    }
}

/// What is needed to tell an agent that a session is closed, or deleted.
struct Farewell {
    /// The agent's name.
    name: String,
    /// Its own session, as we remember it.
    known: Option<String>,
    /// Where it has the session open, and as which.
    open: Option<(Seat, String)>,
    /// How to reach it otherwise.
    client: Option<(Arc<Client>, ClientProfile)>,
}

impl Farewell {
    /// Tells the agent, if it wants to know.
    async fn say(self, layer: Arc<Shared>, is_deleted: bool) {
        let (link, id) = match (self.open, self.known, self.client) {
            (Some((link, id)), ..) => {
                if link.capabilities().close {
                    link.close(&id, FAREWELL).await;
                }
                (link, id)
            }
            // Only to delete is an agent worth starting.
            (None, Some(id), Some((client, profile))) if is_deleted => {
                match layer.agents.seat(&profile, &client).await {
                    Ok(link) if link.info().name == self.name => (link, id),
                    Ok(_) | Err(_) => return,
                }
            }
            (None, ..) => return,
        };
        if is_deleted && link.capabilities().delete {
            let params = Object::default().with_string("sessionId", &id).finish();
            if let Err(error) = link.call("session/delete", &params, FAREWELL).await {
                tracing::warn!(agent = link.program(), %error, "the agent did not delete its copy of a session");
            }
        }
    }
}
