//! What a command writes, of which the beginning and the end are kept.

use std::collections::VecDeque;

/// So many bytes of the beginning are kept, and as many of the end.
const KEPT: usize = 16 * 1024;

/// What a command has written so far.
#[derive(Debug, Default)]
pub(super) struct Written {
    beginning: Vec<u8>,
    end: VecDeque<u8>,
    /// How many bytes between the two are gone.
    n_gone: usize,
}

impl Written {
    /// Takes over what came.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(KEPT - self.beginning.len()));
        self.beginning.extend(first);
        self.end.extend(rest);
        let n_too_many = self.end.len().saturating_sub(KEPT);
        self.end.drain(..n_too_many);
        self.n_gone += n_too_many;
    }

    /// Whether something was left out.
    pub(super) fn is_cut(&self) -> bool {
        self.n_gone > 0
    }

    /// The text, with a word about what was left out. What is no text becomes U+FFFD.
    pub(super) fn text(&self) -> String {
        let end: Vec<u8> = self.end.iter().copied().collect();
        if self.is_cut() {
            let (beginning, end) = (String::from_utf8_lossy(&self.beginning), String::from_utf8_lossy(&end));
            return format!("{beginning}\n[… {} bytes are left out …]\n{end}", self.n_gone);
        }
        String::from_utf8_lossy(&[self.beginning.as_slice(), &end].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut written = Written::default();
        written.push("ä".repeat(KEPT).as_bytes());
        assert_eq!((written.is_cut(), written.text()), (false, "ä".repeat(KEPT)));
        written.push(b"and the end");
        let text = written.text();
        assert!(text.starts_with('ä') && text.ends_with("and the end"), "{text}");
        assert!(text.contains("[… 11 bytes are left out …]"), "{text}");
    }

    #[test]
    fn it_never_holds_more_than_it_keeps() {
        let mut written = Written::default();
        for _ in 0..100 {
            written.push(&[b'x'; 5000]);
        }
        assert_eq!((written.beginning.len(), written.end.len()), (KEPT, KEPT));
        assert_eq!(written.n_gone, 500_000 - 2 * KEPT);
    }
}
