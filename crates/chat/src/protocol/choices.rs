//! What can be chosen in a session: its mode, its model, and the agent's other options, as one list.
//!
//! An agent may offer modes and models as such, as config options, or both; then the option counts.

use serde_json::{Value, json};

use super::{elements, text};

/// All that can be chosen.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Choices {
    pub(crate) list: Vec<Choice>,
}

/// One thing that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) how: How,
    pub(crate) current: Value,
    pub(crate) values: Vec<ChoiceValue>,
    category: Option<String>,
}

/// How a choice is told to the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Mode,
    Model,
    Option,
}

/// A value that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChoiceValue {
    pub(crate) value: Value,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// The group that it belongs to.
    pub(crate) group: Option<String>,
}

const MODE: &str = "mode";
const MODEL: &str = "model";

impl Choices {
    /// Reads what a session was opened with: the members `modes`, `models` and `configOptions` of `result`.
    pub(crate) fn read(result: &Value) -> Self {
        let mut choices = Self { list: elements(result, "configOptions").filter_map(Choice::of_option).collect() };
        for (name, list, how) in [(MODEL, "models", How::Model), (MODE, "modes", How::Mode)] {
            let choice = Choice::of_list(&result[list], how);
            if let Some(choice) = choice.filter(|_| choices.named(name).is_none()) {
                choices.list.insert(0, choice);
            }
        }
        choices
    }

    pub(crate) fn mode(&self) -> Option<&Choice> {
        self.named(MODE)
    }

    pub(crate) fn model(&self) -> Option<&Choice> {
        self.named(MODEL)
    }

    /// The session is in the mode `id` now.
    pub(crate) fn set_mode(&mut self, id: &str) {
        if let Some(at) = self.position(MODE) {
            self.list[at].current = json!(id);
        }
    }

    /// The options are as `options` say now.
    pub(crate) fn set_options(&mut self, options: &Value) {
        let told = Self::read(&json!({ "configOptions": options }));
        // What is offered in another way stays, unless it is among the options now.
        self.list.retain(|choice| choice.how != How::Option);
        self.list.retain(|choice| told.named(if choice.how == How::Mode { MODE } else { MODEL }).is_none());
        self.list.extend(told.list);
    }

    /// The choice `id` is `value` now.
    pub(crate) fn set(&mut self, id: &str, value: &Value) {
        if let Some(choice) = self.list.iter_mut().find(|choice| choice.id == id) {
            choice.current = value.clone();
        }
    }

    /// The choice that is called `name` by its category, or else by its id.
    fn named(&self, name: &str) -> Option<&Choice> {
        self.position(name).map(|at| &self.list[at])
    }

    fn position(&self, name: &str) -> Option<usize> {
        let by_category = |choice: &Choice| choice.category.as_deref() == Some(name);
        let by_id = |choice: &Choice| choice.category.is_none() && choice.id == name;
        self.list.iter().position(by_category).or_else(|| self.list.iter().position(by_id))
    }
}

impl Choice {
    fn of_option(option: &Value) -> Option<Self> {
        let values = if option["type"] == "boolean" {
            [(true, "on"), (false, "off")].map(|(value, name)| ChoiceValue::of(json!(value), name)).into()
        } else {
            values(option, None)
        };
        let id = text(option, "id")?;
        Some(Self {
            name: text(option, "name").unwrap_or_else(|| id.clone()),
            how: How::Option,
            current: option["currentValue"].clone(),
            values,
            category: text(option, "category"),
            id,
        })
    }

    fn of_list(object: &Value, how: How) -> Option<Self> {
        let (id, name, current, list, value_id) = match how {
            How::Model => (MODEL, "Model", "currentModelId", "availableModels", "modelId"),
            How::Mode | How::Option => (MODE, "Mode", "currentModeId", "availableModes", "id"),
        };
        let value = |value: &Value| {
            let (id, description) = (value.get(value_id)?.clone(), text(value, "description"));
            let name = text(value, "name").or_else(|| text(value, value_id))?;
            Some(ChoiceValue { description, ..ChoiceValue::of(id, &name) })
        };
        let (id, name, category) = (id.to_owned(), name.to_owned(), Some(id.to_owned()));
        let values = elements(object, list).filter_map(value).collect();
        Some(Self { id, name, how, current: object.get(current)?.clone(), values, category })
    }

    /// The name of what is in force.
    pub(crate) fn current_name(&self) -> String {
        let current = self.values.iter().find(|value| value.value == self.current);
        let raw = || self.current.as_str().map_or_else(|| self.current.to_string(), str::to_owned);
        current.map_or_else(raw, |value| value.name.clone())
    }

    /// The value behind the one in force, or the first.
    pub(crate) fn next(&self) -> Option<&ChoiceValue> {
        let current = self.values.iter().position(|value| value.value == self.current);
        current.and_then(|at| self.values.get(at + 1)).or_else(|| self.values.first())
    }

    /// The request that chooses `value` in `session`: its method, and its params.
    pub(crate) fn request(&self, session: &str, value: &Value) -> (&'static str, Value) {
        match self.how {
            How::Mode => ("session/set_mode", json!({ "sessionId": session, "modeId": value })),
            How::Model => ("session/set_model", json!({ "sessionId": session, "modelId": value })),
            How::Option => {
                let params = json!({ "sessionId": session, "configId": self.id, "value": value });
                ("session/set_config_option", params)
            }
        }
    }
}

impl ChoiceValue {
    fn of(value: Value, name: &str) -> Self {
        Self { value, name: name.to_owned(), description: None, group: None }
    }
}

/// The values of a select, flat or in groups.
fn values(option: &Value, group: Option<&str>) -> Vec<ChoiceValue> {
    let mut all = Vec::new();
    for element in elements(option, "options") {
        let name = text(element, "name");
        match (element.get("value"), name) {
            (Some(value), name) => {
                let name = name.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_default();
                let (description, group) = (text(element, "description"), group.map(str::to_owned));
                all.push(ChoiceValue { description, group, ..ChoiceValue::of(value.clone(), &name) });
            }
            (None, name) => all.extend(values(element, name.as_deref())),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Value {
        json!([
            { "id": "m", "name": "Model", "category": "model", "type": "select", "currentValue": "a", "options": [
                { "group": "g", "name": "G", "options": [{ "value": "a", "name": "A" }, { "value": "b", "name": "B" }] },
            ] },
            { "id": "fast", "name": "Fast", "type": "boolean", "currentValue": false },
        ])
    }

    /// All choices in short form.
    fn shown(choices: &Choices) -> Vec<String> {
        choices.list.iter().map(|choice| format!("{}={} {:?}", choice.id, choice.current_name(), choice.how)).collect()
    }

    #[test]
    fn modes_and_models_are_listed_once() {
        let modes =
            json!({ "currentModeId": "ask", "availableModes": [{ "id": "ask", "name": "Ask" }, { "id": "code" }] });
        let of_models = json!({ "currentModelId": "x", "availableModels": [{ "modelId": "x", "name": "X" }] });
        let choices = Choices::read(&json!({ "modes": modes, "models": of_models, "configOptions": options() }));
        assert_eq!(shown(&choices), ["mode=Ask Mode", "m=A Option", "fast=off Option"]);
        let only = Choices::read(&json!({ "modes": modes, "models": of_models }));
        assert_eq!(shown(&only), ["mode=Ask Mode", "model=X Model"]);
    }

    #[test]
    fn what_the_agent_changes_is_taken_over() {
        let modes = json!({ "currentModeId": "ask", "availableModes": [{ "id": "ask" }, { "id": "code" }] });
        let mut choices = Choices::read(&json!({ "modes": modes, "configOptions": options() }));
        choices.set_mode("code");
        let mut told = options();
        told[1]["currentValue"] = json!(true);
        choices.set_options(&told);
        assert_eq!(shown(&choices), ["mode=code Mode", "m=A Option", "fast=on Option"]);
    }

    #[test]
    fn the_next_value_comes_round() {
        let mut choices = Choices::read(&json!({ "configOptions": options() }));
        let next = |choices: &Choices| choices.model().and_then(Choice::next).map(|value| value.name.clone());
        assert_eq!(next(&choices).as_deref(), Some("B"));
        choices.set("m", &json!("b"));
        assert_eq!(next(&choices).as_deref(), Some("A"));
    }
}
