//! Which version of each file the model knows, so that it does not overwrite what others wrote since.
//!
//! A version is the hash of a whole text. It is noted when the model reads a file or writes one, and kept in the record:
//! after a restart the model still writes from what it read before. A part of a changed file does not make the change
//! known; all of its lines do, in as many calls as it takes.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rejoin::Past;
use serde::{Deserialize, Serialize};

use crate::kept::Kept;

/// The hash of a whole text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version(String);

impl Version {
    pub(crate) fn of(text: &str) -> Self {
        Self::from_hash(blake3::hash(text.as_bytes()))
    }

    fn from_hash(hash: blake3::Hash) -> Self {
        Self(hash.to_hex()[..32].to_owned())
    }
}

/// What of a version the model was given: lines, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) first: u32,
    /// The line behind the last.
    pub(super) end: u32,
    /// Whether nothing of the file comes behind them.
    pub(super) is_last: bool,
}

/// The versions that the model knows in a session.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<HashMap<PathBuf, Known>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    version: Version,
    /// A newer one, of which all lines before this one were read.
    reading: Option<(Version, u32)>,
}

impl Known {
    fn new(version: Version) -> Self {
        Self { version, reading: None }
    }
}

impl Seen {
    /// What was known at the end of `past`.
    pub(crate) fn of(past: &[Past]) -> Self {
        let kept = past.iter().filter_map(|past| match past {
            Past::Kept(value) => Kept::read(value),
            _ => None,
        });
        let seen = kept.filter_map(|kept| match kept {
            Kept::Seen { path, version } => Some((PathBuf::from(path), Known::new(version))),
            _ => None,
        });
        Self(Mutex::new(seen.collect()))
    }

    /// The model was given `lines` of the file at `path`. Says whether it knows another version than before.
    pub(super) fn read(&self, path: &Path, version: &Version, lines: Lines) -> bool {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = files.get_mut(path) else {
            files.insert(path.to_owned(), Known::new(version.clone()));
            return true;
        };
        if known.version == *version {
            known.reading = None;
            return false;
        }
        let so_far = known.reading.as_ref().filter(|(reading, _)| reading == version).map_or(1, |(_, next)| *next);
        let next = if lines.first <= so_far { so_far.max(lines.end) } else { so_far };
        if lines.is_last && next == lines.end {
            *known = Known::new(version.clone());
            return true;
        }
        known.reading = Some((version.clone(), next));
        false
    }

    /// The model changed the file at `path` from `old` to `new`. Says whether it knows another version than before: one
    /// that did not know the old version does not know the new one.
    pub(super) fn wrote(&self, path: &Path, old: Option<&Version>, new: &Version) -> bool {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let knew = files.get(path).is_none_or(|known| old.is_none_or(|old| known.version == *old));
        if knew {
            files.insert(path.to_owned(), Known::new(new.clone()));
        }
        knew
    }

    /// Whether the model knows a version of the file at `path` that is not `now`.
    pub(super) fn is_stale(&self, path: &Path, now: &Version) -> bool {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(path).is_some_and(|known| known.version != *now)
    }
}

/// A reader that hashes what is read.
pub(super) struct Hashing<R> {
    inner: R,
    hasher: blake3::Hasher,
}

impl<R: Read> Hashing<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: blake3::Hasher::new() }
    }

    /// The version of all that was read.
    pub(super) fn version(&self) -> Version {
        Version::from_hash(self.hasher.finalize())
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..n_bytes]);
        Ok(n_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(first: u32, end: u32, is_last: bool) -> Lines {
        Lines { first, end, is_last }
    }

    #[test]
    fn a_change_is_known_once_all_of_it_was_read() {
        let (seen, path) = (Seen::default(), Path::new("/a"));
        let (one, two, three) = (Version::of("one"), Version::of("two"), Version::of("three"));
        assert!(!seen.is_stale(path, &one));
        assert!(seen.read(path, &one, lines(5, 6, false)) && !seen.is_stale(path, &one));
        for (version, lines, is_known) in [
            (&two, lines(2, 5, true), false),
            (&two, lines(1, 3, false), false),
            (&two, lines(4, 5, true), false),
            (&three, lines(3, 5, true), false),
            (&two, lines(1, 3, false), false),
            (&two, lines(2, 4, false), false),
            (&two, lines(4, 5, true), true),
            (&three, lines(1, 9, true), true),
        ] {
            assert_eq!(seen.read(path, version, lines), is_known, "{lines:?}");
            assert_eq!(seen.is_stale(path, version), !is_known, "{lines:?}");
        }
    }

    #[test]
    fn a_write_is_known_unless_what_it_changed_was_not() {
        let (seen, path) = (Seen::default(), Path::new("/a"));
        let (one, two, three) = (Version::of("one"), Version::of("two"), Version::of("three"));
        assert!(seen.wrote(path, None, &one) && seen.wrote(path, Some(&one), &two));
        assert!(!seen.wrote(path, Some(&one), &three));
        assert!(seen.is_stale(path, &three) && !seen.is_stale(path, &two));
        assert!(seen.wrote(path, None, &three));
    }

    #[test]
    fn a_text_and_its_bytes_are_one_version() {
        let mut reader = Hashing::new("some text".as_bytes());
        io::copy(&mut reader, &mut io::sink()).unwrap();
        assert_eq!(reader.version(), Version::of("some text"));
    }
}
