//! The input line: text of one or more lines, and a cursor in it that stands between graphemes.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::render::wrap::{Break, ranges};
use crate::text::{columns, fitting_bytes};

/// What is being typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Input {
    text: String,
    /// In bytes.
    cursor: usize,
}

/// How the text stands in rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Where each row begins, in bytes.
    starts: Vec<usize>,
    /// The row and the column of the cursor.
    pub(crate) cursor: (usize, usize),
}

/// A way for the cursor to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Motion {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

/// A way up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vertical {
    Up,
    Down,
}

impl Input {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// What stands before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Replaces all of it, with the cursor at the end.
    pub(crate) fn set(&mut self, text: impl Into<String>) {
        self.text = text.into();
        self.cursor = self.text.len();
    }

    /// Takes all of it out.
    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    /// Writes `text` at the cursor; line breaks of any kind become ours.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
        // What was written may have become one with what follows.
        let mut graphemes = GraphemeCursor::new(self.cursor, self.text.len(), true);
        if graphemes.is_boundary(&self.text, 0) == Ok(false) {
            self.cursor = graphemes.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len());
        }
    }

    /// Moves the cursor.
    pub(crate) fn go(&mut self, motion: Motion) {
        self.cursor = self.target(motion);
    }

    /// Deletes what is between the cursor and where `motion` leads.
    pub(crate) fn delete(&mut self, motion: Motion) {
        let target = self.target(motion);
        let (from, to) = (target.min(self.cursor), target.max(self.cursor));
        self.text.drain(from..to);
        self.cursor = from;
    }

    /// Moves the cursor to another row of a text that is `width` columns wide. Says whether there is one.
    pub(crate) fn go_to_row(&mut self, way: Vertical, width: usize) -> bool {
        let Layout { starts, cursor: (row, column) } = self.layout(width);
        let target = match way {
            Vertical::Up => row.checked_sub(1),
            Vertical::Down => Some(row + 1).filter(|row| *row < starts.len()),
        };
        let Some(target) = target else { return false };
        let row = self.row_of(&starts, target);
        self.cursor = starts[target] + fitting_bytes(row, column);
        true
    }

    /// How it stands in rows of `width` columns.
    pub(crate) fn layout(&self, width: usize) -> Layout {
        let (mut starts, mut at) = (Vec::new(), 0);
        for line in self.text.split('\n') {
            starts.extend(ranges(line, width.max(1), Break::Words).into_iter().map(|row| at + row.start));
            at += line.len() + 1;
        }
        let row = starts.iter().rposition(|start| *start <= self.cursor).unwrap_or(0);
        let column = columns(&self.text[starts[row]..self.cursor]).min(width);
        Layout { starts, cursor: (row, column) }
    }

    /// The texts of the rows of `layout`.
    pub(crate) fn rows<'a>(&'a self, layout: &'a Layout) -> impl Iterator<Item = &'a str> {
        (0..layout.starts.len()).map(|row| self.row_of(&layout.starts, row))
    }

    fn row_of(&self, starts: &[usize], row: usize) -> &str {
        let end = starts.get(row + 1).copied().unwrap_or(self.text.len());
        self.text[starts[row]..end].trim_end_matches('\n')
    }

    fn target(&self, motion: Motion) -> usize {
        let (before, after) = self.text.split_at(self.cursor);
        match motion {
            Motion::Left => self.cursor - before.graphemes(true).next_back().map_or(0, str::len),
            Motion::Right => self.cursor + after.graphemes(true).next().map_or(0, str::len),
            Motion::WordLeft => {
                let skipped = before.trim_end_matches(|c: char| !is_of_word(c));
                skipped.trim_end_matches(is_of_word).len()
            }
            Motion::WordRight => {
                let skipped = after.trim_start_matches(|c: char| !is_of_word(c));
                self.text.len() - skipped.trim_start_matches(is_of_word).len()
            }
            Motion::LineStart => before.rfind('\n').map_or(0, |at| at + 1),
            Motion::LineEnd => self.cursor + after.find('\n').unwrap_or(after.len()),
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input with the cursor where `text` has `|`.
    fn input(text: &str) -> Input {
        let cursor = text.find('|').unwrap();
        Input { text: text.replacen('|', "", 1), cursor }
    }

    fn shown(input: &Input) -> String {
        let (before, after) = input.text.split_at(input.cursor);
        format!("{before}|{after}")
    }

    fn check_motion(motion: Motion, from: &str, expected: &str) {
        let mut input = input(from);
        input.go(motion);
        assert_eq!(shown(&input), expected, "{motion:?}");
    }

    #[test]
    fn the_cursor_goes_by_graphemes_words_and_lines() {
        check_motion(Motion::Left, "a👨‍👩‍👧|b", "a|👨‍👩‍👧b");
        check_motion(Motion::Right, "a|e\u{301}b", "ae\u{301}|b");
        check_motion(Motion::Left, "|a", "|a");
        check_motion(Motion::WordLeft, "one two, |three", "one |two, three");
        check_motion(Motion::WordRight, "one| two, three", "one two|, three");
        check_motion(Motion::LineStart, "one\ntwo|", "one\n|two");
        check_motion(Motion::LineEnd, "o|ne\ntwo", "one|\ntwo");
    }

    #[test]
    fn what_is_deleted_is_what_the_cursor_would_pass() {
        let check = |motion, from: &str, expected: &str| {
            let mut input = input(from);
            input.delete(motion);
            assert_eq!(shown(&input), expected, "{motion:?}");
        };
        check(Motion::Left, "👍🏽|x", "|x");
        check(Motion::WordLeft, "one two|", "one |");
        check(Motion::LineEnd, "o|ne\ntwo", "o|\ntwo");
        check(Motion::LineStart, "one\ntw|o", "one\n|o");
    }

    #[test]
    fn pasted_text_keeps_its_lines() {
        let mut input = input("a|b");
        input.insert("1\r\n2\r3");
        assert_eq!(shown(&input), "a1\n2\n3|b");
    }

    #[test]
    fn a_mark_that_joins_a_letter_leaves_the_cursor_behind_both() {
        let mut input = input("e|x");
        input.insert("\u{301}");
        assert_eq!(shown(&input), "e\u{301}|x");
    }

    #[test]
    fn rows_break_between_words_and_the_cursor_is_in_one() {
        let input = input("one two |three\nfour");
        let layout = input.layout(8);
        assert_eq!(input.rows(&layout).collect::<Vec<_>>(), ["one two ", "three", "four"]);
        assert_eq!(layout.cursor, (1, 0));
        let blanks = self::input("ab   |");
        assert_eq!(blanks.layout(3).cursor, (0, 3));
    }

    #[test]
    fn up_and_down_keep_the_column_as_far_as_there_is_one() {
        let mut input = input("東京都\na\nlong|er");
        assert!(input.go_to_row(Vertical::Up, 20));
        assert_eq!(shown(&input), "東京都\na|\nlonger");
        assert!(input.go_to_row(Vertical::Up, 20));
        assert_eq!(shown(&input), "|東京都\na\nlonger");
        assert!(!input.go_to_row(Vertical::Up, 20));
    }
}
