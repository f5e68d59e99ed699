//! Which message of an agent is for which session.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use rejoin_transcript::UpdateKind;
use rejoin_wire::{Outcome, RawValue, RequestId};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::Error;
use crate::policy::AgentUpdate;

/// How many messages of an agent wait for a session before the agent has to wait.
pub(crate) const SESSION_ROOM: usize = 256;

/// How many messages are held for each of as many sessions that are not known yet.
const HELD_LIMIT: usize = 1024;

/// What the agent says to one session.
#[derive(Debug)]
pub(crate) enum AgentEvent {
    /// A `session/update`.
    Update(AgentUpdate),
    /// A request.
    Asked { id: RequestId, method: String, params: Box<RawValue> },
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

/// The way of an agent's messages to a session.
pub(crate) type Events = mpsc::Receiver<AgentEvent>;

/// The sessions of one agent process, by the agent's own ids.
pub(crate) struct Routes {
    sessions: HashMap<String, Route>,
    /// How many sessions are being made whose ids nobody knows yet.
    opening: usize,
    /// What came for sessions that are not known yet.
    held: HashMap<String, Vec<AgentEvent>>,
    /// The sessions whose requests are not answered yet.
    asked: HashMap<RequestId, String>,
    /// Sessions that were here: what still comes of them is of no interest.
    left: HashSet<String>,
    /// Whether no new sessions are to come.
    pub(super) is_retired: bool,
    /// How many sessions hold on to the process.
    pub(super) seats: usize,
    /// When something was last said, either way.
    pub(crate) last_used: Instant,
}

impl Default for Routes {
    fn default() -> Self {
        Self {
            sessions: HashMap::new(),
            opening: 0,
            held: HashMap::new(),
            asked: HashMap::new(),
            left: HashSet::new(),
            is_retired: false,
            seats: 0,
            last_used: Instant::now(),
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
    /// The update with its commands, which belongs to now and not to the history.
    pub(crate) commands: Option<AgentUpdate>,
    /// When the last of it came.
    last: Instant,
}

/// How long an agent must have been silent after it answered a load, for its replay to be over. Some answer first and
/// replay afterwards.
const SILENCE: Duration = Duration::from_millis(30);
/// The same, if the user's messages have not all come yet.
const LONG_SILENCE: Duration = Duration::from_millis(300);

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
            None if self.opening > 0 && self.held.len() < HELD_LIMIT => {
                let held = self.held.entry(session.to_owned()).or_default();
                if held.len() >= HELD_LIMIT {
                    return Destination::Nobody(event);
                }
                held.push(event);
                Destination::Taken
            }
            None => Destination::Nobody(event),
        }
    }

    /// A session is being made whose id nobody knows yet.
    pub(crate) fn begin_opening(&mut self) {
        self.opening += 1;
    }

    /// One session less is being made.
    pub(crate) fn end_opening(&mut self) {
        self.opening -= 1;
        if self.opening == 0 {
            self.held.clear();
        }
    }

    /// The session `id` runs; gives what came for it before. Nothing, if a session with this id runs already.
    pub(crate) fn go_live(&mut self, id: &str, events: mpsc::Sender<AgentEvent>) -> Option<Vec<AgentEvent>> {
        if matches!(self.sessions.get(id), Some(Route::Live(_))) {
            return None;
        }
        self.left.remove(id);
        self.sessions.insert(id.to_owned(), Route::Live(events));
        Some(self.held.remove(id).unwrap_or_default())
    }

    /// The agent is asked to restore the session `id`.
    pub(crate) fn begin_restoring(&mut self, id: &str) {
        self.sessions.insert(id.to_owned(), Route::Restoring(Restored::default()));
    }

    /// How long to wait until the agent's replay of the session `id`, which has `turns` turns, can be taken to be over;
    /// nothing when it is.
    pub(crate) fn unsettled_for(&self, id: &str, turns: u32) -> Option<Duration> {
        let Some(Route::Restoring(restored)) = self.sessions.get(id) else { return None };
        let silence = if restored.user_messages >= turns { SILENCE } else { LONG_SILENCE };
        silence.checked_sub(restored.last.elapsed()).filter(|left| !left.is_zero())
    }

    /// The agent has restored the session `id`, which runs from now on; gives what it sent meanwhile.
    pub(crate) fn end_restoring(&mut self, id: &str, events: mpsc::Sender<AgentEvent>) -> Restored {
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

    /// The session `id` is no longer here.
    pub(crate) fn remove(&mut self, id: &str) {
        self.sessions.remove(id);
        self.left.insert(id.to_owned());
        self.asked.retain(|_, session| session != id);
    }

    /// Whether the session `id` was here and nobody told the agent that it is not any more.
    pub(crate) fn was_left(&self, id: &str) -> bool {
        self.left.contains(id)
    }

    /// The agent itself has nothing of the session `id` any more.
    pub(crate) fn was_closed(&mut self, id: &str) {
        self.left.remove(id);
    }

    /// The agent did not come to restore the session `id`.
    pub(crate) fn give_up_restoring(&mut self, id: &str) {
        if matches!(self.sessions.get(id), Some(Route::Restoring(_))) {
            self.sessions.remove(id);
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
        Self { user_messages: 0, open_message: None, commands: None, last: Instant::now() }
    }
}

impl Restored {
    fn take(&mut self, event: AgentEvent) {
        self.last = Instant::now();
        let AgentEvent::Update(update) = event else { return };
        match UpdateKind::of(&update.update) {
            Some(UpdateKind::UserMessageChunk) => {
                let id = update.update.members().and_then(|members| members.get_string("messageId"));
                let id = Some(id.map(Cow::into_owned).unwrap_or_default());
                self.user_messages += u32::from(self.open_message != id);
                self.open_message = id;
            }
            Some(UpdateKind::AvailableCommands) => self.commands = Some(update),
            _ => self.open_message = None,
        }
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
        routes.end_opening();
        assert!(matches!(routes.destination("s", update("now")), Destination::Session(..)));
    }

    #[test]
    fn the_agents_own_replay_is_looked_at_and_not_handed_on() {
        let mut routes = Routes::default();
        routes.begin_restoring("s");
        for kind in ["user_message_chunk", "agent_message_chunk", "available_commands_update"] {
            assert!(matches!(routes.destination("s", update(kind)), Destination::Taken));
        }
        assert!(routes.unsettled_for("s", 2) > routes.unsettled_for("s", 1));
        let (events, _receiver) = mpsc::channel(1);
        let restored = routes.end_restoring("s", events);
        assert!(restored.user_messages == 1 && restored.commands.is_some());
    }
}
