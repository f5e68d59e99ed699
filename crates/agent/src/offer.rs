//! What the user may choose and call.

use rejoin::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectGroup, SessionConfigSelectOption,
};
use rejoin::{Chosen, Offer};

use crate::BuiltInAgent;
use crate::commands;
use crate::mode::{self, Mode};
use crate::models::{ModelId, ModelInfo, TEMPERATURE, THINKING, Temperature, Thinking};
use crate::session::OpenSession;
use crate::tools;

/// The id of the option that holds the model.
pub(crate) const MODEL: &str = "model";

/// What is offered in `session`.
pub(crate) fn offer(agent: &BuiltInAgent, session: &OpenSession, chosen: &Chosen) -> Offer {
    let mut options = vec![
        mode_option(chosen),
        model_option(&session.models, chosen, &agent.default_model()),
        temperature_option(chosen),
        tools::option::option(chosen),
    ];
    if agent.model(chosen).is_ok_and(|model| agent.providers.thinks(&model)) {
        options.push(thinking_option(chosen));
    }
    Offer { options, commands: commands::available(session) }
}

fn mode_option(chosen: &Chosen) -> SessionConfigOption {
    let value =
        |mode: &Mode| SessionConfigSelectOption::new(mode.id(), mode.name()).description(mode.description().to_owned());
    let values: Vec<_> = Mode::ALL.iter().map(value).collect();
    SessionConfigOption::select(mode::OPTION, "Mode", Mode::of(chosen).id(), values)
        .description("How much the agent does by itself.".to_owned())
        .category(SessionConfigOptionCategory::Mode)
}

/// The models by who provides them.
fn model_option(models: &[ModelInfo], chosen: &Chosen, default: &ModelId) -> SessionConfigOption {
    let current = chosen.get(MODEL).map_or_else(|| default.to_string(), str::to_owned);
    let mut groups: Vec<SessionConfigSelectGroup> = Vec::new();
    for ModelInfo { id, title, .. } in models {
        let value = SessionConfigSelectOption::new(id.to_string(), title.clone());
        if let Some(group) = groups.iter_mut().find(|group| *group.group.0 == *id.provider) {
            group.options.push(value);
        } else {
            groups.push(SessionConfigSelectGroup::new(id.provider.clone(), id.provider.clone(), vec![value]));
        }
    }
    SessionConfigOption::select(MODEL, "Model", current, groups)
        .description("The language model that answers.".to_owned())
        .category(SessionConfigOptionCategory::Model)
}

fn temperature_option(chosen: &Chosen) -> SessionConfigOption {
    let value = |temperature: &Temperature| {
        let description = temperature.description().to_owned();
        SessionConfigSelectOption::new(temperature.id(), temperature.name()).description(description)
    };
    let values: Vec<_> = Temperature::ALL.iter().map(value).collect();
    SessionConfigOption::select(TEMPERATURE, "Temperature", Temperature::of(chosen).id(), values)
        .description("How free the model's words are. Models that have none do as they do.".to_owned())
        .category(SessionConfigOptionCategory::ModelConfig)
}

/// How much the model thinks, for one of which that can be said.
fn thinking_option(chosen: &Chosen) -> SessionConfigOption {
    let value = |thinking: &Thinking| SessionConfigSelectOption::new(thinking.id(), thinking.name());
    let values: Vec<_> = Thinking::ALL.iter().map(value).collect();
    SessionConfigOption::select(THINKING, "Thinking", Thinking::of(chosen).id(), values)
        .description("How much the model thinks before it answers.".to_owned())
        .category(SessionConfigOptionCategory::ThoughtLevel)
}
