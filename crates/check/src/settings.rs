//! Modes and options, as an agent tells them.

use serde_json::Value;

/// A mode that is not the one in force, in the answer `setup` to the opening of a session.
pub(crate) fn mode_choice(setup: &Value) -> Option<String> {
    let current = setup["modes"]["currentModeId"].as_str()?;
    let modes = setup["modes"]["availableModes"].as_array()?;
    let ids = modes.iter().filter_map(|mode| mode["id"].as_str());
    ids.into_iter().find(|id| *id != current).map(str::to_owned)
}

/// An option, and a value of it that is not the one in force. Neither the mode nor the model is changed by it.
pub(crate) fn option_choice(setup: &Value) -> Option<(String, String)> {
    setup["configOptions"].as_array()?.iter().find_map(|option| {
        let (id, current) = (option["id"].as_str()?, option["currentValue"].as_str()?);
        let is_other = |name: &str| name != "mode" && name != "model";
        let is_meant = is_other(id) && option["category"].as_str().is_none_or(is_other);
        let value = values_of(option).into_iter().find(|value| *value != current)?;
        is_meant.then(|| (id.to_owned(), value.to_owned()))
    })
}

/// The values of a `select` option, those in groups too.
pub(crate) fn values_of(option: &Value) -> Vec<&str> {
    let choices = option["options"].as_array().map_or(&[][..], Vec::as_slice);
    let grouped = choices.iter().flat_map(|choice| match choice["options"].as_array() {
        Some(inner) => inner.iter().collect(),
        None => vec![choice],
    });
    grouped.filter_map(|choice| choice["value"].as_str()).collect()
}

/// The value in force of the option `id`, in an answer that has `configOptions`.
pub(crate) fn value_of<'a>(setup: &'a Value, id: &str) -> Option<&'a Value> {
    let options = setup["configOptions"].as_array()?;
    options.iter().find(|option| option["id"] == id).map(|option| &option["currentValue"])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn another_value_is_chosen_of_an_option_that_is_neither_mode_nor_model() {
        let select = |id: &str, category: Value, options: Value| json!({ "id": id, "category": category, "currentValue": "a", "options": options });
        let flat = json!([{ "value": "a" }, { "value": "b" }]);
        let grouped = json!([{ "group": "g", "options": flat }]);
        let setup = json!({ "configOptions": [
            select("model", Value::Null, flat.clone()),
            select("x", json!("mode"), flat),
            select("y", json!("other"), grouped),
        ] });
        assert_eq!(option_choice(&setup), Some(("y".to_owned(), "b".to_owned())));
    }
}
