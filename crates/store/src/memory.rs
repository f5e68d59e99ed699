//! Sessions in memory, for tests: the same promises, but for durability, in the plainest way.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rejoin_transcript::{
    Entry, EntryNumber, Fact, Item, Session, SessionFacts, SessionId, Shelf, Step, Timestamp, View,
};

use crate::ahead::{latest_stamp, stamps};
use crate::fork::become_fork;
use crate::lease::{Held, is_busy, is_held, is_orphaned, may_take_over};
use crate::list::{Place, read_cursor, write_cursor};
use crate::search::{Terms, holds};
use crate::{
    Cursor, Hit, Lease, ListFilter, MATCHES, Owner, Page, Pruned, ReplayPage, ReplayPlace, Retention, Run, SearchOrder,
    SearchQuery, SessionStore, Stats, StoreError, VerifyReport,
};

/// How many entries a page holds.
const PAGE_ENTRIES: usize = 100;

/// Sessions in memory.
pub struct MemoryStore {
    /// Cursors of one store do not fit another.
    id: String,
    sessions: Mutex<BTreeMap<SessionId, Kept>>,
}

/// A session and its entries.
#[derive(Clone)]
struct Kept {
    /// Counts sessions in the order in which they were made.
    row: i64,
    session: Session,
    entries: Vec<Entry>,
    token: u64,
    held: Option<Held>,
}

impl Kept {
    fn head(&self) -> EntryNumber {
        self.entries.last().map_or(EntryNumber::START, |entry| entry.number)
    }

    fn check_free(&self, owner: &Owner, now: Timestamp) -> Result<(), StoreError> {
        match &self.held {
            Some(held) if !may_take_over(Some(held), owner, now, self.session.facts.running_since.is_some()) => {
                Err(self.in_use(held))
            }
            _ => Ok(()),
        }
    }

    fn check_idle(&self, now: Timestamp) -> Result<(), StoreError> {
        match &self.held {
            Some(held) if self.is_busy(now) => Err(self.in_use(held)),
            _ => Ok(()),
        }
    }

    fn is_busy(&self, now: Timestamp) -> bool {
        is_busy(self.held.as_ref(), now, self.session.facts.running_since.is_some())
    }

    fn in_use(&self, held: &Held) -> StoreError {
        let session = self.session.facts.session_id.clone();
        StoreError::InUse { session, owner: Box::new(held.owner.clone()), since: held.since }
    }

    fn bytes(&self) -> u64 {
        let own_from = self.session.facts.parent.as_ref().map_or(EntryNumber::START, |parent| parent.at);
        let own = self.entries.iter().filter(|entry| entry.number > own_from);
        own.map(|entry| entry.step.body.as_str().len() as u64).sum()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self { id: format!("{:032x}", crate::random_bits()), sessions: Mutex::default() }
    }
}

impl MemoryStore {
    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SessionId, Kept>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        session: &SessionId,
        work: impl FnOnce(&mut Kept) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut sessions = self.sessions();
        let kept = sessions.get_mut(session);
        work(kept.ok_or_else(|| StoreError::SessionNotFound { id: session.to_string() })?)
    }
}

fn insert(sessions: &mut BTreeMap<SessionId, Kept>, session: Session, entries: Vec<Entry>) -> Result<(), StoreError> {
    let id = session.facts.session_id.clone();
    if sessions.contains_key(&id) {
        return Err(StoreError::SessionExists { id });
    }
    let row = sessions.values().map(|kept| kept.row).max().unwrap_or_default() + 1;
    sessions.insert(id, Kept { row, session, entries, token: 0, held: None });
    Ok(())
}

/// Stamps the listed sessions of `owner` that are ahead of `now` with that, in their order.
fn bring_back(sessions: &mut BTreeMap<SessionId, Kept>, owner: &str, now: Timestamp) {
    let is_ahead = |kept: &&mut Kept| {
        let facts = &kept.session.facts;
        let is_listed = matches!(facts.shelf(), Shelf::Listed | Shelf::Archived);
        facts.owner == owner && is_listed && facts.updated_at > latest_stamp(now)
    };
    let mut ahead: Vec<&mut Kept> = sessions.values_mut().filter(is_ahead).collect();
    ahead.sort_unstable_by_key(|kept| (kept.session.facts.updated_at, kept.row));
    let new = stamps(ahead.len(), now);
    for (kept, stamp) in ahead.into_iter().zip(new) {
        kept.session.facts.updated_at = stamp;
    }
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, session: Session) -> Result<(), StoreError> {
        insert(&mut self.sessions(), session, Vec::new())
    }

    async fn session(&self, session: &SessionId) -> Result<Session, StoreError> {
        self.with(session, |kept| Ok(kept.session.clone()))
    }

    async fn head(&self, session: &SessionId) -> Result<EntryNumber, StoreError> {
        self.with(session, |kept| Ok(kept.head()))
    }

    async fn resolve(&self, owner: &str, prefix: &str) -> Result<SessionId, StoreError> {
        let sessions = self.sessions();
        let own = sessions.iter().filter(|(_, kept)| kept.session.facts.owner == owner).map(|(id, _)| id);
        let fits = |id: &&SessionId| !prefix.is_empty() && id.as_str().starts_with(prefix);
        let mut found: Vec<&SessionId> = own.filter(fits).collect();
        if let Some(whole) = found.iter().position(|id| id.as_str() == prefix) {
            found = vec![found[whole]];
        }
        match found[..] {
            [] => Err(StoreError::SessionNotFound { id: prefix.to_owned() }),
            [id] => Ok(id.clone()),
            _ => Err(StoreError::AmbiguousPrefix { prefix: prefix.to_owned(), count: found.len() as u64 }),
        }
    }

    async fn acquire(&self, session: &SessionId, owner: &Owner) -> Result<Lease, StoreError> {
        let now = crate::now();
        let whose = self.with(session, |kept| {
            kept.check_free(owner, now)?;
            Ok(kept.session.facts.owner.clone())
        })?;
        bring_back(&mut self.sessions(), &whose, now);
        self.with(session, |kept| {
            let is_orphaned = is_orphaned(kept.held.as_ref(), owner);
            kept.token += 1;
            kept.held = Some(Held { owner: owner.clone(), since: now, until: now.plus_millis(owner.lease_millis) });
            Ok(Lease {
                millis: owner.lease_millis,
                session: session.clone(),
                token: kept.token,
                head: kept.head(),
                unfinished_since: kept.session.facts.running_since,
                is_orphaned,
            })
        })
    }

    async fn renew(&self, lease: &Lease) -> Result<(), StoreError> {
        self.with(&lease.session, |kept| {
            if kept.token != lease.token {
                return Err(StoreError::LeaseLost { session: lease.session.clone() });
            }
            if let Some(held) = &mut kept.held {
                held.until = crate::now().plus_millis(lease.millis);
            }
            Ok(())
        })
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        if let Some(kept) = self.sessions().get_mut(&lease.session).filter(|kept| kept.token == lease.token) {
            // Whoever gave the right back can't use it any more.
            (kept.held, kept.token) = (None, kept.token + 1);
        }
        Ok(())
    }

    async fn append(
        &self,
        lease: &Lease,
        after: EntryNumber,
        steps: Vec<Step>,
        facts: Vec<Fact>,
    ) -> Result<EntryNumber, StoreError> {
        self.with(&lease.session, |kept| {
            let session = lease.session.clone();
            if kept.token != lease.token {
                return Err(StoreError::LeaseLost { session });
            }
            if kept.head() != after {
                return Err(StoreError::Conflict { session, expected: after, actual: kept.head() });
            }
            for step in steps {
                let number = kept.head().next();
                kept.session.observe(number, &step);
                kept.entries.push(Entry { number, step });
            }
            for fact in facts {
                kept.session.apply(fact);
            }
            Ok(kept.head())
        })
    }

    async fn tell(&self, session: &SessionId, facts: Vec<Fact>) -> Result<(), StoreError> {
        self.with(session, |kept| {
            for fact in facts {
                kept.session.apply(fact);
            }
            Ok(())
        })
    }

    async fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn read(&self, session: &SessionId, after: EntryNumber) -> Result<Vec<Entry>, StoreError> {
        self.with(session, |kept| {
            let behind = kept.entries.iter().filter(|entry| entry.number > after);
            Ok(behind.take(PAGE_ENTRIES).cloned().collect())
        })
    }

    async fn replay(&self, session: &SessionId, mut place: ReplayPlace) -> Result<ReplayPage, StoreError> {
        let upto = place.fix_end(self.head(session).await?);
        let mut entries = self.read(session, place.after).await?;
        entries.retain(|entry| entry.number <= upto);
        let mut lines = String::new();
        place.fold_entries(&entries, &mut lines);
        if place.after < upto {
            return Ok(ReplayPage { lines, next: Some(place) });
        }
        place.end(&mut lines);
        Ok(ReplayPage { lines, next: None })
    }

    async fn list(&self, filter: &ListFilter, cursor: Option<&Cursor>, limit: u32) -> Result<Page, StoreError> {
        let now = crate::now();
        let from = cursor.map(|cursor| read_cursor(cursor, filter, &self.id, now)).transpose()?;
        let sessions = self.sessions();
        let fits = |kept: &&Kept| {
            let facts = &kept.session.facts;
            facts.owner == filter.owner
                && filter.archived.shelves().contains(&facts.shelf())
                && filter.cwd.as_ref().is_none_or(|cwd| *cwd == facts.cwd.canonical)
                && filter.agent.as_ref().is_none_or(|agent| *agent == facts.agent.name)
                && from.is_none_or(|from| (facts.updated_at, kept.row) < (from.updated_at, from.row))
        };
        let mut found: Vec<&Kept> = sessions.values().filter(fits).collect();
        found.sort_by_key(|kept| Reverse((kept.session.facts.updated_at, kept.row)));
        let limit = limit.max(1) as usize;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let place = |kept: &&Kept| Place { updated_at: kept.session.facts.updated_at, row: kept.row };
        let next = found.last().filter(|_| has_more).map(|kept| write_cursor(place(kept), filter, &self.id, now));
        Ok(Page { sessions: found.into_iter().map(|kept| kept.session.facts.clone()).collect(), next })
    }

    async fn fork(
        &self,
        source: &SessionId,
        at: EntryNumber,
        fork: SessionId,
        now: Timestamp,
        facts: Vec<Fact>,
    ) -> Result<Session, StoreError> {
        let Kept { mut session, mut entries, .. } = self.with(source, |kept| Ok(kept.clone()))?;
        let last = entries.last().map_or(EntryNumber::START, |entry| entry.number);
        if at > last {
            return Err(StoreError::NoSuchEntry { session: source.clone(), at, last });
        }
        entries.retain(|entry| entry.number <= at);
        if at < last {
            session.forget_entries();
            for entry in &entries {
                session.observe(entry.number, &entry.step);
            }
        }
        let step = become_fork(&mut session, fork, at, now, facts);
        entries.push(Entry { number: at.next(), step });
        insert(&mut self.sessions(), session.clone(), entries)?;
        Ok(session)
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.with(session, |kept| kept.check_idle(crate::now()))?;
        self.sessions().remove(session);
        Ok(())
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<Hit>, StoreError> {
        let terms = Terms::read(&query.text)?;
        let sessions = self.sessions();
        let mut found: Vec<(usize, (Timestamp, i64), Hit)> = Vec::new();
        for kept in sessions.values() {
            let facts = &kept.session.facts;
            if facts.owner != query.owner || facts.shelf() == Shelf::Child {
                continue;
            }
            let view = View::of(&kept.entries);
            let said = view.items.iter().filter_map(|item: &Item| Some((item.first, item.searchable_text()?)));
            let title = facts.title().map(|title| (EntryNumber::START, title.to_owned()));
            let mut matches: Vec<_> = said.chain(title).filter(|(_, text)| holds(text, &terms)).collect();
            matches.truncate(MATCHES as usize);
            // The shorter the text, the more a word in it weighs.
            let best = matches.iter().min_by_key(|(_, text)| text.len());
            let newest = matches.iter().max_by_key(|(entry, _)| *entry);
            let chosen = if query.order == SearchOrder::Best { best } else { newest };
            let Some((entry, text)) = chosen else { continue };
            let hit = Hit {
                session_id: facts.session_id.clone(),
                title: facts.title().map(str::to_owned),
                snippet: terms.snippet(text),
                entry: *entry,
                hits: u32::try_from(matches.len()).unwrap_or(u32::MAX),
            };
            found.push((text.len(), (facts.updated_at, kept.row), hit));
        }
        match query.order {
            SearchOrder::Best => found.sort_by_key(|(length, since, _)| (*length, Reverse(*since))),
            SearchOrder::Newest => found.sort_by_key(|(_, since, _)| Reverse(*since)),
        }
        Ok(found.into_iter().map(|(.., hit)| hit).take(query.limit as usize).collect())
    }

    async fn stats(&self, day: fn(Timestamp) -> String) -> Result<Stats, StoreError> {
        let sessions = self.sessions();
        let mut stats = Stats { bytes: sessions.values().map(Kept::bytes).sum(), ..Stats::default() };
        let listed = sessions.values().map(|kept| &kept.session.facts);
        listed
            .filter(|facts| matches!(facts.shelf(), Shelf::Listed | Shelf::Archived))
            .for_each(|facts| stats.add(facts, day));
        Ok(stats)
    }

    async fn verify(&self) -> Result<VerifyReport, StoreError> {
        let sessions = self.sessions();
        let entries = sessions.values().map(|kept| kept.entries.len() as u64).sum();
        Ok(VerifyReport { sessions: sessions.len() as u64, entries, damages: Vec::new() })
    }

    async fn prune(&self, retention: &Retention, now: Timestamp, run: Run) -> Result<Vec<Pruned>, StoreError> {
        let mut sessions = self.sessions();
        let mut newest: Vec<&Kept> = sessions.values().collect();
        newest.retain(|kept| matches!(kept.session.facts.shelf(), Shelf::Listed | Shelf::Archived));
        newest.sort_by_key(|kept| Reverse((kept.session.facts.updated_at, kept.row)));
        let candidates = newest.into_iter().map(|kept| Ok((kept.session.facts.clone(), kept.is_busy(now))));
        let bytes = |facts: &SessionFacts| Ok(sessions.get(&facts.session_id).map_or(0, Kept::bytes));
        let pruned = retention.choose(candidates, bytes, now)?;
        if run == Run::Real {
            for one in &pruned {
                sessions.remove(&one.session);
            }
        }
        Ok(pruned)
    }

    async fn remove_empty(&self, before: Timestamp, run: Run) -> Result<u64, StoreError> {
        let mut sessions = self.sessions();
        let now = crate::now();
        let is_kept = |kept: &Kept| {
            let facts = &kept.session.facts;
            facts.shelf() != Shelf::Empty || facts.created_at >= before || is_held(kept.held.as_ref(), now)
        };
        let empty = sessions.values().filter(|kept| !is_kept(kept)).count();
        if run == Run::Real {
            sessions.retain(|_, kept| is_kept(kept));
        }
        Ok(empty as u64)
    }
}
