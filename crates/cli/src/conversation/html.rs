//! A conversation as one HTML file: readable offline, light or dark as the reader likes it, and harmless.
//!
//! Everything that was said is escaped. The file has no script, and its policy forbids the browser to run one or to fetch
//! anything: what is to be seen is in it.

mod markup;

use std::io::{self, Write};
use std::path::PathBuf;

use rejoin_transcript::{Item, Json, Message, Role, SessionFacts, ToolCall, TurnEnd, What};

use self::markup::{escape, from_markdown, href};
use super::content::{Block, Shown, blocks, contents};
use super::diff::{DiffLine, diff};
use super::markdown::{about, path_in, plan_entries, told_end};
use super::{Form, Section};
use crate::times;

const STYLE: &str = include_str!("html/style.css");

/// What the browser may do: show what is in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";

/// A conversation in HTML.
#[derive(Default)]
pub(crate) struct Html {
    agent: String,
    folder: PathBuf,
}

impl Form for Html {
    fn begin(&mut self, out: &mut dyn Write, facts: &SessionFacts) -> io::Result<()> {
        self.agent.clone_from(&facts.agent.name);
        self.folder = PathBuf::from(&facts.cwd.raw);
        let title = escape(facts.title().unwrap_or("(no title)"));
        let version = env!("CARGO_PKG_VERSION");
        writeln!(
            out,
            r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="generator" content="rejoin {version}">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<dl>"#
        )?;
        for (name, value) in about(facts, None, None) {
            writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value))?;
        }
        writeln!(out, "</dl>\n</header>")
    }

    fn turn(&mut self, out: &mut dyn Write, turn: &Section) -> io::Result<()> {
        let number = turn.number;
        writeln!(out, "<section id=\"turn-{number}\">")?;
        if number > 0 {
            let (at, time) = (turn.began_at, times::minute(turn.began_at));
            let link = format!("<a href=\"#turn-{number}\">Turn {number}</a>");
            writeln!(out, "<h2>{link} <time datetime=\"{at}\">{}</time></h2>", escape(&time))?;
        }
        for item in &turn.view.items {
            self.write_item(out, item)?;
        }
        for plan in turn.view.plans.values() {
            write_plan(out, plan)?;
        }
        if number > 0 {
            write_end(out, turn.view.ends.get(&number))?;
        }
        writeln!(out, "</section>")
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "</main>\n</body>\n</html>")
    }
}

impl Html {
    fn write_item(&self, out: &mut dyn Write, item: &Item) -> io::Result<()> {
        match &item.what {
            What::Message(message) => self.write_message(out, message),
            What::ToolCall(call) => self.write_call(out, call),
            What::Other(update) => {
                writeln!(out, "<details class=\"other\"><summary>update</summary>")?;
                writeln!(out, "<pre>{}</pre></details>", escape(update.as_str()))
            }
        }
    }

    fn write_message(&self, out: &mut dyn Write, message: &Message) -> io::Result<()> {
        let end = match message.role {
            Role::User => {
                writeln!(out, "<article class=\"user\"><h3>You</h3>")?;
                "</article>"
            }
            Role::Agent => {
                writeln!(out, "<article class=\"agent\"><h3>{}</h3>", escape(&self.agent))?;
                "</article>"
            }
            Role::Thought => {
                writeln!(out, "<details class=\"thought\"><summary>Thought</summary>")?;
                "</details>"
            }
        };
        for block in blocks(message) {
            match (message.role, block) {
                // What a person typed means itself.
                (Role::User, Block::Text(text)) => writeln!(out, "<div class=\"typed\">{}</div>", escape(text.trim()))?,
                (_, Block::Text(text)) => writeln!(out, "<div class=\"said\">{}</div>", from_markdown(&text))?,
                (_, block) => write_block(out, &block)?,
            }
        }
        writeln!(out, "{end}")
    }

    fn write_call(&self, out: &mut dyn Write, call: &ToolCall) -> io::Result<()> {
        let status = call.status().unwrap_or_else(|| "pending".to_owned());
        let (class, mark) = match status.as_str() {
            "completed" => ("completed", "✓"),
            "failed" => ("failed", "✗"),
            _ => ("open", "…"),
        };
        let title = escape(&call.title().unwrap_or_default());
        let status = escape(&status.replace('_', " "));
        writeln!(
            out,
            "<details class=\"call {class}\"><summary><span class=\"mark\" title=\"{status}\">{mark}</span> {title}</summary>"
        )?;
        let contents = contents(call);
        write_json(out, "input", call.members.get("rawInput"))?;
        for content in &contents {
            match content {
                Shown::Diff { path, old, new } => self.write_diff(out, path, old.as_deref(), new)?,
                Shown::Block(Block::Text(text)) => writeln!(out, "<pre>{}</pre>", escape(text.trim_end()))?,
                Shown::Block(block) => write_block(out, block)?,
                Shown::Other { kind } => writeln!(out, "<p class=\"quiet\">[{}]</p>", escape(kind))?,
            }
        }
        if contents.is_empty() {
            write_json(out, "output", call.members.get("rawOutput"))?;
        }
        writeln!(out, "</details>")
    }

    fn write_diff(&self, out: &mut dyn Write, path: &str, old: Option<&str>, new: &str) -> io::Result<()> {
        let path = escape(&path_in(&self.folder, path));
        let word = if old.is_some() { "" } else { " <span class=\"quiet\">new file</span>" };
        writeln!(out, "<figure class=\"diff\"><figcaption>{path}{word}</figcaption>")?;
        write!(out, "<pre>")?;
        for line in diff(old.unwrap_or_default(), new) {
            let text = escape(&line.text());
            match line {
                // The line break belongs to the line, which is a block of its own.
                DiffLine::Same(_) => write!(out, "<span>{text}\n</span>")?,
                DiffLine::Removed(_) => write!(out, "<del>{text}\n</del>")?,
                DiffLine::Added(_) => write!(out, "<ins>{text}\n</ins>")?,
                DiffLine::Gap => write!(out, "<span class=\"quiet\">{text}\n</span>")?,
            }
        }
        writeln!(out, "</pre></figure>")
    }
}

/// Writes a block that is no text of a message.
fn write_block(out: &mut dyn Write, block: &Block) -> io::Result<()> {
    match block {
        Block::Text(text) => writeln!(out, "<pre>{}</pre>", escape(text)),
        Block::Image { mime, data } => match data_address("image", mime, data) {
            Some(address) => writeln!(out, "<img alt=\"image\" src=\"{address}\">"),
            None => writeln!(out, "<p class=\"quiet\">[image {}]</p>", escape(mime)),
        },
        Block::Audio { mime, data } => match data_address("audio", mime, data) {
            Some(address) => writeln!(out, "<audio controls src=\"{address}\"></audio>"),
            None => writeln!(out, "<p class=\"quiet\">[audio {}]</p>", escape(mime)),
        },
        Block::Link { name, uri } => match href(uri) {
            Some(address) => writeln!(out, "<p class=\"link\"><a href=\"{address}\">{}</a></p>", escape(name)),
            None => writeln!(out, "<p class=\"link\" title=\"{}\">{}</p>", escape(uri), escape(name)),
        },
        Block::Resource { uri, text } => {
            writeln!(out, "<details class=\"resource\"><summary>{}</summary>", escape(uri))?;
            match text {
                Some(text) => writeln!(out, "<pre>{}</pre></details>", escape(text)),
                None => writeln!(out, "<p class=\"quiet\">[not a text]</p></details>"),
            }
        }
        Block::Other { kind } => writeln!(out, "<p class=\"quiet\">[{}]</p>", escape(kind)),
    }
}

/// The address that holds `data` itself, if it is what it says it is: of `kind`, and in Base64.
fn data_address(kind: &str, mime: &str, data: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/+-.".contains(c);
    let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=-_".contains(c);
    let is_good = mime.strip_prefix(kind).is_some_and(|rest| rest.starts_with('/') && rest.chars().all(is_plain));
    (is_good && !data.is_empty() && data.chars().all(is_base64)).then(|| format!("data:{mime};base64,{data}"))
}

fn write_json(out: &mut dyn Write, name: &str, value: Option<&Json>) -> io::Result<()> {
    let Some(value) = value else { return Ok(()) };
    let parsed = serde_json::from_str::<serde_json::Value>(value.as_str());
    let pretty = parsed.and_then(|value| serde_json::to_string_pretty(&value));
    let text = pretty.unwrap_or_else(|_| value.to_string());
    writeln!(out, "<details class=\"raw\"><summary>{name}</summary><pre>{}</pre></details>", escape(&text))
}

fn write_plan(out: &mut dyn Write, plan: &Json) -> io::Result<()> {
    writeln!(out, "<aside class=\"plan\"><h3>Plan</h3><ul>")?;
    for (status, content) in plan_entries(plan) {
        let (class, mark) = match status.as_str() {
            "completed" => ("completed", "✓"),
            "in_progress" => ("open", "…"),
            _ => ("pending", "·"),
        };
        writeln!(out, "<li class=\"{class}\"><span class=\"mark\">{mark}</span> {}</li>", escape(&content))?;
    }
    writeln!(out, "</ul></aside>")
}

fn write_end(out: &mut dyn Write, end: Option<&TurnEnd>) -> io::Result<()> {
    let Some(text) = told_end(end) else { return Ok(()) };
    let class = if end.is_some_and(TurnEnd::is_error) { "end failed" } else { "end quiet" };
    writeln!(out, "<p class=\"{class}\">{}</p>", escape(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_an_image_becomes_one() {
        let address = |mime, data| data_address("image", mime, data);
        assert_eq!(address("image/png", "QUJD").as_deref(), Some("data:image/png;base64,QUJD"));
        for (mime, data) in
            [("image/png", ""), ("text/html", "QUJD"), ("image/png\"", "QUJD"), ("image/png", "\"><script>")]
        {
            assert_eq!(address(mime, data), None, "{mime} {data}");
        }
    }
}
