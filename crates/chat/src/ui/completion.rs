//! Slash commands, completed while they are typed.

use super::input::{Input, Vertical};
use super::menu::{list_lines, row_after, row_before};
use crate::protocol::Command;
use crate::render::line::Line;
use crate::text::one_line;

/// How many are shown at once.
const ROWS: usize = 8;

/// Which of the commands that fit is marked.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    selected: usize,
    /// Whether the user does not want to see them for what is typed now.
    is_closed: bool,
}

impl Completion {
    /// Something else is typed.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The commands among `commands` that `input` may become; none if it is no command, or complete.
    pub(crate) fn fitting<'a>(&self, input: &Input, commands: &'a [Command]) -> Vec<&'a Command> {
        let Some(begun) = begun(input).filter(|_| !self.is_closed) else { return Vec::new() };
        let begun = begun.to_lowercase();
        let fits = |command: &&Command| command.name.to_lowercase().starts_with(&begun);
        commands.iter().filter(fits).collect()
    }

    /// The one that is marked among `fitting`.
    pub(crate) fn marked<'a>(&self, fitting: &[&'a Command]) -> Option<&'a Command> {
        fitting.get(self.selected).copied()
    }

    /// Moves the mark up or down among `n_fitting`.
    pub(crate) fn go(&mut self, way: Vertical, n_fitting: usize) {
        self.selected = match way {
            Vertical::Up => row_before(self.selected, n_fitting),
            Vertical::Down => row_after(self.selected, n_fitting),
        };
    }

    /// The lines of `fitting`.
    pub(crate) fn lines(&self, fitting: &[&Command], width: usize, height: usize) -> Vec<Line> {
        let rows: Vec<(String, String)> =
            fitting.iter().map(|command| (format!("/{}", command.name), one_line(&command.description))).collect();
        let rows: Vec<(&str, &str)> = rows.iter().map(|(label, note)| (label.as_str(), note.as_str())).collect();
        list_lines(&rows, self.selected, width, height.min(ROWS))
    }
}

/// The beginning of a command that is typed, without its slash.
fn begun(input: &Input) -> Option<&str> {
    let name = input.text().strip_prefix('/')?;
    (!name.contains(char::is_whitespace)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Vec<Command> {
        let command = |name: &str| Command { name: name.to_owned(), description: String::new(), input: None };
        ["mode", "model", "help"].map(command).into()
    }

    fn fitting(typed: &str) -> Vec<String> {
        let mut input = Input::default();
        input.set(typed);
        let commands = commands();
        Completion::default().fitting(&input, &commands).into_iter().map(|it| it.name.clone()).collect()
    }

    #[test]
    fn commands_fit_by_their_beginning() {
        assert_eq!(fitting("/"), ["mode", "model", "help"]);
        assert_eq!(fitting("/MO"), ["mode", "model"]);
        assert!(fitting("/mode x").is_empty() && fitting("say /mo").is_empty() && fitting("/usr/bin").is_empty());
    }

    #[test]
    fn the_mark_comes_round() {
        let (commands, mut completion) = (commands(), Completion::default());
        let all: Vec<&Command> = commands.iter().collect();
        completion.go(Vertical::Up, all.len());
        assert_eq!(completion.marked(&all).map(|it| it.name.as_str()), Some("help"));
        completion.go(Vertical::Down, all.len());
        assert_eq!(completion.marked(&all).map(|it| it.name.as_str()), Some("mode"));
    }
}
