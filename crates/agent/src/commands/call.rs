//! `/call server.tool {json}`: one call of a tool, with permission, progress and result shown.

use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::calls;
use crate::mode::Mode;
use crate::models::{Part, ToolUse};
use crate::session::OpenSession;
use crate::tools::{Arguments, tools_of};

const USAGE: &str = "Write `/call server.tool {\"argument\": \"value\"}`; `/mcp` lists the tools.\n";

pub(super) async fn run(turn: &Turn<OpenSession>, rest: &str) -> Result<(), AgentError> {
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() {
        return turn.say(USAGE).await;
    }
    let arguments = match read(arguments) {
        Ok(arguments) => arguments,
        Err(problem) => return turn.say(format!("The arguments are no JSON object: {problem}. {USAGE}")).await,
    };
    let session = turn.session();
    let tools = session.servers.tools();
    let Some(tool) =
        tools.iter().find(|tool| format!("{}.{}", tool.server, tool.own_name) == name || tool.name == name)
    else {
        let known: Vec<String> = tools.iter().map(|tool| format!("`{}.{}`", tool.server, tool.own_name)).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return turn.say(format!("There is no tool {name:?}; there are: {known}. {USAGE}")).await;
    };
    let id = format!("call-{}", turn.history().len());
    let wanted = ToolUse { id, name: tool.name.clone(), arguments };
    let result = calls::make(turn, &tools_of(session, Mode::of(&turn.chosen())), &wanted).await?;
    let texts: Vec<&str> = result.parts.iter().filter_map(Part::text).collect();
    turn.say(texts.join("\n")).await
}

fn read(text: &str) -> Result<Arguments, String> {
    if text.trim().is_empty() {
        return Ok(Arguments::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("it is something else".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
