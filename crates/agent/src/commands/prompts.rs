//! The prompts of MCP servers, called as `/server.prompt`.

use rejoin::schema::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use rejoin::{AgentError, Turn};
use rejoin_mcp::Listed;
use rejoin_mcp::model::{JsonObject, Prompt};
use serde_json::Value;

use crate::models::Part;
use crate::session::OpenSession;

pub(super) fn available(session: &OpenSession) -> Vec<AvailableCommand> {
    let command = |listed: Listed<Prompt>| {
        let about = listed.item.description.clone().unwrap_or_else(|| format!("A prompt of {}", listed.server));
        let available = AvailableCommand::new(name_of(&listed), about);
        let arguments = arguments_of(&listed.item);
        if arguments.is_empty() {
            return available;
        }
        let hint = arguments.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(" ");
        available.input(AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)))
    };
    session.servers.prompts().into_iter().map(command).collect()
}

/// What the prompt `name`, made with the arguments in `text`, says; nothing if there is no such prompt.
pub(super) async fn run(turn: &Turn<OpenSession>, name: &str, text: &str) -> Result<Option<Vec<Part>>, AgentError> {
    let servers = &turn.session().servers;
    let Some(listed) = servers.prompts().into_iter().find(|listed| name_of(listed) == name) else { return Ok(None) };
    let arguments = read_arguments(&arguments_of(&listed.item), text);
    let made = servers.get_prompt(&listed.server, &listed.item.name, arguments).await.map_err(AgentError::failed)?;
    let messages = serde_json::to_value(made.messages).map_err(AgentError::failed)?;
    Ok(Some(messages.as_array().into_iter().flatten().filter_map(|message| part(&message["content"])).collect()))
}

fn name_of(listed: &Listed<Prompt>) -> String {
    format!("{}.{}", listed.server, listed.item.name).replace(char::is_whitespace, "-")
}

fn arguments_of(prompt: &Prompt) -> Vec<String> {
    prompt.arguments.iter().flatten().map(|argument| argument.name.clone()).collect()
}

/// `name=value` words, of which the last value may have blanks; or all of `text` for the first of `names`.
fn read_arguments(names: &[String], text: &str) -> JsonObject {
    let mut arguments = JsonObject::new();
    let mut last: Option<&String> = None;
    for word in text.split_whitespace() {
        let given =
            word.split_once('=').and_then(|(name, value)| Some((names.iter().find(|known| *known == name)?, value)));
        match (given, last.or(names.first())) {
            (Some((name, value)), _) => {
                arguments.insert(name.clone(), Value::String(value.to_owned()));
                last = Some(name);
            }
            (None, Some(name)) => {
                let value = arguments
                    .get(name)
                    .and_then(Value::as_str)
                    .map_or(word.to_owned(), |value| format!("{value} {word}"));
                arguments.insert(name.clone(), Value::String(value));
                last = Some(name);
            }
            (None, None) => {}
        }
    }
    arguments
}

fn part(content: &Value) -> Option<Part> {
    match content["type"].as_str()? {
        "text" => Some(Part::Text(content["text"].as_str()?.to_owned())),
        "image" => Some(Part::Image {
            mime_type: content["mimeType"].as_str()?.to_owned(),
            data: content["data"].as_str()?.to_owned(),
        }),
        "resource" => Some(Part::Text(content["resource"]["text"].as_str()?.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let names = ["city".to_owned(), "style".to_owned()];
        let expected: JsonObject =
            expected.iter().map(|(name, value)| ((*name).to_owned(), Value::String((*value).to_owned()))).collect();
        assert_eq!(read_arguments(&names, text), expected, "{text}");
    }

    #[test]
    fn arguments_are_named_or_all_is_the_first() {
        check("", &[]);
        check("New York", &[("city", "New York")]);
        check("style=grand and old city=Rome", &[("style", "grand and old"), ("city", "Rome")]);
        check("a=b", &[("city", "a=b")]);
    }
}
