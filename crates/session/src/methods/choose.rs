//! `session/set_mode`, `session/set_model`, `session/set_config_option`: one thing is chosen.
//!
//! A choice is checked against what the agent offers and is in force at once; an agent that has the session open is asked,
//! and may refuse. One that does not is brought to it when it opens the session.

use std::sync::Arc;
use std::time::Duration;

use rejoin_transcript::Json;

use crate::Error;
use crate::agent::choice_request;
use crate::choices::{Choice, Setup};
use crate::client::Responder;
use crate::live::{Chosen, Command, Live};
use crate::params::{Params, missing};

/// An agent that is in the middle of a turn may not answer before it ends; the client is not kept waiting.
const PATIENCE: Duration = Duration::from_secs(2);

/// The request.
pub(crate) struct Choose {
    choice: Choice,
}

impl Choose {
    pub(super) fn mode(params: &Params<'_>) -> Result<Self, Error> {
        params.session_id()?;
        params.refuse_older("mode", "modeId")?;
        let mode = params.string("modeId", "the id of a mode")?.into_owned();
        Ok(Self { choice: Choice::Mode(mode) })
    }

    pub(super) fn model(params: &Params<'_>) -> Result<Self, Error> {
        params.session_id()?;
        params.refuse_older("model", "modelId")?;
        let model = params.string("modelId", "the id of a model")?.into_owned();
        Ok(Self { choice: Choice::Model(model) })
    }

    pub(super) fn option(params: &Params<'_>) -> Result<Self, Error> {
        params.session_id()?;
        params.refuse_older("optionId", "configId")?;
        let option = params.string("configId", "the id of a config option")?.into_owned();
        params.refuse_older("valueId", "value")?;
        let value = params.get("value").ok_or_else(|| missing("value", "the value to set"))?;
        Ok(Self { choice: Choice::Option(option, Json::from_stored(value.to_owned())) })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let choice = self.choice;
        let checked =
            live.session().and_then(|session| Ok((choice.check(&session.settings)?, session.settings.clone())));
        let (set, settings) = match checked {
            Ok(checked) => checked,
            Err(error) => return live.respond(responder, Err(error)),
        };
        let mailbox = live.mailbox.clone();
        let Some(agent) = live.agent.open() else {
            let before = settings.in_force;
            return live.chosen(Chosen { choice, set, before, outcome: Ok(None), responder: Some(responder) }).await;
        };
        let (link, id) = (Arc::clone(&agent.link), agent.id.clone());
        tokio::spawn(async move {
            let (method, params) = choice_request(&choice, &id, &settings);
            let before = settings.in_force;
            let asked = async {
                let result = link.pass(method, &params, |_| ()).await;
                result.map(|result| Setup::read(result.get()).config_options)
            };
            let chosen = |outcome, responder| {
                let (choice, set, before) = (choice.clone(), set.clone(), before.clone());
                Command::Chosen(Box::new(Chosen { choice, set, before, outcome, responder }))
            };
            tokio::pin!(asked);
            // A session that is gone does not need to know.
            if let Ok(outcome) = tokio::time::timeout(PATIENCE, &mut asked).await {
                let _ = mailbox.send(chosen(outcome, Some(responder)));
            } else {
                let _ = mailbox.send(chosen(Ok(None), Some(responder)));
                let _ = mailbox.send(chosen(asked.await, None));
            }
        });
    }
}
