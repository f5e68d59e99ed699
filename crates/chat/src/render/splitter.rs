//! Cuts a message into pieces while it comes: what will not change any more can be shown for good.
//!
//! How the message is cut into chunks makes no difference to its pieces, so a conversation looks the same when it is
//! loaded as it did when it was had.

use crate::text::boundary;

/// A piece that gets no end within this many bytes is ended.
const LIMIT: usize = 16 * 1024;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// One or more whole blocks of Markdown.
    Prose(String),
    /// Lines of a block of code; with its language, if they are the first.
    Code { begins: Option<String>, text: String },
}

/// A message that is not whole yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Splitter {
    /// What has not become a piece yet.
    rest: String,
    /// The block of code that is open.
    fence: Option<Fence>,
}

/// What was taken out of a message.
enum Cut {
    Piece(Piece),
    /// What is no piece, such as the beginning of a block of code.
    Other,
    /// More has to come first.
    Nothing,
}

#[derive(Debug, Clone)]
struct Fence {
    mark: char,
    length: usize,
    /// The language, until a piece has named it.
    language: Option<String>,
}

impl Splitter {
    /// Takes more of the message, and gives the pieces that it completes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.rest.push_str(text);
        let mut pieces = Vec::new();
        loop {
            match self.cut() {
                Cut::Piece(piece) => pieces.push(piece),
                Cut::Other => {}
                Cut::Nothing => return pieces,
            }
        }
    }

    /// What would be the last piece if nothing more came.
    pub(crate) fn tail(&self) -> Option<Piece> {
        self.clone().finish()
    }

    /// The message is whole: gives what is left of it.
    pub(crate) fn finish(&mut self) -> Option<Piece> {
        let text = std::mem::take(&mut self.rest);
        match self.fence.take() {
            Some(fence) => {
                let text = if fence.closes(text.trim_end_matches('\n')) { String::new() } else { text };
                fence.piece(text)
            }
            None => (!text.trim().is_empty()).then_some(Piece::Prose(text)),
        }
    }

    /// Takes out what comes next.
    fn cut(&mut self) -> Cut {
        match self.fence.take() {
            Some(fence) => self.cut_code(fence),
            None => self.cut_prose(),
        }
    }

    fn cut_code(&mut self, mut fence: Fence) -> Cut {
        let mut end = 0;
        for line in self.rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            if fence.closes(line.trim_end()) {
                let rest = self.rest.split_off(end + line.len());
                let mut text = std::mem::replace(&mut self.rest, rest);
                text.truncate(end);
                return fence.piece(text).map_or(Cut::Other, Cut::Piece);
            }
            end += line.len();
        }
        if end == 0 && self.rest.len() > LIMIT {
            end = boundary(&self.rest, LIMIT);
        }
        if end == 0 {
            self.fence = Some(fence);
            return Cut::Nothing;
        }
        let rest = self.rest.split_off(end);
        let begins = fence.language.take();
        self.fence = Some(fence);
        Cut::Piece(Piece::Code { begins, text: std::mem::replace(&mut self.rest, rest) })
    }

    fn cut_prose(&mut self) -> Cut {
        let (mut at, mut was_blank, mut inner): (usize, bool, Option<Fence>) = (0, false, None);
        for line in self.rest.split_inclusive('\n') {
            if at >= LIMIT {
                break;
            }
            let text = line.trim_end();
            if let Some(fence) = &inner {
                if fence.closes(text.trim_start()) {
                    inner = None;
                }
            } else if let Some(fence) = Fence::opened_by(text.trim_start()) {
                // A line that is not whole may turn out to be something else.
                let is_outer = !text.starts_with(' ') && line.ends_with('\n');
                if is_outer && !self.rest[..at].trim().is_empty() {
                    return self.take_prose(at);
                }
                if is_outer {
                    self.rest.drain(..at + line.len());
                    self.fence = Some(fence);
                    return Cut::Other;
                }
                inner = Some(fence);
            } else if was_blank && !line.starts_with([' ', '\t', '\n']) && !self.rest[..at].trim().is_empty() {
                return self.take_prose(at);
            }
            was_blank = text.is_empty();
            at += line.len();
        }
        if self.rest.len() > LIMIT { self.take_prose(last_break(&self.rest)) } else { Cut::Nothing }
    }

    fn take_prose(&mut self, end: usize) -> Cut {
        let rest = self.rest.split_off(end);
        Cut::Piece(Piece::Prose(std::mem::replace(&mut self.rest, rest)))
    }
}

impl Fence {
    /// The fence that `line`, which has no indent, opens.
    fn opened_by(line: &str) -> Option<Self> {
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let language = line[length..].trim();
        let is_fence = length >= 3 && !(mark == '`' && language.contains('`'));
        let language = language.split_whitespace().next().unwrap_or_default().to_owned();
        is_fence.then_some(Self { mark, length, language: Some(language) })
    }

    fn closes(&self, line: &str) -> bool {
        line.chars().all(|c| c == self.mark) && line.chars().count() >= self.length
    }

    /// Its last piece, if there is anything left to show.
    fn piece(self, text: String) -> Option<Piece> {
        let begins = self.language;
        (begins.is_some() || !text.is_empty()).then_some(Piece::Code { begins, text })
    }
}

/// Where to cut `text`, which has gone on for too long.
fn last_break(text: &str) -> usize {
    let text = &text[..boundary(text, LIMIT)];
    let behind = |c: char| text.rfind(c).map(|at| at + c.len_utf8());
    behind('\n').or_else(|| behind(' ')).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pieces of `text`, which comes in chunks of `size` bytes, in short form.
    fn pieces(text: &str, size: usize) -> Vec<String> {
        let mut splitter = Splitter::default();
        let chunks = text.as_bytes().chunks(size).map(|chunk| str::from_utf8(chunk).unwrap());
        let mut pieces: Vec<Piece> = chunks.flat_map(|chunk| splitter.push(chunk)).collect();
        pieces.extend(splitter.finish());
        joined(pieces)
    }

    /// Code comes line by line or all at once; that makes no difference to what is shown.
    fn joined(pieces: Vec<Piece>) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Prose(text) => all.push(text),
                Piece::Code { begins: Some(language), text } => all.push(format!("<{language}>{text}")),
                Piece::Code { begins: None, text } => all.last_mut().unwrap().push_str(&text),
            }
        }
        all
    }

    fn check(text: &str, expected: &[&str]) {
        for size in [1, 2, 3, 7, text.len().max(1)] {
            assert_eq!(pieces(text, size), expected, "in chunks of {size}");
        }
    }

    #[test]
    fn blocks_are_pieces_however_they_come() {
        check("", &[]);
        check("one\ntwo", &["one\ntwo"]);
        check("one\n\ntwo\n\n\nthree", &["one\n\n", "two\n\n\n", "three"]);
        check("- a\n\n  more\n\n- b", &["- a\n\n  more\n\n", "- b"]);
    }

    #[test]
    fn code_is_never_cut_as_prose() {
        check("see:\n```rust\nfn a() {}\n\nfn b() {}\n```\nend", &["see:\n", "<rust>fn a() {}\n\nfn b() {}\n", "end"]);
        check("~~~\n```\n~~~\n", &["<>```\n"]);
        check("````\n```\n````", &["<>```\n"]);
        check("```\nopen\n", &["<>open\n"]);
        check("```sh\n```\nx", &["<sh>", "x"]);
        check("- a\n  ```\n  x\n\ny\n  ```\n\nend", &["- a\n  ```\n  x\n\ny\n  ```\n\n", "end"]);
        check("`` `not` `` code\n\nx", &["`` `not` `` code\n\n", "x"]);
    }

    #[test]
    fn lines_of_code_come_one_by_one() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push("```\na\nb"), [Piece::Code { begins: Some(String::new()), text: "a\n".to_owned() }]);
        assert_eq!(splitter.tail(), Some(Piece::Code { begins: None, text: "b".to_owned() }));
        assert_eq!(splitter.push("\n```\n"), [Piece::Code { begins: None, text: "b\n".to_owned() }]);
        assert_eq!(splitter.tail(), None);
    }

    #[test]
    fn what_never_ends_is_cut() {
        let pieces = pieces(&"word ".repeat(LIMIT), 1024);
        assert!(pieces.len() > 4 && pieces.iter().all(|piece| piece.len() <= LIMIT), "{}", pieces.len());
    }
}
