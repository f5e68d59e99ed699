//! What the program writes to standard output, or to a pager in front of it: colours only where they are wanted, text that
//! can't do harm.
//!
//! Colours are written only to a terminal, and only if the environment does not forbid them. All else goes out byte
//! for byte, so that an export is exactly what is stored. Only what JSON leaves as it is, and a terminal takes for a command, is
//! written to a terminal as JSON would escape it.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
pub(crate) use rejoin_chat::text::{columns, cut_end, cut_start, one_line, printable};
use serde::Serialize;

use crate::error::Error;
use crate::pager::Pager;

/// For what names or explains other things.
pub(crate) const DIM: Style = Style::new().dimmed();
/// For headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// For what was searched for.
pub(crate) const MATCH: Style = AnsiColor::Yellow.on_default().bold();
/// For what went well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// For what is worth a look.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// For what went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// How many bytes are written at once.
const ROOM: usize = 64 * 1024;

/// Standard output.
pub(crate) struct Output {
    writer: BufWriter<Target>,
    is_terminal: bool,
    painter: Painter,
    width: Option<usize>,
}

enum Target {
    Stdout(Stdout),
    Pager(Pager),
}

impl Output {
    /// Standard output, with what can be found out about it.
    pub(crate) fn stdout() -> Self {
        let stdout = io::stdout();
        let painter = Painter { is_coloured: AutoStream::choice(&stdout) != ColorChoice::Never };
        let is_terminal = stdout.is_terminal();
        let size = if is_terminal { terminal_size::terminal_size_of(&stdout) } else { None };
        let width = size.map(|(terminal_size::Width(width), _)| usize::from(width));
        let writer = BufWriter::with_capacity(ROOM, Target::Stdout(stdout));
        Self { writer, is_terminal, painter, width }
    }

    /// Whether a person looks at it.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Gives everything that is written from now on to `pager`, which shows it.
    pub(crate) fn page_through(&mut self, pager: Pager) -> io::Result<()> {
        self.flush()?;
        self.writer = BufWriter::with_capacity(ROOM, Target::Pager(pager));
        Ok(())
    }

    /// Sees to it that everything is written, and shown by the pager until the person has had enough.
    pub(crate) fn finish(self) -> Result<(), Error> {
        let (target, flushed) = match self.writer.into_inner() {
            Ok(target) => (target, Ok(())),
            Err(failed) => {
                let (error, writer) = failed.into_parts();
                // What could not be written can't be written by trying again.
                (writer.into_parts().0, Err(error))
            }
        };
        if let Target::Pager(pager) = target {
            pager.wait()?;
        }
        Ok(flushed?)
    }

    /// The terminal's width; `None` where it is no terminal, and lines may be as long as they are.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// What gives texts their styles here.
    pub(crate) fn painter(&self) -> Painter {
        self.painter
    }

    /// `text` in `style`, if there are styles here.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        self.painter.paint(style, text)
    }

    /// Writes `value` as JSON for a program, laid out so that people can read it too.
    pub(crate) fn write_json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *self, value)?;
        self.write_all(b"\n")
    }
}

/// Gives texts their styles, where there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Painter {
    is_coloured: bool,
}

impl Painter {
    /// Whether there are colours.
    pub(crate) fn is_coloured(self) -> bool {
        self.is_coloured
    }

    /// The one for files, where there are no styles.
    pub(crate) const PLAIN: Self = Self { is_coloured: false };

    /// `text` in `style`, if there are styles.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.is_coloured { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_terminal
            && let Some(escaped) = escaped(bytes)
        {
            return self.writer.write_all(&escaped).map(|()| bytes.len());
        }
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Pager(pager) => pager.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Pager(pager) => pager.flush(),
        }
    }
}

/// `bytes` with the control characters from U+0080 to U+009F as JSON escapes them; `None`, if there are none.
fn escaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_control = |pair: &[u8]| matches!(pair, [0xc2, 0x80..=0x9f]);
    if !bytes.windows(2).any(is_control) {
        return None;
    }
    let (mut escaped, mut rest) = (Vec::with_capacity(bytes.len() + 16), bytes);
    while let Some(at) = rest.windows(2).position(is_control) {
        escaped.extend_from_slice(&rest[..at]);
        escaped.extend_from_slice(format!("\\u{:04x}", rest[at + 1]).as_bytes());
        rest = &rest[at + 2..];
    }
    escaped.extend_from_slice(rest);
    Some(escaped)
}

/// `text`, which is one line, as lines of at most `width` columns; a word that is longer has a line of its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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
    fn text_is_wrapped_between_words() {
        assert_eq!(wrap("the quick brown fox", 9), ["the quick", "brown fox"]);
        assert_eq!(wrap("東京 /a/long/path x", 6), ["東京", "/a/long/path", "x"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn what_json_leaves_and_a_terminal_obeys_is_escaped() {
        let escaped = |text: &str| escaped(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(escaped("\"\u{9b}31m, \u{a0}é\u{80}\"").as_deref(), Some("\"\\u009b31m, \u{a0}é\\u0080\""));
        assert_eq!(escaped("東京 \u{a0}"), None);
    }

    #[test]
    fn only_folders_inside_home_are_shown_as_such() {
        let short = |path| short_path(path, Some(Path::new("/home/anna")));
        assert_eq!(short("/home/anna"), "~");
        assert_eq!(short("/home/anna/src/"), "~/src");
        assert_eq!(short("/home/annabel"), "/home/annabel");
    }
}
