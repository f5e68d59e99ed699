//! A file of a history: opened as often as it is read, and unpacked if it is packed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use rejoin_transcript::Timestamp;

/// What a file begins with that is packed with Zstandard.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What some editors begin a text with; it is no part of it.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// How much is read at once.
const ROOM: usize = 256 * 1024;

/// How much of a note is read.
const LARGEST_NOTE: u64 = 16 * 1024 * 1024;

/// The content of `file`.
pub(crate) fn open(file: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut reader = BufReader::with_capacity(ROOM, File::open(file)?);
    if reader.fill_buf()?.starts_with(&ZSTD) {
        return Ok(Box::new(BufReader::with_capacity(ROOM, zstd::stream::read::Decoder::with_buffer(reader)?)));
    }
    if reader.buffer().starts_with(&BYTE_ORDER_MARK) {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    Ok(Box::new(reader))
}

/// The first `limit` bytes of `file`.
pub(crate) fn head(file: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(file)?.take(limit).read_to_end(&mut head)?;
    Ok(head)
}

/// The content of `file`, a note that stands beside a history; `None` if it can't be read.
///
/// A pipe or a device is not read: it may never end.
pub(crate) fn note(file: &Path) -> Option<Vec<u8>> {
    let is_file = std::fs::metadata(file).is_ok_and(|about| about.is_file());
    is_file.then(|| head(file, LARGEST_NOTE).ok()).flatten()
}

/// When `file` was last written to.
pub(crate) fn written_at(file: &Path) -> Option<Timestamp> {
    let at = std::fs::metadata(file).and_then(|about| about.modified()).ok()?;
    let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_millis)
}
