//! What is chosen in a session.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelectOption, SessionConfigSelectOptions,
};

use super::AgentError;

/// The values of a session's options, by the options' ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    values: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    Is(bool),
}

impl Chosen {
    /// The value of the option `id`, if it has values to select from and one was chosen.
    pub fn get(&self, id: &str) -> Option<&str> {
        match self.values.get(id)? {
            Value::Text(value) => Some(value),
            Value::Is(_) => None,
        }
    }

    /// Whether the option `id`, which is on or off, is on.
    pub fn is_on(&self, id: &str) -> bool {
        self.values.get(id) == Some(&Value::Is(true))
    }

    /// What is in force in `options`.
    pub(super) fn of(options: &[SessionConfigOption]) -> Self {
        let value = |option: &SessionConfigOption| match &option.kind {
            SessionConfigKind::Select(select) => Some(Value::Text(select.current_value.to_string())),
            SessionConfigKind::Boolean(boolean) => Some(Value::Is(boolean.current_value)),
            _ => None,
        };
        let values = options.iter().filter_map(|option| Some((option.id.to_string(), value(option)?)));
        Self { values: values.collect() }
    }

    /// The same with `value` for the option `id`, which must be one of `options`.
    pub(super) fn with(
        mut self,
        options: &[SessionConfigOption],
        id: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<Self, AgentError> {
        let option = options.iter().find(|option| &*option.id.0 == id);
        let option = option.ok_or_else(|| AgentError::invalid("configId", format!("there is no option {id:?}")))?;
        let value = match (&option.kind, value) {
            (SessionConfigKind::Boolean(_), SessionConfigOptionValue::Boolean { value }) => Value::Is(*value),
            (SessionConfigKind::Select(select), SessionConfigOptionValue::ValueId { value })
                if values_of(&select.options).any(|one| one.value == *value) =>
            {
                Value::Text(value.to_string())
            }
            _ => return Err(AgentError::invalid("value", format!("it is none of the values of {id:?}"))),
        };
        self.values.insert(id.to_owned(), value);
        Ok(self)
    }
}

/// The option of `options` that is of this category and has values to select from.
pub(super) fn of_category<'a>(
    options: &'a [SessionConfigOption],
    category: &SessionConfigOptionCategory,
) -> Option<(&'a SessionConfigOption, &'a str, Vec<&'a SessionConfigSelectOption>)> {
    options.iter().filter(|option| option.category.as_ref() == Some(category)).find_map(|option| match &option.kind {
        SessionConfigKind::Select(select) => {
            Some((option, &*select.current_value.0, values_of(&select.options).collect()))
        }
        _ => None,
    })
}

fn values_of(options: &SessionConfigSelectOptions) -> Box<dyn Iterator<Item = &SessionConfigSelectOption> + '_> {
    match options {
        SessionConfigSelectOptions::Ungrouped(values) => Box::new(values.iter()),
        SessionConfigSelectOptions::Grouped(groups) => Box::new(groups.iter().flat_map(|group| &group.options)),
        _ => Box::new(std::iter::empty()),
    }
}
