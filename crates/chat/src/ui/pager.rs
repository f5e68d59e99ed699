//! A full-screen pager for the whole conversation and the list of keys.

use crossterm::event::KeyEvent;

use super::keys::{Action, action, letter};
use crate::render::line::Line;
use crate::render::screen::Size;
use crate::render::theme::DIM;

/// What the pager shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PagerContent {
    /// The whole conversation.
    Conversation,
    /// The list of keys.
    Keys,
}

/// The lines and the scroll position.
#[derive(Debug)]
pub(crate) struct Pager {
    about: PagerContent,
    lines: Vec<Line>,
    /// The first line that is shown.
    top: usize,
}

/// Whether the pager stays open after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PagerState {
    Open,
    Closed,
}

impl Pager {
    /// Shows `lines`: a conversation from its end, a list from its beginning.
    pub(crate) fn new(about: PagerContent, lines: Vec<Line>, size: Size) -> Self {
        let top = match about {
            PagerContent::Conversation => lines.len().saturating_sub(body(size)),
            PagerContent::Keys => 0,
        };
        Self { about, lines, top }
    }

    pub(crate) fn about(&self) -> PagerContent {
        self.about
    }

    pub(crate) fn key(&mut self, key: KeyEvent, size: Size) -> PagerState {
        let (page, last) = (body(size), self.lines.len().saturating_sub(body(size)));
        let to = match (action(key), letter(key)) {
            (Some(Action::Cancel | Action::Details | Action::Leave | Action::Interrupt), _)
            | (None, Some('q' | '?')) => {
                return PagerState::Closed;
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
        PagerState::Open
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
        let mut details = Pager::new(
            PagerContent::Conversation,
            (1..=10).map(|number| Line::plain(number.to_string())).collect(),
            size,
        );
        let mut first_after = |code| {
            let reading = details.key(KeyEvent::new(code, KeyModifiers::NONE), size);
            (reading, details.screen(size, None)[0].text())
        };
        assert_eq!(first_after(KeyCode::Down), (PagerState::Open, "8".to_owned()));
        assert_eq!(first_after(KeyCode::PageUp), (PagerState::Open, "5".to_owned()));
        assert_eq!(first_after(KeyCode::Char('g')), (PagerState::Open, "1".to_owned()));
        assert_eq!(first_after(KeyCode::Up), (PagerState::Open, "1".to_owned()));
        assert_eq!(first_after(KeyCode::Char('q')).0, PagerState::Closed);
        assert_eq!(
            details.screen(size, Some("a question waits")).last().unwrap().text(),
            "↑ ↓ PageUp PageDown g G · q closes · a…"
        );
    }
}
