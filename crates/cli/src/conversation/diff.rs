//! Diffs, line by line, with a little of what stays around them.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// How many lines that stay are shown around a change.
const CONTEXT: usize = 3;

/// A diff is not looked at longer; what it then shows is right, but longer than it could be.
const LIMIT: Duration = Duration::from_secs(1);

/// A line of a diff, without its line break.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DiffLine {
    Same(String),
    Removed(String),
    Added(String),
    /// Lines that stay are left out here.
    Gap,
}

/// What becomes of `old` in `new`.
pub(super) fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let diff = TextDiff::configure().timeout(LIMIT).diff_lines(old, new);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push(DiffLine::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let text = change.value().trim_end_matches(['\n', '\r']).to_owned();
            lines.push(match change.tag() {
                ChangeTag::Equal => DiffLine::Same(text),
                ChangeTag::Delete => DiffLine::Removed(text),
                ChangeTag::Insert => DiffLine::Added(text),
            });
        }
    }
    lines
}

impl DiffLine {
    /// The line, as people are used to see it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Same(text) => format!(" {text}"),
            Self::Removed(text) => format!("-{text}"),
            Self::Added(text) => format!("+{text}"),
            Self::Gap => "…".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        diff(old, new).iter().map(DiffLine::text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn changes_are_shown_with_what_is_around_them() {
        let old = (1..=20).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
        let new = old.replace("line 2\n", "two\n").replace("line 19\n", "");
        insta::assert_snapshot!(shown(&old, &new), @r"
         line 1
        -line 2
        +two
         line 3
         line 4
         line 5
        …
         line 16
         line 17
         line 18
        -line 19
         line 20
        ");
        assert_eq!(shown("", "new\r\nfile"), "+new\n+file");
        assert_eq!(shown("same", "same"), "");
    }
}
