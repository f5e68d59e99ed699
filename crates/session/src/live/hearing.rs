//! Takes in what the agent says.

use rejoin_store::now;
use rejoin_transcript::json::{Members, replace_member, write_string};
use rejoin_transcript::{Fact, Step, StepKind};
use rejoin_wire::{Outcome, RawValue, notification_line};

use super::Live;
use super::agent_side::{AgentInput, AgentSide, OpenAgent};
use crate::Error;
use crate::agent::AgentEvent;
use crate::policy::step_of;
use crate::turn::{Answer, Event};

/// What agents answer that do not know a session.
const SESSION_NOT_FOUND: i64 = -32002;

/// Why a session is rebuilt that the agent opened and can't go on with.
const REFUSED: &str = "it opened the session, and refused the first prompt without a word";
const UNKNOWN: &str = "it opened the session, and did not know it at the first prompt";

impl Live {
    pub(super) async fn agent_input(&mut self, input: AgentInput) {
        match input {
            AgentInput::Opened(opened) => match *opened {
                Ok(opened) if self.is_outdated(&opened).unwrap_or(false) => {
                    if let Err(error) = self.bring_up_to_date(opened) {
                        self.handle(Event::AgentNotReady(error)).await;
                    }
                }
                Ok(opened) => {
                    let ready = match self.opened(opened).await {
                        Ok(()) => Event::AgentReady,
                        Err(error) => Event::StoreFailed(error),
                    };
                    self.handle(ready).await;
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
        // The room of the updates is given back when they are recorded.
        let (mut steps, mut rooms) = (Vec::new(), Vec::new());
        for event in events {
            // What one that was just let go of said besides is dropped.
            if self.agent.open().is_none() {
                break;
            }
            if let AgentEvent::Update(mut update) = event {
                rooms.extend(update.room.take());
                let step = step_of(update, now(), self.turn, &mut self.message_ids, &mut self.echo);
                if step.is_none() {
                    tracing::warn!(session = %self.id, "an update of the agent that holds none was dropped");
                }
                steps.extend(step);
                continue;
            }
            self.take_updates(std::mem::take(&mut steps)).await;
            rooms.clear();
            match event {
                AgentEvent::Update(_) => {}
                AgentEvent::Asked { id, method, params } => {
                    self.sent.has_heard = true;
                    self.asked(id, method, params).await;
                }
                AgentEvent::LeftOut { reason } => {
                    self.sent.has_heard = true;
                    self.say_left_out(&reason).await;
                }
                AgentEvent::TookBack { id } => self.took_back(&id),
                AgentEvent::Told { method, params } if self.told_us(&method, params.get()).await => {}
                AgentEvent::Told { method, params } => {
                    let params = replace_member(params.get(), "sessionId", &write_string(self.id.as_str()));
                    self.subscribers.send(&notification_line(&method, &params.unwrap_or_default()));
                }
                AgentEvent::Passed { ticket, outcome } => self.pass_answered(ticket, outcome),
                AgentEvent::Answered { turn, outcome } if self.was_forgotten(turn, &outcome) => {
                    self.repeated = turn;
                    // One that does not know the session may be able to open it; one that has just opened it is not.
                    self.lost = self.is_unproven().then_some(if outcome.is_ok() { REFUSED } else { UNKNOWN });
                    self.leave_agent();
                    self.handle(Event::Untaken).await;
                }
                AgentEvent::Answered { turn, outcome } => {
                    if outcome.is_ok() {
                        self.sent.has_heard = true;
                        if let Err(error) = self.say_briefed().await {
                            self.handle(Event::StoreFailed(error)).await;
                        }
                        self.was_taken().await;
                    }
                    self.handle(Event::Answered { turn, answer: answer_of(outcome) }).await;
                }
                AgentEvent::Gone(error) => self.agent_gone(error).await,
            }
        }
        self.take_updates(steps).await;
    }

    /// Whether the agent does not know its own session, and did nothing else with the prompt: it says so, or it has just
    /// opened it again, and refuses the first prompt without a word.
    fn was_forgotten(&mut self, turn: u32, outcome: &Outcome) -> bool {
        if self.sent.has_heard || self.repeated == turn {
            return false;
        }
        match outcome {
            Ok(result) => self.is_unproven() && stop_reason(result).is_some_and(|reason| reason == "refusal"),
            Err(error) => error.code() == SESSION_NOT_FOUND,
        }
    }

    /// Whether the agent has opened the session again, and has not shown yet that it has it.
    fn is_unproven(&mut self) -> bool {
        self.agent.open().is_some_and(|agent| !agent.is_proven)
    }

    /// The agent has taken a prompt: it has the session, and if what was said before went with it, it knows that now.
    async fn was_taken(&mut self) {
        let Some(agent) = self.agent.open() else { return };
        agent.is_proven = true;
        let Some(briefing) = agent.briefing.take() else { return };
        let told = match self.recorder() {
            Ok(recorder) => recorder.tell(vec![Fact::AgentSession(Some(briefing.agent_session))]).await,
            Err(_) => return,
        };
        if let Err(error) = told {
            tracing::warn!(session = %self.id, %error, "the agent's own session could not be noted");
        }
    }

    pub(super) async fn take_updates(&mut self, steps: Vec<Step>) {
        if steps.is_empty() {
            return;
        }
        // What is in force is told at any time, and is no answer to a prompt.
        let is_answer = steps.iter().any(|step| !matches!(step.kind, StepKind::Update(kind) if kind.is_state()));
        let is_first = is_answer && !self.sent.has_heard;
        self.sent.has_heard |= is_answer;
        let alive = is_first.then(|| self.alive_in_turn()).flatten().into_iter().collect();
        let recorded = match self.say_briefed().await {
            Ok(()) => self.record_updates(steps, alive).await,
            Err(error) => Err(error),
        };
        if let Err(error) = recorded {
            tracing::error!(session = %self.id, %error, "what the agent said could not be recorded, and was not shown");
            self.handle(Event::StoreFailed(error)).await;
        }
    }

    /// Tells clients that the agent was told what it may have lost, when it has begun to answer that.
    async fn say_briefed(&mut self) -> Result<(), Error> {
        let is_answering = self.sent.has_heard && self.sent.is_briefed && self.machine.is_in_turn();
        let briefing = self.agent.open().and_then(|agent| agent.briefing.as_mut()).filter(|_| is_answering);
        let Some(remark) = briefing.and_then(|briefing| briefing.remark.take()) else { return Ok(()) };
        self.say(remark);
        self.say_unsaid().await
    }

    /// What the first words of a turn tell of the agent's memory: it has what was said before.
    fn alive_in_turn(&mut self) -> Option<Fact> {
        let is_told = self.agent.open().is_some_and(|agent| agent.briefing.is_none());
        (is_told && self.machine.is_in_turn()).then(|| Fact::AtRisk { from: self.machine.turn() })
    }

    async fn agent_gone(&mut self, error: Error) {
        if !self.machine.is_in_turn() {
            self.note_left_in_order().await;
        }
        let event = self.lose_agent(error);
        if !self.machine.is_in_turn() && self.is_agent_lost {
            self.note_memory(Fact::AgentLost).await;
        }
        self.handle(event).await;
    }

    /// The agent is gone; says what that is to the turn. Nothing came of a prompt that nobody has read.
    pub(super) fn lose_agent(&mut self, error: Error) -> Event {
        // Only what is gone reads nothing any more.
        let may_read =
            |agent: &OpenAgent| !agent.link.is_gone() || self.sent.at.is_some_and(|at| agent.link.has_read(at));
        let is_untaken = !self.sent.has_heard && self.agent.open().is_some_and(|agent| !may_read(agent));
        self.is_agent_lost |= self.agent.open().is_some_and(|agent| !agent.link.is_ended_by_us());
        self.leave_agent();
        let turn = self.machine.turn();
        if is_untaken && self.machine.is_in_turn() && self.repeated != turn {
            self.repeated = turn;
            return Event::Untaken;
        }
        Event::AgentGone(error)
    }
}

fn answer_of(outcome: Outcome) -> Answer {
    match outcome {
        Ok(result) => {
            if let Some(reason) = stop_reason(&result) {
                return Answer::Stopped { reason: reason.into_owned(), result: result.get().to_owned() };
            }
            // Older agents answer with nothing.
            Answer::Stopped { reason: "end_turn".to_owned(), result: r#"{"stopReason":"end_turn"}"#.to_owned() }
        }
        Err(error) => Answer::Failed(Error::Agent(error)),
    }
}

fn stop_reason(result: &RawValue) -> Option<std::borrow::Cow<'_, str>> {
    Members::read(result.get())?.get_string("stopReason")
}
