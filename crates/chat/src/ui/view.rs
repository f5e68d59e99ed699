//! What there is to see of the chat: the live part of the screen, made from the state alone.

use anstyle::Style;

use super::chat::{Chat, Stage};
use super::keys::BINDINGS;
use super::question::Question;
use super::session::Session;
use crate::protocol::Choice;
use crate::render::line::Line;
use crate::render::plan::plan_lines;
use crate::render::screen::Frame;
use crate::render::theme::{ACCENT, ACCENT_BOLD, BOLD, DIM, WARN};
use crate::render::wrap::{Break, wrap};
use crate::render::{Detail, RenderContext};
use crate::text::{columns, cut_end, one_line, shown};

/// How many rows the input takes at most.
const INPUT_ROWS: usize = 8;

/// How many rows a terminal has in which there is no room for everything.
const SMALL: usize = 12;

/// How many of the prompts that wait are shown.
const QUEUED: usize = 3;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Lines, and where the cursor is in them.
#[derive(Debug, Default)]
struct Part {
    lines: Vec<Line>,
    cursor: Option<(usize, usize)>,
}

impl Part {
    fn push(&mut self, line: Line) {
        self.lines.push(line);
    }

    fn append(&mut self, other: Self) {
        let n_before = self.lines.len();
        self.cursor = other.cursor.map(|(row, column)| (row + n_before, column)).or(self.cursor);
        self.lines.extend(other.lines);
    }
}

impl Chat {
    /// What is to be on the terminal. What is finished is given once.
    pub(crate) fn frame(&mut self) -> Frame {
        let bottom = self.bottom();
        let room = self.size.height.saturating_sub(bottom.lines.len() + 1);
        let (width, cwd) = (self.size.width, self.look(Detail::Folded).cwd.to_owned());
        let look = RenderContext { width, detail: Detail::Folded, cwd: &cwd };
        let asked = self.questions.front().and_then(Question::call).map(|call| call.id.clone());
        let (mut finished, mut live) = (Vec::new(), Vec::new());
        if let Some(session) = &mut self.session {
            finished = session.transcript.take_finished(look);
            live = session.transcript.open_lines(look, asked.as_deref());
            while live.len() > room && session.transcript.give_way() {
                finished.extend(session.transcript.take_finished(look));
                live = session.transcript.open_lines(look, asked.as_deref());
            }
        }
        live.drain(..live.len().saturating_sub(room));
        let mut part = Part { lines: live, cursor: None };
        part.push(Line::blank());
        part.append(bottom);
        // A terminal may be too small for anything.
        let n_hidden = part.lines.len().saturating_sub(self.size.height.max(1));
        let live = part.lines.into_iter().skip(n_hidden).map(|line| line.cut(width)).collect();
        let place =
            |(row, column): (usize, usize)| Some((row.checked_sub(n_hidden)?, column.min(width.saturating_sub(1))));
        Frame { finished, live, cursor: part.cursor.and_then(place) }
    }

    /// The same for a terminal that is to be written anew, with the last `n_rows` of what is finished, or all of it.
    pub(crate) fn whole_frame(&mut self, n_rows: Option<usize>) -> Frame {
        let frame = self.frame();
        let look = self.look(Detail::Folded);
        let finished = self.session.as_ref().map(|session| session.transcript.shown_lines(n_rows, look));
        Frame { finished: finished.unwrap_or_default(), ..frame }
    }

    /// What fills the screen instead, while the details are open.
    pub(crate) fn full_screen(&self) -> Option<Vec<Line>> {
        let waiting = (!self.questions.is_empty()).then_some("a question waits");
        self.details.as_ref().map(|details| details.screen(self.size, waiting))
    }

    /// Everything below the conversation.
    fn bottom(&self) -> Part {
        let mut part = Part::default();
        let width = self.size.width;
        // In a small terminal a question has all the room there is.
        if let Some(question) = self.questions.front().filter(|_| self.size.height < SMALL && !self.is_typing) {
            let (lines, cursor) = question.lines(self.look(Detail::Folded), self.size.height, self.questions.len() - 1);
            return Part { lines, cursor };
        }
        match (self.stage, &self.session) {
            (Stage::Starting, _) => part.push(self.spinner("starting the agent").cut(width)),
            (Stage::Opening, _) => part.push(self.opening().cut(width)),
            (Stage::Picking, _) | (Stage::Open, None) => {}
            (Stage::Open, Some(session)) => part.lines.extend(self.progress(session)),
        }
        let height = self.size.height.saturating_sub(part.lines.len() + 3);
        if let Some(question) = self.questions.front() {
            let look = self.look(Detail::Folded);
            let (lines, cursor) = question.lines(look, height, self.questions.len() - 1);
            part.push(self.rule());
            part.append(Part { lines, cursor });
            // Whoever is typing goes on typing.
            if !self.is_typing {
                return part;
            }
        }
        if let Some(menu) = &self.menu {
            part.push(self.rule());
            part.lines.extend(menu.lines(width, height.min(12)));
            part.push(Line::styled("  Enter chooses · type to narrow · Esc closes", DIM).cut(width));
            return part;
        }
        // Whoever starts to type before there is a session can do so.
        if self.stage == Stage::Open || !self.input.is_empty() {
            part.push(self.rule());
            part.append(self.input());
            part.lines.extend(self.below_input(height));
        }
        part
    }

    fn rule(&self) -> Line {
        Line::styled("─".repeat(self.size.width), DIM)
    }

    fn opening(&self) -> Line {
        match &self.loading {
            Some(session) if session.n_updates > 0 => self.spinner(&format!("loading · {} parts", session.n_updates)),
            Some(_) => self.spinner("loading"),
            None => self.spinner("opening a session"),
        }
    }

    /// How the turn goes, the plan, and what waits.
    fn progress(&self, session: &Session) -> Vec<Line> {
        let width = self.size.width;
        let mut lines = Vec::new();
        let plan = session.transcript.plan();
        if !plan.is_empty() {
            let room = (self.size.height / 3).max(2);
            let of_plan = plan_lines(plan, width);
            let n_hidden = of_plan.len().saturating_sub(room);
            lines.extend(of_plan.into_iter().take(room));
            if n_hidden > 0 {
                lines.push(Line::styled(format!("  … {n_hidden} more"), DIM));
            }
            lines.push(Line::blank());
        }
        if let Some((since, is_cancelled)) = session.running() {
            let seconds = self.now.saturating_duration_since(since).as_secs();
            let what =
                if is_cancelled { "cancelling".to_owned() } else { format!("working · {seconds}s · Esc cancels") };
            lines.push(self.spinner(&what).cut(width));
        }
        for text in session.queued().take(QUEUED) {
            let text = cut_end(&one_line(text), width.saturating_sub(10)).into_owned();
            lines.push(Line::styled("  queued  ", WARN).with(text, DIM));
        }
        if session.queued().len() > QUEUED {
            lines.push(Line::styled(format!("  … {} more", session.queued().len() - QUEUED), DIM));
        }
        lines
    }

    fn spinner(&self, what: &str) -> Line {
        let frame = self.now.saturating_duration_since(self.begun).as_millis() / 100;
        let at = usize::try_from(frame).unwrap_or(0) % SPINNER.len();
        Line::styled(SPINNER[at], ACCENT).with(format!(" {what}"), DIM)
    }

    fn input(&self) -> Part {
        let layout = self.input.layout(self.input_width());
        let rows: Vec<&str> = self.input.rows(&layout).collect();
        let (row, column) = layout.cursor;
        let first = (row + 1).saturating_sub(INPUT_ROWS);
        let line = |(number, text): (usize, &&str)| {
            let mark = if number == 0 { "❯ " } else { "  " };
            Line::styled(mark, ACCENT_BOLD).with(shown(text), Style::new())
        };
        let mut lines: Vec<Line> = rows.iter().enumerate().skip(first).take(INPUT_ROWS).map(line).collect();
        if self.input.is_empty() {
            let is_running = self.session.as_ref().is_some_and(Session::is_running);
            let hint = if is_running { "say what comes next" } else { "say something" };
            lines = vec![Line::styled("❯ ", ACCENT_BOLD).with(hint, DIM)];
        }
        Part { lines, cursor: Some((row - first, column + 2)) }
    }

    fn below_input(&self, height: usize) -> Vec<Line> {
        let width = self.size.width;
        let commands = self.commands();
        let fitting = self.completion.fitting(&self.input, &commands);
        if !fitting.is_empty() {
            return self.completion.lines(&fitting, width, height);
        }
        vec![self.status()]
    }

    /// The line at the bottom: what is in force on the left, what can be done on the right.
    fn status(&self) -> Line {
        let width = self.size.width;
        if self.quits_until.is_some() {
            return Line::styled("  Ctrl-C again quits", WARN).cut(width);
        }
        let Some(session) = &self.session else { return Line::blank() };
        let mut parts: Vec<(String, Style)> = Vec::new();
        parts.extend(session.choices.mode().map(|mode| (one_line(&mode.current_name()), BOLD)));
        parts.extend(session.choices.model().map(Choice::current_name).map(|name| (one_line(&name), DIM)));
        if let Some(usage) = &session.usage {
            let percent = usage.used.saturating_mul(100).checked_div(usage.size);
            parts.extend(percent.map(|percent| (format!("{percent}% of context"), DIM)));
            parts.extend(
                usage.cost.as_ref().map(|(amount, currency)| (format!("{amount:.2} {}", one_line(currency)), DIM)),
            );
        }
        parts.extend(session.title.as_ref().map(|title| (one_line(title), DIM)));
        let mut line = Line::plain("  ");
        for (at, (text, style)) in parts.into_iter().enumerate() {
            line.push(if at == 0 { "" } else { " · " }, DIM);
            line.push(text, style);
        }
        let keys = "? keys";
        let room = width.saturating_sub(columns(keys) + 2);
        let line = line.cut(room);
        let blanks = " ".repeat(room.saturating_sub(line.width()) + 1);
        line.with(blanks, Style::new()).with(keys, DIM).cut(width)
    }
}

/// The list of keys.
pub(super) fn key_lines(width: usize) -> Vec<Line> {
    let widest = BINDINGS.iter().map(|binding| columns(binding.keys)).max().unwrap_or(0) + 4;
    let lines = BINDINGS.iter().flat_map(|binding| {
        let keys = format!("  {:<1$}", binding.keys, widest - 2);
        let (keys, margin) = (Line::styled(keys, ACCENT), Line::plain(" ".repeat(widest)));
        wrap(&Line::plain(binding.does), width, Break::Words, &keys, &margin)
    });
    lines.collect()
}
