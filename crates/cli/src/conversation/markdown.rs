//! A conversation as Markdown that is pleasant to read as it is: in a terminal, in short; in a file, with everything.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rejoin_transcript::json::{Members, read_string};
use rejoin_transcript::{Item, Json, Message, Role, SessionFacts, Timestamp, ToolCall, TurnEnd, View, What};

use super::content::{Block, Shown, blocks, contents};
use super::diff::{DiffLine, diff};
use super::{Form, Section};
use crate::commands::count;
use crate::money;
use crate::output::{BAD, BOLD, DIM, GOOD, Painter, cut_end, one_line, printable, short_path};
use crate::resume::resume_command;
use crate::times;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What was said; of thoughts and tool calls one line, at most this many columns wide.
    Short(usize),
    /// Everything that has a text.
    Full,
}

/// A conversation in Markdown.
pub(crate) struct Markdown<'a> {
    detail: Detail,
    painter: Painter,
    /// The user's own folder, if it is to be shown as `~`.
    home: Option<&'a Path>,
    agent: String,
    folder: PathBuf,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Agent,
}

impl<'a> Markdown<'a> {
    pub(crate) fn new(detail: Detail, painter: Painter, home: Option<&'a Path>) -> Self {
        Self { detail, painter, home, agent: String::new(), folder: PathBuf::new() }
    }
}

impl Form for Markdown<'_> {
    fn begin(&mut self, out: &mut dyn Write, facts: &SessionFacts) -> io::Result<()> {
        self.agent = one_line(&facts.agent.name);
        self.folder = PathBuf::from(&facts.cwd.raw);
        let title = self.painter.paint(BOLD, &format!("# {}", one_line(facts.title().unwrap_or("(no title)"))));
        writeln!(out, "{title}\n")?;
        let now = (self.detail != Detail::Full).then(rejoin_store::now);
        for (name, value) in about(facts, self.home, now) {
            writeln!(out, "{} {value}", self.painter.paint(DIM, &format!("- {name}:")))?;
        }
        Ok(())
    }

    fn turn(&mut self, out: &mut dyn Write, turn: &Section) -> io::Result<()> {
        if turn.number > 0 {
            let heading = self.painter.paint(BOLD, &format!("## Turn {}", turn.number));
            let time = self.painter.paint(DIM, &times::minute(turn.began_at));
            writeln!(out, "\n{heading}  {time}")?;
        }
        self.write_items(out, &turn.view)?;
        for plan in turn.view.plans.values() {
            self.write_plan(out, plan)?;
        }
        if turn.number > 0 {
            self.write_end(out, turn.view.ends.get(&turn.number))?;
        }
        Ok(())
    }

    fn end(&mut self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// What is known of a session: names and values, each on one line. Folders in `home` are shown as such, and times with how
/// long ago they were `now`.
pub(super) fn about(facts: &SessionFacts, home: Option<&Path>, now: Option<Timestamp>) -> Vec<(&'static str, String)> {
    let time = |at| match now.and_then(|now| times::ago(at, now)) {
        Some(ago) => format!("{} ({ago})", times::minute(at)),
        None => times::minute(at),
    };
    let agent = match &facts.agent.version {
        Some(version) => format!("{} {version}", facts.agent.name),
        None => facts.agent.name.clone(),
    };
    let messages = format!("{} in {}", facts.messages, count(facts.turns.into(), "turn", "turns"));
    let mut lines = vec![
        ("session", facts.session_id.to_string()),
        ("agent", one_line(&agent)),
        ("folder", short_path(&facts.cwd.raw, home)),
        ("created", time(facts.created_at)),
        ("updated", time(facts.updated_at)),
        ("messages", messages),
    ];
    lines.extend(facts.cost.as_ref().map(|cost| ("cost", money::show(cost))));
    lines.extend(facts.parent.as_ref().map(|parent| ("fork of", parent.session_id.to_string())));
    lines.extend(resume_command(facts).map(|command| ("resume", one_line(&command))));
    lines.extend(facts.archived.then(|| ("archived", "yes".to_owned())));
    lines
}

/// What is told of how a turn ended; nothing, if it ended well.
pub(super) fn told_end(end: Option<&TurnEnd>) -> Option<String> {
    match end {
        Some(TurnEnd::Stopped { reason }) if reason == "end_turn" => None,
        Some(TurnEnd::Stopped { reason }) => Some(format!("(stopped: {})", reason.replace('_', " "))),
        Some(TurnEnd::Failed { error }) => Some(format!("error: {}", error_message(error))),
        Some(TurnEnd::Interrupted) => Some("interrupted".to_owned()),
        None => Some("(the turn has not ended)".to_owned()),
    }
}

/// The entries of a plan: each one's status and what is to be done.
pub(super) fn plan_entries(plan: &Json) -> Vec<(String, String)> {
    let entry = |entry: &str| {
        let members = Members::read(entry);
        let string = |name| members.as_ref().and_then(|members| members.get_string(name)).unwrap_or_default();
        (string("status").into_owned(), one_line(&string("content")))
    };
    plan.elements().unwrap_or_default().into_iter().map(entry).collect()
}

fn error_message(error: &Json) -> String {
    let message = error.members().and_then(|members| members.get("message").and_then(read_string));
    message.map_or_else(|| error.to_string(), std::borrow::Cow::into_owned)
}

/// Where a file is: inside `folder`, without it.
pub(super) fn path_in(folder: &Path, path: &str) -> String {
    one_line(&Path::new(path).strip_prefix(folder).unwrap_or(Path::new(path)).to_string_lossy())
}

impl Markdown<'_> {
    fn write_items(&self, out: &mut dyn Write, view: &View) -> io::Result<()> {
        let mut speaker = None;
        let mut is_in_list = false;
        for item in &view.items {
            if speaker != Some(speaker_of(item)) {
                speaker = Some(speaker_of(item));
                let name = if speaker == Some(Speaker::User) { "You" } else { self.agent.as_str() };
                writeln!(out, "\n{}", self.painter.paint(BOLD, &format!("### {name}")))?;
                is_in_list = false;
            }
            let is_list = !matches!(item.what, What::Message(_));
            if !(is_list && is_in_list) {
                writeln!(out)?;
            }
            is_in_list = is_list;
            match &item.what {
                What::Message(message) if message.role == Role::Thought => self.write_thought(out, message)?,
                What::Message(message) => writeln!(out, "{}", printable(message_text(message).trim()))?,
                What::ToolCall(call) => self.write_call(out, call)?,
                What::Other(update) => {
                    let line = self.cut(&format!("- (update) {}", one_line(update.as_str())));
                    writeln!(out, "{}", self.painter.paint(DIM, &line))?;
                }
            }
        }
        Ok(())
    }

    fn write_thought(&self, out: &mut dyn Write, thought: &Message) -> io::Result<()> {
        let text = match self.detail {
            Detail::Short(_) => one_line(&thought.text()),
            Detail::Full => printable(thought.text().trim()).into_owned(),
        };
        for line in text.lines() {
            writeln!(out, "{}", self.painter.paint(DIM, &self.cut(&format!("> {line}"))))?;
        }
        Ok(())
    }

    fn write_call(&self, out: &mut dyn Write, call: &ToolCall) -> io::Result<()> {
        let status = call.status().unwrap_or_else(|| "pending".to_owned());
        let style = match status.as_str() {
            "completed" => GOOD,
            "failed" => BAD,
            _ => DIM,
        };
        let shown = self.painter.paint(style, &one_line(&status.replace('_', " ")));
        writeln!(out, "- {} ({shown})", one_line(&call.title().unwrap_or_default()))?;
        for content in contents(call) {
            match (self.detail, content) {
                (Detail::Short(_), Shown::Diff { path, .. }) => {
                    let word = self.painter.paint(DIM, "diff");
                    writeln!(out, "  {word} {}", path_in(&self.folder, &path))?;
                }
                (Detail::Short(_), Shown::Block(_) | Shown::Other { .. }) => {}
                (Detail::Full, Shown::Diff { path, old, new }) => {
                    let lines = diff(old.as_deref().unwrap_or_default(), &new);
                    let lines: Vec<String> = lines.iter().map(DiffLine::text).collect();
                    let heading = format!("{} {}", if old.is_some() { "M" } else { "A" }, path_in(&self.folder, &path));
                    write_fenced(out, "diff", &format!("{heading}\n{}", lines.join("\n")))?;
                }
                (Detail::Full, Shown::Block(Block::Text(text))) => write_fenced(out, "", &text)?,
                (Detail::Full, Shown::Block(block)) => writeln!(out, "\n  {}", one_line(&block_text(&block)))?,
                (Detail::Full, Shown::Other { kind }) => writeln!(out, "\n  [{}]", one_line(&kind))?,
            }
        }
        Ok(())
    }

    fn write_plan(&self, out: &mut dyn Write, plan: &Json) -> io::Result<()> {
        writeln!(out, "\n{}\n", self.painter.paint(BOLD, "Plan"))?;
        for (status, content) in plan_entries(plan) {
            let mark = match status.as_str() {
                "completed" => "x",
                "in_progress" => "~",
                _ => " ",
            };
            writeln!(out, "- [{mark}] {content}")?;
        }
        Ok(())
    }

    /// Tells how a turn ended, unless it ended well.
    fn write_end(&self, out: &mut dyn Write, end: Option<&TurnEnd>) -> io::Result<()> {
        let Some(text) = told_end(end) else { return Ok(()) };
        let style = if end.is_some_and(TurnEnd::is_error) { BAD } else { DIM };
        writeln!(out, "\n{}", self.painter.paint(style, &printable(&text)))
    }

    fn cut(&self, line: &str) -> String {
        match self.detail {
            Detail::Short(width) => cut_end(line, width).into_owned(),
            Detail::Full => line.to_owned(),
        }
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

fn message_text(message: &Message) -> String {
    let texts: Vec<String> = blocks(message).iter().map(block_text).collect();
    texts.join("\n")
}

/// A content block: text as it is, of anything else what it is.
fn block_text(block: &Block) -> String {
    match block {
        Block::Text(text) => text.clone(),
        Block::Link { name, uri } => format!("[{name}]({uri})"),
        Block::Resource { uri, .. } => format!("[resource {uri}]"),
        Block::Image { mime, .. } => format!("[image {mime}]"),
        Block::Audio { mime, .. } => format!("[audio {mime}]"),
        Block::Other { kind } => format!("[{kind}]"),
    }
}

/// Writes `text` as code of `language` inside a list, with a fence that is not in it.
fn write_fenced(out: &mut dyn Write, language: &str, text: &str) -> io::Result<()> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "\n  {fence}{language}")?;
    for line in printable(text.trim_end()).lines() {
        writeln!(out, "{}", format!("  {line}").trim_end())?;
    }
    writeln!(out, "  {fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_inside_it() {
        let mut written = Vec::new();
        write_fenced(&mut written, "md", "a\n````\n\nb\u{1b}\n").unwrap();
        insta::assert_snapshot!(String::from_utf8(written).unwrap(), @"

          `````md
          a
          ````

          b␛
          `````
        ");
    }
}
