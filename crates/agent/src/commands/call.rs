//! `/call tool {json}`: one call of a tool, with permission, progress and result shown.

use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::calls;
use crate::models::{Part, ToolUse};
use crate::session::OpenSession;
use crate::tools::{Arguments, tools_of};

const USAGE: &str =
    "Write `/call tool {\"argument\": \"value\"}`, or `/call server.tool {…}` for one of an MCP server.\n";

pub(super) async fn run(turn: &Turn<OpenSession>, rest: &str) -> Result<(), AgentError> {
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let session = turn.session();
    let tools = tools_of(session, &turn.chosen());
    if name.is_empty() {
        let names: Vec<String> = tools.iter().map(|tool| format!("`{}`", tool.spec().name)).collect();
        return turn.say(format!("{USAGE}\nThere are {}.\n", names.join(", "))).await;
    }
    let arguments = match read(arguments) {
        Ok(arguments) => arguments,
        Err(problem) => return turn.say(format!("The arguments are no JSON object: {problem}. {USAGE}")).await,
    };
    let of_server =
        session.servers.tools().into_iter().find(|tool| format!("{}.{}", tool.server, tool.own_name) == name);
    let name = of_server.map_or_else(|| name.to_owned(), |tool| tool.name);
    let id = format!("call-{}", turn.history().len());
    let result = calls::make(turn, &tools, &ToolUse { id, name, arguments }).await?;
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
