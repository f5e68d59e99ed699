//! Which message of an agent is for which session.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Duration;

use rejoin_transcript::UpdateKind;
use rejoin_wire::{Outcome, RawValue, RequestId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::memory::Replay;
use crate::Error;
use crate::policy::AgentUpdate;

/// How many messages of an agent wait for a session before the agent has to wait.
pub(crate) const SESSION_ROOM: usize = 256;

/// How many messages are held for sessions that are not known yet, and how many bytes of updates.
const HELD_LIMIT: usize = 1024;
const HELD_BYTES: usize = 4 * 1024 * 1024;

/// What the agent says to one session.
#[derive(Debug)]
pub(crate) enum AgentEvent {
    /// A `session/update`.
    Update(AgentUpdate),
    /// A request.
    Asked { id: RequestId, method: String, params: Box<RawValue> },
    /// Something it said was left out, for this reason.
    LeftOut { reason: String },
    /// It took a request back.
    TookBack { id: RequestId },
    /// Any other notification.
    Told { method: String, params: Box<RawValue> },
    /// The answer to a request that was passed on.
    Passed { ticket: u64, outcome: Outcome },
    /// The answer to the prompt of this turn.
    Answered { turn: u32, outcome: Outcome },
    /// The process ended.
    Gone(Error),
}

impl AgentEvent {
    /// The same, to be held. What is held takes no room of the agent's: the answer that is waited for needs it.
    fn held(mut self) -> Self {
        if let Self::Update(update) = &mut self {
            update.room = None;
        }
        self
    }

    /// The bytes of an update.
    fn len(&self) -> usize {
        if let Self::Update(update) = self { update.update.as_str().len() } else { 0 }
    }
}

/// The way of an agent's messages to a session.
pub(crate) type Events = mpsc::Receiver<AgentEvent>;

/// The sessions of one agent process, by the agent's own ids.
pub(crate) struct Routes {
    sessions: HashMap<String, Route>,
    /// How many sessions are being made whose ids nobody knows yet.
    opening: usize,
    /// What came for sessions that are not known yet, in its order.
    held: Vec<(String, AgentEvent)>,
    /// The sessions whose requests are not answered yet.
    asked: HashMap<RequestId, String>,
    /// Sessions that were here: what still comes of them is of no interest. Whether the agent may have each open.
    left: HashMap<String, bool>,
    /// Whether no new sessions are to come.
    pub(super) is_retired: bool,
    /// How many sessions hold on to the process.
    pub(super) seats: usize,
    /// When something was last said, either way.
    pub(crate) last_used: Instant,
    /// Where the next line that the agent is sent begins.
    pub(super) end: Position,
}

/// A place in all that an agent was sent, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Position(pub(super) u64);

impl Default for Routes {
    fn default() -> Self {
        Self {
            sessions: HashMap::new(),
            opening: 0,
            held: Vec::new(),
            asked: HashMap::new(),
            left: HashMap::new(),
            is_retired: false,
            seats: 0,
            last_used: Instant::now(),
            end: Position::default(),
        }
    }
}

enum Route {
    /// The session runs.
    Live(mpsc::Sender<AgentEvent>),
    /// The agent is restoring it: its history is not shown, we have our own.
    Restoring(Restored),
}

/// What an agent sent of a session while it restored it.
#[derive(Debug)]
pub(crate) struct Restored {
    /// How many messages of the user were among it.
    pub(crate) user_messages: u32,
    /// The id of the user's message that came last, empty if it had none; nothing if something else came after it.
    open_message: Option<String>,
    /// How it ended.
    pub(crate) replay: Replay,
    /// The update with its commands, which belongs to now and not to the history.
    pub(crate) commands: Option<AgentUpdate>,
    /// When the last of it came.
    last: Instant,
}

/// What the replay of a session should hold.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected {
    /// How many messages of the user.
    pub(crate) user_messages: u32,
    /// Whether the last of them was answered.
    pub(crate) is_answered: bool,
}

/// How long an agent must have been silent after it answered a load, for its replay to be over. Some answer first and
/// replay afterwards.
const SILENCE: Duration = Duration::from_millis(30);
/// The same, if not all has come that should.
const LONG_SILENCE: Duration = Duration::from_secs(1);

/// Where a message goes.
pub(crate) enum Destination {
    /// To this session.
    Session(mpsc::Sender<AgentEvent>, AgentEvent),
    /// It was kept, or is not to be shown.
    Taken,
    /// Nobody wants it.
    Nobody(AgentEvent),
}

impl Routes {
    /// Where `event`, which is for the agent's session `session`, goes.
    pub(crate) fn destination(&mut self, session: &str, event: AgentEvent) -> Destination {
        match self.sessions.get_mut(session) {
            Some(Route::Live(events)) => Destination::Session(events.clone(), event),
            // Nobody can be asked yet, and whoever asks is not to wait.
            _ if matches!(event, AgentEvent::Asked { .. }) => Destination::Nobody(event),
            Some(Route::Restoring(restored)) => {
                restored.take(event);
                Destination::Taken
            }
            None if self.opening > 0 => self.hold(session, event),
            None => Destination::Nobody(event),
        }
    }

    /// A session is being made whose id nobody knows yet.
    pub(crate) fn begin_opening(&mut self) {
        self.opening += 1;
    }

    /// One session less is being made; gives what came for sessions that are none of those.
    pub(crate) fn end_opening(&mut self) -> Vec<(String, AgentEvent)> {
        self.opening -= 1;
        if self.opening > 0 { Vec::new() } else { std::mem::take(&mut self.held) }
    }

    fn hold(&mut self, session: &str, event: AgentEvent) -> Destination {
        let bytes: usize = self.held.iter().map(|(_, held)| held.len()).sum();
        if self.held.len() == HELD_LIMIT || bytes + event.len() > HELD_BYTES {
            return Destination::Nobody(event);
        }
        self.held.push((session.to_owned(), event.held()));
        Destination::Taken
    }

    /// What is held for the session `id`.
    fn take_held(&mut self, id: &str) -> Vec<AgentEvent> {
        self.held.extract_if(.., |(session, _)| session == id).map(|(_, event)| event).collect()
    }

    /// The session `id` runs; gives what came for it before. Nothing, if a session with this id runs already.
    pub(crate) fn go_live(&mut self, id: &str, events: mpsc::Sender<AgentEvent>) -> Option<Vec<AgentEvent>> {
        if matches!(self.sessions.get(id), Some(Route::Live(_))) {
            return None;
        }
        self.left.remove(id);
        self.sessions.insert(id.to_owned(), Route::Live(events));
        Some(self.take_held(id))
    }

    /// The agent is asked to restore the session `id`.
    pub(crate) fn begin_restoring(&mut self, id: &str) {
        self.sessions.insert(id.to_owned(), Route::Restoring(Restored::default()));
    }

    /// How long to wait until the agent's replay of the session `id`, which should hold what is `expected`, can be taken
    /// to be over; nothing when it is.
    pub(crate) fn unsettled_for(&self, id: &str, expected: Expected) -> Option<Duration> {
        let Some(Route::Restoring(restored)) = self.sessions.get(id) else { return None };
        let silence = if restored.has(expected) { SILENCE } else { LONG_SILENCE };
        silence.checked_sub(restored.last.elapsed()).filter(|left| !left.is_zero())
    }

    /// The agent answered that the session `id`, which it restores, has the id `own` now. Says whether it can have it.
    pub(crate) fn rename(&mut self, id: &str, own: &str) -> bool {
        if self.sessions.contains_key(own) {
            return false;
        }
        if let Some(Route::Restoring(mut restored)) = self.sessions.remove(id) {
            self.take_held(own).into_iter().for_each(|event| restored.take(event));
            self.sessions.insert(own.to_owned(), Route::Restoring(restored));
            self.left.insert(id.to_owned(), false);
        }
        true
    }

    /// The agent has restored the session `id`, which runs from now on; gives what it sent meanwhile.
    pub(crate) fn end_restoring(&mut self, id: &str, events: mpsc::Sender<AgentEvent>) -> Restored {
        self.left.remove(id);
        match self.sessions.insert(id.to_owned(), Route::Live(events)) {
            Some(Route::Restoring(restored)) => restored,
            Some(Route::Live(_)) | None => Restored::default(),
        }
    }

    /// The way to the running session `id`.
    pub(crate) fn events(&self, id: &str) -> Option<mpsc::Sender<AgentEvent>> {
        match self.sessions.get(id)? {
            Route::Live(events) => Some(events.clone()),
            Route::Restoring(_) => None,
        }
    }

    /// The ways to all running sessions.
    pub(crate) fn live(&self) -> Vec<mpsc::Sender<AgentEvent>> {
        self.sessions.keys().filter_map(|id| self.events(id)).collect()
    }

    /// The session `id` is no longer here.
    pub(crate) fn remove(&mut self, id: &str) {
        self.sessions.remove(id);
        self.left.insert(id.to_owned(), true);
        self.asked.retain(|_, session| session != id);
    }

    /// Whether the session `id` was here.
    pub(crate) fn was_left(&self, id: &str) -> bool {
        self.left.contains_key(id)
    }

    /// Whether the session `id` was here and the agent may still have it open.
    pub(crate) fn is_still_open(&self, id: &str) -> bool {
        self.left.get(id) == Some(&true)
    }

    /// The agent itself does not have the session `id` open any more.
    pub(crate) fn was_closed(&mut self, id: &str) {
        if let Some(is_open) = self.left.get_mut(id) {
            *is_open = false;
        }
    }

    /// The session `id` is not waited for any more. The agent may be about to restore it all the same.
    pub(crate) fn give_up_restoring(&mut self, id: &str) {
        if matches!(self.sessions.get(id), Some(Route::Restoring(_))) {
            self.remove(id);
        }
    }

    /// Every running session, none of which is here any more.
    pub(crate) fn take_all(&mut self) -> Vec<mpsc::Sender<AgentEvent>> {
        let sessions = std::mem::take(&mut self.sessions).into_values();
        sessions
            .filter_map(|route| match route {
                Route::Live(events) => Some(events),
                Route::Restoring(_) => None,
            })
            .collect()
    }

    /// The agent asked with the request `id` for its session `session`.
    pub(crate) fn note_asked(&mut self, id: RequestId, session: String) {
        self.asked.insert(id, session);
    }

    /// The request `id` needs no answer any more; gives the session it was for.
    pub(crate) fn settle(&mut self, id: &RequestId) -> Option<String> {
        self.asked.remove(id)
    }
}

impl Default for Restored {
    fn default() -> Self {
        Self { user_messages: 0, open_message: None, replay: Replay::default(), commands: None, last: Instant::now() }
    }
}

impl Restored {
    fn has(&self, expected: Expected) -> bool {
        let is_answered = self.open_message.is_none();
        self.user_messages >= expected.user_messages && (is_answered || !expected.is_answered)
    }

    fn take(&mut self, event: AgentEvent) {
        self.last = Instant::now();
        let AgentEvent::Update(update) = event else { return };
        let Some(kind) = UpdateKind::of(&update.update) else { return };
        let mut is_new_message = false;
        match kind {
            UpdateKind::UserMessageChunk => {
                let id = update.update.members().and_then(|members| members.get_string("messageId"));
                let id = Some(id.map(Cow::into_owned).unwrap_or_default());
                is_new_message = self.open_message != id;
                self.user_messages += u32::from(is_new_message);
                self.open_message = id;
            }
            UpdateKind::AvailableCommands => return self.commands = Some(update),
            _ => self.open_message = None,
        }
        self.replay.push(kind, &update.update, is_new_message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(text: &str) -> AgentEvent {
        let params = format!(r#"{{"sessionId":"s","update":{{"sessionUpdate":"{text}"}}}}"#);
        AgentEvent::Update(AgentUpdate::read(&params).unwrap().1)
    }

    #[test]
    fn a_request_is_never_held() {
        let mut routes = Routes::default();
        routes.begin_opening();
        routes.begin_restoring("r");
        for session in ["s", "r"] {
            let id = RequestId::from_number(1);
            let asked = AgentEvent::Asked {
                id,
                method: "x".to_owned(),
                params: RawValue::from_string("{}".to_owned()).unwrap(),
            };
            assert!(matches!(routes.destination(session, asked), Destination::Nobody(_)), "{session}");
        }
    }

    #[test]
    fn two_sessions_with_one_id_are_not_mixed() {
        let mut routes = Routes::default();
        let (events, _receiver) = mpsc::channel(1);
        assert!(routes.go_live("s", events.clone()).is_some());
        assert!(routes.go_live("s", events).is_none());
    }

    #[test]
    fn what_comes_before_the_session_is_known_is_held_for_it() {
        let mut routes = Routes::default();
        assert!(matches!(routes.destination("s", update("early")), Destination::Nobody(_)));
        routes.begin_opening();
        assert!(matches!(routes.destination("s", update("early")), Destination::Taken));
        let (events, _receiver) = mpsc::channel(1);
        assert_eq!(routes.go_live("s", events).map(|held| held.len()), Some(1));
        assert!(matches!(routes.destination("other", update("early")), Destination::Taken));
        let unclaimed: Vec<String> = routes.end_opening().into_iter().map(|(session, _)| session).collect();
        assert_eq!(unclaimed, ["other"]);
        assert!(matches!(routes.destination("s", update("now")), Destination::Session(..)));
    }

    #[test]
    fn no_more_is_held_than_there_is_room_for() {
        let mut routes = Routes::default();
        routes.begin_opening();
        let is_held = |routes: &mut Routes, event| matches!(routes.destination("s", event), Destination::Taken);
        assert!(is_held(&mut routes, update(&"x".repeat(HELD_BYTES / 2))));
        assert!(!is_held(&mut routes, update(&"x".repeat(HELD_BYTES / 2))));
        let n_held = (0..2 * HELD_LIMIT).filter(|_| is_held(&mut routes, update("early"))).count();
        assert_eq!(n_held, HELD_LIMIT - 1);
    }

    #[test]
    fn what_comes_of_a_session_that_is_not_waited_for_any_more_is_nobodys_news() {
        let mut routes = Routes::default();
        routes.begin_restoring("s");
        routes.give_up_restoring("s");
        assert!(routes.was_left("s") && routes.is_still_open("s"));
        routes.was_closed("s");
        assert!(routes.was_left("s") && !routes.is_still_open("s"));
    }

    #[test]
    fn a_session_that_gets_another_id_is_restored_under_that() {
        let mut routes = Routes::default();
        routes.begin_opening();
        routes.begin_restoring("old");
        for session in ["old", "new"] {
            assert!(matches!(routes.destination(session, update("user_message_chunk")), Destination::Taken));
            assert!(matches!(routes.destination(session, update("agent_message_chunk")), Destination::Taken));
        }
        assert!(routes.rename("old", "new"));
        let (events, _receiver) = mpsc::channel(1);
        assert_eq!(routes.end_restoring("new", events).user_messages, 2);
        assert!(routes.was_left("old") && routes.events("new").is_some() && routes.end_opening().is_empty());
    }

    #[test]
    fn the_agents_own_replay_is_looked_at_and_not_handed_on() {
        let mut routes = Routes::default();
        routes.begin_restoring("s");
        let is_settled_soon = |routes: &Routes, user_messages, is_answered| {
            let left = routes.unsettled_for("s", Expected { user_messages, is_answered });
            left.is_none_or(|left| left <= SILENCE)
        };
        assert!(matches!(routes.destination("s", update("user_message_chunk")), Destination::Taken));
        assert!(is_settled_soon(&routes, 1, false) && !is_settled_soon(&routes, 1, true));
        for kind in ["agent_message_chunk", "available_commands_update"] {
            assert!(matches!(routes.destination("s", update(kind)), Destination::Taken));
        }
        assert!(is_settled_soon(&routes, 1, true) && !is_settled_soon(&routes, 2, true));
        let (events, _receiver) = mpsc::channel(1);
        let restored = routes.end_restoring("s", events);
        assert!(restored.user_messages == 1 && restored.commands.is_some());
    }
}
