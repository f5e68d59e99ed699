//! Lists of sessions, page by page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rejoin_transcript::{SessionFacts, Shelf, Timestamp};

use crate::StoreError;

/// How many sessions a page holds unless asked otherwise.
pub const PAGE_SIZE: u32 = 50;

/// How long a cursor can be used.
const CURSOR_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Which sessions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Whose; empty where all sessions belong to the person at the machine.
    pub owner: String,
    /// Only those that work in this folder, as [`rejoin_transcript::Cwd::canonical`] writes it.
    pub cwd: Option<String>,
    /// Only those of the agent with this name.
    pub agent: Option<String>,
    /// What to do with archived ones.
    pub archived: ArchivedFilter,
}

/// What a list does with archived sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArchivedFilter {
    /// Leaves them out.
    #[default]
    Exclude,
    /// Shows them among the others.
    Include,
    /// Shows nothing else.
    Only,
}

impl ArchivedFilter {
    /// The shelves to look on.
    pub(crate) fn shelves(self) -> &'static [Shelf] {
        match self {
            Self::Exclude => &[Shelf::Listed],
            Self::Include => &[Shelf::Listed, Shelf::Archived],
            Self::Only => &[Shelf::Archived],
        }
    }
}

/// One page of a list, the most recently used session first.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The sessions.
    pub sessions: Vec<SessionFacts>,
    /// What to ask the next page with; `None` on the last.
    pub next: Option<Cursor>,
}

/// Where the next page begins: opaque text, good for one store and one filter, for a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// Takes a cursor that a client sends back. Whether it is a good one is seen when it is used.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to give to a client.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The last session of a page: the next begins behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) updated_at: Timestamp,
    pub(crate) row: i64,
}

/// The first byte of a cursor.
const VERSION: u8 = 1;
const LENGTH: usize = 1 + 8 + 8 + 8 + 8 + 8;

/// Writes `place` as a cursor of the store `store` for `filter`.
///
/// The layout is version, time given, filter, updated at, row, and a hash of all that and the store's id.
pub(crate) fn write_cursor(place: Place, filter: &ListFilter, store: &str, now: Timestamp) -> Cursor {
    let mut bytes = vec![VERSION];
    bytes.extend(now.as_millis().to_be_bytes());
    bytes.extend(filter_hash(filter));
    bytes.extend(place.updated_at.as_millis().to_be_bytes());
    bytes.extend(place.row.to_be_bytes());
    bytes.extend(seal(&bytes, store));
    Cursor(URL_SAFE_NO_PAD.encode(bytes))
}

/// Reads what [`write_cursor`] wrote, and nothing else.
pub(crate) fn read_cursor(
    cursor: &Cursor,
    filter: &ListFilter,
    store: &str,
    now: Timestamp,
) -> Result<Place, StoreError> {
    let bad = |reason| StoreError::BadCursor { reason };
    let bytes = URL_SAFE_NO_PAD.decode(&cursor.0).map_err(|_| bad("is not one that was given by this store"))?;
    if bytes.len() != LENGTH || bytes[0] != VERSION || bytes[LENGTH - 8..] != seal(&bytes[..LENGTH - 8], store) {
        return Err(bad("is not one that was given by this store"));
    }
    let number = |at: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[at..at + 8]);
        i64::from_be_bytes(eight)
    };
    if bytes[9..17] != filter_hash(filter) {
        return Err(bad("belongs to a list with another filter"));
    }
    if number(1) < now.plus_millis(-CURSOR_MILLIS).as_millis() {
        return Err(bad("has expired"));
    }
    Ok(Place { updated_at: Timestamp::from_millis(number(17)), row: number(25) })
}

fn filter_hash(filter: &ListFilter) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for text in [Some(&filter.owner), filter.cwd.as_ref(), filter.agent.as_ref()] {
        match text {
            Some(text) => {
                hasher.update(&(text.len() as u64 + 1).to_be_bytes());
                hasher.update(text.as_bytes());
            }
            None => {
                hasher.update(&0_u64.to_be_bytes());
            }
        }
    }
    hasher.update(&[filter.archived as u8]);
    first_eight(&hasher.finalize())
}

fn seal(bytes: &[u8], store: &str) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new_derive_key("rejoin list cursor");
    hasher.update(store.as_bytes());
    hasher.update(bytes);
    first_eight(&hasher.finalize())
}

fn first_eight(hash: &blake3::Hash) -> [u8; 8] {
    let mut eight = [0; 8];
    eight.copy_from_slice(&hash.as_bytes()[..8]);
    eight
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000_000_000);
    const PLACE: Place = Place { updated_at: Timestamp::from_millis(-5), row: 7 };

    fn reason(cursor: &Cursor, filter: &ListFilter, store: &str, now: Timestamp) -> &'static str {
        match read_cursor(cursor, filter, store, now) {
            Err(StoreError::BadCursor { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_cursor_comes_back_for_its_own_list_only() {
        let filter = ListFilter { cwd: Some("/p".to_owned()), ..ListFilter::default() };
        let cursor = write_cursor(PLACE, &filter, "store", NOW);
        assert_eq!(read_cursor(&cursor, &filter, "store", NOW).unwrap(), PLACE);
        let other = ListFilter { agent: filter.cwd.clone(), ..ListFilter::default() };
        assert!(reason(&cursor, &other, "store", NOW).contains("another filter"));
        assert!(reason(&cursor, &filter, "another store", NOW).contains("not one"));
        assert!(reason(&cursor, &filter, "store", NOW.plus_millis(CURSOR_MILLIS + 1)).contains("expired"));
    }

    #[test]
    fn a_cursor_with_any_character_changed_is_refused() {
        let cursor = write_cursor(PLACE, &ListFilter::default(), "store", NOW);
        for index in 0..cursor.0.len() {
            let mut damaged = cursor.0.clone().into_bytes();
            damaged[index] = if damaged[index] == b'A' { b'B' } else { b'A' };
            let damaged = Cursor(String::from_utf8(damaged).unwrap());
            assert!(read_cursor(&damaged, &ListFilter::default(), "store", NOW).is_err(), "{index}");
        }
        for foreign in ["", "garbage", "eyJwYWdlIjogMn0="] {
            assert!(read_cursor(&Cursor::from_text(foreign), &ListFilter::default(), "store", NOW).is_err());
        }
    }
}
