//! A part of a text: some of its lines, and no more than a model can take.

use std::io::{self, BufRead, Read};
use std::num::NonZeroU32;

use super::MOST_TOLD;
use crate::shorten::beginning;

/// So many lines at most.
const MOST_LINES: u32 = 2000;

/// Which lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) first: NonZeroU32,
    pub(super) limit: Option<NonZeroU32>,
}

/// What comes after an excerpt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// All that was wanted is there.
    Nothing,
    /// More of what was wanted begins in this line.
    From(u32),
    /// The last line is not whole; more may begin in this one.
    CutLine(u32),
}

/// Some lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    pub(super) text: String,
    pub(super) rest: Rest,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExcerptError {
    #[error("it has no line {wanted}: it ends with line {last}")]
    TooShort { wanted: u32, last: u32 },
    #[error("it is not text in UTF-8")]
    NotText,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Excerpt {
    /// The wanted lines of what `reader` gives.
    pub(super) fn of(mut reader: impl BufRead, wanted: Wanted) -> Result<Self, ExcerptError> {
        let first = wanted.first.get();
        for line in 1..first {
            if reader.skip_until(b'\n')? == 0 {
                return Err(ExcerptError::TooShort { wanted: first, last: line - 1 });
            }
        }
        let n_wanted = wanted.limit.map_or(u32::MAX, NonZeroU32::get);
        let (mut bytes, mut n_lines) = (Vec::new(), 0);
        while n_lines < n_wanted.min(MOST_LINES) && bytes.len() < MOST_TOLD {
            let room = u64::try_from(MOST_TOLD - bytes.len()).unwrap_or(u64::MAX);
            if reader.by_ref().take(room).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            n_lines += 1;
        }
        if n_lines == 0 && first > 1 {
            return Err(ExcerptError::TooShort { wanted: first, last: first - 1 });
        }
        let is_more = n_lines < n_wanted && !reader.fill_buf()?.is_empty();
        let is_cut = bytes.len() == MOST_TOLD && !bytes.ends_with(b"\n") && !reader.fill_buf()?.is_empty();
        let rest = match (is_cut, is_more) {
            (true, _) => Rest::CutLine(first + n_lines),
            (false, true) => Rest::From(first + n_lines),
            (false, false) => Rest::Nothing,
        };
        Ok(Self { text: text_of(bytes, is_cut)?, rest })
    }

    /// What the model gets: the text, and what is not in it.
    pub(super) fn told(&self) -> String {
        match self.rest {
            Rest::Nothing => self.text.clone(),
            Rest::From(line) => format!("{}\n[That is not all: read on with line {line}.]", self.text),
            Rest::CutLine(line) => {
                format!("{}\n[The last line is too long, and cut off: read on with line {line}.]", self.text)
            }
        }
    }
}

/// `bytes` as text, of which the last character may be incomplete if it `is_cut`.
fn text_of(bytes: Vec<u8>, is_cut: bool) -> Result<String, ExcerptError> {
    if bytes.contains(&0) {
        return Err(ExcerptError::NotText);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            Ok(beginning(&text, error.utf8_error().valid_up_to()).to_owned())
        }
        Err(_) => Err(ExcerptError::NotText),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(first: u32, limit: Option<u32>) -> Wanted {
        Wanted { first: NonZeroU32::new(first).unwrap(), limit: limit.and_then(NonZeroU32::new) }
    }

    fn of(text: &str, first: u32, limit: Option<u32>) -> (String, Rest) {
        let excerpt = Excerpt::of(text.as_bytes(), wanted(first, limit)).unwrap();
        (excerpt.text, excerpt.rest)
    }

    #[test]
    fn the_wanted_lines_come_as_they_are() {
        let text = "one\r\ntwo\nthree";
        for (first, limit, expected) in [
            (1, None, "one\r\ntwo\nthree"),
            (1, Some(1), "one\r\n"),
            (2, Some(1), "two\n"),
            (2, None, "two\nthree"),
            (3, Some(9), "three"),
        ] {
            assert_eq!(of(text, first, limit), (expected.to_owned(), Rest::Nothing), "{first} {limit:?}");
        }
        assert_eq!(of("", 1, None), (String::new(), Rest::Nothing));
    }

    #[test]
    fn what_is_too_much_is_cut_and_said() {
        let long = "x\n".repeat(2001);
        assert_eq!(of(&long, 1, None).1, Rest::From(2001));
        assert_eq!(of(&long, 2, None).1, Rest::Nothing);
        assert_eq!(of(&long, 1, Some(5000)).1, Rest::From(2001));
        let wide = "ä".repeat(MOST_TOLD);
        let (text, rest) = of(&format!("x{wide}\nnext"), 1, None);
        assert_eq!((text.len(), rest), (MOST_TOLD - 1, Rest::CutLine(2)));
    }

    #[test]
    fn what_is_no_text_or_not_there_is_an_error() {
        let said = |bytes: &[u8], first| {
            Excerpt::of(bytes, wanted(first, None)).map_err(|error| error.to_string()).unwrap_err()
        };
        assert_eq!(said(b"a\0b", 1), "it is not text in UTF-8");
        assert_eq!(said(b"\xff\xfe", 1), "it is not text in UTF-8");
        assert_eq!(said(b"one\ntwo\n", 3), "it has no line 3: it ends with line 2");
        assert_eq!(said(b"one", 7), "it has no line 7: it ends with line 1");
    }
}
