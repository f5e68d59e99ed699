//! The turns of a conversation, written as Markdown that is pleasant to read as it is.
//!
//! A turn is folded and written when the next begins, so that only one is in memory. A tool call that goes on in a later
//! turn is told there again, under its name.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rejoin_transcript::json::{Members, read_string};
use rejoin_transcript::{
    Entry, Fold, Item, Json, Message, Part, Role, SessionFacts, Timestamp, ToolCall, TurnEnd, View, What,
};

use super::turn_number;
use crate::output::{BAD, BOLD, DIM, GOOD, Output, cut_end, one_line, printable};
use crate::times;

/// How wide a line may be that is shortened to be one, where there is no terminal to say so.
const LINE: usize = 100;

/// A conversation that is being written.
pub(super) struct Transcript {
    agent: String,
    folder: PathBuf,
    section: Option<Section>,
    /// The titles of tool calls that had not ended when their turn had.
    open_calls: HashMap<String, String>,
}

/// A turn, and what came after it.
struct Section {
    number: u32,
    began_at: Timestamp,
    fold: Fold,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Agent,
}

impl Transcript {
    /// The conversation of the session with these facts.
    pub(super) fn new(facts: &SessionFacts) -> Self {
        let folder = PathBuf::from(&facts.cwd.raw);
        Self { agent: one_line(&facts.agent.name), folder, section: None, open_calls: HashMap::new() }
    }

    /// Takes the next entry, and writes what came before it once it begins another turn.
    pub(super) fn push(&mut self, out: &mut Output, entry: &Entry) -> io::Result<()> {
        let number = turn_number(entry);
        if self.section.as_ref().is_none_or(|section| section.number != number) {
            self.write_section(out)?;
            self.section = Some(Section { number, began_at: entry.step.at, fold: Fold::default() });
        }
        if let Some(section) = &mut self.section {
            section.fold.push(entry);
        }
        Ok(())
    }

    /// Writes what is left.
    pub(super) fn finish(mut self, out: &mut Output) -> io::Result<()> {
        self.write_section(out)
    }

    fn write_section(&mut self, out: &mut Output) -> io::Result<()> {
        let Some(Section { number, began_at, fold }) = self.section.take() else { return Ok(()) };
        let view = fold.finish();
        if number > 0 {
            let heading = out.paint(BOLD, &format!("## Turn {number}"));
            let time = out.paint(DIM, &times::minute(began_at));
            writeln!(out, "\n{heading}  {time}")?;
        }
        self.write_items(out, &view)?;
        for plan in view.plans.values() {
            write_plan(out, plan)?;
        }
        if number > 0 {
            write_end(out, view.ends.get(&number))?;
        }
        Ok(())
    }

    fn write_items(&mut self, out: &mut Output, view: &View) -> io::Result<()> {
        let mut speaker = None;
        let mut is_in_list = false;
        for item in &view.items {
            if speaker != Some(speaker_of(item)) {
                speaker = Some(speaker_of(item));
                let name = if speaker == Some(Speaker::User) { "You" } else { self.agent.as_str() };
                let heading = out.paint(BOLD, &format!("### {name}"));
                writeln!(out, "\n{heading}")?;
                is_in_list = false;
            }
            let is_list = !matches!(item.what, What::Message(_));
            if !(is_list && is_in_list) {
                writeln!(out)?;
            }
            is_in_list = is_list;
            match &item.what {
                What::Message(message) if message.role == Role::Thought => write_thought(out, message)?,
                What::Message(message) => writeln!(out, "{}", printable(message_text(message).trim()))?,
                What::ToolCall(call) => self.write_call(out, call)?,
                What::Other(update) => {
                    let line = cut_line(out, &format!("- (update) {}", one_line(update.as_str())));
                    writeln!(out, "{}", out.paint(DIM, &line))?;
                }
            }
        }
        Ok(())
    }

    fn write_call(&mut self, out: &mut Output, call: &ToolCall) -> io::Result<()> {
        let title = call.title().or_else(|| self.open_calls.get(&call.id).cloned());
        let title = title.unwrap_or_else(|| format!("tool call {}", call.id));
        let status = call.status().unwrap_or_else(|| "pending".to_owned());
        let style = match status.as_str() {
            "completed" => GOOD,
            "failed" => BAD,
            _ => DIM,
        };
        let shown = out.paint(style, &one_line(&status.replace('_', " ")));
        writeln!(out, "- {} ({shown})", one_line(&title))?;
        for path in diff_paths(call) {
            let path = Path::new(&path).strip_prefix(&self.folder).unwrap_or(Path::new(&path)).to_string_lossy();
            let diff = out.paint(DIM, "diff");
            writeln!(out, "  {diff} {}", one_line(&path))?;
        }
        if matches!(status.as_str(), "completed" | "failed") {
            self.open_calls.remove(&call.id);
        } else {
            self.open_calls.insert(call.id.clone(), title);
        }
        Ok(())
    }
}

fn speaker_of(item: &Item) -> Speaker {
    match &item.what {
        What::Message(Message { role: Role::User, .. }) => Speaker::User,
        What::Message(Message { role: Role::Agent | Role::Thought, .. }) | What::ToolCall(_) | What::Other(_) => {
            Speaker::Agent
        }
    }
}

fn write_thought(out: &mut Output, thought: &Message) -> io::Result<()> {
    let line = cut_line(out, &format!("> {}", one_line(&thought.text())));
    writeln!(out, "{}", out.paint(DIM, &line))
}

fn cut_line(out: &Output, line: &str) -> String {
    cut_end(line, out.width().unwrap_or(LINE)).into_owned()
}

fn message_text(message: &Message) -> String {
    let text = |part: &Part| match (part, part.content()) {
        // The chunks of an answer go on in the same line.
        (Part::Block(_), Some(content)) if message.role != Role::User && is_text(content) => {
            part.text().unwrap_or_default()
        }
        (Part::Block(_), Some(content)) => format!("{}\n", block_text(content)),
        (Part::Block(_), None) | (Part::Text(_), _) => part.text().unwrap_or_default(),
    };
    message.parts.iter().map(text).collect()
}

fn is_text(content: &Json) -> bool {
    content.members().and_then(|members| members.get_string("type")).is_some_and(|kind| kind == "text")
}

/// A content block: text as it is, of anything else what it is.
fn block_text(content: &Json) -> String {
    let Some(members) = content.members() else { return "[?]".to_owned() };
    let string = |name| members.get_string(name).unwrap_or_default();
    match string("type").as_ref() {
        "text" => string("text").into_owned(),
        "resource_link" => format!("[{}]({})", string("name"), string("uri")),
        "resource" => {
            let uri = members.get("resource").and_then(Members::read).and_then(|resource| resource.get_string("uri"));
            format!("[resource {}]", uri.unwrap_or_default())
        }
        kind @ ("image" | "audio") => format!("[{kind} {}]", string("mimeType")),
        kind => format!("[{kind}]"),
    }
}

/// The files that a tool call's diffs change.
fn diff_paths(call: &ToolCall) -> Vec<String> {
    let content = call.members.get("content").and_then(Json::elements).unwrap_or_default();
    let path = |element: &str| {
        let members = Members::read(element)?;
        let is_diff = members.get_string("type")? == "diff";
        is_diff.then(|| members.get_string("path").map(std::borrow::Cow::into_owned)).flatten()
    };
    content.into_iter().filter_map(path).collect()
}

fn write_plan(out: &mut Output, plan: &Json) -> io::Result<()> {
    let heading = out.paint(BOLD, "Plan");
    writeln!(out, "\n{heading}\n")?;
    for entry in plan.elements().unwrap_or_default() {
        let members = Members::read(entry);
        let string = |name| members.as_ref().and_then(|members| members.get_string(name)).unwrap_or_default();
        let mark = match string("status").as_ref() {
            "completed" => "x",
            "in_progress" => "~",
            _ => " ",
        };
        writeln!(out, "- [{mark}] {}", one_line(&string("content")))?;
    }
    Ok(())
}

/// Tells how a turn ended, unless it ended well.
fn write_end(out: &mut Output, end: Option<&TurnEnd>) -> io::Result<()> {
    let (style, text) = match end {
        Some(TurnEnd::Stopped { reason }) if reason == "end_turn" => return Ok(()),
        Some(TurnEnd::Stopped { reason }) => (DIM, format!("(stopped: {})", reason.replace('_', " "))),
        Some(TurnEnd::Failed { error }) => (BAD, format!("error: {}", error_message(error))),
        Some(TurnEnd::Interrupted) => (BAD, "interrupted".to_owned()),
        None => (DIM, "(the turn has not ended)".to_owned()),
    };
    writeln!(out, "\n{}", out.paint(style, &printable(&text)))
}

fn error_message(error: &Json) -> String {
    let message = error.members().and_then(|members| members.get("message").and_then(read_string));
    message.map_or_else(|| error.to_string(), std::borrow::Cow::into_owned)
}
