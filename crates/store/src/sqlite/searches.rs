//! Searching the index.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;

use rejoin_transcript::{EntryNumber, SessionFacts, Shelf};
use rusqlite::{Row, params};

use super::database::Db;
use super::fork::children;
use super::index::{self, PASSAGE, PassageRow, of_index};
use super::projector::passage_text;
use super::rows::{FACTS, Log, read_facts};
use crate::search::Terms;
use crate::{Hit, MATCHES, SearchOrder, SearchQuery, StoreError};

/// A passage that fits.
#[derive(Clone, Copy)]
struct Match {
    log: Log,
    first: EntryNumber,
    last: EntryNumber,
    at: i64,
    rank: f64,
}

impl Match {
    /// Whether it comes before (`Greater`) or behind `other`.
    ///
    /// Nothing depends on when something was indexed, which may be long after it was said.
    fn compare(&self, other: &Self, order: SearchOrder) -> Ordering {
        // FTS5 gives better matches smaller numbers.
        let by_rank = match order {
            SearchOrder::Best => other.rank.total_cmp(&self.rank),
            SearchOrder::Newest => Ordering::Equal,
        };
        by_rank.then((self.at, self.log.0, self.first).cmp(&(other.at, other.log.0, other.first)))
    }
}

/// A session that has some, and the best of them.
struct Found {
    facts: SessionFacts,
    best: Match,
    hits: u32,
}

pub(super) fn search(db: &Db<'_>, query: &SearchQuery) -> Result<Vec<Hit>, StoreError> {
    let terms = Terms::read(&query.text)?;
    let mut found = find(db, &terms, query)?;
    // Stable: a session and its fork may have the same match.
    found.sort_by(|a, b| b.best.compare(&a.best, query.order));
    found.truncate(query.limit as usize);
    found.into_iter().map(|session| to_hit(db, &terms, session)).collect()
}

/// The sessions with the newest matches, in the order in which these are met.
fn find(db: &Db<'_>, terms: &Terms, query: &SearchQuery) -> Result<Vec<Found>, StoreError> {
    let rank = match query.order {
        SearchOrder::Best => "bm25(passage_text)",
        SearchOrder::Newest => "0.0",
    };
    let sql = format!(
        "SELECT {rank}, {PASSAGE} FROM passage_text
         CROSS JOIN passage ON passage.id = passage_text.rowid
         WHERE passage_text MATCH ?1 ORDER BY passage_text.rowid DESC"
    );
    let mut sessions_of: HashMap<Log, Vec<(EntryNumber, SessionFacts)>> = HashMap::new();
    let (mut found, mut places, mut matches) = (Vec::<Found>::new(), HashMap::new(), 0);
    let visit = |one: Option<Option<Match>>| {
        // A damaged passage is skipped; `verify` names it.
        let Some(one) = one.flatten() else { return Ok(ControlFlow::Continue(())) };
        let sessions = match sessions_of.entry(one.log) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(match sessions_with(db, one.log, &query.owner) {
                // What can't be read hides nothing else.
                Err(StoreError::Damaged { .. }) => Vec::new(),
                sessions => sessions?,
            }),
        };
        // Someone else's do not count.
        matches += u32::from(!sessions.is_empty());
        for (upto, facts) in &*sessions {
            let is_title = one.first == EntryNumber::START;
            if *upto < one.first || (is_title && *upto != EVERYTHING) {
                continue;
            }
            let place = *places.entry(facts.session_id.clone()).or_insert_with(|| {
                found.push(Found { facts: facts.clone(), best: one, hits: 0 });
                found.len() - 1
            });
            let session = &mut found[place];
            session.hits += 1;
            if one.compare(&session.best, query.order).is_gt() {
                session.best = one;
            }
        }
        Ok(if matches == MATCHES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    of_index(db, db.visit_rows(&sql, [terms.to_fts5()], |row| Ok(read_match(row)), visit))?;
    if matches == 0 && !index::is_readable(db)? {
        return Err(StoreError::IndexDamaged { path: db.path().to_owned() });
    }
    Ok(found)
}

fn read_match(row: &Row<'_>) -> Option<Match> {
    let PassageRow { log, first, last, at, .. } = PassageRow::read(row, 1)?;
    Some(Match { log, first, last, at, rank: row.get(0).ok()? })
}

/// Up to where a session has the entries of its own log.
const EVERYTHING: EntryNumber = EntryNumber::new(u32::MAX);

/// The sessions of `owner` that have entries of `log`, each with the last of them: its own session, and its forks.
fn sessions_with(db: &Db<'_>, log: Log, owner: &str) -> Result<Vec<(EntryNumber, SessionFacts)>, StoreError> {
    let (mut sessions, mut waiting) = (Vec::new(), vec![(log, EVERYTHING)]);
    while let Some((log, upto)) = waiting.pop() {
        let sql = format!("SELECT {FACTS} FROM session WHERE log = ?1 AND owner = ?2 AND shelf != ?3");
        let params = params![log.0, owner, Shelf::Child.code()];
        // A damaged session must not hide the others; `verify` names it.
        let facts = db.query_one(&sql, params, |row| Ok(read_facts(row)))?.flatten();
        sessions.extend(facts.map(|facts| (upto, facts)));
        let forks = children(db, log)?.into_iter().map(|(child, shared)| (child, shared.min(upto)));
        waiting.extend(forks);
    }
    Ok(sessions)
}

fn to_hit(db: &Db<'_>, terms: &Terms, found: Found) -> Result<Hit, StoreError> {
    let Found { facts, best, hits } = found;
    let title = facts.title().map(str::to_owned);
    let text = if best.first == EntryNumber::START {
        title.clone()
    } else {
        match passage_text(db, best.log, best.first, best.last) {
            Err(StoreError::Damaged { .. }) => None,
            text => text?,
        }
    };
    let snippet = terms.snippet(&text.unwrap_or_default());
    Ok(Hit { session_id: facts.session_id, title, snippet, entry: best.first, hits })
}
