//! What the program writes to standard output: colours only where they are wanted, text that can't do harm.
//!
//! Colours are written only to a terminal, and only if the environment does not forbid them. All else goes out byte
//! for byte, so that an export is exactly what is stored.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
pub(crate) use rejoin_chat::text::{columns, cut_end, cut_start, one_line, printable};
use serde::Serialize;

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

    /// Whether there are colours here.
    pub(crate) fn is_coloured(&self) -> bool {
        self.is_coloured
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
    fn only_folders_inside_home_are_shown_as_such() {
        let short = |path| short_path(path, Some(Path::new("/home/anna")));
        assert_eq!(short("/home/anna"), "~");
        assert_eq!(short("/home/anna/src/"), "~/src");
        assert_eq!(short("/home/annabel"), "/home/annabel");
    }
}
