//! `switch_mode`: asks the user to work in another mode.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{SessionConfigOptionValue, ToolKind};
use serde::Deserialize;
use serde_json::json;

use super::arguments::{read, spec};
use super::{Always, Arguments, Effect, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::mode::{self, Mode};
use crate::session::OpenSession;

const NAME: &str = "switch_mode";

pub(super) struct SwitchMode;

#[derive(Deserialize)]
struct Input {
    mode: String,
}

#[async_trait]
impl Tool for SwitchMode {
    fn spec(&self) -> ToolSpec {
        let known: Vec<&str> = Mode::ALL.into_iter().map(Mode::id).collect();
        let told: Vec<String> =
            Mode::ALL.into_iter().map(|mode| format!("{}: {}", mode.id(), mode.description())).collect();
        let description = format!(
            "Asks the user whether to go on in another mode, for example to begin with what was planned. {}",
            told.join(" ")
        );
        spec(NAME, &description, &[("mode", json!({ "type": "string", "enum": known }))])
    }

    fn kind(&self) -> ToolKind {
        ToolKind::SwitchMode
    }

    fn effect(&self) -> Effect {
        Effect::Switches
    }

    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let mode = mode_in(arguments)?;
        if mode == Mode::of(&turn.chosen()) {
            return Err(ToolError::Failed(format!("the mode is {} already", mode.id())));
        }
        let plan = Plan::new(format!("Switch to the mode {}", mode.name()));
        Ok(plan.showing(vec![mode.description().to_owned().into()]).always(Always::NotOffered))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let mode = mode_in(arguments)?;
        call.turn.choose(mode::OPTION, SessionConfigOptionValue::value_id(mode.id())).await?;
        Ok(Output::text(format!("The mode is {} now. {}", mode.id(), mode.instructions())))
    }
}

fn mode_in(arguments: &Arguments) -> Result<Mode, ToolError> {
    let input: Input = read(NAME, arguments)?;
    let known: Vec<&str> = Mode::ALL.into_iter().map(Mode::id).collect();
    input
        .mode
        .parse()
        .map_err(|()| ToolError::Failed(format!("there is no mode {:?}; there are {}", input.mode, known.join(", "))))
}
