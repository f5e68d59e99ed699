//! A tool call: how far it is, what it is about, and what came of it.

use std::path::Path;

use anstyle::Style;

use super::line::Line;
use super::theme::{ACCENT, ADDED, BAD, DIM, GOOD, REMOVED};
use super::wrap::{Break, wrap};
use super::{Detail, RenderContext};
use crate::protocol::{Diff, DiffLine, Location, ToolCall, ToolContent, ToolStatus};
use crate::text::{one_line, shown};

/// How many lines are shown folded of an output, and of a change.
const OUTPUT: usize = 8;
const CHANGE: usize = 20;

/// How many places are named.
const PLACES: usize = 3;

/// The margin of what belongs to a call.
const MARGIN: &str = "  ";

/// The lines of `call`.
pub(crate) fn tool_call_lines(call: &ToolCall, look: RenderContext<'_>) -> Vec<Line> {
    let mut lines = head(call, look);
    lines.extend(body(call, look));
    lines
}

/// What a call shows beside its head.
pub(crate) fn body(call: &ToolCall, look: RenderContext<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    if let (Detail::Full, Some(input)) = (look.detail, &call.input) {
        lines.extend(boxed(&[Line::styled(shown(input), DIM)], look.width, Break::Anywhere));
    }
    let is_reading = matches!(call.kind.as_deref(), Some("read" | "search" | "fetch"));
    let is_hidden = is_reading && look.detail == Detail::Folded && call.status != Some(ToolStatus::Failed);
    for content in call.content.iter().flatten() {
        match content {
            ToolContent::Text(_) if is_hidden => {}
            ToolContent::Text(text) => lines.extend(output(text, look)),
            ToolContent::Diff(diff) => lines.extend(change(diff, look)),
            ToolContent::Terminal(id) => {
                lines.extend(boxed(
                    &[Line::styled(format!("[terminal {}]", one_line(id)), DIM)],
                    look.width,
                    Break::Words,
                ));
            }
        }
    }
    lines
}

/// What a call is, and how far.
pub(crate) fn head(call: &ToolCall, look: RenderContext<'_>) -> Vec<Line> {
    let (mark, style) = mark(call.status);
    let title = one_line(call.title.as_deref().unwrap_or(&call.id));
    let about = about(call, &title, look);
    let line = Line::plain(title).with(about, DIM);
    wrap(&line, look.width, Break::Words, &Line::styled(format!("{mark} "), style), &Line::plain(MARGIN))
}

/// How far a call is, as a mark.
fn mark(status: Option<ToolStatus>) -> (&'static str, Style) {
    match status {
        None | Some(ToolStatus::Pending) => ("○", DIM),
        Some(ToolStatus::InProgress) => ("◐", ACCENT),
        Some(ToolStatus::Completed) => ("●", GOOD),
        Some(ToolStatus::Failed) => ("✗", BAD),
    }
}

/// What is said behind the title: the kind, the places that the title does not name, how much changes.
fn about(call: &ToolCall, title: &str, look: RenderContext<'_>) -> String {
    let mut parts: Vec<String> = call.kind.iter().filter(|kind| *kind != "other").map(|kind| one_line(kind)).collect();
    let locations = call.locations.iter().flatten();
    let places: Vec<String> = locations.filter_map(|location| place(location, title, look.cwd)).collect();
    if places.len() > PLACES {
        parts.push(format!("{} and {} more", places[..PLACES].join(", "), places.len() - PLACES));
    } else {
        parts.extend(places);
    }
    let diffs = || {
        call.content.iter().flatten().filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(diff),
            ToolContent::Text(_) | ToolContent::Terminal(_) => None,
        })
    };
    if diffs().next().is_some() {
        let (added, removed) = diffs().fold((0, 0), |(added, removed), it| (added + it.added, removed + it.removed));
        parts.push(format!("+{added} -{removed}"));
    }
    if parts.is_empty() { String::new() } else { format!("  {}", parts.join(" · ")) }
}

/// What `title` does not say of a place.
fn place(location: &Location, title: &str, cwd: &str) -> Option<String> {
    let path = short(&location.path, cwd);
    match (location.line, title.contains(&path)) {
        (Some(line), true) => Some(format!("line {line}")),
        (None, true) => None,
        (Some(line), false) => Some(format!("{path}:{line}")),
        (None, false) => Some(path),
    }
}

/// `path` as it is seen from `cwd`.
fn short(path: &str, cwd: &str) -> String {
    let inside = Path::new(path).strip_prefix(cwd).ok().filter(|inside| !inside.as_os_str().is_empty());
    one_line(&inside.map_or_else(|| path.to_owned(), |inside| inside.display().to_string()))
}

/// Output, of which the beginning and the end are shown where it is long.
fn output(text: &str, look: RenderContext<'_>) -> Vec<Line> {
    let text = shown(unfenced(text));
    let lines: Vec<Line> = text.trim_end().lines().map(|line| Line::styled(line, DIM)).collect();
    boxed(&folded(lines, OUTPUT, look.detail), look.width, Break::Anywhere)
}

/// What agents put into a fence, so that clients show it as code, without the fence.
fn unfenced(text: &str) -> &str {
    let inside = || text.trim().strip_prefix("```")?.strip_suffix("```")?.split_once('\n').map(|(_, inside)| inside);
    inside().unwrap_or(text)
}

fn change(diff: &Diff, look: RenderContext<'_>) -> Vec<Line> {
    let number = |line: &DiffLine| match line {
        DiffLine::Same(number, _) | DiffLine::Added(number, _) | DiffLine::Removed(number, _) => *number,
        DiffLine::Skipped => 0,
    };
    let digits = diff.lines.iter().map(number).max().unwrap_or(0).to_string().len();
    let line = |line: &DiffLine| {
        let (sign, style, text) = match line {
            DiffLine::Same(_, text) => (' ', Style::new(), text.as_str()),
            DiffLine::Added(_, text) => ('+', ADDED, text.as_str()),
            DiffLine::Removed(_, text) => ('-', REMOVED, text.as_str()),
            DiffLine::Skipped => return Line::styled(format!("{:>digits$} ⋮", ""), DIM),
        };
        Line::styled(format!("{:>digits$} ", number(line)), DIM).with(format!("{sign} {}", shown(text)), style)
    };
    let lines: Vec<Line> = diff.lines.iter().map(line).collect();
    boxed(&folded(lines, CHANGE, look.detail), look.width, Break::Anywhere)
}

/// The beginning and the end of `lines`, if they are more than `limit` and not all are wanted.
fn folded(mut lines: Vec<Line>, limit: usize, detail: Detail) -> Vec<Line> {
    let n_lines = lines.len();
    if detail == Detail::Full || n_lines <= limit {
        return lines;
    }
    let (head, tail) = (limit / 2, limit / 2 - 1);
    let end = lines.split_off(n_lines - tail);
    lines.truncate(head);
    lines.push(Line::styled(format!("… {} more lines · Ctrl-T shows all", n_lines - head - tail), DIM));
    lines.extend(end);
    lines
}

/// `lines` in the margin of a call.
fn boxed(lines: &[Line], width: usize, how: Break) -> Vec<Line> {
    let gutter = Line::plain(MARGIN).with("│ ", DIM);
    let lines = lines.iter().flat_map(|line| wrap(line, width, how, &gutter, &gutter));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::Update;

    fn call(update: Value) -> ToolCall {
        let mut update = update;
        update["sessionUpdate"] = json!("tool_call");
        update["toolCallId"] = json!("t");
        match Update::read(&update) {
            Some(Update::ToolCall(call)) => call,
            other => panic!("{other:?} is no tool call"),
        }
    }

    fn lines(update: Value, detail: Detail) -> String {
        let look = RenderContext { width: 60, detail, cwd: "/src/app" };
        let lines = tool_call_lines(&call(update), look);
        assert!(lines.iter().all(|line| line.width() <= look.width), "{lines:#?}");
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_change_shows_what_it_does_and_where() {
        let diff =
            json!({ "type": "diff", "path": "/src/app/a.rs", "oldText": "one\ntwo\n", "newText": "one\n2\nthree\n" });
        let update = json!({ "title": "Edit", "kind": "edit", "status": "completed", "content": [diff],
            "locations": [{ "path": "/src/app/a.rs", "line": 2 }, { "path": "/etc/hosts" }] });
        insta::assert_snapshot!(lines(update, Detail::Folded), @"
        ● Edit  edit · a.rs:2 · /etc/hosts · +2 -1
          │ 1   one
          │ 2 - two
          │ 2 + 2
          │ 3 + three
        ");
    }

    #[test]
    fn long_output_is_folded_and_can_be_shown() {
        let text = (1..=20).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let content =
            json!([{ "type": "content", "content": { "type": "text", "text": format!("```\n{text}\n```") } }]);
        let update = json!({ "title": "Run", "kind": "execute", "status": "failed", "content": content, "rawInput": { "command": "x" } });
        insta::assert_snapshot!(lines(update.clone(), Detail::Folded), @"
        ✗ Run  execute
          │ line 1
          │ line 2
          │ line 3
          │ line 4
          │ … 13 more lines · Ctrl-T shows all
          │ line 18
          │ line 19
          │ line 20
        ");
        assert_eq!(lines(update, Detail::Full).lines().count(), 22);
    }

    #[test]
    fn what_was_read_is_not_shown_unless_asked_for() {
        let content = json!([{ "type": "content", "content": { "type": "text", "text": "secret plans" } }]);
        let update = json!({ "title": "Read a.md", "kind": "read", "status": "in_progress", "content": content,
            "locations": [{ "path": "/src/app/a.md" }] });
        insta::assert_snapshot!(lines(update, Detail::Folded), @"◐ Read a.md  read");
    }

    #[test]
    fn a_call_without_a_title_has_its_id() {
        assert_eq!(lines(json!({}), Detail::Folded), "○ t");
    }
}
