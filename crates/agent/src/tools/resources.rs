//! The resources of MCP servers, which a model lists and reads by two tools of ours.

use async_trait::async_trait;
use rejoin::Turn;
use rejoin::schema::{ContentBlock, TextContent, ToolCallContent, ToolKind};
use serde_json::{Value, json};

use super::{Arguments, Effect, MOST_TOLD, Output, Plan, Tool, ToolError, ToolSpec};
use crate::calls::Call;
use crate::models::Part;
use crate::session::OpenSession;
use crate::shorten::{shortened, shortened_parts};

/// Lists what can be read.
pub(super) struct ListResources;

/// Reads one.
pub(super) struct ReadResource;

#[async_trait]
impl Tool for ListResources {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_mcp_resources".to_owned(),
            description: "Lists the resources that the connected MCP servers have, and templates of their addresses."
                .to_owned(),
            input_schema: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    async fn plan(&self, _: &Arguments, _: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        Ok(Plan::new("List resources".to_owned()))
    }

    async fn run(&self, _: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let servers = &call.turn.session().servers;
        let listed = servers.resources().into_iter().map(|listed| (listed.server, json!(listed.item)));
        let templates = servers.resource_templates().into_iter().map(|listed| (listed.server, json!(listed.item)));
        let rows: Vec<Value> =
            listed.chain(templates).map(|(server, item)| json!({ "server": server, "resource": item })).collect();
        let text = serde_json::to_string_pretty(&rows).map_err(ToolError::failed)?;
        let text = shortened(&text, MOST_TOLD).into_owned();
        Ok(Output::text(text.clone()).shown(vec![shown(text)]))
    }
}

#[async_trait]
impl Tool for ReadResource {
    fn spec(&self) -> ToolSpec {
        let text = |what: &str| json!({ "type": "string", "description": what });
        ToolSpec {
            name: "read_mcp_resource".to_owned(),
            description: "Reads a resource of a connected MCP server.".to_owned(),
            input_schema: json!({
                "type": "object",
                "properties": { "server": text("The server's name."), "uri": text("The resource's address.") },
                "required": ["server", "uri"],
                "additionalProperties": false,
            }),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn effect(&self) -> Effect {
        Effect::ReadsAsTold
    }

    async fn plan(&self, arguments: &Arguments, _: &Turn<OpenSession>) -> Result<Plan, ToolError> {
        let (server, uri) = (required(arguments, "server")?, required(arguments, "uri")?);
        Ok(Plan::new(format!("Read {uri} ({server})")))
    }

    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError> {
        let servers = &call.turn.session().servers;
        let read = servers.read_resource(required(arguments, "server")?, required(arguments, "uri")?).await;
        let contents = serde_json::to_value(read.map_err(ToolError::failed)?.contents).map_err(ToolError::failed)?;
        let part = |content: &Value| match (content["text"].as_str(), content["blob"].as_str()) {
            (Some(text), _) => Part::Text(text.to_owned()),
            (None, Some(data)) if is_image(content) => {
                let mime_type = content["mimeType"].as_str().unwrap_or_default().to_owned();
                Part::Image { mime_type, data: data.to_owned() }
            }
            (None, _) => Part::Text(format!("[binary data: {}]", content["uri"])),
        };
        let parts: Vec<Part> = contents.as_array().into_iter().flatten().map(part).collect();
        let content = parts.iter().filter_map(|part| part.text().map(|text| shown(text.to_owned()))).collect();
        Ok(Output { parts: shortened_parts(parts, MOST_TOLD), content, raw: Some(contents), is_error: false })
    }
}

fn is_image(content: &Value) -> bool {
    content["mimeType"].as_str().is_some_and(|mime_type| mime_type.starts_with("image/"))
}

fn shown(text: String) -> ToolCallContent {
    ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))
}

fn required<'a>(arguments: &'a Arguments, name: &str) -> Result<&'a str, ToolError> {
    let text = arguments.get(name).and_then(Value::as_str);
    text.ok_or_else(|| ToolError::Failed(format!("`{name}` is missing, or no text")))
}
