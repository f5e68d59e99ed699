//! What an agent's request is about, as far as the protocol and the names of arguments tell.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Denial, DenyRules};

/// Arguments that hold a command.
const COMMANDS: [&str; 6] = ["command", "cmd", "script", "shell_command", "bash", "commandline"];

/// What the names of arguments have in them that hold a path.
const PATHS: [&str; 6] = ["path", "file", "dir", "folder", "uri", "cwd"];

impl DenyRules {
    /// The rule that denies what the agent asks for by `method`, in a session that works in `cwd`.
    pub(crate) fn request(&self, method: &str, params: &str, cwd: &Path) -> Option<Denial> {
        if self.is_empty() {
            return None;
        }
        let params: Value = serde_json::from_str(params).ok()?;
        match method {
            "session/request_permission" => tool_call(self, &params["toolCall"], cwd),
            "fs/read_text_file" | "fs/write_text_file" => self.path(&path_of(params["path"].as_str()?, cwd)),
            "terminal/create" => input(self, &params, cwd),
            _ => None,
        }
    }
}

/// The rule that denies a tool call, by its name, its places and what it is given.
fn tool_call(rules: &DenyRules, call: &Value, cwd: &Path) -> Option<Denial> {
    let title = call["title"].as_str();
    let names = [call["name"].as_str(), title].into_iter().flatten().chain(names_in(&call["_meta"]));
    if let Some(denial) = names.into_iter().find_map(|name| rules.tool(name)) {
        return Some(denial);
    }
    let list = |name: &str| call[name].as_array().into_iter().flatten();
    let mut paths = list("locations").chain(list("content")).filter_map(|at| at["path"].as_str());
    if let Some(denial) = paths.find_map(|path| rules.path(&path_of(path, cwd))) {
        return Some(denial);
    }
    let command = title.filter(|_| call["kind"] == "execute").map(|title| title.trim_matches('`'));
    let denial = command.and_then(|command| rules.command(command, cwd));
    denial.or_else(|| rules.input(&call["rawInput"], cwd))
}

/// The names of a tool that an agent adds for those who know it.
fn names_in(meta: &Value) -> Vec<&str> {
    let Value::Object(members) = meta else { return Vec::new() };
    let mut found = Vec::new();
    for (key, value) in members {
        match value {
            Value::String(name) if key.eq_ignore_ascii_case("toolName") || key.eq_ignore_ascii_case("tool_name") => {
                found.push(name.as_str());
            }
            value => found.extend(names_in(value)),
        }
    }
    found
}

/// The rule that denies what is in `value`, the input of a tool.
pub(super) fn input(rules: &DenyRules, value: &Value, cwd: &Path) -> Option<Denial> {
    match value {
        Value::Object(members) => object(rules, members, cwd),
        Value::Array(list) => list.iter().find_map(|value| input(rules, value, cwd)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn object(rules: &DenyRules, members: &Map<String, Value>, cwd: &Path) -> Option<Denial> {
    members.iter().find_map(|(key, value)| {
        let name = key.to_lowercase();
        if COMMANDS.contains(&&*name) {
            let command = command_line(value, members.get("args"));
            if let Some(denial) = command.and_then(|command| rules.command(&command, cwd)) {
                return Some(denial);
            }
        }
        // Some give a table of files.
        let denial = key.contains('/').then(|| rules.path(&path_of(key, cwd))).flatten();
        if denial.is_some() {
            return denial;
        }
        if PATHS.iter().any(|part| name.contains(part)) {
            let texts = std::slice::from_ref(value).iter().chain(value.as_array().into_iter().flatten());
            let denial = texts.filter_map(Value::as_str).find_map(|path| rules.path(&path_of(path, cwd)));
            if denial.is_some() {
                return denial;
            }
        }
        input(rules, value, cwd)
    })
}

/// The command that `value` is: a text, or a list of words. `args` follow a program.
fn command_line(value: &Value, args: Option<&Value>) -> Option<String> {
    // A word with blanks is one to the shell if it is quoted.
    let quoted = |word: &Value| {
        let word = word.as_str()?;
        let is_plain = !word.contains(|char: char| char.is_whitespace() || char == '\'');
        Some(if is_plain { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) })
    };
    let words = |list: &Value| -> Vec<String> { list.as_array().into_iter().flatten().filter_map(quoted).collect() };
    match value {
        Value::String(command) => Some([vec![command.clone()], args.map(words).unwrap_or_default()].concat().join(" ")),
        Value::Array(_) => Some(words(value).join(" ")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn path_of(path: &str, cwd: &Path) -> PathBuf {
    cwd.join(path.strip_prefix("file://").unwrap_or(path))
}
