//! All entries of a session, page by page, with the next pages being read while one is used.
//!
//! Where the next page begins is known once this one is there. Where the one after that begins can be foretold: pages
//! that are full have the same length, so when two in a row have, the next is taken to have it, too. A page that was
//! read from the wrong place is not used.

use std::future::Future;

use futures::{Stream, TryStreamExt, stream};
use rejoin_transcript::{Entry, EntryNumber, SessionId};

use crate::advance::Advance;
use crate::begun::Begun;
use crate::{SessionStore, StoreError};

/// All entries of `session` behind `after`, in bounded memory. The next pages are read while this one is used.
pub fn entries<'a, S: SessionStore + ?Sized>(
    store: &'a S,
    session: &'a SessionId,
    after: EntryNumber,
) -> impl Stream<Item = Result<Entry, StoreError>> + 'a {
    let read = move |after| Reading { after, page: Begun::later(store.read(session, after)) };
    let pages = Pages { session, read, next: read(after), foretold: None, length: 0 };
    let pages = stream::try_unfold(pages, |mut pages| async move {
        let page = pages.next().await?;
        Ok(page.map(|page| (stream::iter(page.into_iter().map(Ok)), pages)))
    });
    pages.try_flatten()
}

/// A page that is being read.
struct Reading<F: Future> {
    after: EntryNumber,
    page: Begun<F>,
}

impl<F: Future<Output = Result<Vec<Entry>, StoreError>>> Reading<F> {
    async fn begin(self) -> Self {
        Self { page: self.page.begin().await, ..self }
    }

    async fn end(&mut self) -> Result<Vec<Entry>, StoreError> {
        self.page.end().await.unwrap_or(Ok(Vec::new()))
    }
}

/// The pages of a session.
struct Pages<'a, F: Future, R> {
    session: &'a SessionId,
    read: R,
    next: Reading<F>,
    /// The page after the next, if it was foretold where it begins.
    foretold: Option<Reading<F>>,
    /// How many entries the last page had.
    length: usize,
}

impl<F, R> Pages<'_, F, R>
where
    F: Future<Output = Result<Vec<Entry>, StoreError>>,
    R: Fn(EntryNumber) -> Reading<F>,
{
    /// The next page; nothing behind the last.
    async fn next(&mut self) -> Result<Option<Vec<Entry>>, StoreError> {
        let page = self.next.end().await?;
        let Some(last) = page.last().map(|entry| entry.number) else { return Ok(None) };
        if !Advance::from(self.next.after).to(last) {
            return Err(StoreError::Stuck { session: self.session.clone(), after: last });
        }
        self.next = match self.foretold.take().filter(|foretold| foretold.after == last) {
            Some(foretold) => foretold,
            None => (self.read)(last).begin().await,
        };
        if page.len() == self.length {
            let end_of_next = last.plus(u32::try_from(self.length).unwrap_or(u32::MAX));
            self.foretold = Some((self.read)(end_of_next).begin().await);
        }
        self.length = page.len();
        Ok(Some(page))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::ready;
    use rejoin_transcript::{Json, LayerKind, Step, Timestamp, Turn};

    use super::*;

    fn entry(number: u32) -> Entry {
        let body = Json::parse("{}").unwrap();
        let step = Step::of_layer(Timestamp::from_millis(0), Turn::After(0), LayerKind::StateSet, body);
        Entry { number: EntryNumber::new(number), step }
    }

    /// The lengths of the pages of a session whose pages end at `ends`.
    fn lengths(ends: &[u32]) -> Vec<usize> {
        let read = |after: EntryNumber| {
            let end = ends.iter().copied().find(|end| *end > after.get()).unwrap_or_default();
            let page: Vec<Entry> = (after.get() + 1..=end).map(entry).collect();
            Reading { after, page: Begun::later(ready(Ok(page))) }
        };
        let session = SessionId::parse("s").unwrap();
        let mut pages = Pages { session: &session, read, next: read(EntryNumber::START), foretold: None, length: 0 };
        let pages: Vec<_> = std::iter::from_fn(|| pages.next().now_or_never().unwrap().unwrap()).collect();
        assert!(pages.iter().flatten().map(|entry| entry.number.get()).eq(1..=ends.last().copied().unwrap_or(0)));
        pages.iter().map(Vec::len).collect()
    }

    #[test]
    fn every_page_comes_once_however_long_the_pages_are() {
        assert_eq!(lengths(&[]), [0; 0]);
        assert_eq!(lengths(&[2, 4, 6, 8, 9]), [2, 2, 2, 2, 1]);
        assert_eq!(lengths(&[2, 4, 7, 8, 9, 13]), [2, 2, 3, 1, 1, 4]);
        assert_eq!(lengths(&[3, 6, 8, 9, 12]), [3, 3, 2, 1, 3]);
    }

    #[test]
    fn a_page_that_comes_again_is_an_error() {
        let session = SessionId::parse("s").unwrap();
        let read = |after| Reading { after, page: Begun::later(ready(Ok(vec![entry(1)]))) };
        let mut pages = Pages { session: &session, read, next: read(EntryNumber::START), foretold: None, length: 0 };
        assert!(pages.next().now_or_never().unwrap().is_ok());
        let again = pages.next().now_or_never().unwrap();
        assert!(matches!(again, Err(StoreError::Stuck { .. })), "{again:?}");
    }
}
