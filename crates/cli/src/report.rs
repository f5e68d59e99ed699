//! How errors, warnings and remarks are told: the one place that renders them.

use std::error::Error as _;
use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};

use crate::error::Error;
use crate::layer::quoted;
use crate::output::printable;
use crate::settings::Warning;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const CAUSE: Style = AnsiColor::Red.on_default();
const NOTE: Style = AnsiColor::Blue.on_default();
const HINT: Style = AnsiColor::Cyan.on_default();

/// Writes `error`, each of its causes, and what to do about it.
pub(crate) fn write_error(err: &mut dyn Write, error: &Error) -> io::Result<()> {
    write_error_with(err, error, None)
}

/// The same where the `store` was typed, which what to do about it then names too.
pub(crate) fn write_error_with(err: &mut dyn Write, error: &Error, store: Option<&Path>) -> io::Result<()> {
    write_line(err, ERROR, "error", &error.to_string())?;
    for cause in causes(error) {
        write_line(err, CAUSE, "caused by", &cause)?;
    }
    match (error.hint(), store) {
        (Some(hint), Some(store)) => write_hint(err, &with_store(&hint, store)),
        (Some(hint), None) => write_hint(err, &hint),
        (None, _) => Ok(()),
    }
}

/// `hint`, in which each command of ours is about `store`.
fn with_store(hint: &str, store: &Path) -> String {
    let parts = hint.split('`').enumerate().map(|(number, part)| {
        // What stands behind `--` is for somebody else.
        let is_ours = number % 2 == 1 && part.starts_with("rejoin ") && !part.contains(" -- ");
        if is_ours { format!("{part} --store {}", quoted(&store.to_string_lossy())) } else { part.to_owned() }
    });
    parts.collect::<Vec<_>>().join("`")
}

/// `error` and each of its causes, in one line, as `--json` tells it.
pub(crate) fn one_line(error: &Error) -> String {
    [vec![error.to_string()], causes(error)].concat().join(": ")
}

/// Writes something worth knowing that is no error, and what to do about it.
pub(crate) fn write_remark(err: &mut dyn Write, remark: &str, hint: &str) -> io::Result<()> {
    writeln!(err, "{}", printable(remark))?;
    write_hint(err, hint)
}

/// Writes something that went wrong and did no harm to the rest.
pub(crate) fn write_mishap(err: &mut dyn Write, mishap: &str) -> io::Result<()> {
    write_line(err, WARNING, "warning", mishap)
}

/// Writes something worth knowing about which nothing needs to be done.
pub(crate) fn write_note(err: &mut dyn Write, note: &str) -> io::Result<()> {
    write_line(err, NOTE, "note", note)
}

/// Writes `warning`, and what to do about it.
pub(crate) fn write_warning(err: &mut dyn Write, warning: &Warning) -> io::Result<()> {
    write_line(err, WARNING, "warning", &warning.to_string())?;
    write_hint(err, &warning.hint())
}

fn causes(error: &Error) -> Vec<String> {
    let (mut causes, mut source) = (Vec::new(), error.source());
    while let Some(cause) = source {
        causes.push(cause.to_string());
        source = cause.source();
    }
    causes
}

/// Writes what to do.
pub(crate) fn write_hint(err: &mut dyn Write, hint: &str) -> io::Result<()> {
    write_line(err, HINT, "hint", hint)
}

fn write_line(err: &mut dyn Write, style: Style, word: &str, text: &str) -> io::Result<()> {
    // A name with a line break in it must not pass for a line of ours.
    writeln!(err, "{style}{word}:{style:#} {}", printable(text.trim_end()).replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use rejoin_transcript::TranscriptError;

    use super::*;

    #[test]
    fn a_name_can_not_pass_for_a_line_of_ours() {
        let source = io::Error::other("broken");
        let error = Error::CannotRead { file: "a\nhint: \u{1b}[8mrun this\u{202e}".to_owned(), source };
        assert_eq!(written(&error), "error: a\n  hint: ␛[8mrun this\u{fffd} can't be read\ncaused by: broken\n");
    }

    #[test]
    fn a_command_in_a_hint_is_about_the_store_that_was_typed() {
        let hint = |hint| with_store(hint, Path::new("my own.db"));
        assert_eq!(hint("find ids with `rejoin list`"), "find ids with `rejoin list --store 'my own.db'`");
        assert_eq!(hint("choose another file with `--store`"), "choose another file with `--store`");
        assert_eq!(hint("or `rejoin check -- COMMAND`"), "or `rejoin check -- COMMAND`");
    }

    fn written(error: &Error) -> String {
        let mut plain = anstream::StripStream::new(Vec::new());
        write_error(&mut plain, error).unwrap();
        String::from_utf8(plain.into_inner()).unwrap()
    }

    #[test]
    fn an_error_is_told_with_its_causes_and_a_hint() {
        let cause = serde_json::from_str::<u8>("x").unwrap_err();
        let source = TranscriptError::BadLine { line: 3, source: cause };
        let error = Error::NotATranscript { file: "a.jsonl".to_owned(), source };
        insta::assert_snapshot!(written(&error), @"
        error: a.jsonl is not a transcript that can be imported
        caused by: line 3 is not an entry of a transcript
        caused by: expected value at line 1 column 1
        hint: import takes what `rejoin export ID` writes, and histories of claude-code, codex, gemini, opencode
        ");
    }
}
