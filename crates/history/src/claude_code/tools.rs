//! How a call of a tool is shown: title, kind, places, changes; as the agent's own replay has it.

use serde_json::{Map, Value, json};

use crate::blocks::{diff, first_str, shown_path, str_of, text, text_content, with};

/// The update that begins `call`, made in `cwd`.
pub(super) fn call(call: &Value, cwd: &str) -> Value {
    let (name, input) = (str_of(call, "name").unwrap_or_default(), &call["input"]);
    let Shown { title, kind, content, locations } = shown(name, input, cwd);
    let mut update = json!({
        "_meta": { "claudeCode": { "toolName": name } },
        "toolCallId": call["id"],
        "sessionUpdate": "tool_call",
        "name": name,
        "rawInput": input,
        "status": "pending",
        "title": title,
        "kind": kind,
        "content": content,
    });
    if let Some(locations) = locations {
        update["locations"] = locations;
    }
    update
}

/// The update that ends `call` with the `result` block.
pub(super) fn result(call: &Value, result: &Value) -> Value {
    let (name, output) = (str_of(call, "name").unwrap_or_default(), &result["content"]);
    let is_error = result["is_error"] == true;
    let update = json!({
        "_meta": { "claudeCode": { "toolName": name } },
        "toolCallId": call["id"],
        "sessionUpdate": "tool_call_update",
        "status": if is_error { "failed" } else { "completed" },
        "rawOutput": output,
    });
    with(update, result_fields(name, output, is_error))
}

struct Shown {
    title: String,
    kind: &'static str,
    content: Vec<Value>,
    locations: Option<Value>,
}

fn shown(name: &str, input: &Value, cwd: &str) -> Shown {
    let (mut content, mut locations) = (Vec::new(), None);
    let text_of = |name: &str| str_of(input, name).filter(|text| !text.is_empty());
    let path = first_str(input, &["file_path", "path"]);
    let at = |path: Option<&str>| Some(path.map_or(json!([]), |path| json!([{ "path": path }])));
    let (title, kind) = match name {
        "Bash" | "PowerShell" => {
            content.extend(first_str(input, &["description", "command_description"]).map(text_content));
            (text_of("command").unwrap_or("Terminal").to_owned(), "execute")
        }
        "Read" => {
            let line = input["offset"].as_u64().unwrap_or(1).max(1);
            locations = Some(path.map_or(json!([]), |path| json!([{ "path": path, "line": line }])));
            let part = match (input["limit"].as_u64().filter(|limit| *limit > 0), input["offset"].as_u64()) {
                (Some(limit), offset) => {
                    let from = offset.unwrap_or(1);
                    format!(" ({from} - {})", (from + limit).saturating_sub(1))
                }
                (None, Some(offset)) if offset > 0 => format!(" (from line {offset})"),
                (None, _) => String::new(),
            };
            (format!("Read {}{part}", path.map_or("File", |path| shown_path(path, cwd))), "read")
        }
        "Write" => {
            locations = at(path);
            let new = first_str(input, &["content", "file_text", "file_content"]).unwrap_or_default();
            content.extend(path.map(|path| diff(path, None, new)));
            let title = path.map_or("Preparing file…".to_owned(), |path| format!("Write {}", shown_path(path, cwd)));
            (title, "edit")
        }
        "Edit" | "MultiEdit" => {
            locations = at(path);
            let edits = input["edits"].as_array().map_or_else(|| vec![input], |edits| edits.iter().collect());
            for edit in edits {
                let (old, new) = (str_of(edit, "old_string").unwrap_or_default(), str_of(edit, "new_string"));
                if let Some(path) = path.filter(|_| !old.is_empty() || new.is_some_and(|new| !new.is_empty())) {
                    content.push(diff(path, Some(old).filter(|old| !old.is_empty()), new.unwrap_or_default()));
                }
            }
            (path.map_or("Edit".to_owned(), |path| format!("Edit {}", shown_path(path, cwd))), "edit")
        }
        "Glob" => {
            locations = at(str_of(input, "path"));
            let words = [text_of("path"), text_of("pattern")].into_iter().flatten();
            (words.fold("Find".to_owned(), |title, word| format!("{title} `{word}`")), "search")
        }
        "Grep" => (grep_title(input), "search"),
        "WebFetch" => {
            content.extend(text_of("prompt").map(text_content));
            (text_of("url").map_or("Fetch".to_owned(), |url| format!("Fetch {url}")), "fetch")
        }
        "WebSearch" => {
            (text_of("query").map_or("Web search".to_owned(), |query| format!("Search \"{query}\"")), "fetch")
        }
        "Agent" | "Task" => {
            content.extend(str_of(input, "prompt").map(text_content));
            (text_of("description").unwrap_or("Task").to_owned(), "think")
        }
        "ExitPlanMode" => {
            content.extend(text_of("plan").map(text_content));
            ("Approve Plan".to_owned(), "switch_mode")
        }
        "EnterPlanMode" => (name.to_owned(), "switch_mode"),
        "Skill" => (text_of("skill").map_or("Load skill".to_owned(), |skill| format!("Load skill: {skill}")), "other"),
        "AskUserQuestion" => {
            let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let questions: Vec<&str> = questions.iter().filter_map(|question| str_of(question, "question")).collect();
            content.extend(questions.iter().copied().map(text_content));
            let title = if let [question] = questions.as_slice() { question } else { "Asking for your input" };
            (title.to_owned(), "other")
        }
        "" => ("Unknown Tool".to_owned(), "other"),
        _ => (name.to_owned(), "other"),
    };
    Shown { title, kind, content, locations }
}

/// The call, as somebody would type it.
fn grep_title(input: &Value) -> String {
    let is_set = |name: &str| input[name] == true;
    let mut words = vec!["grep".to_owned()];
    words.extend(["-i", "-n"].into_iter().filter(|flag| is_set(flag)).map(str::to_owned));
    let counts = ["-A", "-B", "-C"].into_iter().filter_map(|flag| Some((flag, input.get(flag)?)));
    words.extend(counts.map(|(flag, count)| format!("{flag} {count}")));
    words.extend(match str_of(input, "output_mode") {
        Some("files_with_matches") => Some("-l".to_owned()),
        Some("count") => Some("-c".to_owned()),
        _ => None,
    });
    words.extend(input.get("head_limit").map(|limit| format!("| head -{limit}")));
    words.extend(str_of(input, "glob").map(|glob| format!("--include=\"{glob}\"")));
    words.extend(str_of(input, "type").map(|kind| format!("--type={kind}")));
    words.extend(is_set("multiline").then(|| "-P".to_owned()));
    words.extend(str_of(input, "pattern").map(|pattern| format!("\"{pattern}\"")));
    words.extend(first_str(input, &["path", "file_path"]).map(str::to_owned));
    words.join(" ")
}

/// What the result adds to the call.
fn result_fields(name: &str, output: &Value, is_error: bool) -> Map<String, Value> {
    let mut fields = Map::new();
    let has_text = output.as_str().is_some_and(|text| !text.is_empty());
    let has_output = has_text || output.as_array().is_some_and(|blocks| !blocks.is_empty()) || output.is_object();
    let content = if is_error && has_output {
        shown_output(output, fenced)
    } else {
        match name {
            "Write" | "Edit" | "Skill" => return fields,
            "ExitPlanMode" => {
                fields.insert("title".to_owned(), "Exited Plan Mode".into());
                return fields;
            }
            "Read" => shown_output(output, fenced_for_any_text),
            "Bash" | "PowerShell" => console(output),
            "Agent" | "Task" => shown_output(output, without_trailer),
            _ => shown_output(output, str::to_owned),
        }
    };
    if !content.is_empty() {
        fields.insert("content".to_owned(), content.into());
    }
    fields
}

/// `output` as content, its texts as `wrap` shows them.
fn shown_output(output: &Value, wrap: fn(&str) -> String) -> Vec<Value> {
    let block = |block: &Value| {
        let shown = match str_of(block, "type") {
            Some("text") => text(wrap(str_of(block, "text").unwrap_or_default())),
            Some("image") => super::said::image(&block["source"]),
            Some("document") => text("[document]"),
            Some("tool_reference") => text(wrap(&format!("Tool: {}", str_of(block, "tool_name").unwrap_or_default()))),
            _ => text(wrap(&block.to_string())),
        };
        json!({ "type": "content", "content": shown })
    };
    match output {
        Value::String(said) if !said.is_empty() => vec![text_content(wrap(said))],
        Value::Array(blocks) => blocks.iter().map(block).collect(),
        Value::Object(_) => vec![block(output)],
        _ => Vec::new(),
    }
}

/// What a command wrote.
fn console(output: &Value) -> Vec<Value> {
    let texts = |blocks: &[Value]| {
        let texts: Option<Vec<&str>> = blocks.iter().map(|block| str_of(block, "text")).collect();
        texts.map(|texts| texts.join("\n"))
    };
    let written = match output {
        Value::String(text) => Some(text.clone()),
        Value::Array(blocks) => texts(blocks),
        _ => None,
    };
    match written {
        Some(text) if text.trim().is_empty() => Vec::new(),
        Some(text) => vec![text_content(format!("```console\n{}\n```", text.trim_end()))],
        // An image can't be written to a terminal.
        None => shown_output(output, str::to_owned),
    }
}

fn fenced(text: &str) -> String {
    format!("```\n{text}\n```")
}

/// `text` between fences that are longer than any in it.
fn fenced_for_any_text(text: &str) -> String {
    let longest = text.lines().map(|line| line.len() - line.trim_start_matches('`').len()).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}\n{text}{end}{fence}")
}

/// A subagent's report without what the tool tells the model behind it.
fn without_trailer(text: &str) -> String {
    let body = text.trim_end();
    let body = match body.strip_suffix("</usage>").and_then(|body| body.rfind("<usage>")) {
        Some(open) => body[..open].trim_end_matches('\n'),
        None => text,
    };
    let (before, last) = body.trim_end().rsplit_once('\n').unwrap_or(("", body.trim_end()));
    if last.starts_with("agentId: ") && last.ends_with(')') { before.to_owned() } else { body.to_owned() }
}
