//! Something long on a screen of its own, to be moved through.

use crossterm::event::KeyEvent;

use super::keys::{Action, action, letter};
use crate::look::line::Line;
use crate::look::screen::Size;
use crate::look::theme::DIM;

/// What is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// The whole conversation.
    Conversation,
    /// The list of keys.
    Keys,
}

/// Something long, and where in it we are.
#[derive(Debug)]
pub(crate) struct Details {
    about: About,
    lines: Vec<Line>,
    /// The first line that is shown.
    top: usize,
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Open,
    Closed,
}

impl Details {
    /// Shows `lines`: a conversation from its end, a list from its beginning.
    pub(crate) fn new(about: About, lines: Vec<Line>, size: Size) -> Self {
        let top = match about {
            About::Conversation => lines.len().saturating_sub(body(size)),
            About::Keys => 0,
        };
        Self { about, lines, top }
    }

    pub(crate) fn about(&self) -> About {
        self.about
    }

    pub(crate) fn key(&mut self, key: KeyEvent, size: Size) -> Reading {
        let (page, last) = (body(size), self.lines.len().saturating_sub(body(size)));
        let to = match (action(key), letter(key)) {
            (Some(Action::Cancel | Action::Details | Action::Leave | Action::Interrupt), _)
            | (None, Some('q' | '?')) => {
                return Reading::Closed;
            }
            (Some(Action::Up), _) | (None, Some('k')) => self.top.saturating_sub(1),
            (Some(Action::Down | Action::Send), _) | (None, Some('j')) => self.top + 1,
            (Some(Action::PageUp | Action::Left), _) | (None, Some('b')) => self.top.saturating_sub(page),
            (Some(Action::PageDown | Action::Right), _) | (None, Some(' ')) => self.top + page,
            (Some(Action::LineStart), _) | (None, Some('g')) => 0,
            (Some(Action::LineEnd), _) | (None, Some('G')) => last,
            _ => self.top,
        };
        self.top = to.min(last);
        Reading::Open
    }

    /// What fills the screen; `waiting` is said where something else wants the user.
    pub(crate) fn screen(&self, size: Size, waiting: Option<&str>) -> Vec<Line> {
        let height = body(size);
        let mut lines: Vec<Line> = self.lines.iter().skip(self.top).take(height).cloned().collect();
        lines.resize(height, Line::blank());
        let end = (self.top + height).min(self.lines.len());
        let keys = "↑ ↓ PageUp PageDown g G · q closes";
        let state = waiting.map_or_else(|| format!("{end} of {}", self.lines.len()), str::to_owned);
        lines.push(Line::styled(format!("{keys} · {state}"), DIM).cut(size.width));
        lines
    }
}

/// How many lines of the conversation fit.
fn body(size: Size) -> usize {
    size.height.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn keys_move_through_it_and_never_beyond() {
        let size = Size { width: 40, height: 4 };
        let mut details =
            Details::new(About::Conversation, (1..=10).map(|number| Line::plain(number.to_string())).collect(), size);
        let mut first_after = |code| {
            let reading = details.key(KeyEvent::new(code, KeyModifiers::NONE), size);
            (reading, details.screen(size, None)[0].text())
        };
        assert_eq!(first_after(KeyCode::Down), (Reading::Open, "8".to_owned()));
        assert_eq!(first_after(KeyCode::PageUp), (Reading::Open, "5".to_owned()));
        assert_eq!(first_after(KeyCode::Char('g')), (Reading::Open, "1".to_owned()));
        assert_eq!(first_after(KeyCode::Up), (Reading::Open, "1".to_owned()));
        assert_eq!(first_after(KeyCode::Char('q')).0, Reading::Closed);
        assert_eq!(
            details.screen(size, Some("a question waits")).last().unwrap().text(),
            "↑ ↓ PageUp PageDown g G · q closes · a…"
        );
    }
}
