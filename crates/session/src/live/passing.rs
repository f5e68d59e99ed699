//! Passes requests on to the agent that mean nothing to us. Their answers come in the order of all that the agent says.

use std::sync::Arc;

use rejoin_transcript::json::{replace_member, write_string};
use rejoin_wire::Outcome;

use super::agent_side::AgentSide;
use super::{Live, Passed};
use crate::Error;
use crate::client::InFlight;

impl Live {
    /// Passes a request on to the agent, as soon as that has the session open.
    pub(crate) fn pass(&mut self, passed: Passed) {
        self.waiting.push(passed);
        self.pass_waiting();
    }

    /// Passes on what waits, if the agent has the session open, and sees to it that it will.
    pub(super) fn pass_waiting(&mut self) {
        if self.waiting.is_empty() || self.machine.is_closing() {
            return;
        }
        if matches!(self.agent, AgentSide::Closed)
            && let Err(error) = self.open_agent()
        {
            for passed in std::mem::take(&mut self.waiting) {
                self.respond(passed.responder, Err(error.clone()));
            }
        }
        let Some(agent) = self.agent.open() else { return };
        for Passed { method, params, responder } in std::mem::take(&mut self.waiting) {
            let (ticket, params) = (self.next_ticket, agent.own_params(params.as_str()));
            self.next_ticket += 1;
            if let Some(id) = agent.link.pass_for(&agent.id, &method, &params, ticket) {
                responder.waits_for(InFlight::Agent(Arc::downgrade(&agent.link), id));
            }
            self.passed.insert(ticket, responder);
        }
    }

    /// The agent answered.
    pub(super) fn pass_answered(&mut self, ticket: u64, outcome: Outcome) {
        let Some(responder) = self.passed.remove(&ticket) else { return };
        let ours = write_string(self.id.as_str());
        let outcome = outcome.map_err(Error::Agent).map(|result| {
            // An agent that names its session is not to show its own id of it.
            replace_member(result.get(), "sessionId", &ours).unwrap_or_else(|| result.get().to_owned())
        });
        self.respond(responder, outcome);
    }

    /// The agent will not answer any more.
    pub(super) fn give_up_passed(&mut self) {
        for (_, responder) in std::mem::take(&mut self.passed) {
            self.respond(responder, Err(Error::Abandoned));
        }
    }
}
