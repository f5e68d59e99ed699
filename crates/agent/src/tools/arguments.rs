//! What a call is given: read into a tool's own type, and described to the model.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{Arguments, ToolError, ToolSpec};

/// Reads the arguments of a call of `tool`.
pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: &Arguments) -> Result<T, ToolError> {
    serde_path_to_error::deserialize(Value::Object(arguments.clone())).map_err(|error| {
        let field = error.path().iter().next().map(|_| format!("`{}`: ", error.path())).unwrap_or_default();
        ToolError::Failed(format!("the arguments of {tool}: {field}{}", error.inner()))
    })
}

/// What a model is told of the tool `name`, whose arguments are `properties`, each with its JSON Schema. Those whose name ends
/// with `?` may be left out.
pub(super) fn spec(name: &str, description: &str, properties: &[(&str, Value)]) -> ToolSpec {
    let mut schemas = Map::new();
    let mut required = Vec::new();
    for (name, schema) in properties {
        let own_name = name.trim_end_matches('?');
        schemas.insert(own_name.to_owned(), schema.clone());
        if own_name == *name {
            required.push(own_name);
        }
    }
    let input_schema =
        json!({ "type": "object", "properties": schemas, "required": required, "additionalProperties": false });
    ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
}

/// The argument of all tools that are about one file.
pub(super) fn file() -> (&'static str, Value) {
    ("path", text("The file, relative to the session's folder or absolute."))
}

/// The schema of a text.
pub(super) fn text(what: &str) -> Value {
    json!({ "type": "string", "description": what })
}

/// The schema of a whole number from 1.
pub(super) fn number(what: &str) -> Value {
    json!({ "type": "integer", "minimum": 1, "description": what })
}

/// The schema of yes or no.
pub(super) fn flag(what: &str) -> Value {
    json!({ "type": "boolean", "description": what })
}
