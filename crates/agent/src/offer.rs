//! What the user may choose and call.

use rejoin::schema::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectGroup, SessionConfigSelectOption,
};
use rejoin::{Chosen, Offer};

use crate::commands;
use crate::mode::{self, Mode};
use crate::models::{ModelId, ModelInfo};
use crate::session::OpenSession;
use crate::tools;

/// The id of the option that holds the model.
pub(crate) const MODEL: &str = "model";

/// What is offered in `session`, where `default` is the model that sessions begin with.
pub(crate) fn offer(session: &OpenSession, chosen: &Chosen, default: &ModelId) -> Offer {
    let options =
        vec![mode_option(chosen), model_option(&session.models, chosen, default), tools::option::option(chosen)];
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

/// The models by who provides them. One that was chosen stays, even if it is not listed any more.
fn model_option(models: &[ModelInfo], chosen: &Chosen, default: &ModelId) -> SessionConfigOption {
    let current = chosen.get(MODEL).map_or_else(|| default.to_string(), str::to_owned);
    let mut listed: Vec<ModelInfo> = models.to_vec();
    if let Ok(id) = current.parse::<ModelId>()
        && !listed.iter().any(|model| model.id == id)
    {
        listed.push(ModelInfo { title: id.name.clone(), id });
    }
    let mut groups: Vec<SessionConfigSelectGroup> = Vec::new();
    for model in listed {
        let value = SessionConfigSelectOption::new(model.id.to_string(), model.title);
        match groups.iter_mut().find(|group| *group.group.0 == *model.id.provider) {
            Some(group) => group.options.push(value),
            None => {
                let provider = model.id.provider;
                groups.push(SessionConfigSelectGroup::new(provider.clone(), provider, vec![value]));
            }
        }
    }
    SessionConfigOption::select(MODEL, "Model", current, groups)
        .description("The language model that answers.".to_owned())
        .category(SessionConfigOptionCategory::Model)
}
