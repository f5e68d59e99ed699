//! An edit of a text: one place, which must be the only one, or all. Line ends stay as they are.

use std::borrow::Cow;

use super::line_ends::{ends_with_crlf_at, with_crlf};

/// Which places are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    TheOnly,
    All,
}

/// A text that was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) n_places: usize,
    /// The line that the first place begins in.
    pub(super) line: u32,
}

/// Why a text can't be edited so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("`old_text` is empty: write_file makes a file or writes all of it")]
    Empty,
    #[error("`old_text` and `new_text` are the same")]
    Same,
    #[error("`old_text` is not in it: it must be there exactly so, blanks and line ends too; read the file again")]
    NotThere,
    #[error(
        "`old_text` is in it more than once: add text around it until it is there once, or set `replace_all` to replace all"
    )]
    Several,
}

/// `text` with `new` in place of `old`.
///
/// Where lines end with `\r\n`, both may be given with `\n` alone.
pub(super) fn edit(text: &str, old: &str, new: &str, which: Which) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::Same);
    }
    let (first, old, new) = find(text, old, new).ok_or(EditError::NotThere)?;
    let (old, new) = (&*old, &*new);
    // Also over itself: `aa` is twice in `aaa`.
    let next = first + old.chars().next().map_or(1, char::len_utf8);
    if which == Which::TheOnly && text[next..].contains(old) {
        return Err(EditError::Several);
    }
    let n_places = text.matches(old).count();
    let line = text[..first].matches('\n').count() + 1;
    Ok(Edited { text: text.replace(old, new), n_places, line: u32::try_from(line).unwrap_or(u32::MAX) })
}

/// Where `old` is first in `text`, and both texts with the line ends that are there.
fn find<'a>(text: &str, old: &'a str, new: &'a str) -> Option<(usize, Cow<'a, str>, Cow<'a, str>)> {
    if let Some(first) = text.find(old) {
        // A text that names a line end names the right one.
        let is_crlf = !old.contains('\n') && ends_with_crlf_at(text, first);
        return Some((first, old.into(), if is_crlf { with_crlf(new) } else { new.into() }));
    }
    let old = with_crlf(old);
    Some((text.find(&*old)?, old, with_crlf(new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, old: &str, new: &str, which: Which, expected: Result<(&str, usize, u32), EditError>) {
        let expected = expected.map(|(text, n_places, line)| Edited { text: text.to_owned(), n_places, line });
        assert_eq!(edit(text, old, new, which), expected, "{old:?} in {text:?}");
    }

    #[test]
    fn the_only_place_is_replaced() {
        check("one two", "two", "2", Which::TheOnly, Ok(("one 2", 1, 1)));
        check("a\nb\nc\n", "b\nc", "", Which::TheOnly, Ok(("a\n\n", 1, 2)));
        check("äöü", "ö", "oe", Which::TheOnly, Ok(("äoeü", 1, 1)));
        check("a\r\nb", "a\r\n", "", Which::TheOnly, Ok(("b", 1, 1)));
        check("x $1 x", "$1", "\\1", Which::TheOnly, Ok(("x \\1 x", 1, 1)));
    }

    #[test]
    fn all_places_are_replaced_if_that_is_wanted() {
        check("x\nax ax", "ax", "b", Which::All, Ok(("x\nb b", 2, 2)));
        check("aaaa", "aa", "b", Which::All, Ok(("bb", 2, 1)));
    }

    #[test]
    fn line_ends_stay_as_they_are() {
        check("a\r\nb\r\n", "a\nb", "c\nd", Which::TheOnly, Ok(("c\r\nd\r\n", 1, 1)));
        check("a\r\nb\r\n", "b", "c\nd", Which::TheOnly, Ok(("a\r\nc\r\nd\r\n", 1, 2)));
        check("a\r\nb", "b", "c\nd", Which::TheOnly, Ok(("a\r\nc\r\nd", 1, 2)));
        check("a\r\nb\r\n", "a\r\n", "c\n", Which::TheOnly, Ok(("c\nb\r\n", 1, 1)));
        check("a\r\nb\nc\n", "b", "d\ne", Which::TheOnly, Ok(("a\r\nd\ne\nc\n", 1, 2)));
        check("a\r\nb\nc\n", "a", "d\ne", Which::TheOnly, Ok(("d\r\ne\r\nb\nc\n", 1, 1)));
        check("a\nb\r\nc", "b\nc", "d", Which::TheOnly, Ok(("a\nd", 1, 2)));
        check("\u{feff}a\r\nb", "a\n", "", Which::TheOnly, Ok(("\u{feff}b", 1, 1)));
        check("a\r\nb\r\n", "a\r\nc", "d", Which::TheOnly, Err(EditError::NotThere));
    }

    #[test]
    fn what_is_not_there_once_is_refused() {
        check("one", "two", "2", Which::TheOnly, Err(EditError::NotThere));
        check("one", "One", "2", Which::All, Err(EditError::NotThere));
        check("a a", "a", "b", Which::TheOnly, Err(EditError::Several));
        check("aaa", "aa", "b", Which::TheOnly, Err(EditError::Several));
        check("ääää", "ää", "b", Which::TheOnly, Err(EditError::Several));
        check("äää", "ää", "b", Which::TheOnly, Err(EditError::Several));
        // This would take an hour if each place were looked for anew.
        check(&"a".repeat(4 << 20), &"a".repeat(1 << 20), "b", Which::TheOnly, Err(EditError::Several));
        check("a", "", "b", Which::All, Err(EditError::Empty));
        check("a", "a", "a", Which::TheOnly, Err(EditError::Same));
    }
}
