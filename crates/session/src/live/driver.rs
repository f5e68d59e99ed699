//! Does what the turn machine says.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use rejoin_store::now;
use rejoin_transcript::json::{Object, other_members, replace_member, write_string};
use rejoin_transcript::{Entry, Fact, Json, OpenWork, Step, Turn, TurnEnd, live};
use tokio::time::Instant;

use super::{LAST_DEADLINE, Live, Prompt, SIGNS, Sent};
use crate::Error;
use crate::client::Responder;
use crate::policy::{Echo, new_message_id};
use crate::turn::{Answer, Effect, End, Event, Ticket};

/// What comes of doing what an effect says.
enum Next {
    /// The next effect.
    GoOn,
    /// Something happened by it.
    Happened(Event),
    /// It failed, and what was to follow makes no sense any more.
    Failed(Event),
}

impl Live {
    /// Takes in what happened, and does what is to be done about it.
    pub(crate) async fn handle(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut unrecorded = None;
            for effect in self.machine.handle(event) {
                match self.perform(effect, &mut unrecorded).await {
                    Next::GoOn => {}
                    Next::Happened(event) => events.push_back(event),
                    Next::Failed(event) => {
                        events.push_front(event);
                        break;
                    }
                }
            }
        }
    }

    /// `unrecorded` is why the end of a turn could not be recorded: its prompt is answered with that.
    async fn perform(&mut self, effect: Effect, unrecorded: &mut Option<Error>) -> Next {
        match effect {
            Effect::Begin { turn, ticket } => match self.begin(turn, ticket).await {
                Ok(()) => {}
                Err(error) => return Next::Failed(Event::NotBegun(error)),
            },
            Effect::OpenAgent => match self.open_agent() {
                Ok(true) => return Next::Happened(Event::AgentReady),
                Ok(false) => {}
                Err(error) => return Next::Happened(Event::AgentNotReady(error)),
            },
            Effect::SendPrompt { turn, ticket } => {
                if let Err(error) = self.say_unsaid().await {
                    return Next::Happened(Event::StoreFailed(error));
                }
                if let Err(error) = self.send_prompt(turn, ticket) {
                    return Next::Happened(self.lose_agent(error));
                }
            }
            Effect::SendCancel => {
                let params = Object::default().with_string("sessionId", self.id.as_str()).finish();
                self.agent.notify("session/cancel", &Json::from_stored(params));
            }
            Effect::ArmDeadline { turn } => {
                let limit = if self.is_ending { LAST_DEADLINE } else { self.layer.options.cancel_deadline };
                self.deadline = Some((turn, Instant::now() + limit));
            }
            Effect::AbandonAgent => self.abandon_agent(),
            Effect::CancelAsk(ask) => {
                if let Err(error) = self.cancel_ask(ask).await {
                    tracing::error!(session = %self.id, %error, "a cancelled permission could not be recorded");
                }
            }
            Effect::End { turn, end } => *unrecorded = self.end(turn, end).await.err(),
            Effect::Answer { ticket, answer } => {
                let outcome = match (unrecorded.take(), answer) {
                    (Some(error), _) | (None, Answer::Failed(error)) => Err(error),
                    (None, Answer::Stopped { result, .. }) => Ok(result),
                };
                if let Some(prompt) = self.prompts.remove(&ticket) {
                    self.respond(prompt.responder, outcome);
                }
            }
            Effect::Close => self.close().await,
        }
        Next::GoOn
    }

    /// Takes a client's prompt.
    pub(crate) async fn prompt(&mut self, prompt: Prompt) {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.prompts.insert(ticket, prompt);
        self.handle(Event::Prompted(ticket)).await;
    }

    /// Answers behind everything that the client was sent of the session.
    pub(crate) fn respond(&self, responder: Responder, outcome: Result<String, Error>) {
        match self.subscribers.feed_of(responder.client()) {
            Some(feed) => responder.answer_in(feed, outcome),
            None => responder.answer(outcome),
        }
    }

    async fn begin(&mut self, turn: u32, ticket: Ticket) -> Result<(), Error> {
        self.end_before_next().await?;
        let facts = &self.session()?.facts;
        let (cwd, title) = (facts.cwd.raw.clone(), facts.title().map(str::to_owned));
        if !Path::new(&cwd).is_dir() {
            return Err(Error::CwdMissing { cwd });
        }
        let Some(prompt) = self.prompts.get(&ticket) else { return Err(Error::Cancelled) };
        let (blocks, client) = (prompt.blocks.clone(), Arc::clone(prompt.responder.client()));
        let extra = other_members(prompt.params.as_str(), &["sessionId", "prompt"]);
        let step = Step::prompt(now(), turn, new_message_id(), blocks.clone());
        let mut step = step.map_err(|error| Error::invalid("prompt", error.to_string()))?;
        if let Some(extra) = extra {
            step = step.with_extra(extra);
        }
        let is_safe = facts.agent_memory.at_risk_from.is_none();
        let at_risk = is_safe.then_some(Fact::AtRisk { from: turn }).into_iter().collect();
        let number = self.recorder()?.record(vec![step.clone()], at_risk).await?;
        self.turn = Turn::In(turn);
        self.sent.at = None;
        self.open_work = OpenWork::default();
        self.echo = Echo::of(&blocks);
        self.renewal = Instant::now() + self.layer.options.lease / SIGNS;
        // Whoever sent it knows it.
        self.subscribers.show_entry(&self.id, number, &live(&Entry { number, step }), |one| *one != *client);
        let now_titled = self.session()?.facts.title().map(str::to_owned);
        if let Some(now_titled) = now_titled.filter(|now_titled| Some(now_titled) != title.as_ref()) {
            self.show_title(&now_titled);
        }
        Ok(())
    }

    async fn end(&mut self, turn: u32, end: End) -> Result<(), Error> {
        self.deadline = None;
        let (at, open_work) = (now(), std::mem::take(&mut self.open_work));
        let (mut steps, end) = match end {
            End::Stopped(reason) => (Vec::new(), TurnEnd::Stopped { reason }),
            End::Cancelled => (open_work.fail(at, turn), TurnEnd::Stopped { reason: "cancelled".to_owned() }),
            End::Failed(error) => {
                let error = Json::from_stored(error.to_rpc().as_json().to_owned());
                (open_work.fail(at, turn), TurnEnd::Failed { error })
            }
        };
        steps.push(Step::turn_ended(at, turn, &end));
        let texts = self.terminals.end(at, turn);
        let recorded = match self.record(texts).await {
            Ok(()) => {
                let memory = self.memory_after(turn).into_iter().collect();
                self.record_and_show(steps, memory, |_, _| true).await
            }
            Err(error) => Err(error),
        };
        self.turn = Turn::After(turn);
        if std::mem::take(&mut self.must_reopen) {
            self.leave_agent();
        }
        if let Err(error) = &recorded {
            self.note_unended(error);
        }
        recorded?;
        Ok(self.recorder()?.flush().await?)
    }

    /// What the end of `turn` tells of the agent's memory; nothing if the agent did not get its prompt.
    fn memory_after(&mut self, turn: u32) -> Option<Fact> {
        self.sent.at?;
        let at_risk_from = self.session().ok()?.facts.agent_memory.at_risk_from;
        match self.agent.open() {
            None => Some(Fact::AgentLost),
            // It still has to be told.
            Some(agent) if agent.briefing.is_some() => None,
            // What it was told before the prompt is in this turn of it.
            Some(_) if self.sent.is_briefed => Some(Fact::AtRisk { from: at_risk_from.unwrap_or(turn) }),
            Some(_) => Some(Fact::AtRisk { from: turn }),
        }
    }

    fn send_prompt(&mut self, turn: u32, ticket: Ticket) -> Result<(), Error> {
        self.sent = Sent::default();
        let Some(prompt) = self.prompts.get(&ticket) else { return Ok(()) };
        let Some(agent) = self.agent.open() else { return Err(Error::Ended) };
        let mut params = agent.own_params(prompt.params.as_str());
        self.sent.is_briefed = agent.briefing.is_some();
        if let Some(briefing) = &agent.briefing {
            let blocks = prompt.blocks.as_str().trim_start().strip_prefix('[').unwrap_or("]").trim_start();
            let comma = if blocks.starts_with(']') { "" } else { "," };
            let blocks = format!("[{{\"type\":\"text\",\"text\":{}}}{comma}{blocks}", write_string(&briefing.text));
            params = replace_member(&params, "prompt", &blocks).unwrap_or(params);
            self.echo = Echo::of(&Json::from_stored(blocks));
        }
        self.sent.at = Some(agent.link.prompt(&agent.id, turn, &params)?);
        Ok(())
    }
}
