//! Passes requests on to the agent that mean nothing to us.

use std::sync::Arc;

use super::{Live, Passed};
use crate::agent::Link;
use crate::client::{InFlight, Responder};

impl Live {
    /// Passes a request on to the agent, as soon as that has the session open.
    pub(crate) fn pass(&mut self, passed: Passed) {
        match self.open_agent() {
            Ok(_) => {
                self.waiting.push(passed);
                self.pass_waiting();
            }
            Err(error) => self.respond(passed.responder, Err(error)),
        }
    }

    pub(super) fn pass_waiting(&mut self) {
        let Some(agent) = self.agent.open() else { return };
        for Passed { method, params, responder } in std::mem::take(&mut self.waiting) {
            let (link, params) = (Arc::clone(&agent.link), agent.own_params(params.as_str()));
            tokio::spawn(pass_on(link, method, params, responder));
        }
    }
}

async fn pass_on(link: Arc<Link>, method: String, params: String, responder: Responder) {
    let note = |id| responder.waits_for(InFlight::Agent(Arc::downgrade(&link), id));
    let outcome = link.pass(&method, &params, note).await;
    responder.answer(outcome.map(|result| result.get().to_owned()));
}
