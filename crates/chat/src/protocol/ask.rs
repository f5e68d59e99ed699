//! What the agent asks of the user, and how that is answered.

use serde_json::{Map, Value, json};

use super::tool_call::ToolCall;
use super::{elements, text};

/// A question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ask {
    /// May this be done?
    Permission { call: ToolCall, options: Vec<PermissionOption> },
    /// Some values are to be entered.
    Form(Form),
    /// An address is to be visited.
    Visit { message: String, url: String },
}

/// An answer to a request for permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionOption {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: PermissionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    /// One that nobody knows.
    Other,
}

/// Values to be entered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Form {
    pub(crate) message: String,
    pub(crate) fields: Vec<Field>,
}

/// One value to be entered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    pub(crate) kind: FieldKind,
    pub(crate) is_required: bool,
    pub(crate) default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FieldKind {
    Text,
    Number,
    /// A whole number.
    Integer,
    YesNo,
    /// One of these: the value, and its name.
    One(Vec<(String, String)>),
    /// Any of these.
    Several(Vec<(String, String)>),
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    /// The option with this id.
    Option(String),
    /// What was entered, by the names of the fields; or the address was visited.
    Accept(Map<String, Value>),
    /// The user does not want to say.
    Decline,
    /// The question is not answered.
    Cancel,
}

impl Ask {
    /// Reads a request of the agent; `None` if it is nothing that users are asked.
    pub(crate) fn read(method: &str, params: &Value) -> Option<Self> {
        match method {
            "session/request_permission" => {
                let options = elements(params, "options").filter_map(PermissionOption::read).collect();
                Some(Self::Permission { call: ToolCall::read(&params["toolCall"])?, options })
            }
            "elicitation/create" => {
                let message = text(params, "message").unwrap_or_default();
                match params["mode"].as_str()? {
                    "form" => Some(Self::Form(Form { message, fields: fields(&params["requestedSchema"])? })),
                    "url" => Some(Self::Visit { message, url: text(params, "url")? }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The result that tells `answer`.
    pub(crate) fn result(&self, answer: &Answer) -> Value {
        match (self, answer) {
            (Self::Permission { .. }, Answer::Option(id)) => {
                json!({ "outcome": { "outcome": "selected", "optionId": id } })
            }
            (Self::Permission { .. }, _) => json!({ "outcome": { "outcome": "cancelled" } }),
            (Self::Form(_), Answer::Accept(content)) => json!({ "action": "accept", "content": content }),
            (Self::Visit { .. }, Answer::Accept(_)) => json!({ "action": "accept" }),
            (_, Answer::Decline) => json!({ "action": "decline" }),
            (_, Answer::Option(_) | Answer::Cancel) => json!({ "action": "cancel" }),
        }
    }
}

impl PermissionOption {
    fn read(option: &Value) -> Option<Self> {
        let kind = match option["kind"].as_str().unwrap_or_default() {
            "allow_once" => PermissionKind::AllowOnce,
            "allow_always" => PermissionKind::AllowAlways,
            "reject_once" => PermissionKind::RejectOnce,
            "reject_always" => PermissionKind::RejectAlways,
            _ => PermissionKind::Other,
        };
        let id = text(option, "optionId")?;
        Some(Self { name: text(option, "name").unwrap_or_else(|| id.clone()), id, kind })
    }
}

/// The fields of a JSON Schema; `None` if one of them is of a kind that can't be entered here.
fn fields(schema: &Value) -> Option<Vec<Field>> {
    let required: Vec<&str> = elements(schema, "required").filter_map(Value::as_str).collect();
    let field = |(name, property): (&String, &Value)| {
        let kind = match property["type"].as_str()? {
            "string" => one_of(property).map_or(FieldKind::Text, FieldKind::One),
            "number" => FieldKind::Number,
            "integer" => FieldKind::Integer,
            "boolean" => FieldKind::YesNo,
            "array" => FieldKind::Several(one_of(&property["items"])?),
            _ => return None,
        };
        Some(Field {
            title: text(property, "title").unwrap_or_else(|| name.clone()),
            description: text(property, "description"),
            kind,
            is_required: required.contains(&name.as_str()),
            default: property.get("default").cloned(),
            name: name.clone(),
        })
    };
    schema.get("properties")?.as_object()?.iter().map(field).collect()
}

/// The values that `schema` lists, with their names.
fn one_of(schema: &Value) -> Option<Vec<(String, String)>> {
    let titled =
        |option: &Value| Some((text(option, "const")?, text(option, "title").or_else(|| text(option, "const"))?));
    let titled: Vec<_> = ["oneOf", "anyOf"].iter().flat_map(|name| elements(schema, name)).filter_map(titled).collect();
    let plain = elements(schema, "enum").filter_map(Value::as_str).map(|value| (value.to_owned(), value.to_owned()));
    let all: Vec<_> = titled.into_iter().chain(plain).collect();
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_field_by_field() {
        let schema = json!({ "required": ["name"], "properties": {
            "name": { "type": "string", "title": "Your name" },
            "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }], "default": "s" },
            "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
        } });
        let params = json!({ "mode": "form", "message": "Who?", "requestedSchema": schema });
        let Some(Ask::Form(form)) = Ask::read("elicitation/create", &params) else { panic!("it is a form") };
        let shown: Vec<String> =
            form.fields.iter().map(|it| format!("{}: {:?} {}", it.title, it.kind, it.is_required)).collect();
        assert_eq!(
            shown,
            [
                "Your name: Text true",
                r#"size: One([("s", "Small")]) false"#,
                r#"tags: Several([("a", "a"), ("b", "b")]) false"#
            ]
        );
    }

    #[test]
    fn what_can_not_be_entered_is_not_asked() {
        let schema = json!({ "properties": { "x": { "type": "object" } } });
        assert_eq!(Ask::read("elicitation/create", &json!({ "mode": "form", "requestedSchema": schema })), None);
        assert_eq!(Ask::read("fs/read_text_file", &json!({})), None);
    }

    #[test]
    fn answers_are_told_as_the_question_wants_them() {
        let permission = json!({ "toolCall": { "toolCallId": "t" }, "options": [] });
        let permission = Ask::read("session/request_permission", &permission).unwrap();
        let visit = json!({ "mode": "url", "message": "m", "url": "https://a.example" });
        let visit = Ask::read("elicitation/create", &visit).unwrap();
        let told = |ask: &Ask, answer| ask.result(&answer).to_string();
        assert_eq!(
            told(&permission, Answer::Option("yes".to_owned())),
            r#"{"outcome":{"outcome":"selected","optionId":"yes"}}"#
        );
        assert_eq!(told(&permission, Answer::Decline), r#"{"outcome":{"outcome":"cancelled"}}"#);
        assert_eq!(told(&visit, Answer::Accept(Map::new())), r#"{"action":"accept"}"#);
        assert_eq!(told(&visit, Answer::Cancel), r#"{"action":"cancel"}"#);
    }
}
