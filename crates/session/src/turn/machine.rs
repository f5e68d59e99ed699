//! The turn machine: one turn at a time, the others wait.
//!
//! Pure: events in, effects out. It knows nothing of clients, agents or stores; the driver does what the effects say, in
//! their order. Every ticket that came in is answered exactly once.

use std::collections::{BTreeMap, VecDeque};

use super::effect::{Effect, End};
use super::event::{Answer, AskId, AskKind, Event, Ticket};
use crate::Error;

/// How many prompts may wait.
pub(crate) const QUEUE_LIMIT: usize = 32;

/// What becomes of a prompt that comes while a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileBusy {
    /// It waits its turn.
    #[default]
    Queue,
    /// It is refused.
    Reject,
}

/// The turns of one session.
#[derive(Debug)]
pub(crate) struct Machine {
    /// The number of the last turn that began.
    turn: u32,
    phase: Phase,
    queue: VecDeque<Ticket>,
    /// The agent's questions that nobody has answered yet.
    asks: BTreeMap<AskId, AskKind>,
    while_busy: WhileBusy,
    is_closing: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The prompt is recorded; the agent is opening the session.
    Opening(Ticket),
    /// The agent has the prompt.
    Running {
        ticket: Ticket,
        is_cancelled: bool,
    },
}

impl Machine {
    /// The machine of a session whose last turn was `turn`.
    pub(crate) fn new(turn: u32, while_busy: WhileBusy) -> Self {
        Self { turn, phase: Phase::Idle, queue: VecDeque::new(), asks: BTreeMap::new(), while_busy, is_closing: false }
    }

    /// The number of the last turn that began.
    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    /// Whether a turn has begun and not ended.
    pub(crate) fn is_in_turn(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Whether the session is being closed.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// Learns that others ran turns, up to `turn`. Only while none is running here.
    pub(crate) fn skip_to(&mut self, turn: u32) {
        debug_assert!(!self.is_in_turn(), "others can't run turns while one is running here");
        self.turn = self.turn.max(turn);
    }

    /// Takes in what happened, and says what to do.
    pub(crate) fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Prompted(ticket) => self.prompted(ticket, &mut effects),
            Event::NotBegun(error) => {
                if let Phase::Opening(ticket) = self.phase {
                    self.phase = Phase::Idle;
                    // The turn's number was never recorded.
                    self.turn -= 1;
                    effects.push(Effect::Answer { ticket, answer: Answer::Failed(error) });
                    self.go_on(&mut effects);
                }
            }
            Event::AgentReady => {
                if let Phase::Opening(ticket) = self.phase {
                    self.phase = Phase::Running { ticket, is_cancelled: false };
                    effects.push(Effect::SendPrompt { turn: self.turn, ticket });
                }
            }
            Event::AgentNotReady(error) => {
                if let Phase::Opening(ticket) = self.phase {
                    self.end(ticket, End::Failed(error.clone()), Answer::Failed(error), &mut effects);
                }
            }
            Event::Answered { turn, answer } => self.answered(turn, answer, &mut effects),
            Event::Untaken => match self.phase {
                Phase::Running { ticket, is_cancelled: true } => self.end_cancelled(ticket, &mut effects),
                Phase::Running { ticket, is_cancelled: false } => {
                    self.phase = Phase::Opening(ticket);
                    self.cancel_asks(|_| true, &mut effects);
                    effects.push(Effect::OpenAgent);
                }
                Phase::Idle | Phase::Opening(_) => {}
            },
            Event::AgentGone(error) => match self.phase {
                Phase::Running { ticket, is_cancelled: true } => self.end_cancelled(ticket, &mut effects),
                Phase::Running { ticket, is_cancelled: false } => {
                    self.end(ticket, End::Failed(error.clone()), Answer::Failed(error), &mut effects);
                }
                Phase::Idle | Phase::Opening(_) => self.cancel_asks(|_| true, &mut effects),
            },
            Event::Cancelled => {
                for ticket in std::mem::take(&mut self.queue) {
                    effects.push(Effect::Answer { ticket, answer: cancelled() });
                }
                self.cancel(&mut effects);
            }
            Event::TakenBack(ticket) => {
                let is_current = match self.phase {
                    Phase::Opening(current) | Phase::Running { ticket: current, .. } => current == ticket,
                    Phase::Idle => false,
                };
                if is_current {
                    self.cancel(&mut effects);
                } else if let Some(at) = self.queue.iter().position(|waiting| *waiting == ticket) {
                    self.queue.remove(at);
                    effects.push(Effect::Answer { ticket, answer: cancelled() });
                }
            }
            Event::DeadlinePassed { turn } => {
                if let Phase::Running { ticket, is_cancelled: true } = self.phase
                    && turn == self.turn
                {
                    effects.push(Effect::AbandonAgent);
                    self.end_cancelled(ticket, &mut effects);
                }
            }
            Event::Asked(ask, kind) => {
                self.asks.insert(ask, kind);
                if kind == AskKind::Permission && matches!(self.phase, Phase::Running { is_cancelled: true, .. }) {
                    self.cancel_asks(|kind| kind == AskKind::Permission, &mut effects);
                }
            }
            Event::Settled(ask) => {
                self.asks.remove(&ask);
            }
            Event::Closing => {
                self.is_closing = true;
                let is_idle = !self.is_in_turn();
                effects.extend(self.handle(Event::Cancelled));
                if is_idle {
                    self.cancel_asks(|_| true, &mut effects);
                    effects.push(Effect::Close);
                }
            }
            Event::StoreFailed(error) => {
                if let Phase::Opening(ticket) | Phase::Running { ticket, .. } = self.phase {
                    let has_prompt = matches!(self.phase, Phase::Running { .. });
                    self.cancel_asks(|_| true, &mut effects);
                    effects.extend(has_prompt.then_some(Effect::SendCancel));
                    effects.push(Effect::AbandonAgent);
                    self.end(ticket, End::Failed(error.clone()), Answer::Failed(error), &mut effects);
                }
            }
        }
        effects
    }

    fn prompted(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        if !self.is_in_turn() {
            self.begin(ticket, effects);
        } else if self.while_busy == WhileBusy::Queue && self.queue.len() < QUEUE_LIMIT {
            self.queue.push_back(ticket);
        } else {
            effects.push(Effect::Answer { ticket, answer: Answer::Failed(self.busy()) });
        }
    }

    fn answered(&mut self, turn: u32, answer: Answer, effects: &mut Vec<Effect>) {
        let Phase::Running { ticket, is_cancelled } = self.phase else { return };
        if turn != self.turn {
            return;
        }
        match answer {
            // Whatever an agent says to a cancel, it means that.
            Answer::Failed(_) if is_cancelled => self.end_cancelled(ticket, effects),
            Answer::Stopped { result, .. } if is_cancelled => {
                let answer = Answer::Stopped { reason: CANCELLED.to_owned(), result: with_cancelled(&result) };
                self.end(ticket, End::Cancelled, answer, effects);
            }
            Answer::Stopped { reason, result } if reason == CANCELLED => {
                self.end(ticket, End::Cancelled, Answer::Stopped { reason, result }, effects);
            }
            Answer::Stopped { reason, result } => {
                self.end(ticket, End::Stopped(reason.clone()), Answer::Stopped { reason, result }, effects);
            }
            Answer::Failed(error) => self.end(ticket, End::Failed(error.clone()), Answer::Failed(error), effects),
        }
    }

    fn begin(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        self.turn += 1;
        self.phase = Phase::Opening(ticket);
        effects.extend([Effect::Begin { turn: self.turn, ticket }, Effect::OpenAgent]);
    }

    fn cancel(&mut self, effects: &mut Vec<Effect>) {
        match &mut self.phase {
            // The agent has no turn to cancel, and some agents break when they are told to.
            Phase::Idle => {}
            Phase::Opening(ticket) => {
                let ticket = *ticket;
                self.end_cancelled(ticket, effects);
            }
            Phase::Running { is_cancelled, .. } => {
                let is_first = !std::mem::replace(is_cancelled, true);
                effects.push(Effect::SendCancel);
                self.cancel_asks(|kind| kind == AskKind::Permission, effects);
                if is_first {
                    effects.push(Effect::ArmDeadline { turn: self.turn });
                }
            }
        }
    }

    fn end_cancelled(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        self.end(ticket, End::Cancelled, cancelled(), effects);
    }

    fn end(&mut self, ticket: Ticket, end: End, answer: Answer, effects: &mut Vec<Effect>) {
        self.phase = Phase::Idle;
        self.cancel_asks(|_| true, effects);
        effects.push(Effect::End { turn: self.turn, end });
        effects.push(Effect::Answer { ticket, answer });
        self.go_on(effects);
    }

    fn go_on(&mut self, effects: &mut Vec<Effect>) {
        if self.is_closing {
            effects.push(Effect::Close);
        } else if let Some(ticket) = self.queue.pop_front() {
            self.begin(ticket, effects);
        }
    }

    fn cancel_asks(&mut self, is_meant: impl Fn(AskKind) -> bool, effects: &mut Vec<Effect>) {
        self.asks.retain(|ask, kind| {
            if is_meant(*kind) {
                effects.push(Effect::CancelAsk(*ask));
            }
            !is_meant(*kind)
        });
    }

    fn busy(&self) -> Error {
        let reason = match self.while_busy {
            WhileBusy::Queue => "too many prompts wait already; send it again when a turn has ended",
            WhileBusy::Reject => "a turn is running; send the prompt again when it has ended",
        };
        Error::Busy { reason }
    }
}

const CANCELLED: &str = "cancelled";

fn cancelled() -> Answer {
    Answer::Stopped { reason: CANCELLED.to_owned(), result: r#"{"stopReason":"cancelled"}"#.to_owned() }
}

/// The agent's result with `cancelled` as its stop reason; what else it holds (usage, `_meta`) stays.
fn with_cancelled(result: &str) -> String {
    let cancelled = rejoin_transcript::json::set_member(result, "stopReason", "\"cancelled\"");
    cancelled.unwrap_or_else(|| r#"{"stopReason":"cancelled"}"#.to_owned())
}
