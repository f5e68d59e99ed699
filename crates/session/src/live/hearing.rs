//! Takes in what the agent says.

use rejoin_store::now;
use rejoin_transcript::Step;
use rejoin_transcript::json::{Members, replace_member, write_string};
use rejoin_wire::{Outcome, notification_line};

use super::Live;
use super::agent_side::{AgentInput, AgentSide};
use crate::Error;
use crate::agent::AgentEvent;
use crate::policy::step_of;
use crate::turn::{Answer, Event};

impl Live {
    pub(super) async fn agent_input(&mut self, input: AgentInput) {
        match input {
            AgentInput::Opened(opened) => match *opened {
                Ok(opened) => {
                    let ready = match self.opened(opened).await {
                        Ok(()) => Event::AgentReady,
                        Err(error) => Event::StoreFailed(error),
                    };
                    self.handle(ready).await;
                    self.pass_waiting();
                }
                Err(error) => {
                    self.agent = AgentSide::Closed;
                    for passed in std::mem::take(&mut self.waiting) {
                        self.respond(passed.responder, Err(error.clone()));
                    }
                    self.handle(Event::AgentNotReady(error)).await;
                }
            },
            AgentInput::Events(events) if events.is_empty() => self.agent_gone(Error::Ended).await,
            AgentInput::Events(events) => self.events(events).await,
        }
    }

    /// Takes in what the agent said, in its order. Updates that came together are recorded together.
    pub(super) async fn events(&mut self, events: Vec<AgentEvent>) {
        let mut steps = Vec::new();
        for event in events {
            if let AgentEvent::Update(params) = event {
                let step = step_of(params.get(), now(), self.turn, &mut self.message_ids, &mut self.echo);
                if step.is_none() {
                    tracing::warn!(session = %self.id, "an update of the agent that holds none was dropped");
                }
                steps.extend(step);
                continue;
            }
            self.take_updates(std::mem::take(&mut steps)).await;
            match event {
                AgentEvent::Update(_) => {}
                AgentEvent::Asked { id, method, params } => self.asked(id, method, params).await,
                AgentEvent::TookBack { id } => self.took_back(&id),
                AgentEvent::Told { method, params } => {
                    let params = replace_member(params.get(), "sessionId", &write_string(self.id.as_str()));
                    self.subscribers.send(&notification_line(&method, &params.unwrap_or_default()));
                }
                AgentEvent::Answered { turn, outcome } => {
                    self.handle(Event::Answered { turn, answer: answer_of(outcome) }).await;
                }
                AgentEvent::Gone(error) => self.agent_gone(error).await,
            }
        }
        self.take_updates(steps).await;
    }

    pub(super) async fn take_updates(&mut self, steps: Vec<Step>) {
        if steps.is_empty() {
            return;
        }
        if let Err(error) = self.record_updates(steps).await {
            tracing::error!(session = %self.id, %error, "what the agent said could not be recorded, and was not shown");
            self.handle(Event::StoreFailed(error)).await;
        }
    }

    pub(super) async fn agent_gone(&mut self, error: Error) {
        self.agent = AgentSide::Closed;
        self.handle(Event::AgentGone(error)).await;
    }
}

fn answer_of(outcome: Outcome) -> Answer {
    match outcome {
        Ok(result) => {
            let reason = Members::read(result.get()).and_then(|members| members.get_string("stopReason"));
            if let Some(reason) = reason {
                return Answer::Stopped { reason: reason.into_owned(), result: result.get().to_owned() };
            }
            // Older agents answer with nothing.
            Answer::Stopped { reason: "end_turn".to_owned(), result: r#"{"stopReason":"end_turn"}"#.to_owned() }
        }
        Err(error) => Answer::Failed(Error::Agent(error)),
    }
}
