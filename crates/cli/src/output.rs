//! What the program writes to standard output: colours only where they are wanted, text that can't do harm.
//!
//! Colours are written only to a terminal, and only if the environment does not forbid them. All else goes out byte
//! for byte, so that an export is exactly what is stored.

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// For what names or explains other things.
pub(crate) const DIM: Style = Style::new().dimmed();
/// For headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// For what was searched for.
pub(crate) const MATCH: Style = AnsiColor::Yellow.on_default().bold();
/// For what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// For what went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Standard output.
pub(crate) struct Output {
    writer: BufWriter<Stdout>,
    is_coloured: bool,
    width: Option<usize>,
}

impl Output {
    /// Standard output, with what can be found out about it.
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let is_coloured = AutoStream::choice(&stdout) != ColorChoice::Never;
        let size = if stdout.is_terminal() { terminal_size::terminal_size_of(&stdout) } else { None };
        let width = size.map(|(terminal_size::Width(width), _)| usize::from(width));
        Self { writer: BufWriter::with_capacity(64 * 1024, stdout), is_coloured, width }
    }

    /// The terminal's width; `None` where it is no terminal, and lines may be as long as they are.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// `text` in `style`, if there are styles here.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.is_coloured { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// Writes `value` as JSON for a program, laid out so that people can read it too.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.writer, value)?;
        self.writer.write_all(b"\n")
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// `text` with control characters made visible, so that what an agent wrote can't command the terminal. Line breaks
/// and tabs stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return text.into();
    }
    let show = |c: char| match c {
        '\r' => None,
        '\0'..='\x1f' if is_harmful(c) => char::from_u32(0x2400 + u32::from(c)),
        _ if is_harmful(c) => Some(char::REPLACEMENT_CHARACTER),
        _ => Some(c),
    };
    text.chars().filter_map(show).collect()
}

/// `text` on one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&words.join(" ")).into_owned()
}

/// The columns that `text` takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// As much of the beginning of `text` as fits in `width` columns.
pub(crate) fn cut_end(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return text.into();
    }
    let kept = fitting(text.chars(), width);
    format!("{}…", text.chars().take(kept).collect::<String>().trim_end()).into()
}

/// As much of the end of `text` as fits in `width` columns.
pub(crate) fn cut_start(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return text.into();
    }
    let skipped = text.chars().count() - fitting(text.chars().rev(), width);
    format!("…{}", text.chars().skip(skipped).collect::<String>()).into()
}

/// How many of `chars` fit in `width` columns beside an ellipsis.
fn fitting(chars: impl Iterator<Item = char>, width: usize) -> usize {
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let columns = c.width().unwrap_or(0);
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    };
    chars.take_while(fits).count()
}

/// `path` with the user's own folder as `~`.
pub(crate) fn short_path(path: &str, home: Option<&Path>) -> String {
    let inside = home.and_then(|home| Path::new(path).strip_prefix(home).ok());
    let short = match inside {
        Some(inside) if inside.as_os_str().is_empty() => "~".to_owned(),
        Some(inside) => format!("~/{}", inside.display()),
        None => path.to_owned(),
    };
    one_line(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_can_not_command_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\r\n\tc\u{9b}d"), "a␛[31mb\n\tc\u{fffd}d");
    }

    #[test]
    fn text_is_cut_by_the_columns_it_takes() {
        assert_eq!(cut_end("abcdef", 6), "abcdef");
        assert_eq!(cut_end("abc def", 5), "abc…");
        assert_eq!(cut_end("東京都庁", 6), "東京…");
        assert_eq!(cut_start("/home/anna/src", 8), "…nna/src");
        assert_eq!(cut_start("東京都庁", 6), "…都庁");
    }

    #[test]
    fn only_folders_inside_home_are_shown_as_such() {
        let short = |path| short_path(path, Some(Path::new("/home/anna")));
        assert_eq!(short("/home/anna"), "~");
        assert_eq!(short("/home/anna/src/"), "~/src");
        assert_eq!(short("/home/annabel"), "/home/annabel");
    }
}
