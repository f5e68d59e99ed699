//! What is known of a session beside its entries: the facts that a list shows and a load needs.
//!
//! Most facts follow from entries; [`Session::observe`] is the one place that says how. The others are told by
//! whoever runs the session, as [`Fact`]s.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::{Members, keep, read_string};
use crate::settings::{InForce, McpServerNames, Settings};
use crate::state::tells_of_running_turn;
use crate::title::{Titles, agents_title, derive_title};
use crate::{
    Audience, EntryNumber, Json, MessageId, Step, StepKind, Timestamp, TranscriptError, Turn, TurnEnd, UpdateKind,
};

/// How many of a turn's latest messages are remembered.
const RECENT_MESSAGES: usize = 8;

/// How many agents' sessions are remembered that were given up.
const FORMER_AGENT_SESSIONS: usize = 64;

/// The id of a session: ours, the only one that clients see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionId(Box<str>);

impl SessionId {
    /// Takes `id` if it can be shown in a line and typed by a person.
    pub fn parse(id: impl Into<String>) -> Result<Self, TranscriptError> {
        let id = id.into();
        // What changes the direction of text would make one id look like another.
        let turns_around = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        let is_good = |c: char| !c.is_whitespace() && !c.is_control() && !turns_around(c);
        if (1..=200).contains(&id.len()) && id.chars().all(is_good) {
            Ok(Self(id.into_boxed_str()))
        } else {
            Err(TranscriptError::NotASessionId { id })
        }
    }

    /// The id made of 128 random bits: 32 hexadecimal digits.
    pub fn from_random_bits(bits: u128) -> Self {
        Self(format!("{bits:032x}").into_boxed_str())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for SessionId {
    type Error = TranscriptError;

    fn try_from(id: String) -> Result<Self, Self::Error> {
        Self::parse(id)
    }
}

impl From<SessionId> for String {
    fn from(id: SessionId) -> Self {
        id.0.into()
    }
}

/// All that is known of a session beside its entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// What a list shows.
    pub facts: SessionFacts,
    /// What a load needs besides.
    pub settings: Settings,
}

/// What is known of a session, as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// Its id.
    pub session_id: SessionId,
    /// Whose it is; empty where all sessions belong to the person at the machine.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Its titles, by who gave them.
    #[serde(default)]
    pub titles: Titles,
    /// Where it works.
    pub cwd: Cwd,
    /// The further folders of the latest new, load or resume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub additional_directories: Vec<String>,
    /// The agent it runs with.
    pub agent: AgentInfo,
    /// The agent's own session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_session: Option<AgentSession>,
    /// Which turns the agent may have lost.
    #[serde(default, skip_serializing_if = "AgentMemory::is_safe")]
    pub agent_memory: AgentMemory,
    /// Agents' own sessions that were given up, so that they can be deleted with this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_agent_sessions: Vec<FormerAgentSession>,
    /// What the session has cost so far, as the agent tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The keys of `_meta` in the agent's `session_info_update`s.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, Json>,
    /// How many messages it has: the user's and the agent's, not thoughts.
    #[serde(default)]
    pub messages: u32,
    /// The agent's latest messages of the turn: a further chunk with such an id is part of one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent_messages: Vec<MessageId>,
    /// How many turns have begun.
    #[serde(default)]
    pub turns: u32,
    /// The entry that began the running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<EntryNumber>,
    /// Whether the last turn failed or was interrupted.
    #[serde(default)]
    pub has_errors: bool,
    /// The last entry that came with an import. What the entries up to it put in force is not in force here, but for the
    /// model: others chose it, and it may allow an agent more than the user would.
    ///
    /// An export does not hold it.
    #[serde(default, skip_serializing_if = "is_start")]
    pub imported: EntryNumber,
    /// The session it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Whether a person put it away.
    #[serde(default)]
    pub archived: bool,
    /// Whether it is a session that an agent opened by itself inside another.
    #[serde(default)]
    pub child: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a prompt was last accepted or a turn last ended.
    pub updated_at: Timestamp,
}

impl Session {
    /// A session that has just been made.
    pub fn new(session_id: SessionId, cwd: Cwd, agent: AgentInfo, created_at: Timestamp) -> Self {
        let facts = SessionFacts {
            session_id,
            owner: String::new(),
            titles: Titles::default(),
            cwd,
            additional_directories: Vec::new(),
            agent,
            agent_session: None,
            agent_memory: AgentMemory::default(),
            former_agent_sessions: Vec::new(),
            cost: None,
            meta: BTreeMap::new(),
            messages: 0,
            recent_messages: Vec::new(),
            turns: 0,
            running_since: None,
            has_errors: false,
            imported: EntryNumber::START,
            parent: None,
            archived: false,
            child: false,
            created_at,
            updated_at: created_at,
        };
        Self { facts, settings: Settings::default() }
    }

    /// Forgets everything that entries tell, so that they can be observed anew.
    pub fn forget_entries(&mut self) {
        let facts = &mut self.facts;
        facts.titles.derived = None;
        facts.titles.agent = None;
        facts.cost = None;
        facts.meta.clear();
        facts.messages = 0;
        facts.recent_messages.clear();
        facts.turns = 0;
        facts.running_since = None;
        facts.has_errors = false;
        facts.updated_at = facts.created_at;
        self.settings.usage = None;
        self.settings.in_force = InForce::default();
    }

    /// Takes over what `step`, as entry `number`, tells.
    pub fn observe(&mut self, number: EntryNumber, step: &Step) {
        match step.kind {
            StepKind::Prompt => {
                self.facts.messages += 1;
                self.facts.recent_messages.clear();
                if let Turn::In(turn) = step.turn {
                    self.facts.turns = self.facts.turns.max(turn);
                }
                self.facts.running_since = Some(number);
                self.facts.updated_at = self.facts.updated_at.max(step.at);
                if self.facts.titles.derived.is_none() {
                    self.facts.titles.derived = derive_title(&step.body);
                }
            }
            StepKind::TurnEnded => {
                let end = TurnEnd::from_json(&step.body);
                self.facts.running_since = None;
                self.facts.meta.retain(|_, value| !tells_of_running_turn(value.as_str()));
                // A turn that was cut off ended when nobody saw it; that it is closed now is no use of the session.
                if end != TurnEnd::Interrupted {
                    self.facts.updated_at = self.facts.updated_at.max(step.at);
                }
                self.facts.has_errors = end.is_error();
            }
            StepKind::StateSet => self.settings.in_force.observe_set(&step.body),
            StepKind::Update(kind) if step.audience == Audience::Client => {
                self.observe_update(kind, step);
            }
            StepKind::Update(_)
            | StepKind::PermissionAsked
            | StepKind::PermissionAnswered
            | StepKind::Restored
            | StepKind::ForkedFrom => {}
        }
        if number <= self.facts.imported {
            self.settings.in_force.forget_all_but_model();
        }
    }

    fn observe_update(&mut self, kind: UpdateKind, step: &Step) {
        if kind == UpdateKind::AgentMessageChunk {
            return self.observe_message(step);
        }
        if !kind.is_state() {
            return;
        }
        let update = &step.body;
        let Some(members) = update.members() else { return };
        let text_of = |name| members.get_some(name).and_then(read_string);
        match kind {
            UpdateKind::AvailableCommands => {
                self.settings.available_commands = members.get_some("availableCommands").map(keep);
            }
            UpdateKind::CurrentMode => {
                // Some agents still write `modeId`, as older texts of the protocol did.
                if let Some(mode) = text_of("currentModeId").or_else(|| text_of("modeId")) {
                    self.settings.in_force.mode = Some(mode.into_owned());
                }
            }
            UpdateKind::ConfigOption => {
                if let Some(options) = members.get_some("configOptions") {
                    self.settings.in_force.observe_options(options);
                    self.settings.config_options = Some(keep(options));
                }
            }
            UpdateKind::SessionInfo => {
                match members.get("title") {
                    Some("null") => self.facts.titles.agent = None,
                    Some(title) => {
                        if let Some(title) = read_string(title) {
                            self.facts.titles.agent = agents_title(&title);
                        }
                    }
                    None => {}
                }
                let meta = members.get_some("_meta").and_then(Members::read);
                for (key, value) in meta.iter().flat_map(Members::iter) {
                    self.facts.meta.insert(key.to_owned(), keep(value));
                }
            }
            UpdateKind::Usage => {
                self.settings.usage = Some(update.clone());
                if let Some(cost) = members.get_some("cost").and_then(|cost| serde_json::from_str(cost).ok()) {
                    self.facts.cost = Some(cost);
                }
            }
            UpdateKind::UserMessageChunk
            | UpdateKind::AgentMessageChunk
            | UpdateKind::AgentThoughtChunk
            | UpdateKind::ToolCall
            | UpdateKind::ToolCallUpdate
            | UpdateKind::Plan
            | UpdateKind::Notice
            | UpdateKind::Other => {}
        }
    }

    fn observe_message(&mut self, step: &Step) {
        let id = step.chunk_message_id().map(|id| MessageId::new(id.into_owned()));
        let recent = &mut self.facts.recent_messages;
        if id.as_ref().is_none_or(|id| !recent.contains(id)) {
            self.facts.messages += 1;
            // Messages may take turns; how many at once, nobody knows, but it is not many.
            if recent.len() == RECENT_MESSAGES {
                recent.remove(0);
            }
            recent.extend(id);
        }
    }

    /// Takes over a fact that no entry tells.
    pub fn apply(&mut self, fact: Fact) {
        match fact {
            Fact::ManualTitle(title) => self.facts.titles.manual = title,
            Fact::Cwd(cwd) => self.facts.cwd = cwd,
            Fact::AdditionalDirectories(directories) => self.facts.additional_directories = directories,
            Fact::Agent(agent) => self.facts.agent = agent,
            Fact::AgentSession(session) => {
                let is_used = |id: &str| session.as_ref().is_some_and(|session| session.id == id);
                self.facts.former_agent_sessions.retain(|former| !is_used(&former.id));
                self.facts.agent_session = session;
            }
            Fact::AtRisk { from } => self.facts.agent_memory = AgentMemory { at_risk_from: Some(from), is_lost: false },
            Fact::AgentLost => {
                let memory = &mut self.facts.agent_memory;
                memory.is_lost = memory.at_risk_from.is_some();
            }
            Fact::AgentLeft { turns } => {
                // If others have had a turn since, the memory is that of their agent.
                if self.facts.turns == turns {
                    self.facts.agent_memory = AgentMemory::default();
                }
            }
            Fact::FormerAgentSession(session) => self.facts.give_up(session),
            Fact::McpServers(servers) => self.settings.mcp_servers = servers,
            Fact::Modes(modes) => self.settings.modes = modes,
            Fact::Models(models) => self.settings.models = models,
            Fact::ConfigOptions(options) => self.settings.config_options = options,
            Fact::AvailableCommands(commands) => self.settings.available_commands = commands,
            Fact::Archived(archived) => self.facts.archived = archived,
            Fact::Imported(upto) => self.facts.imported = upto,
        }
    }
}

impl SessionFacts {
    fn give_up(&mut self, session: FormerAgentSession) {
        let former = &mut self.former_agent_sessions;
        former.retain(|known| *known != session);
        // An agent that never takes its session up again has many.
        if former.len() == FORMER_AGENT_SESSIONS {
            former.remove(0);
        }
        former.push(session);
    }

    /// The title to show.
    pub fn title(&self) -> Option<&str> {
        self.titles.current()
    }

    /// Which list it belongs to.
    pub fn shelf(&self) -> Shelf {
        if self.child {
            Shelf::Child
        } else if self.archived {
            Shelf::Archived
        } else if self.turns == 0 {
            Shelf::Empty
        } else {
            Shelf::Listed
        }
    }
}

impl Step {
    /// Whether [`Session::observe`] would change anything, given whether a message is a recent one.
    ///
    /// Says no to the many chunks that continue a message, so that recording them touches nothing but the record.
    pub fn tells_facts(&self, is_recent: impl FnOnce(&str) -> bool) -> bool {
        match self.kind {
            StepKind::Prompt | StepKind::TurnEnded | StepKind::StateSet => true,
            StepKind::Update(_) if self.audience != Audience::Client => false,
            StepKind::Update(UpdateKind::AgentMessageChunk) => self.chunk_message_id().is_none_or(|id| !is_recent(&id)),
            StepKind::Update(update) => update.is_state(),
            StepKind::PermissionAsked | StepKind::PermissionAnswered | StepKind::Restored | StepKind::ForkedFrom => {
                false
            }
        }
    }
}

/// A fact that no entry tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The title that a person gave, or that they took back.
    ManualTitle(Option<String>),
    /// The session works in another folder now.
    Cwd(Cwd),
    /// See [`SessionFacts::additional_directories`].
    AdditionalDirectories(Vec<String>),
    /// The session runs with this agent now.
    Agent(AgentInfo),
    /// The agent's own session is this one now.
    AgentSession(Option<AgentSession>),
    /// The agent lives, and has the turns from this one on in its memory.
    AtRisk {
        /// The turn.
        from: u32,
    },
    /// The agent ended out of order.
    AgentLost,
    /// The agent ended in order, or gave the session up so.
    AgentLeft {
        /// How many turns the session had then.
        turns: u32,
    },
    /// See [`SessionFacts::former_agent_sessions`].
    FormerAgentSession(FormerAgentSession),
    /// See [`Settings::mcp_servers`].
    McpServers(Vec<McpServerNames>),
    /// See [`Settings::modes`].
    Modes(Option<Json>),
    /// See [`Settings::models`].
    Models(Option<Json>),
    /// See [`Settings::config_options`].
    ConfigOptions(Option<Json>),
    /// See [`Settings::available_commands`].
    AvailableCommands(Option<Json>),
    /// A person put it away, or took it out again.
    Archived(bool),
    /// See [`SessionFacts::imported`].
    Imported(EntryNumber),
}

/// A working folder: as the client wrote it, and as all its spellings are compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cwd {
    /// As written; this is what clients are shown.
    pub raw: String,
    /// With links, dots and trailing slashes resolved.
    pub canonical: String,
}

/// The agent of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The name by which sessions are listed and filtered.
    pub name: String,
    /// The command that starts it; empty for an agent inside this process.
    #[serde(default)]
    pub command: Vec<String>,
    /// The version it told.
    #[serde(default)]
    pub version: Option<String>,
}

/// The agent's own session for one of ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSession {
    /// The agent's id of it.
    pub id: String,
    /// How many the agent has had for this session, this one included.
    pub generation: u32,
    /// How many of the session's turns it does not hold: the agent was told of them, or has lost them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lacks: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Which turns of a session its agent may have lost.
///
/// Agents store a turn when it ends, or some time later. One that ends in order has stored all of its turns; of one that
/// was killed nobody knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentMemory {
    /// The first turn that the agent may not have stored; `None` since it ended in order.
    pub at_risk_from: Option<u32>,
    /// Whether it ended out of order since.
    pub is_lost: bool,
}

impl AgentMemory {
    /// The first turn that may be lost.
    pub fn lost_from(self) -> Option<u32> {
        self.at_risk_from.filter(|_| self.is_lost)
    }

    fn is_safe(&self) -> bool {
        *self == Self::default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_start(number: &EntryNumber) -> bool {
    *number == EntryNumber::START
}

/// An agent's own session that is not used any more, and may still be kept by the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FormerAgentSession {
    /// The agent's name.
    pub agent: String,
    /// The agent's id of it.
    pub id: String,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// How much.
    pub amount: f64,
    /// Of what, as ISO 4217 writes it.
    pub currency: String,
}

/// Where a fork left its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The source.
    pub session_id: SessionId,
    /// The last entry they share.
    pub at: EntryNumber,
}

/// Which list a session belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shelf {
    /// The usual one.
    Listed,
    /// That of the archived.
    Archived,
    /// None: it was never prompted.
    Empty,
    /// None: an agent opened it inside another session.
    Child,
}

impl Shelf {
    /// As a number.
    pub fn code(self) -> u8 {
        match self {
            Self::Listed => 0,
            Self::Archived => 1,
            Self::Empty => 2,
            Self::Child => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LayerKind;

    fn session() -> Session {
        let cwd = Cwd { raw: "/p".to_owned(), canonical: "/p".to_owned() };
        let id = SessionId::parse("s").unwrap();
        Session::new(id, cwd, AgentInfo::default(), Timestamp::from_millis(100))
    }

    fn observe(session: &mut Session, number: u32, step: &Step) {
        session.observe(EntryNumber::new(number), step);
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn update(text: &str) -> Step {
        Step::update(at(500), Turn::In(1), Json::parse(text).unwrap()).unwrap()
    }

    fn prompt(millis: i64, turn: u32, text: &str) -> Step {
        let blocks = Json::from_value(&serde_json::json!([{ "type": "text", "text": text }])).unwrap();
        Step::prompt(at(millis), turn, MessageId::new("u"), blocks).unwrap()
    }

    fn mode_set(mode: &str) -> Json {
        InForce { mode: Some(mode.to_owned()), ..InForce::default() }.to_json()
    }

    #[test]
    fn prompts_and_turn_ends_move_the_time_and_nothing_else_does() {
        let mut session = session();
        observe(&mut session, 1, &prompt(200, 1, "hi"));
        assert_eq!((session.facts.updated_at, session.facts.running_since), (at(200), Some(EntryNumber::new(1))));
        observe(&mut session, 2, &update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#));
        assert_eq!(session.facts.updated_at, at(200));
        observe(&mut session, 3, &Step::turn_ended(at(300), 1, &TurnEnd::Stopped { reason: "end_turn".to_owned() }));
        assert_eq!(
            (session.facts.updated_at, session.facts.running_since, session.facts.has_errors),
            (at(300), None, false)
        );
        observe(&mut session, 4, &Step::of_layer(at(900), Turn::After(1), LayerKind::StateSet, mode_set("ask")));
        assert_eq!((session.facts.updated_at, session.settings.in_force.mode.as_deref()), (at(300), Some("ask")));
    }

    #[test]
    fn a_turn_that_was_cut_off_is_closed_later_without_moving_the_time() {
        let mut session = session();
        observe(&mut session, 1, &prompt(200, 1, "hi"));
        observe(&mut session, 2, &Step::turn_ended(at(900), 1, &TurnEnd::Interrupted));
        let facts = &session.facts;
        assert_eq!((facts.updated_at, facts.running_since, facts.has_errors), (at(200), None, true));
    }

    #[test]
    fn a_title_comes_from_the_first_prompt_until_a_better_one() {
        let mut session = session();
        observe(&mut session, 1, &prompt(200, 1, "\n  Fix the login page\nplease"));
        observe(&mut session, 2, &prompt(300, 2, "Something else"));
        assert_eq!(session.facts.title(), Some("Fix the login page"));
        observe(
            &mut session,
            3,
            &update(r#"{"sessionUpdate":"session_info_update","title":"Login repair","_meta":{"tags":["a"]}}"#),
        );
        observe(
            &mut session,
            4,
            &update(r#"{"sessionUpdate":"session_info_update","updatedAt":"2020-01-01T00:00:00Z"}"#),
        );
        assert_eq!(session.facts.title(), Some("Login repair"));
        assert_eq!(session.facts.meta["tags"].as_str(), r#"["a"]"#);
        session.apply(Fact::ManualTitle(Some("Mine".to_owned())));
        assert_eq!(session.facts.title(), Some("Mine"));
        session.apply(Fact::ManualTitle(None));
        observe(&mut session, 5, &update(r#"{"sessionUpdate":"session_info_update","title":null}"#));
        assert_eq!(session.facts.title(), Some("Fix the login page"));
    }

    #[test]
    fn a_message_counts_once_however_many_chunks_it_has() {
        let mut session = session();
        observe(&mut session, 1, &prompt(200, 1, "hi"));
        let chunk = |id: &str| {
            update(&format!(
                r#"{{"sessionUpdate":"agent_message_chunk","messageId":"{id}","content":{{"type":"text","text":"x"}}}}"#
            ))
        };
        for (number, id) in [(2, "a"), (3, "a"), (4, "b"), (5, "a")] {
            let step = chunk(id);
            let is_recent = |id: &str| session.facts.recent_messages.contains(&MessageId::new(id));
            assert_eq!(step.tells_facts(is_recent), number != 3 && number != 5, "{number}");
            observe(&mut session, number, &step);
        }
        assert_eq!(session.facts.messages, 3);
    }

    #[test]
    fn settings_follow_the_agent_and_the_client() {
        let mut session = session();
        let options = r#"[{"id":"model","currentValue":"m2"},{"id":"fast","currentValue":true}]"#;
        observe(
            &mut session,
            1,
            &update(&format!(r#"{{"sessionUpdate":"config_option_update","configOptions":{options}}}"#)),
        );
        observe(&mut session, 2, &update(r#"{"sessionUpdate":"current_mode_update","modeId":"code"}"#));
        let model = BTreeMap::from([("model".to_owned(), Json::parse("\"m3\"").unwrap())]);
        let set = InForce { options: model, ..InForce::default() }.to_json();
        observe(&mut session, 3, &Step::of_layer(at(1), Turn::After(0), LayerKind::StateSet, set));
        assert_eq!(session.settings.config_options.as_ref().map(Json::as_str), Some(options));
        assert_eq!(session.settings.in_force.mode.as_deref(), Some("code"));
        assert_eq!(session.settings.in_force.options["model"].as_str(), "\"m3\"");
        assert_eq!(session.settings.in_force.options["fast"].as_str(), "true");
    }

    #[test]
    fn of_what_an_import_chose_only_the_model_is_in_force() {
        let mut session = session();
        session.apply(Fact::Imported(EntryNumber::new(3)));
        let options = r#"[{"id":"model","currentValue":"m2"},{"id":"mode","currentValue":"code"}]"#;
        let options = update(&format!(r#"{{"sessionUpdate":"config_option_update","configOptions":{options}}}"#));
        let set = |mode: &str| Step::of_layer(at(1), Turn::After(0), LayerKind::StateSet, mode_set(mode));
        observe(&mut session, 1, &options);
        observe(&mut session, 2, &update(r#"{"sessionUpdate":"current_mode_update","modeId":"code"}"#));
        observe(&mut session, 3, &set("code"));
        let model = BTreeMap::from([("model".to_owned(), Json::parse("\"m2\"").unwrap())]);
        assert_eq!(session.settings.in_force, InForce { options: model, ..InForce::default() });

        observe(&mut session, 4, &set("code"));
        assert_eq!(session.settings.in_force.mode.as_deref(), Some("code"));
    }

    #[test]
    fn what_is_for_the_agent_alone_tells_nothing() {
        let mut session = session();
        let usage = update(r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#);
        observe(&mut session, 1, &usage.with_audience(Audience::Agent));
        assert_eq!(session.settings.usage, None);
    }

    #[test]
    fn an_agents_session_that_was_given_up_is_remembered_until_it_is_used_again() {
        let mut session = session();
        let former = |id: &str| FormerAgentSession { agent: "a".to_owned(), id: id.to_owned() };
        for id in ["one", "two", "one", "three"] {
            session.apply(Fact::FormerAgentSession(former(id)));
        }
        session.apply(Fact::AgentSession(Some(AgentSession { id: "one".to_owned(), generation: 2, lacks: 0 })));
        assert_eq!(session.facts.former_agent_sessions, [former("two"), former("three")]);
        for number in 0..100 {
            session.apply(Fact::FormerAgentSession(former(&number.to_string())));
        }
        let kept = &session.facts.former_agent_sessions;
        assert_eq!((kept.len(), kept.last()), (FORMER_AGENT_SESSIONS, Some(&former("99"))));
    }

    #[test]
    fn turns_are_lost_with_an_agent_that_did_not_end_in_order() {
        let mut session = session();
        session.apply(Fact::AgentLost);
        assert_eq!(session.facts.agent_memory.lost_from(), None);
        observe(&mut session, 1, &prompt(200, 1, "hi"));
        session.apply(Fact::AtRisk { from: 1 });
        assert_eq!(session.facts.agent_memory.lost_from(), None);
        session.apply(Fact::AgentLost);
        assert_eq!(session.facts.agent_memory.lost_from(), Some(1));
        session.apply(Fact::AgentLeft { turns: 0 });
        assert_eq!(session.facts.agent_memory.lost_from(), Some(1));
        session.apply(Fact::AgentLeft { turns: 1 });
        session.apply(Fact::AgentLost);
        assert_eq!(session.facts.agent_memory, AgentMemory::default());
    }

    #[test]
    fn ids_fit_in_a_line() {
        for bad in ["", "a b", "a\n", "a\u{202e}b", &"x".repeat(201)] {
            assert!(SessionId::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(SessionId::from_random_bits(0xab).as_str(), format!("{:0>32}", "ab"));
    }
}
