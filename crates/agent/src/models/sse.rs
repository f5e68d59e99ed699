//! Server-sent events: bytes → events.
//!
//! The reader looks at each byte once, however the bytes are cut into pieces, and holds at most one event.

use std::collections::VecDeque;

use super::limits::MAX_EVENT_BYTES;

/// One event that has data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// The field `event`, if there is one.
    pub(super) name: Option<String>,
    /// The lines of the field `data`.
    pub(super) data: String,
}

/// Why a stream can't be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SseError {
    /// An event is longer than [`MAX_EVENT_BYTES`].
    TooLong,
    /// An event is not UTF-8.
    NotText,
}

/// Reads events from a stream that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct SseReader {
    /// The line that has not ended yet.
    line: Vec<u8>,
    name: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    /// The last byte was a carriage return, so a line feed belongs to the same line end.
    after_return: bool,
    #[cfg(test)]
    n_looked_at: usize,
}

impl SseReader {
    /// Reads `bytes`, and appends the events that end in them to `events`.
    pub(super) fn read(&mut self, mut bytes: &[u8], events: &mut VecDeque<SseEvent>) -> Result<(), SseError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            #[cfg(test)]
            {
                self.n_looked_at += end.map_or(bytes.len(), |end| end + 1);
            }
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let n_held = self.line.len() + self.data.as_ref().map_or(0, Vec::len);
            if n_held + part.len() > MAX_EVENT_BYTES {
                return Err(SseError::TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line()?);
        }
        Ok(())
    }

    /// The stream has ended: returns the event that no empty line ended. Some servers leave it out after the last event.
    pub(super) fn finish(&mut self) -> Result<Option<SseEvent>, SseError> {
        if !self.line.is_empty() {
            self.end_line()?;
        }
        self.end_event()
    }

    fn end_line(&mut self) -> Result<Option<SseEvent>, SseError> {
        if self.line.is_empty() {
            return self.end_event();
        }
        let line = self.line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.line);
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = Some(value.to_vec()),
            b"data" => {
                if let Some(data) = &mut self.data {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                } else {
                    self.data = Some(value.to_vec());
                }
            }
            // Comments, and fields that say when to connect again.
            _ => {}
        }
        self.line.clear();
        Ok(None)
    }

    fn end_event(&mut self) -> Result<Option<SseEvent>, SseError> {
        let (name, data) = (self.name.take(), self.data.take());
        let Some(data) = data.filter(|data| !data.is_empty()) else { return Ok(None) };
        let text = |bytes| String::from_utf8(bytes).map_err(|_| SseError::NotText);
        Ok(Some(SseEvent { name: name.map(text).transpose()?, data: text(data)? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream that arrives in pieces of `size` bytes, and how many bytes were looked at.
    fn read(stream: &[u8], size: usize) -> (Result<Vec<SseEvent>, SseError>, usize) {
        let (mut reader, mut events) = (SseReader::default(), VecDeque::new());
        let read = stream.chunks(size).try_for_each(|piece| reader.read(piece, &mut events));
        let read = read.and_then(|()| reader.finish()).map(|last| events.into_iter().chain(last).collect());
        (read, reader.n_looked_at)
    }

    fn check(stream: &str, expected: &[(Option<&str>, &str)]) {
        let event =
            |(name, data): &(Option<&str>, &str)| SseEvent { name: name.map(str::to_owned), data: (*data).to_owned() };
        let expected: Vec<SseEvent> = expected.iter().map(event).collect();
        for size in 1..=stream.len().max(1) {
            assert_eq!(read(stream.as_bytes(), size).0.as_ref(), Ok(&expected), "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        check("data: one\n\ndata:two\r\n\r\ndata: three\r\r", &[(None, "one"), (None, "two"), (None, "three")]);
        check("\u{feff}event: ping\ndata: a\ndata: b\nid: 7\n\n", &[(Some("ping"), "a\nb")]);
        check(": comment\n\n\n\nevent: x\n\ndata\n\nretry: 5\ndata: \u{e4}\u{1f600}\n\n", &[(None, "\u{e4}\u{1f600}")]);
        check("data: the last event has no end", &[(None, "the last event has no end")]);
        check("data: neither has\nevent: this", &[(Some("this"), "neither has")]);
        check("<html>\n\n<p>data: none</p>\n", &[]);
    }

    #[test]
    fn an_event_may_be_long_and_not_longer() {
        let fits = [b"data: ".as_slice(), &vec![b'x'; MAX_EVENT_BYTES - 6], b"\n\n"].concat();
        assert_eq!(read(&fits, 1 << 16).0.unwrap()[0].data.len(), MAX_EVENT_BYTES - 6);
        let line = vec![b'x'; MAX_EVENT_BYTES + 1];
        assert_eq!(read(&line, 1 << 16).0, Err(SseError::TooLong));
        let comment = [b":".as_slice(), &line].concat();
        assert_eq!(read(&comment, 1 << 16).0, Err(SseError::TooLong));
        let without_end = b"data: 0123456789\n".repeat(MAX_EVENT_BYTES / 10);
        assert_eq!(read(&without_end, 1 << 16).0, Err(SseError::TooLong));
    }

    #[test]
    fn each_byte_is_looked_at_once() {
        let line = [b"data: ".as_slice(), &vec![b'x'; 100_000], b"\n\n"].concat();
        let events = b"data: {}\n\n".repeat(10_000);
        for stream in [line, events] {
            for size in [1, 1000, stream.len()] {
                assert_eq!(read(&stream, size).1, stream.len(), "in pieces of {size}");
            }
        }
    }

    #[test]
    fn what_is_not_text_is_an_error() {
        assert_eq!(read(b"data: \xff\n\n", 100).0, Err(SseError::NotText));
    }
}
