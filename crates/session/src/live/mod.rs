//! A live session: one task that owns everything about it, and outlives any client's connection.
//!
//! It takes in what clients want, what the agent says and what the clock says, one after the other, and never waits for a
//! client or an agent: clients are served by feeds, agents by their link, and what takes time runs beside it.

mod agent_side;
mod asks;
mod choosing;
mod closing;
mod driver;
mod hearing;
mod layer_requests;
mod opening;
mod passing;
mod recording;
mod remarks;
mod subscribers;
mod terminals;
mod unended;

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rejoin_store::StoreError;
use rejoin_transcript::{InForce, Json, MessageIds, OpenWork, Session, SessionId, Turn};
use rejoin_wire::{Outcome, RequestId};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::Error;
use crate::agent::{Opening, Position, Remark};
use crate::choices::Choice;
use crate::client::{Client, Responder};
use crate::layer::Shared;
use crate::methods::Request;
use crate::policy::Echo;
use crate::recorder::Recorder;
use crate::turn::{AskId, Event, Machine, Ticket};
use agent_side::AgentSide;
use asks::Asks;
use subscribers::Subscribers;
use terminals::Terminals;
use unended::Unended;

/// The way to a live session.
pub(crate) type Mailbox = mpsc::UnboundedSender<Command>;

/// How often the owner of a running turn shows that it lives while it is believed to.
const SIGNS: u32 = 3;

/// How often an idle owner looks whether others use the session.
const LOOK: Duration = Duration::from_millis(500);

/// How long a turn is given to end when everything ends.
const LAST_DEADLINE: Duration = Duration::from_secs(2);

/// What a live session is told by others than its agent.
pub(crate) enum Command {
    /// A client asks for something.
    Request(Request, Responder),
    /// A client sent `session/cancel`.
    Cancel,
    /// A client took back its prompt with this id.
    TakeBack(Arc<Client>, RequestId),
    /// A client sent a notification that is for the agent.
    Notify { method: String, params: Json },
    /// A client answered a question of the agent.
    Answered { ask: AskId, outcome: Outcome },
    /// The agent answered to a choice, or took too long.
    Chosen(Box<Chosen>),
    /// A client's connection ended.
    Detach(Arc<Client>),
    /// The task that ran the session broke down, and may have left a turn unended.
    Recover,
    /// Everything ends.
    End,
}

/// What became of closing a session.
pub(crate) enum AfterClose {
    /// Nothing more.
    Answer,
    /// It is deleted.
    Delete,
}

/// What became of a choice.
pub(crate) struct Chosen {
    pub(crate) choice: Choice,
    /// What comes into force with it.
    pub(crate) set: InForce,
    /// What was in force before.
    pub(crate) before: InForce,
    /// The agent's new list of options, if it gave one; or its refusal.
    pub(crate) outcome: Result<Option<Json>, Error>,
    /// The duty to answer; none if the client was answered already, since the agent took too long.
    pub(crate) responder: Option<Responder>,
}

/// A prompt that has not been answered yet.
pub(crate) struct Prompt {
    pub(crate) blocks: Json,
    /// The params as the client sent them.
    pub(crate) params: Json,
    pub(crate) responder: Responder,
}

/// A request that waits until the agent has the session open.
pub(crate) struct Passed {
    pub(crate) method: String,
    pub(crate) params: Json,
    pub(crate) responder: Responder,
}

/// What is known of a prompt that the agent was sent.
#[derive(Default)]
struct Sent {
    /// Where it begins in all that the agent was sent; nothing if it could not be sent.
    at: Option<Position>,
    /// Whether a briefing went before it.
    is_briefed: bool,
    /// Whether the agent said anything since.
    has_heard: bool,
}

/// A session in this process.
pub(crate) struct Live {
    pub(crate) layer: Arc<Shared>,
    pub(crate) id: SessionId,
    pub(crate) mailbox: Mailbox,
    /// The session's record; none before it was made or found.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) subscribers: Subscribers,
    pub(crate) agent: AgentSide,
    /// What the latest client sent to open it.
    pub(crate) opening: Option<Opening>,
    pub(crate) machine: Machine,
    /// Where in its turns the session stands.
    turn: Turn,
    prompts: HashMap<Ticket, Prompt>,
    next_ticket: u64,
    asks: Asks,
    /// What waits for the agent to have the session open.
    waiting: Vec<Passed>,
    /// What waits for the session to be closed.
    held: VecDeque<Command>,
    closing: Vec<(Responder, AfterClose)>,
    /// What was to be said to clients that can't show notices, at the next turn.
    unsaid: Vec<Remark>,
    message_ids: MessageIds,
    open_work: OpenWork,
    terminals: Terminals,
    echo: Echo,
    /// Requests that the agent has and has not answered yet.
    passed: HashMap<u64, Responder>,
    /// Whether the agent has to open the session again when the turn has ended.
    must_reopen: bool,
    /// The last prompt that the agent was sent.
    sent: Sent,
    /// The turn whose prompt was sent a second time, because the agent did not take it.
    repeated: u32,
    /// Why what the agent has of the session is of no use.
    lost: Option<&'static str>,
    /// Whether the agent that had the session ended out of order.
    is_agent_lost: bool,
    /// The turn whose end could not be recorded.
    unended: Option<Unended>,
    /// When to look whether others use the session.
    next_look: Instant,
    deadline: Option<(u32, Instant)>,
    renewal: Instant,
    is_ending: bool,
}

impl Live {
    /// Starts the session `id`, which may or may not exist.
    pub(crate) fn start(layer: Arc<Shared>, id: SessionId) -> Mailbox {
        let (mailbox, commands) = mpsc::unbounded_channel();
        let machine = Machine::new(0, layer.options.while_busy);
        let live = Self {
            layer,
            id,
            mailbox: mailbox.clone(),
            recorder: None,
            subscribers: Subscribers::default(),
            agent: AgentSide::Closed,
            opening: None,
            machine,
            turn: Turn::After(0),
            prompts: HashMap::new(),
            next_ticket: 0,
            asks: Asks::default(),
            waiting: Vec::new(),
            held: VecDeque::new(),
            closing: Vec::new(),
            unsaid: Vec::new(),
            message_ids: MessageIds::default(),
            open_work: OpenWork::default(),
            terminals: Terminals::default(),
            echo: Echo::default(),
            passed: HashMap::new(),
            must_reopen: false,
            sent: Sent::default(),
            repeated: 0,
            lost: None,
            is_agent_lost: false,
            unended: None,
            next_look: Instant::now(),
            deadline: None,
            renewal: Instant::now(),
            is_ending: false,
        };
        tokio::spawn(async move {
            let (layer, id) = (Arc::clone(&live.layer), live.id.clone());
            if AssertUnwindSafe(live.run(commands)).catch_unwind().await.is_err() {
                layer.recover(&id);
            }
        });
        mailbox
    }

    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        loop {
            if !self.machine.is_closing()
                && let Some(command) = self.held.pop_front()
            {
                self.command(command).await;
                self.pass_waiting();
                continue;
            }
            let (deadline, is_in_the_way) = (self.deadline, self.may_be_in_the_way());
            let next_try = self.unended.as_ref().map(|unended| unended.next_try).filter(|_| !self.machine.is_in_turn());
            tokio::select! {
                biased;
                Some(command) = commands.recv() => self.command(command).await,
                input = self.agent.next() => self.agent_input(input).await,
                () = async { sleep_until(deadline.map_or_else(Instant::now, |(_, at)| at)).await }, if deadline.is_some() => {
                    if let Some((turn, _)) = self.deadline.take() {
                        self.handle(Event::DeadlinePassed { turn }).await;
                    }
                }
                () = sleep_until(self.renewal), if self.machine.is_in_turn() => self.renew().await,
                () = async { sleep_until(next_try.unwrap_or_else(Instant::now)).await }, if next_try.is_some() => {
                    self.end_unended().await;
                }
                () = sleep_until(self.next_look), if is_in_the_way => self.look_for_others().await,
            }
            self.pass_waiting();
            if self.is_unused() && self.layer.forget(&self.id, &commands) {
                return;
            }
        }
    }

    /// Whether nobody needs this task: what it knows is in the store.
    fn is_unused(&self) -> bool {
        let is_idle = !self.machine.is_in_turn() && self.held.is_empty() && self.waiting.is_empty();
        let is_needed = !self.subscribers.is_empty() || self.unended.is_some();
        is_idle && matches!(self.agent, AgentSide::Closed) && (!is_needed || self.is_ending)
    }

    /// Whether the session is open here, for any client.
    pub(crate) fn is_open(&self) -> bool {
        !self.subscribers.is_empty() || self.machine.is_in_turn() || !matches!(self.agent, AgentSide::Closed)
    }

    async fn command(&mut self, command: Command) {
        let is_for_later = match &command {
            Command::Request(..) => self.machine.is_closing(),
            // What a client sent behind a request that waits is about that request.
            Command::Cancel | Command::TakeBack(..) | Command::Notify { .. } => {
                self.machine.is_closing() && !self.held.is_empty()
            }
            Command::Answered { .. } | Command::Chosen(_) | Command::Detach(_) | Command::Recover | Command::End => {
                false
            }
        };
        if is_for_later {
            self.held.push_back(command);
            return;
        }
        match command {
            Command::Request(request, responder) => self.request(request, responder).await,
            Command::Cancel => self.handle(Event::Cancelled).await,
            Command::TakeBack(client, id) => {
                let is_meant =
                    |prompt: &Prompt| *prompt.responder.client() == client && prompt.responder.id() == Some(&id);
                let ticket = self.prompts.iter().find(|(_, prompt)| is_meant(prompt)).map(|(ticket, _)| *ticket);
                if let Some(ticket) = ticket {
                    self.handle(Event::TakenBack(ticket)).await;
                }
            }
            Command::Notify { method, params } => self.agent.notify(&method, &params),
            Command::Answered { ask, outcome } => self.answered(ask, outcome).await,
            Command::Chosen(chosen) => self.chosen(*chosen).await,
            Command::Detach(client) => {
                self.subscribers.remove(&client);
                self.ask_others(&client);
            }
            Command::Recover => self.recover().await,
            Command::End => {
                self.is_ending = true;
                self.handle(Event::Closing).await;
                if let Some((_, at)) = &mut self.deadline {
                    *at = (*at).min(Instant::now() + LAST_DEADLINE);
                }
            }
        }
    }

    async fn request(&mut self, request: Request, responder: Responder) {
        if !matches!(request, Request::New(_)) {
            match self.find().await {
                Ok(()) => {}
                // What is not there need not be deleted.
                Err(Error::SessionNotFound { .. }) if matches!(request, Request::Delete) => {
                    return responder.answer(Ok("{}".to_owned()));
                }
                Err(error) => return responder.answer(Err(error)),
            }
        }
        request.run(self, responder).await;
    }

    /// Sees to it that there is a record, and that it is what others left of it.
    async fn find(&mut self) -> Result<(), Error> {
        if self.machine.is_in_turn() {
            return Ok(());
        }
        let found = if let Some(recorder) = &mut self.recorder {
            recorder.refresh().await
        } else {
            let store = Arc::clone(&self.layer.store);
            let opened = Recorder::open(store, self.layer.owner.clone(), &self.id).await;
            opened.map(|recorder| {
                self.recorder = Some(recorder);
                false
            })
        };
        let has_moved = match found {
            Err(StoreError::SessionNotFound { .. }) => {
                self.recorder = None;
                self.subscribers.end();
                self.leave_agent();
                return Err(self.not_found());
            }
            found => found?,
        };
        if has_moved {
            // Someone else used the session: the agent here does not know of it.
            self.leave_agent();
        }
        let session = self.recorder.as_ref().map(|recorder| recorder.session().facts.clone());
        let Some(facts) = session.filter(|facts| facts.owner.is_empty()) else { return Err(self.not_found()) };
        self.skip_to(facts.turns);
        Ok(())
    }

    /// Takes the right to write; what others did meanwhile is taken over.
    pub(crate) async fn take(&mut self) -> Result<(), Error> {
        let recorder = self.recorder()?;
        if recorder.take().await? {
            self.leave_agent();
        }
        self.unended = None;
        let turns = self.session()?.facts.turns;
        self.skip_to(turns);
        Ok(())
    }

    fn skip_to(&mut self, turn: u32) {
        self.machine.skip_to(turn);
        self.turn = Turn::After(self.machine.turn());
    }

    /// The record.
    pub(crate) fn recorder(&mut self) -> Result<&mut Recorder, Error> {
        self.recorder.as_mut().ok_or_else(|| Error::SessionNotFound { id: self.id.to_string() })
    }

    /// What is known of the session.
    pub(crate) fn session(&self) -> Result<&Session, Error> {
        self.recorder.as_ref().map(Recorder::session).ok_or_else(|| self.not_found())
    }

    fn not_found(&self) -> Error {
        Error::SessionNotFound { id: self.id.to_string() }
    }

    /// Whether the agent may keep others from the session while nothing happens here: some let only one process have it
    /// open.
    fn may_be_in_the_way(&mut self) -> bool {
        !self.machine.is_in_turn() && self.agent.open().is_some_and(|agent| agent.can_close)
    }

    /// Has the agent close the session if others use it now: it would have to read it anew anyway.
    async fn look_for_others(&mut self) {
        self.next_look = Instant::now() + LOOK;
        let Some(recorder) = &self.recorder else { return };
        let is_used = match recorder.is_behind().await {
            Ok(is_behind) => is_behind,
            Err(StoreError::SessionNotFound { .. }) => true,
            Err(error) => {
                return tracing::debug!(session = %self.id, %error, "can't see whether others use the session");
            }
        };
        if is_used {
            self.give_way();
        }
    }

    async fn renew(&mut self) {
        self.renewal = Instant::now() + self.layer.options.lease / SIGNS;
        if let Some(recorder) = &self.recorder
            && let Err(error) = recorder.renew().await
        {
            tracing::warn!(session = %self.id, %error, "the right to write could not be renewed");
        }
    }
}

impl Drop for Live {
    /// A task that broke down leaves its agent as one does that has ended.
    fn drop(&mut self) {
        self.agent.leave();
    }
}
