//! What a store tells of itself: how much it holds, what is damaged, what was pruned.

use std::collections::BTreeMap;

use rejoin_transcript::{EntryNumber, SessionFacts, SessionId, Timestamp};

use crate::StoreError;

/// How much a store holds. Sessions that were never prompted do not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// All of it.
    pub all: Share,
    /// How many sessions are archived.
    pub archived: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The same as `all`, by agent.
    pub agents: BTreeMap<String, Share>,
    /// The same by the day on which each session was last used.
    pub days: BTreeMap<String, Share>,
}

impl Stats {
    /// Counts a session.
    pub(crate) fn add(&mut self, facts: &SessionFacts, day: fn(Timestamp) -> String) {
        self.archived += u64::from(facts.archived);
        self.all.add(facts);
        self.agents.entry(facts.agent.name.clone()).or_default().add(facts);
        self.days.entry(day(facts.updated_at)).or_default().add(facts);
    }
}

/// How much some sessions come to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Share {
    /// Sessions.
    pub sessions: u64,
    /// Messages in them.
    pub messages: u64,
    /// What they cost, by currency.
    pub cost: BTreeMap<String, f64>,
}

impl Share {
    fn add(&mut self, facts: &SessionFacts) {
        self.sessions += 1;
        self.messages += u64::from(facts.messages);
        if let Some(cost) = &facts.cost {
            *self.cost.entry(cost.currency.clone()).or_default() += cost.amount;
        }
    }
}

/// What a check of the whole store found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Sessions that were looked at.
    pub sessions: u64,
    /// Entries that were looked at.
    pub entries: u64,
    /// What is damaged; nothing, if all is well.
    pub damages: Vec<Damage>,
}

/// Something damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The session it belongs to, where it belongs to one.
    pub session: Option<SessionId>,
    /// The entry, where it is one.
    pub entry: Option<EntryNumber>,
    /// What is wrong.
    pub what: String,
}

/// Which sessions to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Those used within this many milliseconds.
    pub max_age_millis: Option<i64>,
    /// As many of the most recently used as fit in this many bytes. The store's files are somewhat larger.
    pub max_bytes: Option<u64>,
}

/// A session that was pruned, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pruned {
    /// The session.
    pub session: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// When it was last used.
    pub updated_at: Timestamp,
    /// The bytes of its own: what is known of it, and its entries.
    pub bytes: u64,
}

impl Retention {
    /// Those of `newest_first`, each with whether its turn is running, that are not to be kept: the least recently used
    /// first. `bytes` is asked only where it matters.
    pub(crate) fn choose(
        &self,
        newest_first: impl Iterator<Item = Result<(SessionFacts, bool), StoreError>>,
        bytes: impl Fn(&SessionFacts) -> Result<u64, StoreError>,
        now: Timestamp,
    ) -> Result<Vec<Pruned>, StoreError> {
        let oldest = self.max_age_millis.map(|age| now.plus_millis(age.saturating_neg()));
        let mut room = self.max_bytes;
        let mut pruned = Vec::new();
        for candidate in newest_first {
            let (facts, is_running) = candidate?;
            let is_too_old = oldest.is_some_and(|oldest| facts.updated_at < oldest);
            if room.is_none() && (is_running || !is_too_old) {
                continue;
            }
            let bytes = bytes(&facts)?;
            let fits = room.is_none_or(|room| bytes <= room);
            if is_running || (fits && !is_too_old) {
                room = room.map(|room| room.saturating_sub(bytes));
                continue;
            }
            // Once one does not fit, what is older does not either.
            room = room.map(|room| if fits { room } else { 0 });
            let title = facts.title().map(str::to_owned);
            pruned.push(Pruned { session: facts.session_id, title, updated_at: facts.updated_at, bytes });
        }
        pruned.reverse();
        Ok(pruned)
    }
}
