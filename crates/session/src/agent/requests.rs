//! How a choice is made in an agent.

use rejoin_transcript::Settings;
use rejoin_transcript::json::{Object, write_string};

use crate::choices::Choice;

/// The request that makes `choice` in the agent's session `id`.
pub(crate) fn choice_request(choice: &Choice, id: &str, settings: &Settings) -> (&'static str, String) {
    let params = Object::default().with_string("sessionId", id);
    match choice {
        Choice::Mode(mode) if settings.modes.is_some() => {
            ("session/set_mode", params.with_string("modeId", mode).finish())
        }
        Choice::Model(model) if settings.models.is_some() => {
            ("session/set_model", params.with_string("modelId", model).finish())
        }
        // It offers them only as an option.
        Choice::Mode(value) | Choice::Model(value) => {
            let set = choice.check(settings).unwrap_or_default();
            let option = set.options.keys().next().cloned().unwrap_or_default();
            option_request(params, &option, &write_string(value))
        }
        Choice::Option(option, value) => option_request(params, option, value.as_str()),
    }
}

fn option_request(params: Object, option: &str, value: &str) -> (&'static str, String) {
    let mut params = params.with_string("configId", option);
    if matches!(value, "true" | "false") {
        params = params.with_string("type", "boolean");
    }
    ("session/set_config_option", params.with("value", value).finish())
}
