//! Modes, models and options of a live session: put in force, recorded, told to the clients.

use std::sync::Arc;

use rejoin_store::now;
use rejoin_transcript::json::Object;
use rejoin_transcript::{Fact, InForce, Json, LayerKind, Settings, Step, StepKind, UpdateKind};

use super::{Chosen, Live};
use crate::Error;
use crate::capabilities::Shows;
use crate::choices::{Choice, Setup, options_in_force};
use crate::client::Client;

impl Live {
    /// Records that `set` is in force, with the agent's new list of options if it gave one, and tells the clients that
    /// are meant.
    pub(crate) async fn put_in_force(
        &mut self,
        mut set: InForce,
        told: Option<Json>,
        is_meant: impl Fn(&StepKind, &Client) -> bool,
    ) -> Result<(), Error> {
        let (at, turn) = (now(), self.turn);
        let mut settings = self.session()?.settings.clone();
        let mut facts = Vec::new();
        if let Some(options) = told {
            settings.config_options = Some(options.clone());
            let told = Setup { config_options: Some(options.clone()), ..Setup::default() }.in_force();
            set.options.extend(told.options);
            facts.push(Fact::ConfigOptions(Some(options)));
        }
        let mut steps = vec![Step::of_layer(at, turn, LayerKind::StateSet, set.to_json())];
        let update = |kind| Object::default().with_string("sessionUpdate", kind);
        let mut announce =
            |update: Object| steps.extend(Step::update(at, turn, Json::from_stored(update.finish())).ok());
        if let Some(mode) = set.mode.as_ref().filter(|_| settings.modes.is_some()) {
            announce(update("current_mode_update").with_string("currentModeId", mode));
        }
        if !set.options.is_empty() {
            put(&mut settings, set);
            let all = Shows { boolean_options: true, ..Shows::default() };
            if let Some(options) = options_in_force(&settings, all) {
                announce(update("config_option_update").with("configOptions", &options));
            }
        }
        self.record_and_show(steps, facts, is_meant).await
    }

    /// The agent has taken a choice, or did not say in time; or it refused.
    pub(crate) async fn chosen(&mut self, chosen: Chosen) {
        let Chosen { choice, set, before, outcome, responder } = chosen;
        let Some(responder) = responder else {
            return self.chosen_late(set, before, outcome).await;
        };
        let told = match outcome {
            Ok(told) => told,
            Err(error) => return self.respond(responder, Err(error)),
        };
        let client = Arc::clone(responder.client());
        // Whoever chose is told by the answer; of what goes along with it, like everyone else.
        let direct = match choice {
            Choice::Mode(_) => Some(UpdateKind::CurrentMode),
            Choice::Option(..) => Some(UpdateKind::ConfigOption),
            Choice::Model(_) => None,
        };
        let is_meant = |kind: &StepKind, one: &Client| *one != *client || direct.map(StepKind::Update) != Some(*kind);
        let recorded = self.put_in_force(set, told, is_meant).await;
        let outcome = match recorded {
            Ok(()) => self.flush().await.and_then(|()| self.choice_result(&choice, client.shows())),
            Err(error) => Err(error),
        };
        self.respond(responder, outcome);
    }

    /// The agent said what it makes of a choice after the client was told that it is made. If it refused, what was in
    /// force before comes back, unless something else was chosen since.
    async fn chosen_late(&mut self, set: InForce, before: InForce, outcome: Result<Option<Json>, Error>) {
        let recorded = match outcome {
            Ok(None) => Ok(()),
            Ok(told) => self.put_in_force(InForce::default(), told, |_, _| true).await,
            Err(error) => {
                tracing::warn!(session = %self.id, %error, "the agent refused a choice late");
                let Ok(session) = self.session() else { return };
                let now = &session.settings.in_force;
                let options = set.options.iter().filter(|(id, value)| now.options.get(*id) == Some(value));
                let options = options.filter_map(|(id, _)| Some((id.clone(), before.options.get(id)?.clone())));
                let back = InForce {
                    mode: before.mode.filter(|_| set.mode.is_some() && now.mode == set.mode),
                    model: before.model.filter(|_| set.model.is_some() && now.model == set.model),
                    options: options.collect(),
                };
                self.put_in_force(back, None, |_, _| true).await
            }
        };
        if let Err(error) = recorded {
            tracing::error!(session = %self.id, %error, "settings could not be recorded");
        }
    }

    pub(super) fn choice_result(&self, choice: &Choice, shows: Shows) -> Result<String, Error> {
        Ok(match choice {
            Choice::Mode(_) | Choice::Model(_) => "{}".to_owned(),
            Choice::Option(..) => {
                let options = options_in_force(&self.session()?.settings, shows).unwrap_or_else(|| "[]".to_owned());
                Object::default().with("configOptions", &options).finish()
            }
        })
    }
}

fn put(settings: &mut Settings, set: InForce) {
    let in_force = &mut settings.in_force;
    in_force.mode = set.mode.or(in_force.mode.take());
    in_force.model = set.model.or(in_force.model.take());
    in_force.options.extend(set.options);
}
