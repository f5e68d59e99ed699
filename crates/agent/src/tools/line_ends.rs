//! The form of a text file: its byte order mark and its line ends, which a change of the text keeps.

use std::borrow::Cow;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// `new`, which replaces all of `old`, in the form of `old`.
///
/// A byte order mark stays. Lines end with `\r\n` if all of `old` do and `new` has no `\r` of its own; where the ends of
/// `old` are mixed, those of `new` are taken as they are.
pub(super) fn in_form_of<'a>(old: &str, new: &'a str) -> Cow<'a, str> {
    let text = if ends_with_crlf_throughout(old) { with_crlf(new) } else { Cow::Borrowed(new) };
    let lacks_mark = old.starts_with(BYTE_ORDER_MARK) && !new.starts_with(BYTE_ORDER_MARK);
    if lacks_mark { Cow::Owned(format!("{BYTE_ORDER_MARK}{text}")) } else { text }
}

/// `text` with `\r\n` for each line end, unless it has a `\r` of its own.
pub(super) fn with_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\r') || !text.contains('\n') {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\n', "\r\n"))
}

/// Whether the line of `text` that holds the place `at` ends with `\r\n`; of a last line without an end, the one before.
pub(super) fn ends_with_crlf_at(text: &str, at: usize) -> bool {
    let end = text[at..].find('\n').map(|end| at + end).or_else(|| text[..at].rfind('\n'));
    end.is_some_and(|end| text[..end].ends_with('\r'))
}

fn ends_with_crlf_throughout(text: &str) -> bool {
    let n_ends = text.matches('\n').count();
    n_ends > 0 && n_ends == text.matches("\r\n").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_text_takes_the_form_of_the_old_one() {
        for (old, new, expected) in [
            ("a\r\nb\r\n", "c\nd\n", "c\r\nd\r\n"),
            ("a\r\nb", "c\nd", "c\r\nd"),
            ("a\r\n", "c", "c"),
            ("a\r\n", "c\r\nd\n", "c\r\nd\n"),
            ("a\r\nb\n", "c\nd\n", "c\nd\n"),
            ("a\nb\n", "c\r\nd\r\n", "c\r\nd\r\n"),
            ("a\nb\n", "c\nd", "c\nd"),
            ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
            ("\u{feff}a\r\n", "b\nc", "\u{feff}b\r\nc"),
            ("\u{feff}a", "\u{feff}b", "\u{feff}b"),
            ("a", "\u{feff}b", "\u{feff}b"),
            ("", "a\n", "a\n"),
        ] {
            assert_eq!(in_form_of(old, new), expected, "{new:?} over {old:?}");
        }
    }

    #[test]
    fn the_end_of_a_line_is_its_own() {
        let text = "a\r\nb\nc";
        assert_eq!([0, 3, 5].map(|at| ends_with_crlf_at(text, at)), [true, false, false]);
        assert!(ends_with_crlf_at("a\r\nb", 3) && !ends_with_crlf_at("ab", 1));
    }
}
