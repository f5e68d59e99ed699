//! The end of what a process wrote to its stderr.
//!
//! However much is written, and be it without line breaks, only the last lines are kept.

use std::collections::VecDeque;
use std::mem;

const LINES: usize = 20;
const BYTES: usize = 4 * 1024;

/// Who writes more than this without a line break gets one. Repaired, a byte becomes three, and it must still fit.
const LINE: usize = 1024;

/// The last lines, within [`LINES`] and [`BYTES`].
#[derive(Debug, Default)]
pub(crate) struct Tail {
    lines: VecDeque<String>,
    n_bytes: usize,
    unfinished: Vec<u8>,
}

impl Tail {
    /// Takes the next bytes, and shows each line that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut show: impl FnMut(&str)) {
        for byte in bytes {
            if *byte == b'\n' {
                self.complete(&mut show);
                continue;
            }
            if self.unfinished.len() == LINE {
                self.complete(&mut show);
            }
            self.unfinished.push(*byte);
        }
    }

    /// Takes what is left as the last line, since nothing more comes.
    pub(crate) fn end(&mut self, mut show: impl FnMut(&str)) {
        if !self.unfinished.is_empty() {
            self.complete(&mut show);
        }
    }

    /// The last lines, the unfinished one too, each with its line break.
    pub(crate) fn text(&self) -> String {
        let mut tail = Self { lines: self.lines.clone(), n_bytes: self.n_bytes, unfinished: self.unfinished.clone() };
        tail.end(|_| ());
        tail.lines.iter().flat_map(|line| [line, "\n"]).collect()
    }

    fn complete(&mut self, show: &mut impl FnMut(&str)) {
        let line = mem::take(&mut self.unfinished);
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(&line)).into_owned();
        show(&line);
        self.n_bytes += line.len() + 1;
        self.lines.push_back(line);
        while self.lines.len() > LINES || self.n_bytes > BYTES {
            let Some(first) = self.lines.pop_front() else { break };
            self.n_bytes -= first.len() + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: &[u8], expected: &str) {
        let mut tail = Tail::default();
        written.chunks(7).for_each(|bytes| tail.feed(bytes, |_| ()));
        let before_the_end = tail.text();
        tail.end(|_| ());
        assert_eq!((before_the_end.as_str(), tail.text().as_str()), (expected, expected));
    }

    #[test]
    fn lines_are_kept_with_what_is_no_text_repaired() {
        check(b"", "");
        check(b"one\r\n\ntwo \xff", "one\n\ntwo \u{fffd}\n");
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let all: Vec<_> = (0..100).map(|number| format!("{number}\n")).collect();
        check(all.concat().as_bytes(), &all[80..].concat());
    }

    #[test]
    fn only_the_last_bytes_are_kept() {
        let long = "x".repeat(1_000) + "\n";
        check(long.repeat(10).as_bytes(), &long.repeat(4));
    }

    #[test]
    fn without_line_breaks_the_end_is_kept() {
        let mut tail = Tail::default();
        tail.feed(&vec![b'x'; 1_000_000], |_| ());
        tail.feed(b"end", |_| ());
        let text = tail.text();
        assert!(text.len() <= BYTES && text.ends_with("xend\n"), "{}", text.len());
    }

    #[test]
    fn each_line_is_shown_once() {
        let (mut tail, mut shown) = (Tail::default(), Vec::new());
        tail.feed(b"one\ntw", |line| shown.push(line.to_owned()));
        tail.feed(b"o\nthree", |line| shown.push(line.to_owned()));
        tail.end(|line| shown.push(line.to_owned()));
        assert_eq!(shown, ["one", "two", "three"]);
    }
}
