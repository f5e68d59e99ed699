//! What a server lists, read whole. One item that can't be used takes no other with it.

use std::sync::Arc;

use rmcp::model::{
    ClientRequest, CustomRequest, Prompt, Resource, ResourceTemplate, ServerPeerInfo, ServerResult, Tool,
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use crate::link::Link;
use crate::request::{Limits, NoResult, request};
use crate::schema::check_input;
use crate::{Failure, LeftOut};

/// A server with more pages than this never ends.
const MOST_PAGES: usize = 1000;

/// All that a server offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<ResourceTemplate>,
    pub(crate) prompts: Vec<Prompt>,
    /// What was left out of the tools, the resources and the prompts.
    pub(crate) left_out: [Vec<LeftOut>; 3],
}

impl Lists {
    /// Reads all that the server says it has. Only tools are needed: of what else can't be read, it is said why.
    pub(crate) async fn read(link: &Link, info: Option<&ServerPeerInfo>, deadline: Instant) -> Result<Self, Failure> {
        let has = info.map(|info| &info.capabilities);
        let has_tools = has.is_some_and(|has| has.tools.is_some());
        let has_resources = has.is_some_and(|has| has.resources.is_some());
        let has_prompts = has.is_some_and(|has| has.prompts.is_some());
        let read = |is_there: bool, kind: Kind| async move {
            if is_there { Some(Part::read(link, kind, deadline).await) } else { None }
        };
        let (tools, resources, prompts) = futures::join!(
            read(has_tools, Kind::Tools),
            read(has_resources, Kind::Resources),
            read(has_prompts, Kind::Prompts)
        );
        let mut lists = Self::default();
        if let Some(tools) = tools {
            lists.take(tools?);
        }
        for (kind, part) in [(Kind::Resources, resources), (Kind::Prompts, prompts)] {
            match part {
                Some(Ok(part)) => lists.take(part),
                Some(Err(failure)) => {
                    let what = kind.method().to_owned();
                    lists.left_out[kind as usize] = vec![LeftOut { what, why: failure.to_string() }];
                }
                None => {}
            }
        }
        Ok(lists)
    }

    /// Puts a part in the place of what it was before.
    pub(crate) fn take(&mut self, part: Part) {
        let Part { kind, items, left_out } = part;
        self.left_out[kind as usize] = left_out;
        match items {
            Items::Tools(tools) => self.tools = tools,
            Items::Resources(resources, templates) => (self.resources, self.templates) = (resources, templates),
            Items::Prompts(prompts) => self.prompts = prompts,
        }
    }
}

/// What a server can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tools,
    Resources,
    Prompts,
}

impl Kind {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Resources => "resources/list",
            Self::Prompts => "prompts/list",
        }
    }
}

/// One kind of what a server lists.
pub(crate) struct Part {
    kind: Kind,
    items: Items,
    left_out: Vec<LeftOut>,
}

enum Items {
    Tools(Vec<Tool>),
    Resources(Vec<Resource>, Vec<ResourceTemplate>),
    Prompts(Vec<Prompt>),
}

impl Part {
    pub(crate) async fn read(link: &Link, kind: Kind, deadline: Instant) -> Result<Self, Failure> {
        let mut left_out = Vec::new();
        let items = match kind {
            Kind::Tools => {
                let all = all(link, kind.method(), "tools", deadline).await?;
                Items::Tools(usable(all, "tool", &mut left_out, usable_tool))
            }
            Kind::Resources => {
                let resources = all(link, kind.method(), "resources", deadline).await?;
                // Many servers with resources know no templates.
                let templates = all(link, "resources/templates/list", "resourceTemplates", deadline).await;
                Items::Resources(
                    usable(resources, "resource", &mut left_out, Ok),
                    usable(templates.unwrap_or_default(), "resource template", &mut left_out, Ok),
                )
            }
            Kind::Prompts => {
                let all = all(link, kind.method(), "prompts", deadline).await?;
                Items::Prompts(usable(all, "prompt", &mut left_out, Ok))
            }
        };
        Ok(Self { kind, items, left_out })
    }
}

/// All items of all pages, as they came.
async fn all(link: &Link, method: &'static str, field: &str, deadline: Instant) -> Result<Vec<Value>, Failure> {
    let limit = deadline.saturating_duration_since(Instant::now());
    let slow = Failure::TooSlow { method, limit, stderr: None };
    timeout_at(deadline, pages(link, method, field)).await.unwrap_or(Err(slow))
}

async fn pages(link: &Link, method: &'static str, field: &str) -> Result<Vec<Value>, Failure> {
    let never = std::time::Duration::from_secs(24 * 60 * 60);
    let mut items = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MOST_PAGES {
        let params = cursor.as_ref().map(|cursor| json!({ "cursor": cursor }));
        let list = ClientRequest::CustomRequest(CustomRequest::new(method, params));
        let result = request(link, list, Limits { idle: never, total: never }, drop).await;
        let mut page = shown(result.map_err(|error| list_failure(method, error))?);
        let Some(Value::Array(page_items)) = page.get_mut(field).map(Value::take) else {
            return Err(Failure::Protocol { problem: format!("its answer to `{method}` has no `{field}`") });
        };
        items.extend(page_items);
        let next = page["nextCursor"].as_str().filter(|next| !next.is_empty()).map(str::to_owned);
        if next.is_none() || next == cursor {
            return Ok(items);
        }
        cursor = next;
    }
    Err(Failure::Protocol { problem: format!("its answer to `{method}` has no end") })
}

fn list_failure(method: &'static str, error: NoResult) -> Failure {
    match error {
        NoResult::Refused(error) => Failure::Refused { method, message: error.message.into_owned() },
        NoResult::TooSlow(limit) => Failure::TooSlow { method, limit, stderr: None },
        NoResult::NotSent(failure)
        | NoResult::Lost(failure)
        | NoResult::Broken(failure)
        | NoResult::Failed(failure) => failure,
    }
}

/// The result as JSON. What is not as it should be arrives as a custom result, unchanged.
pub(crate) fn shown(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        result => serde_json::to_value(result).unwrap_or_default(),
    }
}

fn usable<T: serde::de::DeserializeOwned>(
    items: Vec<Value>,
    noun: &str,
    left_out: &mut Vec<LeftOut>,
    check: impl Fn(T) -> Result<T, String>,
) -> Vec<T> {
    let take = |item: Value| {
        let name = item["name"].as_str().unwrap_or("(without name)").to_owned();
        let usable = serde_json::from_value(item).map_err(|error| error.to_string()).and_then(&check);
        usable.map_err(|why| left_out.push(LeftOut { what: format!("{noun} `{name}`"), why })).ok()
    };
    items.into_iter().filter_map(take).collect()
}

fn usable_tool(mut tool: Tool) -> Result<Tool, String> {
    if tool.name.is_empty() {
        return Err("it has no name".to_owned());
    }
    check_input(Arc::make_mut(&mut tool.input_schema))?;
    Ok(tool)
}
