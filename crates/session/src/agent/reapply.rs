//! Brings an agent that has opened a session to the settings in force, as far as it still has them.
//!
//! What the agent says meanwhile belongs to the restore, and is no news afterwards: what it tells of its settings counts
//! as told, and its messages are dropped, as those of its replay are.

use rejoin_transcript::{Json, Session, Settings, UpdateKind};
use rejoin_wire::RawValue;

use super::refusal;
use super::requests::choice_request;
use super::restore::{Opened, Opener, Remark, Rung};
use super::routes::AgentEvent;
use crate::Error;
use crate::choices::{Choice, RestoredIn, Setup, fallbacks, missed, offered_in, to_reapply};

/// How often one thing is chosen: another choice may have reset it.
const TRIES: usize = 2;

impl Opener {
    /// Brings the agent to what is in force in `session`.
    pub(crate) async fn reapply(&self, opened: &mut Opened, session: &Session) {
        // An agent that has the session need not say again what it offers.
        if matches!(opened.rung, Rung::Resume | Rung::Load) {
            let (known, told) = (&session.settings, &mut opened.setup);
            told.modes = told.modes.take().or_else(|| known.modes.clone());
            told.models = told.models.take().or_else(|| known.models.clone());
            told.config_options = told.config_options.take().or_else(|| known.config_options.clone());
        }
        self.fall_back(opened, &session.settings).await;
        opened.wanted = session.settings.in_force.clone();
        let wanted = offered_in(&session.settings);
        let (mut tried, mut refusals): (Vec<Choice>, Vec<(Choice, String)>) = (Vec::new(), Vec::new());
        let missing = loop {
            // One choice may bring further options, take some away, or reset others.
            let settings = opened.offers();
            let (choices, lost) = to_reapply(&wanted, &opened.in_force, &settings);
            let n_tries = |choice: &Choice| tried.iter().filter(|one| *one == choice).count();
            let is_open =
                |choice: &&Choice| n_tries(choice) < TRIES && refusals.iter().all(|(refused, _)| refused != *choice);
            let Some(choice) = choices.iter().filter(is_open).min_by_key(|choice| n_tries(choice)).cloned() else {
                break [lost, choices].concat();
            };
            if let Err(error) = self.choose(opened, &choice, &settings).await {
                if refusal::is_already_so(&error) {
                    opened.settle(&choice, &settings);
                } else {
                    refusals.push((choice.clone(), refusal::reason(&error, &self.opening)));
                }
            }
            tried.push(choice);
        };
        let is_same = self.is_agent_of(session, &opened.link);
        let agent = if is_same { RestoredIn::SameAgent } else { RestoredIn::OtherAgent };
        let missing = missed(missing, &session.settings, agent);
        opened.unrestored = unrestored(&missing, &refusals);
    }

    /// Brings the agent from what it no longer offers, as it did `before`, to what it does: it may have kept what was
    /// chosen then.
    async fn fall_back(&self, opened: &mut Opened, before: &Settings) {
        let mut tried = Vec::new();
        loop {
            let settings = opened.offers();
            let choices = fallbacks(&opened.in_force, &settings, before);
            let Some(choice) = choices.into_iter().find(|choice| !tried.contains(choice)) else { return };
            // One that refuses is as it wants to be.
            let _ = self.choose(opened, &choice, &settings).await;
            tried.push(choice);
        }
    }

    /// Makes `choice` in the agent, which offers `settings`.
    async fn choose(&self, opened: &mut Opened, choice: &Choice, settings: &Settings) -> Result<(), Error> {
        let (method, params) = choice_request(choice, &opened.id, settings);
        let before = opened.in_force.options.clone();
        let result = opened.ask(method, &params, self.options.restore_limit).await?;
        let told = Setup::read(result.get()).config_options.or_else(|| {
            // It may have told them before it answered.
            (opened.in_force.options != before).then(|| opened.setup.config_options.clone()).flatten()
        });
        opened.settle(choice, settings);
        opened.take_options(told);
        Ok(())
    }
}

impl Opened {
    /// Notes that `choice` is in force in the agent, which offers `settings`: also as the option that says the same.
    fn settle(&mut self, choice: &Choice, settings: &Settings) {
        let set = choice.check(settings).unwrap_or_default();
        self.in_force.mode = set.mode.or(self.in_force.mode.take());
        self.in_force.model = set.model.or(self.in_force.model.take());
        self.in_force.options.extend(set.options);
    }

    /// Asks the agent, and takes in what it says before it answers.
    async fn ask(
        &mut self,
        method: &'static str,
        params: &str,
        limit: std::time::Duration,
    ) -> Result<Box<RawValue>, Error> {
        let link = self.link.clone();
        let answer = link.call(method, params, limit);
        tokio::pin!(answer);
        loop {
            tokio::select! {
                // What came before the answer is there before it.
                biased;
                Some(event) = self.events.recv() => self.take(event),
                answer = &mut answer => return answer,
            }
        }
    }

    fn take(&mut self, event: AgentEvent) {
        let AgentEvent::Update(update) = event else { return self.news.push(event) };
        match UpdateKind::of(&update.update) {
            Some(UpdateKind::ConfigOption) => {
                self.take_options(Setup::read(update.update.as_str()).config_options);
            }
            Some(UpdateKind::CurrentMode) => {
                let members = update.update.members();
                let mode = members.and_then(|told| told.get_string("currentModeId").or(told.get_string("modeId")));
                self.in_force.mode = mode.map(std::borrow::Cow::into_owned).or(self.in_force.mode.take());
            }
            Some(
                UpdateKind::UserMessageChunk
                | UpdateKind::AgentMessageChunk
                | UpdateKind::AgentThoughtChunk
                | UpdateKind::ToolCall
                | UpdateKind::ToolCallUpdate
                | UpdateKind::Plan,
            ) => {}
            Some(
                UpdateKind::AvailableCommands
                | UpdateKind::SessionInfo
                | UpdateKind::Usage
                | UpdateKind::Notice
                | UpdateKind::Other,
            )
            | None => self.news.push(AgentEvent::Update(update)),
        }
    }

    /// Takes over the agent's list of options, if it gave one.
    fn take_options(&mut self, options: Option<Json>) {
        if options.is_some() {
            self.setup.config_options = options;
            self.in_force.options = self.setup.in_force().options;
        }
    }

    /// What the agent offers.
    fn offers(&self) -> Settings {
        let Setup { modes, models, config_options } = self.setup.clone();
        Settings { modes, models, config_options, ..Settings::default() }
    }
}

/// What is said of the settings that the agent could not be brought to, if there are any.
fn unrestored(missing: &[Choice], refusals: &[(Choice, String)]) -> Option<Remark> {
    if missing.is_empty() {
        return None;
    }
    let names: Vec<String> = missing.iter().map(describe).collect();
    let reasons = refusals.iter().filter(|(choice, _)| missing.contains(choice));
    let reasons: Vec<String> =
        reasons.map(|(choice, reason)| format!(" It refused {}: {reason}.", describe(choice))).collect();
    let names = names.join(", ");
    Some(Remark {
        title: "Not all settings could be restored".to_owned(),
        description: format!("The agent did not take {names}; what it has by itself is in force.{}", reasons.concat()),
    })
}

fn describe(choice: &Choice) -> String {
    match choice {
        Choice::Mode(mode) => format!("the mode `{mode}`"),
        Choice::Model(model) => format!("the model `{model}`"),
        Choice::Option(option, value) => format!("{value} for the option `{option}`"),
    }
}
