//! Lines out of bytes.
//!
//! However the input is cut into pieces, the lines are the same. A line that is too long is skipped without being kept,
//! and takes nothing of the lines after it.

use std::mem;

/// As much is read at once, and as much memory is kept between lines.
pub(crate) const CHUNK: usize = 64 * 1024;

/// So much is kept of a line that is too long: its id is mostly in there.
const HEAD: usize = 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One line of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// A line without its line break. It is not blank, and holds no carriage return: JSON allows one only between
    /// tokens, where a space does as well.
    Whole(&'a [u8]),
    /// A line over the limit was left out.
    TooLong,
}

/// Splits what it is fed into lines.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    buffer: Vec<u8>,
    /// Everything before this was given out.
    start: usize,
    /// Between `start` and this, there is no line break.
    searched: usize,
    is_first: bool,
    is_skipping: bool,
    /// How the last line that was left out begins.
    left_out: Vec<u8>,
}

impl LineSplitter {
    /// Splits into lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        let left_out = Vec::new();
        Self { limit, buffer: Vec::new(), start: 0, searched: 0, is_first: true, is_skipping: false, left_out }
    }

    /// How the last line that was [too long](Line::TooLong) begins.
    pub(crate) fn left_out(&self) -> &[u8] {
        &self.left_out
    }

    /// Takes the next piece of the input.
    pub fn feed(&mut self, mut piece: &[u8]) {
        if self.is_skipping {
            let Some(at) = memchr::memchr(b'\n', piece) else { return };
            piece = &piece[at + 1..];
            self.is_skipping = false;
        }
        self.buffer.extend_from_slice(piece);
    }

    /// Gives the next line of what was fed; `None` if it takes more input.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        while let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            let end = self.searched + at;
            let start = mem::replace(&mut self.start, end + 1);
            self.searched = end + 1;
            let is_first = mem::take(&mut self.is_first);
            if end - start > self.limit {
                self.leave_out(start);
                return Some(Line::TooLong);
            }
            let (start, end) = tidy(&mut self.buffer, start, end, is_first);
            if start < end {
                return Some(Line::Whole(&self.buffer[start..end]));
            }
        }
        self.searched = self.buffer.len();
        if self.searched - self.start > self.limit {
            self.leave_out(self.start);
            self.start = self.searched;
            self.is_first = false;
            self.is_skipping = true;
            self.give_back();
            return Some(Line::TooLong);
        }
        self.give_back();
        None
    }

    /// Gives what is left when the input has ended: a last line without a line break.
    pub fn end(&mut self) -> Option<Line<'_>> {
        if self.is_skipping {
            return None;
        }
        self.buffer.push(b'\n');
        self.next_line()
    }

    /// Keeps how the line at `start` begins.
    fn leave_out(&mut self, start: usize) {
        let line = &self.buffer[start..];
        self.left_out = line[..line.len().min(HEAD).min(self.limit)].to_vec();
    }

    /// Drops what was given out, and the memory that a long line took.
    fn give_back(&mut self) {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.capacity() > 4 * CHUNK && self.buffer.len() <= CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
    }
}

/// Turns carriage returns into spaces, and gives the part between `start` and `end` that is not blank around it.
fn tidy(buffer: &mut [u8], mut start: usize, mut end: usize, is_first: bool) -> (usize, usize) {
    if is_first && buffer[start..end].starts_with(BYTE_ORDER_MARK) {
        start += BYTE_ORDER_MARK.len();
    }
    while start < end && matches!(buffer[end - 1], b' ' | b'\t' | b'\r') {
        end -= 1;
    }
    while start < end && matches!(buffer[start], b' ' | b'\t' | b'\r') {
        start += 1;
    }
    let mut rest = &mut buffer[start..end];
    while let Some(at) = memchr::memchr(b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
    (start, end)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The lines of `pieces`, one after the other; `None` for one that is too long.
    fn split(limit: usize, pieces: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        fn keep(line: Line<'_>) -> Option<Vec<u8>> {
            match line {
                Line::Whole(line) => Some(line.to_vec()),
                Line::TooLong => None,
            }
        }

        let mut splitter = LineSplitter::new(limit);
        let mut lines = Vec::new();
        for piece in pieces {
            splitter.feed(piece);
            while let Some(line) = splitter.next_line() {
                lines.push(keep(line));
            }
        }
        lines.extend(splitter.end().map(keep));
        lines
    }

    fn check(input: &str, expected: &[Option<&str>]) {
        let expected: Vec<_> = expected.iter().map(|line| line.map(|line| line.as_bytes().to_vec())).collect();
        assert_eq!(split(8, &[input.as_bytes()]), expected, "{input:?}");
    }

    #[test]
    fn lines_end_at_line_breaks_and_at_the_end() {
        check("a\nb\r\n\n \t\r\nc", &[Some("a"), Some("b"), Some("c")]);
        check("", &[]);
        check("\n\n", &[]);
    }

    #[test]
    fn a_carriage_return_inside_a_line_becomes_a_space() {
        check("{\r}\n\ra\r\rb\r\n", &[Some("{ }"), Some("a  b")]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_very_beginning_only() {
        check("\u{feff}a\n\u{feff}b\n", &[Some("a"), Some("\u{feff}b")]);
        check("\n\u{feff}b\n", &[Some("\u{feff}b")]);
        check("\u{feff}\n", &[]);
    }

    #[test]
    fn a_line_over_the_limit_is_reported_once_and_the_next_one_is_whole() {
        check("12345678\n123456789\nabc\n", &[Some("12345678"), None, Some("abc")]);
        check("12345678901234567890", &[None]);
    }

    #[test]
    fn how_a_line_over_the_limit_begins_is_kept() {
        let mut splitter = LineSplitter::new(8);
        for (input, expected) in [("123456789\n", "12345678"), ("abcdefghi", "abcdefgh")] {
            splitter.feed(input.as_bytes());
            assert_eq!(splitter.next_line(), Some(Line::TooLong));
            assert_eq!(splitter.left_out(), expected.as_bytes());
        }
    }

    #[test]
    fn memory_of_a_long_line_is_given_back() {
        let mut splitter = LineSplitter::new(16 * 1024 * 1024);
        let long = vec![b'x'; 8 * 1024 * 1024];
        splitter.feed(&long);
        assert_eq!(splitter.next_line(), None);
        splitter.feed(b"\n");
        assert_eq!(splitter.next_line(), Some(Line::Whole(&long)));
        assert_eq!(splitter.next_line(), None);
        assert!(splitter.buffer.capacity() <= CHUNK, "{}", splitter.buffer.capacity());
    }

    #[test]
    fn memory_of_a_line_over_the_limit_is_never_taken() {
        let mut splitter = LineSplitter::new(CHUNK);
        let mut reports = 0;
        for _ in 0..1_000 {
            splitter.feed(&[b'x'; 1_024]);
            reports += usize::from(splitter.next_line().is_some());
        }
        assert!(reports == 1 && splitter.buffer.capacity() <= 4 * CHUNK, "{}", splitter.buffer.capacity());
    }

    /// Bytes among which those that matter here are frequent.
    fn byte() -> impl Strategy<Value = u8> {
        prop_oneof![3 => any::<u8>(), 2 => Just(b'a'), 1 => Just(b'\r'), 1 => Just(b'\n'), 1 => Just(0xef), 1 => Just(b' ')]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_cut_of_the_input_gives_the_same_lines(
            input in vec(byte(), 0..120), has_mark: bool, cuts in vec(0..123_usize, 0..8), limit in 1..40_usize,
        ) {
            let input = if has_mark { [BYTE_ORDER_MARK, &input].concat() } else { input };
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(input.len())).chain([0, input.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<_> = cuts.windows(2).map(|cut| &input[cut[0]..cut[1]]).collect();
            prop_assert_eq!(split(limit, &pieces), split(limit, &[&input]));
        }

        #[test]
        fn a_good_line_after_any_garbage_is_never_lost(input in vec(byte(), 0..120), limit in 4..40_usize) {
            let lines = split(limit, &[&input, b"\ngood\n"]);
            prop_assert_eq!(lines.last(), Some(&Some(b"good".to_vec())));
        }
    }
}
