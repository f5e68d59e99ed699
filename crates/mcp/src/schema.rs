//! Whether a model can be offered a tool with this schema. One schema that a provider refuses would make it refuse every
//! tool, so such a tool is left out.

use serde_json::{Map, Value};

/// Deeper schemas are refused: nobody writes them.
const DEEPEST: usize = 64;

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Says what is wrong with the schema of a tool's arguments. A missing `type` is put in.
pub(crate) fn check_input(schema: &mut Map<String, Value>) -> Result<(), String> {
    let kind = schema.entry("type").or_insert_with(|| Value::from("object"));
    if kind != "object" {
        return Err(format!("the type of its input schema is {kind}, and must be \"object\""));
    }
    check(&Value::Object(schema.clone()), "its input schema", 0)
}

fn check(schema: &Value, place: &str, depth: usize) -> Result<(), String> {
    let schema = match schema {
        Value::Object(schema) if depth < DEEPEST => schema,
        Value::Object(_) => return Err(format!("{place} is too deep")),
        Value::Bool(_) => return Ok(()),
        _ => return Err(format!("{place} is no schema")),
    };
    for (key, value) in schema {
        let place = format!("{place}/{key}");
        match (key.as_str(), value) {
            ("type", Value::String(name)) if TYPES.contains(&name.as_str()) => {}
            ("type", Value::Array(names)) if names.iter().all(|it| TYPES.iter().any(|name| it == name)) => {}
            ("type", _) => return Err(format!("{place} is no type of JSON Schema")),
            ("required", Value::Array(names)) if names.iter().all(Value::is_string) => {}
            ("required", _) => return Err(format!("{place} is no list of names")),
            ("enum", Value::Array(_)) => {}
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
                for (name, schema) in schemas {
                    check(schema, &format!("{place}/{name}"), depth + 1)?;
                }
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", _) => {
                return Err(format!("{place} is no object"));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| check(schema, &place, depth + 1))?;
            }
            ("enum" | "anyOf" | "oneOf" | "allOf" | "prefixItems", _) => return Err(format!("{place} is no list")),
            ("items" | "additionalProperties" | "not", schema) => check(schema, &place, depth + 1)?,
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(schema: Value) -> Result<(), String> {
        let Value::Object(mut schema) = schema else { panic!("{schema} is no object") };
        check_input(&mut schema)
    }

    #[test]
    fn usual_schemas_are_fine() {
        let schemas = [
            json!({}),
            json!({ "type": "object", "properties": { "type": { "type": "string" }, "required": { "type": ["null", "integer"] } } }),
            json!({ "type": "object", "properties": { "a": { "anyOf": [{ "const": 1 }, { "$ref": "#/$defs/x" }] } }, "$defs": { "x": true } }),
            json!({ "type": "object", "additionalProperties": false, "required": ["a"], "$schema": "x" }),
            json!({ "type": "object", "properties": { "list": { "type": "array", "items": { "enum": [1, "a", null] } } } }),
        ];
        for schema in schemas {
            assert_eq!(checked(schema.clone()), Ok(()), "{schema}");
        }
    }

    #[test]
    fn broken_schemas_are_named_by_the_place() {
        let broken = [
            (json!({ "type": "string" }), "the type of its input schema is \"string\", and must be \"object\""),
            (json!({ "type": "object", "properties": [] }), "its input schema/properties is no object"),
            (json!({ "properties": { "a": "string" } }), "its input schema/properties/a is no schema"),
            (
                json!({ "properties": { "a": { "type": "text" } } }),
                "its input schema/properties/a/type is no type of JSON Schema",
            ),
            (json!({ "required": "a" }), "its input schema/required is no list of names"),
            (json!({ "properties": { "a": { "items": 3 } } }), "its input schema/properties/a/items is no schema"),
        ];
        for (schema, problem) in broken {
            assert_eq!(checked(schema), Err(problem.to_owned()));
        }
    }
}
