//! How the session gets into the agent, and what is taken over from there.

use std::sync::Arc;
use std::time::Duration;

use rejoin_store::now;
use rejoin_transcript::json::Object;
use rejoin_transcript::{AgentSession, EntryNumber, Fact, FormerAgentSession, InForce, Json, LayerKind, Session, Step};

use super::Live;
use super::agent_side::{AgentInput, AgentSide, Briefing, OpenAgent};
use crate::Error;
use crate::agent::{Link, Opened, Opener, Opening, Rung};
use crate::capabilities::AgentCapabilities;
use crate::client::Client;
use crate::mcp_servers::McpServers;

impl Live {
    /// Sees to it that the agent opens the session; says whether it has it open already.
    pub(crate) fn open_agent(&mut self) -> Result<bool, Error> {
        match &self.agent {
            AgentSide::Open(agent) if agent.link.is_ready() => return Ok(true),
            // It has just ended, or is about to, and can't be asked any more.
            AgentSide::Open(agent) => {
                self.is_agent_lost |= !agent.link.is_ended_by_us();
                self.leave_agent();
            }
            AgentSide::Opening(_) => return Ok(false),
            AgentSide::Closed => {}
        }
        let Some(opening) = self.opening.clone() else { return Err(Error::Ended) };
        let opener = self.opener(opening);
        let mut session = self.session()?.clone();
        if self.is_agent_lost {
            session.apply(Fact::AgentLost);
        }
        let head = self.recorder()?.head();
        // A running turn is what the agent is to be asked next, not what it is to remember.
        let upto = session.facts.running_since.map_or(head, |since| EntryNumber::new(since.get() - 1));
        let (layer, lost) = (Arc::clone(&self.layer), self.lost.take());
        self.agent = AgentSide::Opening(tokio::spawn(async move {
            let mut seat = layer.agents.seat().await?;
            if let Some(reason) = lost {
                return opener.restore_anew(seat, &session, upto, reason.to_owned()).await;
            }
            let is_empty = session.facts.turns == u32::from(session.facts.running_since.is_some());
            if !is_empty && !forgets(&seat, &session, layer.options.restore_limit).await {
                seat.retire();
                seat = layer.agents.seat().await?;
            }
            match opener.restore(seat.clone(), &session, upto).await {
                // It died of it, or hangs in it, and would again.
                Err(error) if seat.is_gone() || error.is_timeout() => {
                    let seat = layer.agents.seat().await?;
                    opener.restore_anew(seat, &session, upto, error.to_string()).await
                }
                done => done,
            }
        }));
        Ok(false)
    }

    /// Has the agent open the session before anything else happens.
    pub(crate) async fn open_now(&mut self) -> Result<(), Error> {
        if self.open_agent()? {
            return Ok(());
        }
        while let AgentInput::Opened(opened) = self.agent.next().await {
            match *opened {
                Ok(opened) if self.is_outdated(&opened)? => self.bring_up_to_date(opened)?,
                Ok(opened) => return self.opened(opened).await,
                Err(error) => {
                    self.agent = AgentSide::Closed;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether something was chosen while the agent opened the session.
    pub(super) fn is_outdated(&self, opened: &Opened) -> Result<bool, Error> {
        Ok(opened.wanted != self.session()?.settings.in_force)
    }

    /// Brings the agent to what is in force now.
    pub(super) fn bring_up_to_date(&mut self, mut opened: Opened) -> Result<(), Error> {
        let Some(opening) = self.opening.clone() else { return Err(Error::Ended) };
        let (choices, session) = (self.opener(opening), self.session()?.clone());
        self.agent = AgentSide::Opening(tokio::spawn(async move {
            choices.reapply(&mut opened, &session).await;
            Ok(opened)
        }));
        Ok(())
    }

    /// What opens the session in an agent.
    pub(crate) fn opener(&self, opening: Opening) -> Opener {
        Opener { store: Arc::clone(&self.layer.store), opening, options: self.layer.options.clone() }
    }

    /// Takes what a client sent to open the session; an agent that has it open with other folders or servers has to
    /// open it again.
    pub(crate) fn set_opening(&mut self, mut opening: Opening) {
        if opening.made_with.is_none() {
            opening.made_with = self.made_with();
        }
        let can = self.agent.open().map(|agent| agent.link.capabilities()).unwrap_or_default();
        let is_same = self.opening.as_ref().is_none_or(|old| old.is_same_for(&opening, &can));
        if !is_same && self.machine.is_in_turn() {
            self.must_reopen = true;
        } else if !is_same {
            self.leave_agent();
        }
        self.opening = Some(opening);
    }

    /// What the session was made with: all of it in the process that made it, in others what may be kept.
    fn made_with(&self) -> Option<Json> {
        let known = self.opening.as_ref().and_then(|opening| opening.made_with.clone());
        let kept = || self.session().ok()?.settings.made_with.as_ref().map(|made_with| made_with.as_json().clone());
        known.or_else(kept)
    }

    /// The MCP servers that the latest client gave.
    pub(crate) fn servers_in_force(&self) -> McpServers {
        self.opening.as_ref().map(|opening| opening.mcp.clone()).unwrap_or_default()
    }

    /// Has `client` follow, also if it did not open the session.
    pub(crate) fn adopt(&mut self, client: &Arc<Client>) -> Result<(), Error> {
        self.subscribers.add(client, &self.layer.store, &self.id);
        self.know_opening()
    }

    /// Sees to it that there is a way to open the session, also if no client said how.
    pub(crate) fn know_opening(&mut self) -> Result<(), Error> {
        if self.opening.is_none() {
            let cwd = self.session()?.facts.cwd.raw.clone();
            let mcp = McpServers::default();
            let opening = Opening { cwd, directories: Vec::new(), mcp, extra: None, made_with: None };
            self.set_opening(opening);
        }
        Ok(())
    }

    /// The agent has made the session, and what it told of it is recorded.
    pub(crate) fn has_open(&mut self, opened: Opened) {
        let Opened { link, id, events, news, .. } = opened;
        let can_close = link.capabilities().close;
        self.agent = AgentSide::Open(OpenAgent { link, id, events, news, can_close, is_proven: true, briefing: None });
    }

    /// The agent has the session open: takes over what it told of it.
    pub(crate) async fn opened(&mut self, opened: Opened) -> Result<(), Error> {
        let Opened { link, id, events, rung, setup, in_force, briefing, lacks, remarks, unrestored, news, .. } = opened;
        let (facts, settings) = (&self.session()?.facts, &self.session()?.settings);
        let generation = match &facts.agent_session {
            Some(session) if session.id == id => session.generation,
            Some(session) => session.generation + 1,
            None => 1,
        };
        let agent_session = AgentSession { id: id.clone(), generation, lacks };
        let is_without_memory = rung == Rung::Briefing;
        let info = link.info();
        let AgentCapabilities { close: can_close, delete: can_delete, .. } = link.capabilities();
        let is_proven = !matches!(rung, Rung::Resume | Rung::Load);
        let mut told = Vec::new();
        // It may be wanted that the agent deletes what it keeps of sessions that are not used any more.
        let former = facts.agent_session.as_ref().filter(|former| former.id != id);
        if let Some(former) = former.filter(|_| can_delete || facts.agent.name != info.name) {
            let (agent, id) = (facts.agent.name.clone(), former.id.clone());
            told.push(Fact::FormerAgentSession(FormerAgentSession { agent, id }));
        }
        // One that has not been told yet what was said is not to be opened again as if it knew.
        if is_without_memory {
            told.extend([Fact::AgentSession(None), Fact::AtRisk { from: 1 }]);
            if can_delete {
                let (agent, id) = (info.name.clone(), id.clone());
                told.push(Fact::FormerAgentSession(FormerAgentSession { agent, id }));
            }
        } else {
            told.push(Fact::AgentSession(Some(agent_session.clone())));
        }
        if briefing.is_some() {
            told.push(Fact::AgentLost);
        }
        told.extend([Fact::Modes(setup.modes), Fact::Models(setup.models), Fact::ConfigOptions(setup.config_options)]);
        if facts.agent != info {
            told.push(Fact::Agent(info));
        }
        let changed = changed(&settings.in_force, &in_force);
        let briefing = briefing.map(|told| Briefing {
            text: told.text,
            remark: told.remark,
            agent_session: AgentSession { lacks: told.lacks, ..agent_session },
        });
        self.agent = AgentSide::Open(OpenAgent { link, id: id.clone(), events, news, can_close, is_proven, briefing });
        self.is_agent_lost = false;
        let mut steps = Vec::new();
        if rung != Rung::New {
            let body = Object::default().with_string("by", rung.name()).with_string("agentSessionId", &id).finish();
            steps.push(Step::of_layer(now(), self.turn, LayerKind::Restored, Json::from_stored(body)));
        }
        self.recorder()?.record(steps, told).await?;
        if let Some(changed) = changed {
            self.put_in_force(changed, None, |_, _| true).await?;
        }
        for remark in remarks.into_iter().chain(unrestored) {
            self.say(remark);
        }
        Ok(())
    }

    /// Has nothing more to do with the agent; what it was asked is answered for it.
    pub(crate) fn leave_agent(&mut self) {
        self.agent.leave();
        self.give_up_passed();
    }

    /// Tells the record that the agent has all of the session, if it was told all of it and gives it up in order.
    pub(super) async fn note_left_in_order(&mut self) {
        let Some(agent) = self.agent.open() else { return };
        let is_in_order = agent.link.is_ended_by_us() || agent.link.is_ready();
        if !is_in_order || agent.briefing.is_some() {
            return;
        }
        let turns = self.machine.turn();
        self.note_memory(Fact::AgentLeft { turns }).await;
    }

    /// Tells the record what became of the agent's memory. Without it the agent is told more than it needs.
    pub(super) async fn note_memory(&mut self, fact: Fact) {
        let Some(recorder) = &mut self.recorder else { return };
        if recorder.session().facts.agent_memory.at_risk_from.is_none() {
            return;
        }
        if let Err(error) = recorder.tell(vec![fact]).await {
            tracing::debug!(session = %self.id, %error, "what became of the agent's memory could not be noted");
        }
    }

    /// Lets go of an agent that does not obey; the session goes on in a fresh process.
    pub(super) fn abandon_agent(&mut self) {
        self.is_agent_lost = true;
        if let Some(agent) = self.agent.open() {
            agent.link.retire();
        }
        self.leave_agent();
    }
}

/// Sees to it that an agent that still has the session open, from before others used it, reads it anew when it opens it;
/// says whether it does.
async fn forgets(link: &Link, session: &Session, limit: Duration) -> bool {
    let left = session.facts.agent_session.as_ref().filter(|agent_session| link.still_has(&agent_session.id));
    let Some(agent_session) = left else { return true };
    let can = link.capabilities();
    if can.close {
        link.close(&agent_session.id, limit).await;
    }
    // One that can't open it again is given what it must know in any case.
    can.close || !(can.resume || can.load)
}

/// What of `now` is not as it was `before`.
fn changed(before: &InForce, now: &InForce) -> Option<InForce> {
    let differs = |old: &Option<String>, new: &Option<String>| new.clone().filter(|_| old != new);
    let options = now.options.iter().filter(|(id, value)| before.options.get(*id) != Some(value));
    let set = InForce {
        mode: differs(&before.mode, &now.mode),
        model: differs(&before.model, &now.model),
        options: options.map(|(id, value)| (id.clone(), value.clone())).collect(),
    };
    (set != InForce::default()).then_some(set)
}
