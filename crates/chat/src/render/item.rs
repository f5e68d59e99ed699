//! The things that a conversation is made of, as lines.

use anstyle::Style;

use super::line::Line;
use super::markdown::{code, markdown};
use super::plan::plan_lines;
use super::splitter::Piece;
use super::theme::{ACCENT_BOLD, BAD, BOLD, DIM, THOUGHT, WARN};
use super::tool_call::tool_call_lines;
use super::wrap::{Break, wrap, wrap_words};
use super::{Detail, RenderContext};
use crate::protocol::{Failure, PlanEntry, Severity, ToolCall};
use crate::text::{boundary, cut_end, cut_start, one_line, shown};

/// How many lines of a user's message are shown folded.
const FOLDED: usize = 12;

/// One thing that stands in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    /// What the user said.
    User(String),
    /// A piece of what the agent said.
    Said(Piece),
    /// What the agent thought.
    Thought(String),
    ToolCall(ToolCall),
    /// A plan, as it was at the end of its turn.
    Plan(Vec<PlanEntry>),
    Notice {
        severity: Severity,
        title: String,
        description: Option<String>,
    },
    Failure(Failure),
    /// Something said beside the conversation.
    Remark(String),
    /// How the chat greets.
    Greeting {
        name: String,
        about: String,
    },
}

impl Item {
    /// Its lines, none wider than the look.
    pub(crate) fn lines(&self, look: RenderContext<'_>) -> Vec<Line> {
        match self {
            Self::User(text) => user(text, look),
            Self::Said(Piece::Prose(text)) => markdown(text, look.width),
            Self::Said(Piece::Code { begins, text }) => code(text, begins.as_deref(), look.width),
            Self::Thought(text) => thought(text, look),
            Self::ToolCall(call) => tool_call_lines(call, look),
            Self::Plan(plan) => plan_lines(plan, look.width),
            Self::Notice { severity, title, description } => notice(*severity, title, description.as_deref(), look),
            Self::Failure(failure) => failure_lines(failure, look),
            Self::Remark(text) => wrap_words(&Line::styled(one_line(text), DIM), look.width),
            Self::Greeting { name, about } => {
                wrap_words(&Line::styled(name, ACCENT_BOLD).with(format!(" {about}"), DIM), look.width)
            }
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::ToolCall(_) | Self::Thought(_) => Kind::Work,
            Self::Greeting { .. } | Self::Remark(_) => Kind::Aside,
            Self::Said(Piece::Code { begins: None, .. }) => Kind::MoreCode,
            Self::User(_) | Self::Said(_) | Self::Plan(_) | Self::Notice { .. } | Self::Failure(_) => Kind::Alone,
        }
    }

    /// How many bytes it takes, about.
    pub(crate) fn size(&self) -> usize {
        const OVERHEAD: usize = 64;
        OVERHEAD
            + match self {
                Self::User(text)
                | Self::Thought(text)
                | Self::Remark(text)
                | Self::Said(Piece::Prose(text) | Piece::Code { text, .. }) => text.len(),
                Self::ToolCall(call) => call.size(),
                Self::Plan(plan) => plan.iter().map(|entry| entry.content.len()).sum(),
                Self::Notice { title, description, .. } => title.len() + description.as_ref().map_or(0, String::len),
                Self::Failure(failure) => failure.message.len(),
                Self::Greeting { name, about } => name.len() + about.len(),
            }
    }
}

/// How a thing stands among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With a line before it.
    Alone,
    /// Right under others of its kind.
    Work,
    Aside,
    /// Right under whatever is there.
    MoreCode,
}

impl Kind {
    fn joins(self, previous: Self) -> bool {
        match self {
            Self::Alone => false,
            Self::Work | Self::Aside => previous == self,
            Self::MoreCode => true,
        }
    }
}

/// The lines of things that follow each other.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub(crate) lines: Vec<Line>,
    previous: Option<Kind>,
}

impl Column {
    /// A column below a thing of the kind `previous`.
    pub(crate) fn below(previous: Option<Kind>) -> Self {
        Self { lines: Vec::new(), previous }
    }

    /// Puts the lines of a thing below all others.
    pub(crate) fn put(&mut self, kind: Kind, lines: Vec<Line>) {
        if lines.is_empty() {
            return;
        }
        if self.previous.is_some_and(|previous| !kind.joins(previous)) {
            self.lines.push(Line::blank());
        }
        self.lines.extend(lines);
        self.previous = Some(kind);
    }

    /// The same with `items` below.
    pub(crate) fn with<'a>(mut self, items: impl IntoIterator<Item = &'a Item>, look: RenderContext<'_>) -> Self {
        for item in items {
            self.put(item.kind(), item.lines(look));
        }
        self
    }
}

fn user(text: &str, look: RenderContext<'_>) -> Vec<Line> {
    let (mark, margin) = (Line::styled("❯ ", ACCENT_BOLD), Line::plain("  "));
    let text = shown(text);
    let text: Vec<&str> = text.trim_end().lines().collect();
    let n_shown = if look.detail == Detail::Full { text.len() } else { text.len().min(FOLDED) };
    let line = |(number, line): (usize, &&str)| {
        let before = if number == 0 { &mark } else { &margin };
        wrap(&Line::styled(*line, BOLD), look.width, Break::Words, before, &margin)
    };
    let mut lines: Vec<Line> = text[..n_shown].iter().enumerate().flat_map(line).collect();
    if n_shown < text.len() {
        let more = format!("… {} more lines · Ctrl-T shows all", text.len() - n_shown);
        lines.push(Line::styled(more, DIM).behind(&margin).cut(look.width));
    }
    lines
}

fn thought(text: &str, look: RenderContext<'_>) -> Vec<Line> {
    let mark = Line::styled("✻ ", DIM);
    match look.detail {
        Detail::Folded => {
            let room = look.width.saturating_sub(mark.width());
            vec![Line::styled(cut_end(&one_line(text), room), THOUGHT).behind(&mark)]
        }
        Detail::Full => {
            let text = shown(text);
            let lines = text.trim().lines().enumerate().flat_map(|(number, line)| {
                let before = if number == 0 { mark.clone() } else { Line::plain("  ") };
                wrap(&Line::styled(line, THOUGHT), look.width, Break::Words, &before, &Line::plain("  "))
            });
            lines.collect()
        }
    }
}

/// The line of a thought that still goes on: its end.
pub(crate) fn open_thought(text: &str, width: usize) -> Line {
    // However long it is, no more of it can be seen.
    let text = one_line(&text[boundary(text, text.len().saturating_sub(width * 8))..]);
    let mark = Line::styled("✻ ", DIM);
    let room = width.saturating_sub(mark.width());
    Line::styled(cut_start(&text, room), THOUGHT).behind(&mark)
}

fn notice(severity: Severity, title: &str, description: Option<&str>, look: RenderContext<'_>) -> Vec<Line> {
    let style = match severity {
        Severity::Info => DIM,
        Severity::Warning => WARN,
        Severity::Error => BAD,
    };
    let mut line = Line::styled(one_line(title), style);
    if let Some(description) = description.filter(|text| !text.trim().is_empty()) {
        line.push(format!(" — {}", one_line(description)), DIM);
    }
    wrap(&line, look.width, Break::Words, &Line::styled("! ", style), &Line::plain("  "))
}

fn failure_lines(failure: &Failure, look: RenderContext<'_>) -> Vec<Line> {
    let message = shown(&failure.message);
    let message = message.trim_end().lines().enumerate().flat_map(|(number, line)| {
        let before = if number == 0 { Line::styled("✗ ", BAD) } else { Line::plain("  ") };
        wrap(&Line::styled(line, Style::new()), look.width, Break::Words, &before, &Line::plain("  "))
    });
    let hint = failure.hint.iter().flat_map(|hint| {
        let hint = Line::styled(format!("hint: {}", one_line(hint)), DIM);
        wrap(&hint, look.width, Break::Words, &Line::plain("  "), &Line::plain("  "))
    });
    message.chain(hint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{FailureKind, PlanStatus};

    fn look(detail: Detail) -> RenderContext<'static> {
        RenderContext { width: 40, detail, cwd: "/src/app" }
    }

    fn all() -> Vec<Item> {
        let entry = |content: &str, status| PlanEntry { content: content.to_owned(), status };
        vec![
            Item::Greeting { name: "rejoin".to_owned(), about: "in ~/garden".to_owned() },
            Item::Remark("a new session".to_owned()),
            Item::User("Paint the fence\nin green, and make it quick, it will rain".to_owned()),
            Item::Thought("Green is a colour. The fence\nhas none yet, so it can be painted.".to_owned()),
            Item::Said(Piece::Prose("I *will*:\n\n".to_owned())),
            Item::Said(Piece::Code { begins: Some("sh".to_owned()), text: "paint\n".to_owned() }),
            Item::Said(Piece::Code { begins: None, text: "dry\n".to_owned() }),
            Item::Plan(vec![
                entry("buy", PlanStatus::Completed),
                entry("paint all of the long fence behind the house", PlanStatus::InProgress),
                entry("rest", PlanStatus::Pending),
            ]),
            Item::Notice {
                severity: Severity::Warning,
                title: "It rains".to_owned(),
                description: Some("The paint will not hold.".to_owned()),
            },
            Item::Failure(Failure {
                message: "the agent is gone".to_owned(),
                hint: Some("say it again".to_owned()),
                kind: FailureKind::Agent,
            }),
        ]
    }

    fn shown(items: &[Item], detail: Detail) -> String {
        let lines = Column::default().with(items, look(detail)).lines;
        assert!(lines.iter().all(|line| line.width() <= 40), "{lines:#?}");
        lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_conversation_is_easy_to_follow() {
        insta::assert_snapshot!(shown(&all(), Detail::Folded), @"
        rejoin in ~/garden
        a new session

        ❯ Paint the fence
          in green, and make it quick, it will
          rain

        ✻ Green is a colour. The fence has none…

        I will:

        ╭ sh
        │ paint
        │ dry

        Plan 1/3
        ✓ buy
        ▸ paint all of the long fence behind the
          house
        ☐ rest

        ! It rains — The paint will not hold.

        ✗ the agent is gone
          hint: say it again
        ");
    }

    #[test]
    fn thoughts_unfold() {
        insta::assert_snapshot!(shown(&all()[3..4], Detail::Full), @"
        ✻ Green is a colour. The fence
          has none yet, so it can be painted.
        ");
    }

    #[test]
    fn a_long_message_of_the_user_is_folded() {
        let text = "line\n".repeat(30);
        let lines = |detail| shown(&[Item::User(text.clone())], detail).lines().count();
        assert_eq!((lines(Detail::Folded), lines(Detail::Full)), (FOLDED + 1, 30));
    }

    #[test]
    fn a_thought_that_goes_on_shows_its_end() {
        assert_eq!(open_thought("first I look\nat the fence", 16).text(), "✻ … at the fence");
    }
}
