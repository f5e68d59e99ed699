//! What the items of a rollout say, as the updates that the agent's own replay has.

use std::collections::HashSet;

use rejoin_transcript::{Timestamp, Told, TurnEnd};
use serde_json::{Value, json};

use super::commands::{Command, read_command};
use super::patch;
use crate::blocks::{self, Voice, chunk, compaction, image, str_of, text, told};

/// Tells the items of one conversation, one after the other.
pub(super) struct Speaker {
    cwd: String,
    /// What a model was sent in the user's name, until it is known who said it.
    unclear: Vec<Told>,
    /// Whether there are events about what the user said.
    has_events: bool,
    /// The calls that made a plan, whose results say nothing more.
    plans: HashSet<String>,
}

impl Speaker {
    /// A speaker for a conversation in `cwd`.
    pub(super) fn new(cwd: &str) -> Self {
        Self { cwd: cwd.to_owned(), unclear: Vec::new(), has_events: false, plans: HashSet::new() }
    }

    /// What `line` says, at `at`.
    pub(super) fn speak(&mut self, at: Timestamp, line: &Value) -> Vec<Told> {
        let payload = &line["payload"];
        match str_of(line, "type") {
            Some("response_item") => self.item(at, payload),
            Some("event_msg") => self.event(at, payload),
            Some("compacted") => {
                let id = format!("compaction-{}", at.as_millis());
                let summary = str_of(payload, "message").filter(|text| !text.is_empty());
                vec![told(at, &compaction(&id, summary))]
            }
            Some("session_meta" | "turn_context") | None => Vec::new(),
            // Items of old files are not wrapped.
            Some(_) if line.get("payload").is_none() => self.item(at, line),
            Some(_) => Vec::new(),
        }
    }

    /// The last of it.
    pub(super) fn finish(&mut self) -> Vec<Told> {
        self.settle()
    }

    fn event(&mut self, at: Timestamp, event: &Value) -> Vec<Told> {
        let ended = |reason: &str| Told::Ended { at, end: TurnEnd::Stopped { reason: reason.to_owned() } };
        match str_of(event, "type") {
            Some("user_message") => self.user(at, user_blocks(event), None),
            Some("item_completed") if str_of(&event["item"], "type") == Some("UserMessage") => {
                let item = &event["item"];
                self.user(at, input_blocks(&item["content"]), str_of(item, "id"))
            }
            Some("task_complete") => [self.settle(), vec![ended("end_turn")]].concat(),
            Some("turn_aborted") => [self.settle(), vec![ended("cancelled")]].concat(),
            Some("thread_name_updated") => {
                let name = str_of(event, "thread_name").filter(|name| !name.is_empty());
                name.map(|name| told(at, &blocks::title(name))).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn user(&mut self, at: Timestamp, blocks: Vec<Value>, id: Option<&str>) -> Vec<Told> {
        self.has_events = true;
        self.unclear.clear();
        blocks.into_iter().map(|block| told(at, &chunk(Voice::User, block, id))).collect()
    }

    /// What was said in the user's name was the user's own, if nothing ever says otherwise.
    fn settle(&mut self) -> Vec<Told> {
        let unclear = std::mem::take(&mut self.unclear);
        if self.has_events { Vec::new() } else { unclear }
    }

    fn item(&mut self, at: Timestamp, item: &Value) -> Vec<Told> {
        let id = str_of(item, "id");
        let kind = str_of(item, "type").unwrap_or_default();
        if kind == "message" && str_of(item, "role") == Some("user") {
            let blocks = input_blocks(&item["content"]);
            if !blocks.iter().any(is_the_tools) {
                self.unclear.extend(blocks.into_iter().map(|block| told(at, &chunk(Voice::User, block, id))));
            }
            return Vec::new();
        }
        let updates = match kind {
            "message" if str_of(item, "role") == Some("assistant") => {
                let blocks = item["content"].as_array().map(Vec::as_slice).unwrap_or_default();
                let texts = blocks.iter().filter_map(|block| str_of(block, "text")).filter(|text| !text.is_empty());
                texts.map(|said| chunk(Voice::Agent, text(said), id)).collect()
            }
            "reasoning" => thoughts(item).map(|said| chunk(Voice::Thought, text(said), id)).collect(),
            "function_call" => vec![self.function_call(item)],
            "local_shell_call" => vec![self.shell_call(item)],
            "custom_tool_call" => vec![self.custom_call(item)],
            "web_search_call" => vec![web_search(item, at)],
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => self.output(item),
            _ => Vec::new(),
        };
        if updates.is_empty() {
            return Vec::new();
        }
        let mut told_all = self.settle();
        told_all.extend(updates.iter().map(|update| told(at, update)));
        told_all
    }

    fn function_call(&mut self, item: &Value) -> Value {
        let name = str_of(item, "name").unwrap_or("tool");
        let arguments = str_of(item, "arguments").unwrap_or_default();
        let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into());
        if name == "update_plan"
            && let Some(plan) = plan(&input)
        {
            self.plans.extend(str_of(item, "call_id").map(str::to_owned));
            return plan;
        }
        let is_shell = matches!(name, "shell" | "shell_command" | "exec_command" | "container.exec" | "unified_exec");
        match command_line(&input).filter(|_| is_shell) {
            Some(command) => self.command(item, &command, &input),
            None => call(item, name, None, &input),
        }
    }

    /// The update that ends a call.
    fn output(&mut self, item: &Value) -> Vec<Value> {
        let id = str_of(item, "call_id").unwrap_or("call");
        if self.plans.remove(id) {
            return Vec::new();
        }
        vec![json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed", "rawOutput": item["output"],
        })]
    }

    fn shell_call(&self, item: &Value) -> Value {
        match command_line(&item["action"]) {
            Some(command) => self.command(item, &command, &item["action"]),
            None => call(item, "shell", Some("execute"), &item["action"]),
        }
    }

    fn command(&self, item: &Value, command: &str, input: &Value) -> Value {
        if let Some(patch) = command.find("*** Begin Patch").map(|from| &command[from..])
            && let Some(update) = self.patched(item, patch)
        {
            return update;
        }
        let Command { title, kind, path } = read_command(command, &self.cwd);
        let mut update = call(item, &title, Some(kind), input);
        if let Some(path) = path {
            update["locations"] = json!([{ "path": path }]);
        }
        update
    }

    fn custom_call(&self, item: &Value) -> Value {
        let (name, input) = (str_of(item, "name").unwrap_or("tool"), str_of(item, "input").unwrap_or_default());
        let patched = if name == "apply_patch" { self.patched(item, input) } else { None };
        patched.unwrap_or_else(|| call(item, name, None, &item["input"]))
    }

    fn patched(&self, item: &Value, text: &str) -> Option<Value> {
        let changes = patch::read(text, &self.cwd);
        let mut paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
        paths.dedup();
        let names: Vec<&str> = paths.iter().map(|path| blocks::shown_path(path, &self.cwd)).collect();
        if changes.is_empty() {
            return None;
        }
        let mut update = call(item, &format!("Edit {}", names.join(", ")), Some("edit"), &Value::Null);
        update["content"] = changes.iter().map(patch::Change::diff).collect();
        update["locations"] = paths.iter().map(|path| json!({ "path": path })).collect();
        Some(update)
    }
}

/// The update that begins a call.
fn call(item: &Value, title: &str, kind: Option<&str>, input: &Value) -> Value {
    let id = str_of(item, "call_id").or_else(|| str_of(item, "id")).unwrap_or("call");
    let mut update = json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "status": "in_progress" });
    if let Some(kind) = kind {
        update["kind"] = kind.into();
    }
    if !input.is_null() {
        update["rawInput"] = input.clone();
    }
    update
}

fn web_search(item: &Value, at: Timestamp) -> Value {
    let query = str_of(&item["action"], "query");
    let title = query.map_or("Searching the web".to_owned(), |query| format!("Searching for: {query}"));
    let id = str_of(item, "id").map_or_else(|| format!("web-search-{}", at.as_millis()), str::to_owned);
    json!({
        "sessionUpdate": "tool_call", "toolCallId": id, "title": title, "kind": "fetch", "status": "completed",
        "rawInput": item["action"],
    })
}

fn plan(input: &Value) -> Option<Value> {
    let entry = |step| (str_of(step, "step").unwrap_or_default(), str_of(step, "status"), None);
    Some(blocks::plan(input["plan"].as_array()?.iter().map(entry)))
}

/// The command that is to run, in one line: of a shell, what the shell is given.
fn command_line(input: &Value) -> Option<String> {
    let command = input.get("command").or_else(|| input.get("cmd"))?;
    if let Some(command) = command.as_str() {
        return Some(command.to_owned());
    }
    let words: Vec<&str> = command.as_array()?.iter().filter_map(Value::as_str).collect();
    match words.as_slice() {
        [shell, "-c" | "-lc", script] if shell.ends_with("sh") => Some((*script).to_owned()),
        words => Some(words.join(" ")),
    }
}

/// The texts of a model's thinking: the summary, or else the thinking itself.
fn thoughts(item: &Value) -> impl Iterator<Item = &str> {
    let texts = |name: &str| item[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let summary = texts("summary");
    let blocks = if summary.is_empty() { texts("content") } else { summary };
    blocks.iter().filter_map(|block| str_of(block, "text")).filter(|text| !text.is_empty())
}

/// What the user sent, by the event about it.
fn user_blocks(event: &Value) -> Vec<Value> {
    let addresses = |name: &str| event[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let images = addresses("images").iter().filter_map(Value::as_str).map(image);
    let local = addresses("local_images").iter().filter_map(Value::as_str).map(|path| image(&format!("file://{path}")));
    let said = str_of(event, "message").filter(|said| !said.is_empty()).map(text);
    images.chain(local).chain(said).collect()
}

/// The blocks of a message to a model.
fn input_blocks(content: &Value) -> Vec<Value> {
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let block = |block: &Value| match str_of(block, "type")? {
        "input_text" | "text" => str_of(block, "text").filter(|said| !said.is_empty()).map(text),
        "input_image" | "image" => str_of(block, "image_url").map(image),
        "local_image" => str_of(block, "path").map(|path| image(&format!("file://{path}"))),
        _ => None,
    };
    blocks.iter().filter_map(block).collect()
}

/// Whether the tool says this in the user's name.
fn is_the_tools(block: &Value) -> bool {
    const BEGINNINGS: [&str; 5] =
        ["<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>"];
    str_of(block, "text").is_some_and(|text| BEGINNINGS.iter().any(|mark| text.trim_start().starts_with(mark)))
}
