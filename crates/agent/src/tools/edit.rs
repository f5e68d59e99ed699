//! An edit of a text: one place, which must be the only one, or all.

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
    #[error("`old_text` is not in it: the lines of this file end with \\r\\n, so write them like that")]
    OtherLineEnds,
    #[error(
        "`old_text` is in it more than once: add text around it until it is there once, or set `replace_all` to replace all"
    )]
    Several,
}

/// `text` with `new` in place of `old`.
pub(super) fn edit(text: &str, old: &str, new: &str, which: Which) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::Same);
    }
    let Some(first) = text.find(old) else {
        let has_other_ends = !old.contains('\r') && text.contains(&old.replace('\n', "\r\n"));
        return Err(if has_other_ends { EditError::OtherLineEnds } else { EditError::NotThere });
    };
    // Also over itself: `aa` is twice in `aaa`.
    let next = first + old.chars().next().map_or(1, char::len_utf8);
    if which == Which::TheOnly && text[next..].contains(old) {
        return Err(EditError::Several);
    }
    let n_places = text.matches(old).count();
    let line = text[..first].matches('\n').count() + 1;
    Ok(Edited { text: text.replace(old, new), n_places, line: u32::try_from(line).unwrap_or(u32::MAX) })
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
        check("a\r\nb\r\n", "a\nb", "c", Which::TheOnly, Err(EditError::OtherLineEnds));
    }
}
