//! How a session gets into an agent: made new, opened again, or rebuilt from the record.
//!
//! The ladder: resume, load, the agent's own fork, a new session that is given the record, and last a new session whose
//! next prompt is preceded by a briefing. Each rung is tried only if the agent said that it can do it. A session that was
//! never prompted is made new at once.
//!
//! An agent that ended out of order may have lost the end of the session. What its own replay lacks of the record, or the
//! last turn where it replays nothing, goes before the next prompt.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use rejoin_store::{SessionStore, StoreError, entries};
use rejoin_transcript::json::{Members, set_member};
use rejoin_transcript::{
    AgentSession, Audience, Entry, EntryNumber, InForce, Parent, Replay, Replayed, Session, SessionFacts, SessionId,
    StepKind, TurnEnd, UpdateKind,
};
use rejoin_wire::RawValue;
use tokio::time::Instant;

use super::briefing::{briefing, briefing_of_end, is_notice};
use super::link::{Link, Reopened};
use super::memory::{RecordedTurn, last_turns};
use super::opening::Opening;
use super::refusal::{self, Refusal};
use super::routes::{AgentEvent, Events, Expected, Restored};
use super::seat::Seat;
use crate::Error;
use crate::choices::Setup;
use crate::layer::LayerOptions;

/// How long a session is waited for that somebody else has open.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many entries are looked at for how a session ends.
const LAST_ENTRIES: u32 = 100;
/// How long until the agent is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// What is done with a session that the agent itself can't restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restore {
    /// It is an error.
    Required,
    /// The agent is told what was said, and the client that this was needed.
    #[default]
    Rebuild,
    /// The agent begins anew, without memory, and the client is told.
    Fresh,
}

/// How the agent came to have the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rung {
    /// It was made new.
    New,
    /// By `session/resume`.
    Resume,
    /// By `session/load`.
    Load,
    /// By `session/fork`.
    Fork,
    /// It was made new and given the record.
    Transcript,
    /// It was made new and is told what was said before its next prompt.
    Briefing,
    /// It was made new and knows nothing of what was said.
    Fresh,
}

impl Rung {
    /// As it is recorded.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Resume => "resume",
            Self::Load => "load",
            Self::Fork => "fork",
            Self::Transcript => "transcript",
            Self::Briefing => "briefing",
            Self::Fresh => "fresh",
        }
    }
}

/// Something that the client should be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remark {
    /// In a few words.
    pub(crate) title: String,
    /// In whole sentences.
    pub(crate) description: String,
}

/// A session that an agent has open.
pub(crate) struct Opened {
    pub(crate) link: Seat,
    /// The agent's own id of it.
    pub(crate) id: String,
    pub(crate) events: Events,
    pub(crate) rung: Rung,
    /// What the agent offers.
    pub(crate) setup: Setup,
    /// What is in force there.
    pub(crate) in_force: InForce,
    /// What it was brought to.
    pub(crate) wanted: InForce,
    /// What goes before the next prompt.
    pub(crate) briefing: Option<Briefing>,
    /// How many turns of the session are not in it.
    pub(crate) lacks: u32,
    pub(crate) remarks: Vec<Remark>,
    /// What is to be said of settings that the agent no longer has.
    pub(crate) unrestored: Option<Remark>,
    /// What it said meanwhile and is not about the restore; it comes before what is in `events`.
    pub(crate) news: Vec<AgentEvent>,
    /// The result of `session/new`, whole.
    pub(crate) result: Box<RawValue>,
}

/// What an agent is told before the next prompt.
pub(crate) struct Briefing {
    pub(crate) text: String,
    /// How many turns of the session are not in the agent's own when it has been told.
    pub(crate) lacks: u32,
    /// What clients are told when the agent has been.
    pub(crate) remark: Option<Remark>,
}

/// Opens one session in an agent.
pub(crate) struct Opener {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) opening: Opening,
    pub(crate) options: LayerOptions,
}

impl Opener {
    /// Has the agent make a session that did not exist before.
    pub(crate) async fn open_new(&self, link: Seat) -> Result<Opened, Error> {
        let params = self.params(&link, None);
        let (result, events) = self.open(&link, "session/new", &params).await?;
        self.opened(link, result, events, Rung::New, None)
    }

    /// The params that open the session in the agent, with its own id if it has one.
    fn params(&self, link: &Link, id: Option<&str>) -> String {
        link.learn(self.opening.mcp.secrets());
        self.opening.params(&link.capabilities(), id)
    }

    /// Has the agent make a session. One that does not answer is not asked by anyone else.
    async fn open(&self, link: &Seat, method: &'static str, params: &str) -> Result<(Box<RawValue>, Events), Error> {
        let made = link.open(method, params, self.options.restore_limit).await;
        made.inspect_err(|error| {
            if error.is_timeout() {
                link.retire();
            }
        })
    }

    /// Has the agent open `session`, which we know up to the entry `upto`.
    pub(crate) async fn restore(&self, link: Seat, session: &Session, upto: EntryNumber) -> Result<Opened, Error> {
        let reopened = match turns_upto(session, upto) {
            0 => Err("it was never prompted".to_owned()),
            _ => self.reopen(&link, session, upto).await?,
        };
        let mut opened = match reopened {
            Ok(opened) => opened,
            Err(reason) => self.rebuild(&link, session, upto, reason).await?,
        };
        self.reapply(&mut opened, session).await;
        Ok(opened)
    }

    /// Has the agent open `session` without what it may have of it itself, which is of no use for this `reason`.
    pub(crate) async fn restore_anew(
        &self,
        link: Seat,
        session: &Session,
        upto: EntryNumber,
        reason: String,
    ) -> Result<Opened, Error> {
        let mut opened = self.rebuild(&link, session, upto, reason).await?;
        self.reapply(&mut opened, session).await;
        Ok(opened)
    }

    /// The upper rungs: the agent itself has the session. Gives why not.
    async fn reopen(&self, link: &Seat, session: &Session, upto: EntryNumber) -> Result<Result<Opened, String>, Error> {
        if !self.is_agent_of(session, link) {
            return Ok(Err(format!("the session began with another agent, {}", session.facts.agent.name)));
        }
        match &session.facts.agent_session {
            Some(agent_session) => self.open_again(link, session, agent_session, upto).await,
            None if session.facts.parent.is_some() => self.fork(link, session, upto).await,
            None => Ok(Err("the agent has no session of its own for it".to_owned())),
        }
    }

    /// Whether the agent of `link` is the one that `session` began with, or one that keeps its sessions in the same place.
    pub(super) fn is_agent_of(&self, session: &Session, link: &Link) -> bool {
        let began_with = &session.facts.agent.name;
        *began_with == link.info().name || self.options.are_kin(began_with, &link.names())
    }

    /// Has the agent resume or load its own `agent_session` of `session`.
    async fn open_again(
        &self,
        link: &Seat,
        session: &Session,
        agent_session: &AgentSession,
        upto: EntryNumber,
    ) -> Result<Result<Opened, String>, Error> {
        let (can, id, turns) = (link.capabilities(), &agent_session.id, turns_upto(session, upto));
        let mut reason = "the agent can neither resume nor load sessions".to_owned();
        let patience = Instant::now() + PATIENCE;
        let lost = self.lost_turns(session, session, upto).await?;
        let mut rungs = [(Rung::Resume, can.resume), (Rung::Load, can.load)];
        // Only the replay of a load tells what is left of a turn that was cut off.
        if lost.last().is_some_and(|turn| turn.is_cut_off) {
            rungs.reverse();
        }
        for (rung, is_able) in rungs {
            if !is_able {
                continue;
            }
            // A resume replays nothing, so there is nothing to wait for.
            let mut expected = Expected::default();
            if rung == Rung::Load {
                expected.user_messages = turns.saturating_sub(agent_session.lacks);
                expected.is_answered = self.is_answered(&session.facts.session_id, upto).await?;
            }
            let asked = self.ask_again(link, rung, (id, expected), patience).await;
            let expected = expected.user_messages;
            match asked {
                // An agent that knows nothing of what was said does not have the session, whatever it says.
                Ok(reopened) if expected > 0 && reopened.restored.user_messages == 0 => {
                    link.leave(&reopened.id);
                    let nothing = "what the agent has under the session's id holds nothing that the user said";
                    return Ok(Err(nothing.to_owned()));
                }
                Ok(Reopened { result, id, events, restored }) => {
                    let mut opened = self.opened(link.clone(), result, events, rung, Some(id))?;
                    opened.lacks = agent_session.lacks;
                    let n_missing = expected.saturating_sub(restored.user_messages);
                    let lacking = match rung {
                        Rung::Load => self.lacking(session, upto, &lost, (&restored, n_missing)).await?,
                        _ => lost,
                    };
                    let n_at_end = u32::try_from(lacking.len()).unwrap_or(u32::MAX);
                    if n_missing > n_at_end {
                        opened.lacks = turns - restored.user_messages - n_at_end;
                        opened.remarks.push(forgetful(&link.info().name, restored.user_messages, expected));
                    }
                    self.brief_of_end(&mut opened, session, upto, &lacking).await?;
                    return Ok(Ok(opened));
                }
                Err(error) if link.is_gone() || error.is_timeout() => return Err(error),
                Err(error) => reason = refusal::reason(&error, &self.opening),
            }
        }
        Ok(Err(reason))
    }

    /// The turns of `session`, up to the entry `upto`, that the agent of `source` may have lost with its process.
    async fn lost_turns(
        &self,
        session: &Session,
        source: &Session,
        upto: EntryNumber,
    ) -> Result<Vec<RecordedTurn>, Error> {
        let turns = turns_upto(session, upto);
        let Some(from) = source.facts.agent_memory.lost_from().filter(|from| *from <= turns) else {
            return Ok(Vec::new());
        };
        let mut last = last_turns(&*self.store, &session.facts.session_id, upto, turns - from + 1).await?;
        last.retain(|turn| turn.turn >= from);
        Ok(last)
    }

    /// The turns at the end of `session`, up to the entry `upto`, that an agent lacks by its replay, in which `n_missing`
    /// messages of the user did not come.
    ///
    /// An agent that ended in order is asked less: it may show what it has in its own way.
    async fn lacking(
        &self,
        session: &Session,
        upto: EntryNumber,
        lost: &[RecordedTurn],
        (restored, n_missing): (&Restored, u32),
    ) -> Result<Vec<RecordedTurn>, Error> {
        let n_turns = u32::try_from(lost.len()).unwrap_or(u32::MAX).max(n_missing).saturating_add(1);
        let mut recorded = last_turns(&*self.store, &session.facts.session_id, upto, n_turns).await?;
        let is_whole = lost.is_empty() && n_missing == 0 && !restored.replay.lacks_answer(&recorded);
        let first = if is_whole { None } else { restored.replay.first_lacking(&recorded) };
        Ok(first.map(|first| recorded.split_off(first)).unwrap_or_default())
    }

    /// Has the next prompt tell the agent of `lacking`, the turns at the end of `session` that it may not have.
    async fn brief_of_end(
        &self,
        opened: &mut Opened,
        session: &Session,
        upto: EntryNumber,
        lacking: &[RecordedTurn],
    ) -> Result<(), Error> {
        let (Some(first), Some(last)) = (lacking.first(), lacking.last()) else { return Ok(()) };
        let is_told = self.options.restore != Restore::Fresh;
        let remark = may_have_lost(lacking.len(), last.is_cut_off, is_told);
        if !is_told {
            opened.remarks.push(remark);
            return Ok(());
        }
        let (id, limit) = (&session.facts.session_id, self.options.briefing_limit);
        let text = briefing_of_end(&*self.store, id, (first.after, upto), limit).await?;
        let lacks = opened.lacks.saturating_add(u32::try_from(lacking.len()).unwrap_or(u32::MAX));
        opened.briefing = Some(Briefing { text, lacks, remark: Some(remark) });
        Ok(())
    }

    /// Asks the agent until it opens its session `id`, or says that it won't: whoever has it open may be about to close
    /// it.
    async fn ask_again(
        &self,
        link: &Seat,
        rung: Rung,
        (id, expected): (&str, Expected),
        patience: Instant,
    ) -> Result<Reopened, Error> {
        let method = if rung == Rung::Load { "session/load" } else { "session/resume" };
        let params = self.params(link, Some(id));
        let mut is_first = true;
        loop {
            match link.reopen(method, (id, expected), &params, self.options.restore_limit).await {
                Err(error) if error.is_timeout() => {
                    link.retire();
                    return Err(error);
                }
                Err(error) if Instant::now() < patience && !link.is_gone() => match Refusal::of(&error) {
                    Refusal::InUse => {}
                    Refusal::Unclear if is_first => {}
                    Refusal::Unclear | Refusal::Final => return Err(error),
                },
                done => return done,
            }
            is_first = false;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Has the agent fork the session that `session` is a fork of.
    async fn fork(&self, link: &Seat, session: &Session, upto: EntryNumber) -> Result<Result<Opened, String>, Error> {
        if !link.capabilities().fork {
            return Ok(Err("the session is a fork, and the agent can't fork sessions".to_owned()));
        }
        let Some(source) = self.fork_source(session, upto).await? else {
            return Ok(Err("the session is a fork, and the agent no longer has its source as it was then".to_owned()));
        };
        let (source, agent_session) = source;
        // One that has the source open has all of it in its memory.
        let is_open = link.has(&agent_session.id);
        let lost = if is_open { Vec::new() } else { self.lost_turns(session, &source, upto).await? };
        match self.open(link, "session/fork", &self.params(link, Some(&agent_session.id))).await {
            Ok((result, events)) => match self.opened(link.clone(), result, events, Rung::Fork, None) {
                Ok(opened) => {
                    let mut opened = Opened { lacks: agent_session.lacks, ..opened };
                    self.brief_of_end(&mut opened, session, upto, &lost).await?;
                    Ok(Ok(opened))
                }
                Err(error) => Ok(Err(error.to_string())),
            },
            Err(error) if link.is_gone() || error.is_timeout() => Err(error),
            Err(error) => Ok(Err(refusal::reason(&error, &self.opening))),
        }
    }

    /// The session that this one is a fork of, or a fork of a fork, with the agent's own, if neither has had a turn since.
    async fn fork_source(
        &self,
        session: &Session,
        upto: EntryNumber,
    ) -> Result<Option<(Session, AgentSession)>, Error> {
        let SessionFacts { session_id, agent, parent, .. } = &session.facts;
        let (mut parent, mut at) = (parent.clone(), upto);
        while let Some(Parent { session_id: source, at: forked_at }) = parent {
            at = at.min(forked_at);
            let found = match self.store.session(&source).await {
                Ok(found) => found,
                Err(StoreError::SessionNotFound { .. }) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            if found.facts.agent.name != agent.name || self.has_turn_in(session_id, at, Some(upto)).await? {
                return Ok(None);
            }
            if let Some(agent_session) = found.facts.agent_session.clone()
                && !self.has_turn_in(&source, at, None).await?
            {
                return Ok(Some((found, agent_session)));
            }
            parent = found.facts.parent;
        }
        Ok(None)
    }

    /// Whether the last turn of `session` up to the entry `upto` came to its end with words of the agent.
    async fn is_answered(&self, session: &SessionId, upto: EntryNumber) -> Result<bool, Error> {
        let after = EntryNumber::new(upto.get().saturating_sub(LAST_ENTRIES));
        let last = entries(&*self.store, session, after);
        pin_mut!(last);
        let (mut has_words, mut has_ended) = (false, false);
        while let Some(entry) = last.next().await {
            let Entry { number, step } = entry?;
            if number > upto {
                break;
            }
            match step.kind {
                StepKind::Prompt => (has_words, has_ended) = (false, false),
                StepKind::Update(UpdateKind::AgentMessageChunk) => has_words |= step.audience == Audience::Client,
                StepKind::TurnEnded => {
                    let end = TurnEnd::from_json(&step.body);
                    has_ended = matches!(end, TurnEnd::Stopped { reason } if reason == "end_turn");
                }
                _ => {}
            }
        }
        Ok(has_words && has_ended)
    }

    /// Whether a turn began in `session` behind the entry `after`, up to `upto`.
    async fn has_turn_in(
        &self,
        session: &SessionId,
        after: EntryNumber,
        upto: Option<EntryNumber>,
    ) -> Result<bool, Error> {
        let later = entries(&*self.store, session, after);
        pin_mut!(later);
        while let Some(entry) = later.next().await {
            let entry = entry?;
            if upto.is_some_and(|upto| entry.number > upto) {
                break;
            }
            if entry.step.kind == StepKind::Prompt {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The lower rungs: a new session in the agent, and what we know put into it.
    async fn rebuild(
        &self,
        link: &Seat,
        session: &Session,
        upto: EntryNumber,
        reason: String,
    ) -> Result<Opened, Error> {
        let turns = turns_upto(session, upto);
        let has_history = turns > 0;
        let takes_record = link.capabilities().transcript;
        // One that takes the record of its own session has all of it, as if it had kept it itself.
        let is_whole = takes_record && session.facts.agent.name == link.info().name;
        if self.options.restore == Restore::Required && has_history && !is_whole {
            let session = session.facts.session_id.clone();
            return Err(Error::RestoreFailed { session, agent: link.program().to_owned(), reason });
        }
        let (mut params, mut rung) = (self.params(link, None), Rung::New);
        if has_history {
            rung = match self.options.restore {
                _ if is_whole => Rung::Transcript,
                Restore::Fresh => Rung::Fresh,
                Restore::Rebuild | Restore::Required if takes_record => Rung::Transcript,
                Restore::Rebuild | Restore::Required => Rung::Briefing,
            };
        }
        if rung == Rung::Transcript {
            params = with_transcript(&params, &self.transcript(session, upto).await?);
        }
        let (result, events) = self.open(link, "session/new", &params).await?;
        let mut opened = self.opened(link.clone(), result, events, rung, None)?;
        opened.lacks = turns;
        if rung == Rung::Briefing {
            let id = &session.facts.session_id;
            let text = briefing(&*self.store, id, upto, self.options.briefing_limit).await?;
            opened.briefing = Some(Briefing { text, lacks: turns, remark: None });
        }
        if has_history && !is_whole {
            opened.remarks.push(rebuilt(rung, &link.info().name, &reason));
        }
        Ok(opened)
    }

    /// The record as an array of updates, with what is for the agent alone and without what we said ourselves.
    async fn transcript(&self, session: &Session, upto: EntryNumber) -> Result<String, Error> {
        let (mut replay, mut updates) = (Replay::default(), Vec::new());
        let mut keep = |replayed: Vec<Replayed>| {
            let update = |one: &Replayed| one.update().map(str::to_owned);
            updates.extend(replayed.iter().filter_map(update));
        };
        let all = entries(&*self.store, &session.facts.session_id, EntryNumber::START);
        pin_mut!(all);
        while let Some(entry) = all.next().await {
            let mut entry = entry?;
            if entry.number > upto {
                break;
            }
            if entry.step.body.members().is_some_and(|members| is_notice(&members)) {
                continue;
            }
            if entry.step.audience == Audience::Agent {
                entry.step.audience = Audience::Client;
            }
            keep(replay.push(&entry));
        }
        let (last, states) = replay.finish();
        keep(last);
        keep(states.updates());
        Ok(format!("[{}]", updates.join(",")))
    }

    fn opened(
        &self,
        link: Seat,
        result: Box<RawValue>,
        events: Events,
        rung: Rung,
        id: Option<String>,
    ) -> Result<Opened, Error> {
        let told = || Some(Members::read(result.get())?.get_string("sessionId")?.into_owned());
        let Some(id) = id.or_else(told) else {
            let what = "made a session and did not say its `sessionId`".to_owned();
            return Err(Error::AgentFailed { agent: link.program().to_owned(), what, stderr: String::new() });
        };
        let (_, left_out) = self.opening.mcp.for_agent(&link.capabilities());
        let remarks = left_out.iter().map(|name| Remark {
            title: format!("MCP server {name} is not connected"),
            description: format!("The agent can't reach MCP servers of its kind, so {name} was left out."),
        });
        let remarks = remarks.collect();
        let setup = Setup::read(result.get());
        let in_force = setup.in_force();
        let wanted = in_force.clone();
        Ok(Opened {
            link,
            id,
            events,
            rung,
            setup,
            in_force,
            wanted,
            briefing: None,
            lacks: 0,
            remarks,
            unrestored: None,
            news: Vec::new(),
            result,
        })
    }
}

/// How many turns `session` had up to the entry `upto`: all but one that is running now.
fn turns_upto(session: &Session, upto: EntryNumber) -> u32 {
    let is_running = session.facts.running_since.is_some_and(|since| since > upto);
    session.facts.turns.saturating_sub(u32::from(is_running))
}

fn with_transcript(params: &str, transcript: &str) -> String {
    let meta = Members::read(params).and_then(|members| members.get_some("_meta")).unwrap_or("{}");
    let ours = Members::read(meta).and_then(|meta| meta.get_some("rejoin")).unwrap_or("{}");
    let ours = set_member(ours, "transcript", transcript).unwrap_or_else(|| format!("{{\"transcript\":{transcript}}}"));
    let meta = set_member(meta, "rejoin", &ours).unwrap_or_else(|| format!("{{\"rejoin\":{ours}}}"));
    set_member(params, "_meta", &meta).unwrap_or_else(|| params.to_owned())
}

fn rebuilt(rung: Rung, agent: &str, reason: &str) -> Remark {
    let memory = match rung {
        Rung::Transcript => "It was given the whole conversation.",
        Rung::Briefing => "It is told what was said before your next message.",
        Rung::New | Rung::Resume | Rung::Load | Rung::Fork | Rung::Fresh => "It remembers nothing of the conversation.",
    };
    Remark {
        title: "The session was rebuilt".to_owned(),
        description: format!("{agent} could not restore the session ({reason}). {memory}"),
    }
}

fn may_have_lost(n_turns: usize, is_cut_off: bool, is_told: bool) -> Remark {
    let what = match (n_turns, is_cut_off) {
        (1, true) => "its last answer, which was cut off".to_owned(),
        (1, false) => "its last answer".to_owned(),
        (n_turns, _) => format!("the last {n_turns} turns"),
    };
    let told = if is_told { "; it was told what you saw" } else { "" };
    Remark {
        title: "The agent was interrupted".to_owned(),
        description: format!("The agent may not remember {what}{told}."),
    }
}

fn forgetful(agent: &str, has: u32, of: u32) -> Remark {
    Remark {
        title: "The agent may not remember all".to_owned(),
        description: format!("{agent} has {has} of the {of} messages that you sent it in this session."),
    }
}
