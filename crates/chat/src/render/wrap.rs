//! Lines that are no wider than the terminal: broken where Unicode allows it, measured by the columns they take.

use std::ops::Range;

use unicode_linebreak::linebreaks;

use super::line::Line;
use crate::text::{columns, fitting_bytes};

/// Where a line may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// Between words, and inside those that are too long.
    Words,
    /// Anywhere, with every blank kept: for code.
    Anywhere,
}

/// Breaks `line` into lines of at most `width` columns, the first behind `first`, the others behind `rest`.
pub(crate) fn wrap(line: &Line, width: usize, how: Break, first: &Line, rest: &Line) -> Vec<Line> {
    let text = line.text();
    let room = width.saturating_sub(first.width().max(rest.width())).max(1);
    let ranges = ranges(&text, room, how).into_iter().enumerate();
    ranges.map(|(row, range)| slice(line, &range).behind(if row == 0 { first } else { rest })).collect()
}

/// Breaks `line` between words.
pub(crate) fn wrap_words(line: &Line, width: usize) -> Vec<Line> {
    wrap(line, width, Break::Words, &Line::blank(), &Line::blank())
}

/// The rows of `text`, each of at most `width` columns. A grapheme that is wider gets a row of its own.
pub(crate) fn ranges(text: &str, width: usize, how: Break) -> Vec<Range<usize>> {
    match how {
        Break::Words => between_words(text, width),
        Break::Anywhere => anywhere(text, 0..text.len(), width),
    }
}

fn between_words(text: &str, width: usize) -> Vec<Range<usize>> {
    let fits = |range: Range<usize>| columns(text[range].trim_end()) <= width;
    let (mut rows, mut start, mut end) = (Vec::new(), 0, 0);
    for (at, _) in linebreaks(text) {
        if fits(start..at) {
            end = at;
            continue;
        }
        if end > start {
            rows.push(start..end);
            start = end;
        }
        if !fits(start..at) {
            let word_end = start + text[start..at].trim_end().len();
            let mut parts = anywhere(text, start..word_end, width);
            // More may follow behind the last part.
            start = parts.pop().map_or(at, |last| last.start);
            rows.extend(parts);
        }
        end = at;
    }
    rows.push(start..text.len());
    rows.into_iter().map(|row| row.start..row.start + text[row].trim_end().len()).collect()
}

fn anywhere(text: &str, range: Range<usize>, width: usize) -> Vec<Range<usize>> {
    let (mut rows, mut start) = (Vec::new(), range.start);
    while columns(&text[start..range.end]) > width {
        let fitting = fitting_bytes(&text[start..range.end], width);
        let first = || text[start..].chars().next().map_or(1, char::len_utf8);
        let end = start + if fitting == 0 { first() } else { fitting };
        rows.push(start..end);
        start = end;
    }
    if rows.is_empty() || start < range.end {
        rows.push(start..range.end);
    }
    rows
}

/// The part of `line` whose bytes are in `range`.
fn slice(line: &Line, range: &Range<usize>) -> Line {
    let (mut part, mut at) = (Line::blank(), 0);
    for span in &line.spans {
        let end = at + span.text.len();
        let (from, to) = (range.start.max(at), range.end.min(end));
        if from < to {
            part.push(&span.text[from - at..to - at], span.style);
        }
        at = end;
    }
    part
}

#[cfg(test)]
mod tests {
    use anstyle::Style;

    use super::*;

    fn check(text: &str, width: usize, how: Break, expected: &[&str]) {
        let rows: Vec<&str> = ranges(text, width, how).into_iter().map(|row| &text[row]).collect();
        assert_eq!(rows, expected, "{text:?} in {width}");
    }

    #[test]
    fn lines_break_between_words_and_lose_the_blank_there() {
        check("", 5, Break::Words, &[""]);
        check("one two  three", 9, Break::Words, &["one two", "three"]);
        check("  indented text", 10, Break::Words, &["  indented", "text"]);
        check("one two three", 7, Break::Words, &["one two", "three"]);
        check("a b", 1, Break::Words, &["a", "b"]);
    }

    #[test]
    fn words_that_are_too_long_break_inside() {
        check("abcdefgh ij", 4, Break::Words, &["abcd", "efgh", "ij"]);
        check("x abcdefghi j", 4, Break::Words, &["x", "abcd", "efgh", "i j"]);
    }

    #[test]
    fn wide_characters_count_twice_and_break_anywhere() {
        check("東京都庁に行く", 6, Break::Words, &["東京都", "庁に行", "く"]);
        check("東", 1, Break::Words, &["東"]);
        check("👨‍👩‍👧👨‍👩‍👧 x", 4, Break::Words, &["👨‍👩‍👧👨‍👩‍👧", "x"]);
    }

    #[test]
    fn code_keeps_its_blanks() {
        check("  a  b  c ", 4, Break::Anywhere, &["  a ", " b  ", "c "]);
    }

    #[test]
    fn styles_stay_with_their_text() {
        let bold = Style::new().bold();
        let line = Line::plain("one ").with("two three", bold);
        let rows = wrap(&line, 9, Break::Words, &Line::plain("- "), &Line::plain("  "));
        let expected = [Line::plain("- one ").with("two", bold), Line::plain("  ").with("three", bold)];
        assert_eq!(rows, expected);
    }
}
