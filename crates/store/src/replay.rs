//! The replay of a session, page by page.

use rejoin_transcript::{Entry, EntryNumber, Replay, Replayed, SessionId, States};

use crate::StoreError;
use crate::advance::Advance;

/// A page of a replay.
#[derive(Debug)]
pub struct ReplayPage {
    /// Lines, each with its line break: the params of a `session/update` without the session id.
    pub lines: String,
    /// Where the next page begins; `None` after the last.
    pub next: Option<ReplayPlace>,
}

impl ReplayPage {
    /// The page, if the next one begins behind `from`, where this one did; a replay that stays where it is would never
    /// end.
    pub(crate) fn moved_on(self, session: &SessionId, from: Progress) -> Result<Self, StoreError> {
        match &self.next {
            Some(next) if !Advance::from(from).to(next.progress()) => {
                Err(StoreError::Stuck { session: session.clone(), after: next.after })
            }
            _ => Ok(self),
        }
    }
}

/// How far a replay has come: grows with each page.
pub(crate) type Progress = (EntryNumber, Option<i64>);

/// Where in a replay the next page begins, and what must be remembered until then.
#[derive(Debug)]
pub struct ReplayPlace {
    /// The last entry to replay; the session's last at the first page, if not given.
    pub(crate) upto: Option<EntryNumber>,
    /// What was replayed already.
    pub(crate) after: EntryNumber,
    /// The stored piece after which the next comes, where pieces are stored.
    pub(crate) piece: Option<i64>,
    /// How many lines behind `after` were given out already, from stored pieces.
    given: usize,
    /// The entries that are being folded, where none is stored.
    pub(crate) fold: Replay,
    /// What belongs behind everything.
    pub(crate) states: States,
}

impl ReplayPlace {
    /// The replay of everything there is now.
    pub fn all() -> Self {
        Self {
            upto: None,
            after: EntryNumber::START,
            piece: None,
            given: 0,
            fold: Replay::default(),
            states: States::default(),
        }
    }

    /// The replay of the entries up to `number`, so that live updates can follow without a gap.
    pub fn up_to(number: EntryNumber) -> Self {
        Self { upto: Some(number), ..Self::all() }
    }

    /// Whether nothing was replayed yet.
    pub(crate) fn is_at_start(&self) -> bool {
        self.after == EntryNumber::START && self.piece.is_none()
    }

    /// How far the replay has come.
    pub(crate) fn progress(&self) -> Progress {
        (self.after, self.piece)
    }

    /// Where the replay ends, now that the session's last entry is known to be `head`. It stays there.
    pub(crate) fn fix_end(&mut self, head: EntryNumber) -> EntryNumber {
        *self.upto.insert(self.upto.unwrap_or(head).min(head))
    }

    /// Notes that the stored piece `id`, which holds `lines`, was given out. `end` is there for the last piece of a
    /// segment: the segment's last entry, and its states.
    pub(crate) fn take_piece(&mut self, id: i64, lines: &str, end: Option<(EntryNumber, States)>) {
        self.piece = Some(id);
        self.given += memchr::memchr_iter(b'\n', lines.as_bytes()).count();
        if let Some((last, states)) = end {
            self.after = last;
            self.given = 0;
            self.states = std::mem::take(&mut self.states).then(states);
        }
    }

    /// Folds a page of `entries` that no stored piece covers, into `lines`.
    pub(crate) fn fold_entries(&mut self, entries: &[Entry], lines: &mut String) {
        for entry in entries {
            let replayed = self.fold.push(entry);
            self.push(&replayed, lines);
            self.after = entry.number;
        }
    }

    /// Gives out what the fold still holds, into `lines`.
    pub(crate) fn end_fold(&mut self, lines: &mut String) {
        let (last, states) = std::mem::take(&mut self.fold).finish();
        self.push(&last, lines);
        self.states = std::mem::take(&mut self.states).then(states);
    }

    /// Leaves out what was given already: a segment that is folded anew gives the same lines.
    fn push(&mut self, replayed: &[Replayed], lines: &mut String) {
        let skipped = self.given.min(replayed.len());
        self.given -= skipped;
        push_lines(lines, &replayed[skipped..]);
    }

    /// Ends the replay: what belongs behind everything, into `lines`.
    pub(crate) fn end(mut self, lines: &mut String) {
        self.end_fold(lines);
        push_lines(lines, &self.states.updates());
    }
}

/// Writes each of `replayed` as a line.
pub(crate) fn push_lines(lines: &mut String, replayed: &[Replayed]) {
    for one in replayed {
        lines.push_str(one.params.as_str());
        lines.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a replay goes on that was at `from` and is at `to` after a page.
    fn goes_on(from: Progress, to: Progress) -> bool {
        let next = Some(ReplayPlace { after: to.0, piece: to.1, ..ReplayPlace::all() });
        let session = SessionId::parse("s").unwrap();
        ReplayPage { lines: String::new(), next }.moved_on(&session, from).is_ok()
    }

    #[test]
    fn a_replay_that_stays_where_it_is_is_an_error() {
        let at = |entry, piece| (EntryNumber::new(entry), piece);
        assert!(goes_on(at(0, None), at(5, None)));
        assert!(goes_on(at(5, None), at(5, Some(1))));
        assert!(goes_on(at(5, Some(1)), at(5, Some(2))));
        assert!(goes_on(at(5, Some(2)), at(6, None)));
        assert!(!goes_on(at(5, None), at(5, None)));
        assert!(!goes_on(at(5, Some(1)), at(5, Some(1))));
        assert!(!goes_on(at(5, Some(1)), at(5, None)));
    }
}
