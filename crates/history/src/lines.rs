//! The lines of a file, one at a time: what is no text, or too long to be looked at, is passed over and counted.

use std::io::{self, BufRead, Read};

use serde_json::Value;

/// The longest line that is looked at.
const LONGEST: u64 = 64 * 1024 * 1024;

/// The lines of a file.
pub(crate) struct Lines {
    input: Box<dyn BufRead>,
    buffer: Vec<u8>,
    /// How many lines were read.
    count: u64,
    /// How many of them could not be.
    damaged: u64,
    /// Whether the last line read was not ended, as if whoever wrote it was killed.
    is_torn: bool,
}

impl Lines {
    pub(crate) fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, buffer: Vec::new(), count: 0, damaged: 0, is_torn: false }
    }

    /// The next line that can be read, with its number, counted from 1; `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(u64, &str)>> {
        loop {
            self.buffer.clear();
            let n_bytes = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut self.buffer)?;
            if n_bytes == 0 {
                return Ok(None);
            }
            self.count += 1;
            let is_whole = self.buffer.last() == Some(&b'\n');
            if !is_whole && n_bytes as u64 == LONGEST {
                self.input.skip_until(b'\n')?;
                self.damaged += 1;
                continue;
            }
            self.is_torn = !is_whole;
            if std::str::from_utf8(&self.buffer).is_err() {
                self.note_damaged();
                continue;
            }
            break;
        }
        let text = std::str::from_utf8(&self.buffer).map_err(io::Error::other)?;
        Ok(Some((self.count, text.trim())))
    }

    /// The next line that is a JSON object; `None` at the end.
    pub(crate) fn next_object(&mut self) -> io::Result<Option<Value>> {
        loop {
            let Some((_, text)) = self.next()? else { return Ok(None) };
            if text.is_empty() {
                continue;
            }
            match serde_json::from_str::<Value>(text) {
                Ok(value) if value.is_object() => return Ok(Some(value)),
                Ok(_) | Err(_) => self.note_damaged(),
            }
        }
    }

    /// The number of the line read last, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.count
    }

    /// The line read last is not what it should be. One that breaks off is no damage: somebody is writing it.
    pub(crate) fn note_damaged(&mut self) {
        self.damaged += u64::from(!self.is_torn);
    }

    /// How many lines could not be read.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn what_can_not_be_read_is_passed_over_and_counted_unless_it_breaks_off() {
        let text = b"{\"a\":1}\n\n\xff\xfe\nnot json\n[1]\n{\"b\":2}\n{\"c\":".to_vec();
        let mut lines = Lines::new(Box::new(Cursor::new(text)));
        let mut read = Vec::new();
        while let Some(value) = lines.next_object().unwrap() {
            read.push(value.to_string());
        }
        assert_eq!(read, [r#"{"a":1}"#, r#"{"b":2}"#]);
        assert_eq!(lines.damaged(), 3);
    }
}
