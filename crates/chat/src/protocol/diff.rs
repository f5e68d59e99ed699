//! What changes in a file, as lines.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// How many lines around a change are shown.
const AROUND: usize = 3;

/// How many lines are kept of a change.
const LINES: usize = 2_000;

/// How long may be looked for the shortest way to tell a change.
const PATIENCE: Duration = Duration::from_millis(100);

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) path: String,
    pub(crate) lines: Vec<DiffLine>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine {
    /// It stays; its number is that in the new text, counted from 1.
    Same(usize, String),
    /// It is new.
    Added(usize, String),
    /// It goes; its number is that in the old text.
    Removed(usize, String),
    /// There are lines between that stay, or that are not kept.
    Skipped,
}

impl Diff {
    /// What changes in the file `path` from `old` to `new`.
    pub(super) fn of(path: String, old: &str, new: &str) -> Self {
        let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
        let (mut lines, mut added, mut removed) = (Vec::new(), 0, 0);
        for (number, group) in diff.grouped_ops(AROUND).iter().enumerate() {
            if number > 0 {
                lines.push(DiffLine::Skipped);
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let text = change.value().trim_end_matches(['\n', '\r']);
                let number = |index: Option<usize>| index.map_or(0, |index| index + 1);
                let line: fn(usize, String) -> DiffLine = match change.tag() {
                    ChangeTag::Equal => DiffLine::Same,
                    ChangeTag::Insert => DiffLine::Added,
                    ChangeTag::Delete => DiffLine::Removed,
                };
                added += usize::from(change.tag() == ChangeTag::Insert);
                removed += usize::from(change.tag() == ChangeTag::Delete);
                if lines.len() < LINES {
                    lines.push(line(number(change.new_index().or(change.old_index())), text.to_owned()));
                } else if lines.last() != Some(&DiffLine::Skipped) {
                    lines.push(DiffLine::Skipped);
                }
            }
        }
        Self { path, lines, added, removed }
    }

    /// How many bytes it takes, about.
    pub(super) fn size(&self) -> usize {
        let line = |line: &DiffLine| match line {
            DiffLine::Same(_, text) | DiffLine::Added(_, text) | DiffLine::Removed(_, text) => text.len(),
            DiffLine::Skipped => 0,
        };
        self.lines.iter().map(line).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The change in short form.
    fn shown(old: &str, new: &str) -> String {
        let line = |line: &DiffLine| match line {
            DiffLine::Same(number, text) => format!("{number}  {text}"),
            DiffLine::Added(number, text) => format!("{number} +{text}"),
            DiffLine::Removed(number, text) => format!("{number} -{text}"),
            DiffLine::Skipped => "…".to_owned(),
        };
        let diff = Diff::of("f".to_owned(), old, new);
        let lines: Vec<String> = diff.lines.iter().map(line).collect();
        format!("{}\n+{} -{}", lines.join("\n"), diff.added, diff.removed)
    }

    #[test]
    fn only_what_is_around_a_change_is_kept() {
        let old = (1..=20).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
        let new = old.replace("line 2\n", "second\n").replace("line 19\n", "");
        insta::assert_snapshot!(shown(&old, &new), @"
        1  line 1
        2 -line 2
        2 +second
        3  line 3
        4  line 4
        5  line 5
        …
        16  line 16
        17  line 17
        18  line 18
        19 -line 19
        19  line 20
        +1 -2
        ");
    }

    #[test]
    fn a_new_file_is_all_new() {
        insta::assert_snapshot!(shown("", "a\r\nb"), @"
        1 +a
        2 +b
        +2 -0
        ");
    }

    #[test]
    fn a_long_change_is_counted_whole_and_kept_in_part() {
        let new = "line\n".repeat(LINES * 2);
        let diff = Diff::of("f".to_owned(), "", &new);
        assert_eq!((diff.added, diff.lines.len(), diff.lines.last()), (LINES * 2, LINES + 1, Some(&DiffLine::Skipped)));
    }
}
