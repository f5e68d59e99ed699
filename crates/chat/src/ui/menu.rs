//! A list to choose from: moved in with the arrows, narrowed by typing.

use anstyle::Style;
use crossterm::event::KeyEvent;

use super::keys::{Action, action, letter};
use crate::render::line::Line;
use crate::render::theme::{ACCENT_BOLD, BOLD, DIM};
use crate::text::{columns, cut_end};

/// How far a page goes.
const PAGE: usize = 8;

/// A list to choose from.
#[derive(Debug, Clone)]
pub(crate) struct Menu<T> {
    pub(crate) title: String,
    pub(crate) rows: Vec<MenuRow<T>>,
    /// What was typed: only rows that hold all of its words are shown.
    filter: String,
    /// Which of the shown rows is marked.
    selected: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct MenuRow<T> {
    pub(crate) label: String,
    /// What is said behind the label.
    pub(crate) note: String,
    pub(crate) value: T,
}

/// What became of a key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picked<T> {
    /// This was chosen.
    Chosen(T),
    /// The menu is to be closed.
    Closed,
    /// It stays open.
    Open,
}

impl<T: Clone> Menu<T> {
    /// A menu with the row `selected` marked.
    pub(crate) fn new(title: impl Into<String>, rows: Vec<MenuRow<T>>, selected: usize) -> Self {
        Self { title: title.into(), rows, filter: String::new(), selected }
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Picked<T> {
        let n_rows = self.shown().count();
        match (action(key), letter(key)) {
            (Some(Action::Up), _) => self.selected = row_before(self.selected, n_rows),
            (Some(Action::Down | Action::Complete), _) => self.selected = row_after(self.selected, n_rows),
            (Some(Action::PageUp), _) => self.selected = self.selected.saturating_sub(PAGE),
            (Some(Action::PageDown), _) => self.selected = (self.selected + PAGE).min(n_rows.saturating_sub(1)),
            (Some(Action::LineStart), _) => self.selected = 0,
            (Some(Action::LineEnd), _) => self.selected = n_rows.saturating_sub(1),
            (Some(Action::Send), _) => {
                return self.shown().nth(self.selected).map_or(Picked::Open, |row| Picked::Chosen(row.value.clone()));
            }
            (Some(Action::Cancel), _) if self.filter.is_empty() => return Picked::Closed,
            (Some(Action::Cancel), _) => self.narrow(String::new()),
            (Some(Action::DeleteBack), _) => {
                let mut filter = self.filter.clone();
                filter.pop();
                self.narrow(filter);
            }
            (None, Some(letter)) => self.narrow(format!("{}{letter}", self.filter)),
            _ => {}
        }
        Picked::Open
    }

    /// Whether the last row is marked, so that more of them may be wanted.
    pub(crate) fn is_at_end(&self) -> bool {
        self.selected + 1 >= self.shown().count()
    }

    /// Its lines: at most `height`, none wider than `width`.
    pub(crate) fn lines(&self, width: usize, height: usize) -> Vec<Line> {
        let mut head = Line::styled(&self.title, BOLD);
        if !self.filter.is_empty() {
            head.push(format!("  {}", self.filter), ACCENT_BOLD);
        }
        let rows: Vec<(&str, &str)> = self.shown().map(|row| (row.label.as_str(), row.note.as_str())).collect();
        let mut lines = vec![head.cut(width)];
        if rows.is_empty() {
            lines.push(Line::styled("  nothing fits", DIM));
        }
        lines.extend(list_lines(&rows, self.selected, width, height.saturating_sub(1)));
        lines
    }

    fn narrow(&mut self, filter: String) {
        self.filter = filter;
        self.selected = 0;
    }

    fn shown(&self) -> impl Iterator<Item = &MenuRow<T>> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        self.rows.iter().filter(move |row| {
            let text = format!("{} {}", row.label, row.note).to_lowercase();
            words.iter().all(|word| text.contains(word))
        })
    }
}

/// The row before the row `at` of `n_rows`, and the last before the first.
pub(crate) fn row_before(at: usize, n_rows: usize) -> usize {
    at.checked_sub(1).unwrap_or(n_rows.saturating_sub(1))
}

/// The row behind the row `at` of `n_rows`, and the first behind the last.
pub(crate) fn row_after(at: usize, n_rows: usize) -> usize {
    if at + 1 < n_rows { at + 1 } else { 0 }
}

/// The lines of `rows`, each a label and a note, around the one that is `selected`.
pub(crate) fn list_lines(rows: &[(&str, &str)], selected: usize, width: usize, height: usize) -> Vec<Line> {
    let first = (selected + 1).saturating_sub(height.max(1)).min(rows.len());
    let end = (first + height).min(rows.len());
    let widest = |part: fn(&(&str, &str)) -> usize| rows[first..end].iter().map(part).max().unwrap_or(0);
    let (labels, notes) = (widest(|(label, _)| columns(label)), widest(|(_, note)| columns(note)));
    // The mark stands before them. Notes take no more than half of the room from labels that need it.
    let room = width.saturating_sub(2);
    let label_width = labels.min(room.saturating_sub(notes + 2).max(room / 2));
    let line = |(row, (label, note)): (usize, &(&str, &str))| {
        let label = cut_end(label, label_width);
        let blanks = " ".repeat(label_width.saturating_sub(columns(&label)) + 2);
        let (mark, style) = if row == selected { ("❯ ", ACCENT_BOLD) } else { ("  ", Style::new()) };
        let mut line = Line::styled(mark, style).with(label, style);
        if !note.is_empty() {
            line = line.with(blanks, Style::new()).with(*note, DIM);
        }
        line.cut(width)
    };
    rows.iter().enumerate().skip(first).take(end - first).map(line).collect()
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    fn menu() -> Menu<usize> {
        let row = |(value, (label, note)): (usize, (&str, &str))| MenuRow {
            label: label.to_owned(),
            note: note.to_owned(),
            value,
        };
        let rows = [("Ask", "asks first"), ("Code", "does all"), ("Architect", "only reads")];
        Menu::new("Mode", rows.into_iter().enumerate().map(row).collect(), 1)
    }

    fn press(menu: &mut Menu<usize>, codes: &[KeyCode]) -> Picked<usize> {
        codes.iter().fold(Picked::Open, |_, code| menu.key(KeyEvent::new(*code, KeyModifiers::NONE)))
    }

    fn shown(menu: &Menu<usize>, height: usize) -> String {
        menu.lines(40, height).iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_marked_row_is_chosen() {
        let mut menu = menu();
        insta::assert_snapshot!(shown(&menu, 10), @"
        Mode
          Ask        asks first
        ❯ Code       does all
          Architect  only reads
        ");
        assert_eq!(press(&mut menu, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]), Picked::Chosen(0));
        assert_eq!(press(&mut menu, &[KeyCode::Up, KeyCode::Enter]), Picked::Chosen(2));
        assert_eq!(press(&mut menu, &[KeyCode::Esc]), Picked::Closed);
    }

    #[test]
    fn typing_narrows_the_list() {
        let mut menu = menu();
        press(&mut menu, &[KeyCode::Char('R'), KeyCode::Char('e'), KeyCode::Char('a')]);
        insta::assert_snapshot!(shown(&menu, 10), @"
        Mode  Rea
        ❯ Architect  only reads
        ");
        assert_eq!(press(&mut menu, &[KeyCode::Enter]), Picked::Chosen(2));
        assert_eq!(press(&mut menu, &[KeyCode::Char('x'), KeyCode::Enter]), Picked::Open);
        assert_eq!(press(&mut menu, &[KeyCode::Esc, KeyCode::Enter]), Picked::Chosen(0));
    }

    #[test]
    fn a_long_list_shows_what_is_around_the_mark() {
        let mut menu = menu();
        press(&mut menu, &[KeyCode::Down]);
        insta::assert_snapshot!(shown(&menu, 3), @"
        Mode
          Code       does all
        ❯ Architect  only reads
        ");
    }
}
