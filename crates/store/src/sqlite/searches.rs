//! Searching the index.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::rc::Rc;

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
    facts: Rc<SessionFacts>,
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
    let mut family = Family { db, owner: &query.owner, logs: HashMap::new() };
    let mut sessions_of: HashMap<Log, Vec<(EntryNumber, Rc<SessionFacts>)>> = HashMap::new();
    let (mut found, mut places, mut matches) = (Vec::<Found>::new(), HashMap::new(), 0);
    let visit = |one: Option<Option<Match>>| {
        // A damaged passage is skipped; `verify` names it.
        let Some(one) = one.flatten() else { return Ok(ControlFlow::Continue(())) };
        let sessions = match sessions_of.entry(one.log) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(match family.sessions_with(one.log) {
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
            let place = *places.entry(Rc::as_ptr(facts)).or_insert_with(|| {
                found.push(Found { facts: Rc::clone(facts), best: one, hits: 0 });
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

/// The sessions and forks that a search met. Each log is read once, however many of its ancestors have matches.
struct Family<'a> {
    db: &'a Db<'a>,
    owner: &'a str,
    logs: HashMap<Log, Rc<Member>>,
}

/// A log: its session, if that is the owner's, and the logs that go on from it.
struct Member {
    facts: Option<Rc<SessionFacts>>,
    children: Vec<(Log, EntryNumber)>,
}

impl Family<'_> {
    /// The owner's sessions that have entries of `log`, each with the last of them: its own session, and its forks.
    fn sessions_with(&mut self, log: Log) -> Result<Vec<(EntryNumber, Rc<SessionFacts>)>, StoreError> {
        let (mut sessions, mut waiting) = (Vec::new(), vec![(log, EVERYTHING)]);
        while let Some((log, upto)) = waiting.pop() {
            let member = self.member(log)?;
            sessions.extend(member.facts.as_ref().map(|facts| (upto, Rc::clone(facts))));
            waiting.extend(member.children.iter().map(|(child, shared)| (*child, (*shared).min(upto))));
        }
        Ok(sessions)
    }

    fn member(&mut self, log: Log) -> Result<Rc<Member>, StoreError> {
        if let Some(known) = self.logs.get(&log) {
            return Ok(Rc::clone(known));
        }
        let sql = format!("SELECT {FACTS} FROM session WHERE log = ?1 AND owner = ?2 AND shelf != ?3");
        let params = params![log.0, self.owner, Shelf::Child.code()];
        // A damaged session must not hide the others; `verify` names it.
        let facts = self.db.query_one(&sql, params, |row| Ok(read_facts(row)))?.flatten().map(Rc::new);
        let member = Rc::new(Member { facts, children: children(self.db, log)? });
        self.logs.insert(log, Rc::clone(&member));
        Ok(member)
    }
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
    Ok(Hit { session_id: facts.session_id.clone(), title, snippet, entry: best.first, hits })
}
