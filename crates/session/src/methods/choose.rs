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
use crate::live::{Command, Live};
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

    pub(super) fn run(self, live: &mut Live, responder: Responder) {
        let choice = self.choice;
        let checked =
            live.session().and_then(|session| Ok((choice.check(&session.settings)?, session.settings.clone())));
        let (set, settings) = match checked {
            Ok(checked) => checked,
            Err(error) => return live.respond(responder, Err(error)),
        };
        let mailbox = live.mailbox.clone();
        let Some(agent) = live.agent.open() else {
            return drop(mailbox.send(Command::Chosen { choice, set, outcome: Ok(None), responder }));
        };
        let (method, params) = choice_request(&choice, &agent.id, &settings);
        let link = Arc::clone(&agent.link);
        tokio::spawn(async move {
            let outcome = match link.call(method, &params, PATIENCE).await {
                Ok(result) => Ok(Setup::read(result.get()).config_options),
                Err(Error::AgentTimeout { .. }) => Ok(None),
                Err(error) => Err(error),
            };
            let _ = mailbox.send(Command::Chosen { choice, set, outcome, responder });
        });
    }
}
