//! Tools: what a model may call, and `/call` too. One file each.

mod arguments;
mod autorun;
mod change;
mod edit;
mod edit_file;
mod excerpt;
mod files;
mod glob;
mod line_ends;
mod list_files;
mod mcp;
pub(crate) mod option;
mod pace;
mod read_file;
mod resources;
mod roots;
mod run_command;
mod search;
mod seen;
mod shown;
mod stop;
mod switch_mode;
mod update_plan;
mod walk;
mod write_file;

use std::sync::Arc;

use async_trait::async_trait;
use rejoin::schema::{ToolCallContent, ToolCallLocation, ToolKind};
use rejoin::{AgentError, Chosen, Turn};
use serde_json::{Map, Value};

use crate::calls::Call;
use crate::mode::Mode;
use crate::models::Part;
use crate::session::OpenSession;

use option::Toolset;
pub(crate) use roots::Roots;
pub(crate) use seen::{Seen, Version};

/// So many bytes of what others wrote a model is told of one call.
const MOST_TOLD: usize = 128 * 1024;

/// The arguments of a call.
pub(crate) type Arguments = Map<String, Value>;

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSpec {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The JSON Schema of its arguments.
    pub(crate) input_schema: Value,
}

/// What a call does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It only looks.
    Reads,
    /// It is in other hands, which say that it only looks.
    ReadsAsTold,
    /// It changes files.
    Writes,
    /// It runs something, and nobody knows what that does.
    Runs,
    /// It changes what the agent may do, so the user is always asked.
    Switches,
}

/// A call before it is done, as people are shown it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) title: String,
    pub(crate) locations: Vec<ToolCallLocation>,
    /// What it would do, such as a diff.
    pub(crate) content: Vec<ToolCallContent>,
    /// What the user allows who always allows it.
    pub(crate) always: Always,
    /// Whether the user is asked in every mode.
    pub(crate) is_always_asked: bool,
}

impl Plan {
    pub(crate) fn new(title: String) -> Self {
        Self { title, locations: Vec::new(), content: Vec::new(), always: Always::Tool, is_always_asked: false }
    }

    /// The same, about these places.
    pub(crate) fn at(self, locations: Vec<ToolCallLocation>) -> Self {
        Self { locations, ..self }
    }

    /// The same, with what it would do.
    pub(crate) fn showing(self, content: Vec<ToolCallContent>) -> Self {
        Self { content, ..self }
    }

    /// The same, but the user is asked each time, in every mode, and told `why`; as it is without a reason.
    pub(crate) fn asked_because(mut self, why: Option<String>) -> Self {
        if let Some(why) = why {
            self.content.push(why.into());
            self.always = Always::NotOffered;
            self.is_always_asked = true;
        }
        self
    }

    /// The same, with another meaning of "always".
    pub(crate) fn always(self, always: Always) -> Self {
        Self { always, ..self }
    }
}

/// What the user allows for the rest of the session who always allows a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Always {
    /// All calls of the tool.
    Tool,
    /// All calls of the tool as long as it is defined as it is now.
    ToolAsDefined {
        /// All that is said of it.
        definition: String,
    },
    /// All commands with this key.
    Command {
        /// What they are, as people read it.
        shown: String,
        key: String,
    },
    /// Nothing: the user is asked each time.
    NotOffered,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Output {
    /// What the model gets.
    pub(crate) parts: Vec<Part>,
    /// What people are shown.
    pub(crate) content: Vec<ToolCallContent>,
    /// The whole of it, for those who look closer.
    pub(crate) raw: Option<Value>,
    /// Whether what was wanted did not come about, such as a command that exits with an error.
    pub(crate) is_error: bool,
}

impl Output {
    /// The model gets `text`, and nothing more is shown than the call showed already.
    pub(crate) fn text(text: String) -> Self {
        let raw = Some(Value::String(text.clone()));
        Self { parts: vec![Part::Text(text)], raw, ..Self::default() }
    }

    /// The same, and people are shown the text as it is.
    pub(crate) fn fenced(text: String) -> Self {
        let shown = shown::fenced(&text);
        Self::text(text).shown(vec![shown])
    }

    /// The same, and people are shown this.
    pub(crate) fn shown(self, content: Vec<ToolCallContent>) -> Self {
        Self { content, ..self }
    }
}

/// Why a call came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ToolError {
    /// The model is told, and may do better.
    #[error("{0}")]
    Failed(String),
    /// The turn itself can't go on.
    #[error(transparent)]
    Turn(#[from] AgentError),
}

impl ToolError {
    pub(crate) fn failed(what: impl std::fmt::Display) -> Self {
        Self::Failed(what.to_string())
    }
}

/// Something that can be called.
#[async_trait]
pub(crate) trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// What people are shown that it is.
    fn kind(&self) -> ToolKind;

    fn effect(&self) -> Effect;

    /// What a call with `arguments` would do. Changes nothing.
    async fn plan(&self, arguments: &Arguments, turn: &Turn<OpenSession>) -> Result<Plan, ToolError>;

    /// Does it. Dropping the future ends it.
    async fn run(&self, arguments: &Arguments, call: &Call<'_>) -> Result<Output, ToolError>;
}

/// The tools that `session` has while this is chosen.
pub(crate) fn tools_of(session: &OpenSession, chosen: &Chosen) -> Vec<Arc<dyn Tool>> {
    let mut tools = all(session);
    tools.retain(|tool| refusal(&**tool, session, chosen).is_none());
    tools
}

/// The tool with this `name`, whether it may be called or not.
pub(crate) fn find(session: &OpenSession, name: &str) -> Option<Arc<dyn Tool>> {
    all(session).into_iter().find(|tool| tool.spec().name == name)
}

/// Why `tool` is not to be called in `session` while this is chosen, if it is not.
pub(crate) fn refusal(tool: &dyn Tool, session: &OpenSession, chosen: &Chosen) -> Option<String> {
    let name = tool.spec().name;
    let denied = session.deny.tool(&name).map(|denial| format!("{name} can't be used: {denial}"));
    denied.or_else(|| refused_by(tool, Mode::of(chosen), Toolset::of(chosen)))
}

fn refused_by(tool: &dyn Tool, mode: Mode, toolset: Toolset) -> Option<String> {
    let name = tool.spec().name;
    if !mode.offers(tool.effect()) {
        return Some(format!("{name} can't be used: the mode {} does not allow it", mode.id()));
    }
    let is_in = toolset.has(tool.effect()) && (name != run_command::NAME || toolset.has_commands());
    (!is_in).then(|| format!("{name} can't be used: the user has set `tools` to {}", toolset.id()))
}

/// All tools that there could be.
fn all(session: &OpenSession) -> Vec<Arc<dyn Tool>> {
    let mut tools = ours();
    let servers = &session.servers;
    if !servers.resources().is_empty() || !servers.resource_templates().is_empty() {
        tools.push(Arc::new(resources::ListResources));
        tools.push(Arc::new(resources::ReadResource));
    }
    tools.extend(servers.tools().into_iter().map(|tool| -> Arc<dyn Tool> { Arc::new(mcp::McpTool(tool)) }));
    tools
}

/// Those that every session has.
fn ours() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(read_file::ReadFile),
        Arc::new(list_files::ListFiles),
        Arc::new(glob::Glob),
        Arc::new(search::Search),
        Arc::new(write_file::WriteFile),
        Arc::new(edit_file::EditFile),
        Arc::new(run_command::RunCommand),
        Arc::new(update_plan::UpdatePlan),
        Arc::new(switch_mode::SwitchMode),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_page_names_every_tool_and_its_arguments() {
        let page = include_str!("../../../../docs/built-in-agent.md");
        let rows = page.split("\n## ").find(|part| part.starts_with("Tools")).unwrap().lines();
        let cells = rows.filter_map(|row| row.strip_prefix("| `")?.split_once("` | "));
        let named: BTreeMap<String, String> =
            cells.map(|(name, rest)| (name.to_owned(), rest.split(" | ").next().unwrap().to_owned())).collect();
        let told = |tool: Arc<dyn Tool>| {
            let spec = tool.spec();
            let required = spec.input_schema["required"].as_array().unwrap().clone();
            let properties = spec.input_schema["properties"].as_object().unwrap().clone();
            let argument = |name: &String| {
                let mark = if required.contains(&Value::String(name.clone())) { "" } else { "?" };
                format!("`{name}`{mark}")
            };
            (spec.name, properties.keys().map(argument).collect::<Vec<_>>().join(", "))
        };
        assert_eq!(named, ours().into_iter().map(told).collect());
    }

    #[test]
    fn every_toolset_and_mode_leaves_what_it_says() {
        let left = |mode: Mode, toolset: &str| -> Vec<String> {
            let toolset: Toolset = toolset.parse().unwrap();
            let tools = ours().into_iter().filter(|tool| refused_by(&**tool, mode, toolset).is_none());
            tools.map(|tool| tool.spec().name).collect()
        };
        let reading = ["read_file", "list_files", "glob", "search", "update_plan", "switch_mode"];
        assert_eq!(left(Mode::Architect, "enabled"), reading);
        assert_eq!(left(Mode::Code, "read-only"), reading);
        assert_eq!(left(Mode::Ask, "read-write").len(), ours().len());
        assert!(!left(Mode::Code, "disabled").contains(&"run_command".to_owned()));
        assert_eq!(left(Mode::Code, "disabled").len(), ours().len() - 1);
    }
}
