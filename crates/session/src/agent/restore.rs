//! How a session gets into an agent: made new, opened again, or rebuilt from the record.
//!
//! The ladder: resume, load, the agent's own fork, a new session that is given the record, and last a new session whose
//! next prompt is preceded by a briefing. Each rung is tried only if the agent said that it can do it.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use rejoin_store::{SessionStore, StoreError, entries};
use rejoin_transcript::json::{Members, set_member};
use rejoin_transcript::{Audience, EntryNumber, InForce, Replay, Replayed, Session, SessionId, StepKind};
use rejoin_wire::RawValue;

use super::briefing::{briefing, is_notice};
use super::opening::Opening;
use super::routes::{AgentEvent, Events};
use super::seat::Seat;
use crate::Error;
use crate::choices::Setup;

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
    pub(crate) briefing: Option<String>,
    pub(crate) remarks: Vec<Remark>,
    /// What is to be said of settings that the agent no longer has.
    pub(crate) unrestored: Option<Remark>,
    /// What it said meanwhile and is not about the restore; it comes before what is in `events`.
    pub(crate) news: Vec<AgentEvent>,
    /// The result of `session/new`, whole.
    pub(crate) result: Box<RawValue>,
}

/// Opens one session in an agent.
pub(crate) struct Opener {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) opening: Opening,
    pub(crate) policy: Restore,
    pub(crate) limit: Duration,
    pub(crate) briefing_limit: usize,
}

impl Opener {
    /// Has the agent make a session that did not exist before.
    pub(crate) async fn open_new(&self, link: Seat) -> Result<Opened, Error> {
        let params = self.opening.params(&link.capabilities(), None);
        let (result, events) = link.open("session/new", &params, self.limit).await?;
        self.opened(link, result, events, Rung::New, None)
    }

    /// Has the agent open `session`, which we know up to the entry `upto`.
    pub(crate) async fn restore(&self, link: Seat, session: &Session, upto: EntryNumber) -> Result<Opened, Error> {
        let mut opened = match self.reopen(&link, session, upto).await? {
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
        let can = link.capabilities();
        let is_its_own = session.facts.agent.name == link.info().name;
        let mut reason = "the agent can neither resume nor load sessions".to_owned();
        if !is_its_own {
            return Ok(Err(format!("the session began with another agent, {}", session.facts.agent.name)));
        }
        if let Some(agent_session) = &session.facts.agent_session {
            let id = &agent_session.id;
            for (rung, method, is_able) in
                [(Rung::Resume, "session/resume", can.resume), (Rung::Load, "session/load", can.load)]
            {
                if !is_able {
                    continue;
                }
                // A resume replays nothing, so there is nothing to wait for.
                let turns = if rung == Rung::Load { turns_upto(session, upto) } else { 0 };
                match link.reopen(method, (id, turns), &self.opening.params(&can, Some(id)), self.limit).await {
                    // An agent that knows nothing of what was said does not have the session, whatever it says.
                    Ok((_, _, restored)) if turns > 0 && restored.user_messages == 0 => {
                        link.leave(id);
                        "what the agent has under the session's id holds nothing that the user said"
                            .clone_into(&mut reason);
                    }
                    Ok((result, events, _)) => {
                        return self.opened(link.clone(), result, events, rung, Some(id.clone())).map(Ok);
                    }
                    Err(error) if link.is_gone() => return Err(error),
                    // One that does not answer will not answer to the next either.
                    Err(error @ Error::AgentTimeout { .. }) => return Ok(Err(error.to_string())),
                    Err(error) => reason = error.to_string(),
                }
            }
        } else if can.fork
            && let Some(source) = self.fork_source(session, upto).await?
        {
            match link.open("session/fork", &self.opening.params(&can, Some(&source)), self.limit).await {
                Ok((result, events)) => return self.opened(link.clone(), result, events, Rung::Fork, None).map(Ok),
                Err(error) if link.is_gone() => return Err(error),
                Err(error) => reason = error.to_string(),
            }
        }
        Ok(Err(reason))
    }

    /// The agent's session that this one is a fork of, if neither has had a turn since.
    async fn fork_source(&self, session: &Session, upto: EntryNumber) -> Result<Option<String>, Error> {
        let Some(parent) = &session.facts.parent else { return Ok(None) };
        let source = match self.store.session(&parent.session_id).await {
            Ok(source) => source,
            Err(StoreError::SessionNotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_same = source.facts.agent.name == session.facts.agent.name
            && !self.has_turn_in(&parent.session_id, parent.at, None).await?
            && !self.has_turn_in(&session.facts.session_id, parent.at, Some(upto)).await?;
        Ok(source.facts.agent_session.filter(|_| is_same).map(|agent_session| agent_session.id))
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
        let has_history = turns_upto(session, upto) > 0;
        let takes_record = link.capabilities().transcript;
        // One that takes the record of its own session has all of it, as if it had kept it itself.
        let is_whole = takes_record && session.facts.agent.name == link.info().name;
        if self.policy == Restore::Required && has_history && !is_whole {
            let session = session.facts.session_id.clone();
            return Err(Error::RestoreFailed { session, agent: link.program().to_owned(), reason });
        }
        let (mut params, mut rung) = (self.opening.params(&link.capabilities(), None), Rung::New);
        if has_history {
            rung = match self.policy {
                _ if is_whole => Rung::Transcript,
                Restore::Fresh => Rung::Fresh,
                Restore::Rebuild | Restore::Required if takes_record => Rung::Transcript,
                Restore::Rebuild | Restore::Required => Rung::Briefing,
            };
        }
        if rung == Rung::Transcript {
            params = with_transcript(&params, &self.transcript(session, upto).await?);
        }
        let (result, events) = link.open("session/new", &params, self.limit).await?;
        let mut opened = self.opened(link.clone(), result, events, rung, None)?;
        if rung == Rung::Briefing {
            let id = &session.facts.session_id;
            opened.briefing = Some(briefing(&*self.store, id, upto, self.briefing_limit).await?);
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
        let (briefing, unrestored, news) = (None, None, Vec::new());
        Ok(Opened { link, id, events, rung, setup, in_force, wanted, briefing, remarks, unrestored, news, result })
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
