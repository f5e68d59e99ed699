//! A tool of an MCP server.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ContentBlock, TextContent, ToolCallContent, ToolCallUpdateFields, ToolKind};
use rejoin_mcp::model::{CallToolResult, ContentBlock as McpContent};
use rejoin_mcp::{Progress, Tool as ServerTool};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::pace::Pace;
use super::{Always, Arguments, Effect, MOST_TOLD, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::models::Part;
use crate::session::OpenSession;
use crate::shorten::{shortened, shortened_parts};

/// So many bytes of what a server says of a tool a model is told: it is told with every request.
const LONGEST_DESCRIPTION: usize = 8 * 1024;

/// So many levels of a result are passed on as they are. Many readers of JSON stop at 128, and a message adds a few.
const MOST_NESTED: usize = 64;

/// So many steps of a call are shown at once; then only how it is from time to time.
const AT_ONCE: u32 = 20;

/// A tool of an MCP server.
pub(crate) struct McpTool(pub(crate) ServerTool);

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        let description = self.0.description.as_ref().or(self.0.title.as_ref()).map_or("", String::as_str);
        let description = shortened(description, LONGEST_DESCRIPTION).into_owned();
        ToolSpec { name: self.0.name.clone(), description, input_schema: json!(*self.0.input_schema) }
    }

    fn kind(&self) -> ToolKind {
        if self.0.is_read_only() { ToolKind::Read } else { ToolKind::Other }
    }

    fn effect(&self) -> Effect {
        if self.0.is_read_only() { Effect::ReadsAsTold } else { Effect::Runs }
    }

    async fn plan(&self, _: &Arguments, _: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let own = self.0.title.as_deref().unwrap_or(&self.0.own_name);
        // A server may redefine a tool at any time; the user allowed the old definition.
        let definition = json!([
            self.0.server,
            self.0.own_name,
            self.0.title,
            self.0.description,
            *self.0.input_schema,
            self.0.annotations
        ]);
        let always = Always::ToolAsDefined { definition: definition.to_string() };
        Ok(Plan::new(format!("{own} ({})", self.0.server)).always(always))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let (sender, mut steps) = mpsc::unbounded_channel();
        let servers = &call.turn.session().servers;
        let calling = servers.call(&self.0.name, arguments.clone(), |step| drop(sender.send(step)));
        tokio::pin!(calling);
        let (mut pace, mut latest) = (Pace::new(AT_ONCE), None);
        let result = loop {
            tokio::select! {
                biased;
                () = pace.due(), if latest.is_some() => {
                    if let Some(step) = latest.take() {
                        call.show(shown(&step)).await?;
                    }
                    pace.shown();
                }
                Some(step) = steps.recv() => latest = Some(step),
                result = &mut calling => break result.map_err(ToolError::failed)?,
            }
        };
        outcome(&result)
    }
}

fn shown(progress: &Progress) -> ToolCallUpdateFields {
    let part = match progress.total {
        Some(total) => format!("{} of {total}", progress.progress),
        None => progress.progress.to_string(),
    };
    let text = match &progress.message {
        Some(message) => format!("{message} ({part})"),
        None => part,
    };
    ToolCallUpdateFields::new().content(vec![ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))])
}

/// What the model and people are told of `result`; an error if the tool says that it failed.
fn outcome(result: &CallToolResult) -> Result<Output, ToolError> {
    let parts = result.content.iter().filter_map(part).collect();
    let parts: Vec<Part> = shortened_parts(parts, MOST_TOLD);
    if result.is_error == Some(true) {
        let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
        let said = if texts.is_empty() { "the tool failed and did not say why".to_owned() } else { texts.join("\n") };
        return Err(ToolError::Failed(said));
    }
    // The two protocols write content alike.
    let block = |content: &McpContent| {
        let block: ContentBlock = serde_json::from_value(serde_json::to_value(content).ok()?).ok()?;
        Some(ToolCallContent::from(block))
    };
    let content = result.content.iter().filter_map(block).collect();
    let mut output = Output { parts, content, ..Output::default() };
    if let Some(structured) = &result.structured_content {
        // Most servers also say it in text.
        if output.parts.is_empty() {
            output.parts.push(Part::Text(shortened(&structured.to_string(), MOST_TOLD).into_owned()));
        }
        output.raw = Some(structured.clone());
    }
    output.raw = output.raw.or_else(|| serde_json::to_value(&result.content).ok()).map(flat);
    Ok(output)
}

/// `value`, or its text if it is nested so deeply that a client could not read a message with it.
fn flat(value: Value) -> Value {
    if is_deeper(&value, MOST_NESTED) { Value::String(value.to_string()) } else { value }
}

/// Whether `value` has more than `levels` levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(inside) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, inside)),
        Value::Object(members) => members.values().any(|member| is_deeper(member, inside)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn part(content: &McpContent) -> Option<Part> {
    let content = serde_json::to_value(content).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match content["type"].as_str()? {
        "text" => Some(Part::Text(text(&content["text"])?)),
        "image" => Some(Part::Image { mime_type: text(&content["mimeType"])?, data: text(&content["data"])? }),
        "resource" => {
            let resource = &content["resource"];
            Some(Part::Text(text(&resource["text"]).unwrap_or_else(|| format!("[binary data: {}]", resource["uri"]))))
        }
        "resource_link" => Some(Part::Text(format!("{} ({})", content["name"], content["uri"]))),
        kind => Some(Part::Text(format!("[{kind}]"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deeply_becomes_text() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inside, _| json!([inside]));
        assert_eq!(flat(nested(MOST_NESTED)), nested(MOST_NESTED));
        assert_eq!(flat(nested(MOST_NESTED + 1)), json!(nested(MOST_NESTED + 1).to_string()));
    }
}
