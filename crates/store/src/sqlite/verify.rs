//! Checking every byte that can be checked: that each row is what was written, that nothing is missing at its end, and
//! that everything belongs to a session.
//!
//! Nothing that is met keeps the rest from being looked at, so all of it is told at once.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use rejoin_transcript::{EntryNumber, MessageId, SessionFacts, SessionId, Step, StepKind, Turn};
use rusqlite::types::ValueRef;
use rusqlite::{Row, params};

use super::content;
use super::database::Db;
use super::fork::needed_by_children;
use super::index::{self, PASSAGE, PassageRow, pending};
use super::read::{self, OPEN, Stretch, read_piece, stretches, unpack_lines};
use super::rows::{
    BEHIND_SETTINGS, FACTS, Log, ORIGIN, Origin, SELECT_ENTRIES, SETTINGS, number, number_in, read_entry, read_facts,
    read_settings,
};
use crate::advance::Advance;
use crate::cut::{Address, read_holes};
use crate::{Damage, Owner, StoreError, VerifyReport};

pub(super) fn verify(db: &Db<'_>) -> VerifyReport {
    let mut check = Check { db, report: VerifyReport::default(), owners: HashMap::new() };
    check.file();
    check.meta();
    check.sessions();
    check.logs();
    check.strays();
    check.index();
    check.report
}

/// A check that is under way.
struct Check<'a> {
    db: &'a Db<'a>,
    report: VerifyReport,
    /// The logs of sessions, and whose they are, where that can be read.
    owners: HashMap<Log, Option<SessionId>>,
}

/// Notes something about an entry of a session, or about the session.
type Note<'a> = &'a mut dyn FnMut(Option<EntryNumber>, String);

impl Check<'_> {
    /// Notes a damage of the store, or of the session of `log`.
    fn note(&mut self, log: Option<Log>, entry: Option<EntryNumber>, what: impl Into<String>) {
        let session = log.and_then(|log| self.owners.get(&log).cloned().flatten());
        self.report.damages.push(Damage { session, entry, what: what.into() });
    }

    /// Notes why something could not be looked at to its end.
    fn note_failure(&mut self, log: Option<Log>, done: Result<(), StoreError>) {
        if let Err(error) = done {
            self.note(log, None, tell(&error));
        }
    }

    /// Lets SQLite check its own structures, the search index among them, and which row refers to what.
    fn file(&mut self) {
        match self.db.query_all("PRAGMA integrity_check(20)", [], |row| row.get::<_, String>(0)) {
            Ok(lines) => lines.into_iter().filter(|line| line != "ok").for_each(|line| self.note(None, None, line)),
            Err(error) => self.note(None, None, tell(&error)),
        }
        let mut lost = BTreeMap::<(String, String), u64>::new();
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(2)?));
        let done = self.db.visit_rows("PRAGMA foreign_key_check", [], read, |row| {
            if let Some(row) = row {
                *lost.entry(row).or_default() += 1;
            }
            Ok(ControlFlow::Continue(()))
        });
        self.note_failure(None, done);
        for ((table, parent), count) in lost {
            self.note(None, None, format!("table `{table}`: {count} rows belong to a `{parent}` that is missing"));
        }
    }

    fn meta(&mut self) {
        let is_number = |value: &str| value.parse::<u32>().is_ok();
        let is_id = |value: &str| value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        for key in ["id", "scrub_due", "oldest_fit"] {
            let is_sound = |value: &str| if key == "id" { is_id(value) } else { is_number(value) };
            let sql = "SELECT value FROM meta WHERE key = ?1";
            let value = self.db.query_one(sql, [key], |row| Ok(row.get_ref(0)?.as_str().is_ok_and(is_sound)));
            match value {
                Ok(Some(true)) => {}
                Ok(Some(false)) => self.note(None, None, format!("table `meta`: `{key}` is not what was written")),
                Ok(None) => self.note(None, None, format!("table `meta`: `{key}` is missing")),
                Err(error) => self.note(None, None, tell(&error)),
            }
        }
        let sql = "SELECT count(*) FROM sqlite_sequence WHERE name IN ('log', 'passage') AND typeof(seq) = 'integer'
                   AND seq >= iif(name = 'log', (SELECT coalesce(max(id), 0) FROM log),
                                  (SELECT coalesce(max(id), 0) FROM passage))";
        let used = "SELECT EXISTS (SELECT 1 FROM log) + EXISTS (SELECT 1 FROM passage)";
        let count = |sql| self.db.query_one(sql, [], |row| row.get::<_, i64>(0)).map(Option::unwrap_or_default);
        match count(sql).and_then(|sound| Ok(sound < count(used)?)) {
            Ok(false) => {}
            Ok(true) => self.note(None, None, "table `sqlite_sequence` is not what was written"),
            Err(error) => self.note(None, None, tell(&error)),
        }
    }

    fn sessions(&mut self) {
        let sql = format!("SELECT {} FROM session ORDER BY log", *SESSION);
        let done = self.db.visit_rows(&sql, [], SessionRow::read, |row| {
            if let Some(row) = row {
                self.session(row);
            }
            Ok(ControlFlow::Continue(()))
        });
        if let Err(error) = done {
            self.note(None, None, tell(&error));
            self.sessions_one_by_one();
        }
    }

    /// Checks those sessions that were not met, since a page of the table can't be read.
    fn sessions_one_by_one(&mut self) {
        let db = self.db;
        let logs = "SELECT log FROM session INDEXED BY session_by_time";
        let logs = db.query_all(logs, [], |row| row.get(0).map(Log)).unwrap_or_default();
        let sql = format!("SELECT {} FROM session WHERE log = ?1", *SESSION);
        for log in logs.into_iter().filter(|log| !self.owners.contains_key(log)).collect::<Vec<_>>() {
            match db.query_one(&sql, [log.0], SessionRow::read) {
                Ok(row) => row.into_iter().for_each(|row| self.session(row)),
                Err(error) => {
                    self.owners.insert(log, None);
                    self.note(None, None, format!("table `session`: row {}: {}", log.0, tell(&error)));
                }
            }
        }
    }

    /// Checks what is known of a session, and each of its entries. Those it shares with others are checked for each.
    fn session(&mut self, row: SessionRow) {
        self.report.sessions += 1;
        let (log, session) = (row.log, row.id.and_then(|id| SessionId::parse(id).ok()));
        self.owners.insert(log, session.clone());
        let Some(session) = session else {
            let what = format!("table `session`: the id in row {} is not one of a session", log.0);
            return self.note(None, None, what);
        };
        let (mut damages, mut entries) = (Vec::new(), 0);
        let mut note = |entry, what| damages.push(Damage { session: Some(session.clone()), entry, what });
        row.wrong.iter().for_each(|what| note(None, format!("{what} is not what was written")));
        let mut seen = Seen::default();
        match stretches(self.db, log) {
            Ok(stretches) => {
                for stretch in stretches {
                    entries += verify_entries(self.db, stretch, &mut seen, &mut note);
                }
                seen.compare(row.facts.as_ref(), &mut note);
                verify_uses(self.db, log, &seen.own_content, &mut note);
            }
            Err(error) => note(None, tell(&error)),
        }
        if let Err(error) = read::end_of(self.db, &session) {
            note(None, tell(&error));
        }
        self.report.entries += entries;
        self.report.damages.extend(damages);
    }

    fn logs(&mut self) {
        let db = self.db;
        let sql = format!("SELECT {ORIGIN}, sealed, pending FROM log ORDER BY id");
        let read = |row: &Row<'_>| {
            let sealed = row.get_ref(4)?.as_i64().ok().and_then(number);
            let is_pending_sound =
                matches!(row.get_ref(5)?, ValueRef::Integer(0 | pending::NEWEST | pending::WHOLE_INDEX));
            Ok((Log(row.get(0)?), Origin::read(row), sealed, is_pending_sound))
        };
        let done = db.visit_rows(&sql, [], read, |row| {
            let Some((log, origin, sealed, is_pending_sound)) = row else { return Ok(ControlFlow::Continue(())) };
            if !is_pending_sound {
                self.note(Some(log), None, format!("table `log`: `pending` of log {} is not what was written", log.0));
            }
            match (origin, sealed) {
                (Some(origin), Some(sealed)) => {
                    let done = self.log(log, origin, sealed);
                    self.note_failure(Some(log), done);
                }
                _ => self.note(Some(log), None, format!("table `log`: log {} is not what was written", log.0)),
            }
            Ok(ControlFlow::Continue(()))
        });
        self.note_failure(None, done);
    }

    /// Checks the projections of a log, and looks for entries and content in it that no session needs.
    fn log(&mut self, log: Log, origin: Origin, sealed: EntryNumber) -> Result<(), StoreError> {
        let (head, needed) = (read::head(self.db, log)?, needed_by_children(self.db, log)?);
        match (self.owners.contains_key(&log), needed) {
            (false, None) => self.note(None, None, format!("log {} belongs to no session", log.0)),
            (false, Some(needed)) => {
                if head > needed {
                    let what = format!("log {} has entries behind {needed}, which belong to no session", log.0);
                    self.note(None, Some(needed.next()), what);
                }
                let addresses = used_content(self.db, log)?;
                let mut damages = Vec::new();
                verify_uses(self.db, log, &addresses, &mut |_, what| damages.push(what));
                for what in damages {
                    self.note(None, None, format!("log {}: {what}", log.0));
                }
            }
            (true, _) => {}
        }
        let sql = "SELECT id FROM entry WHERE id >= ?1 AND id <= ?2 LIMIT 1";
        let range = [log.row(EntryNumber::START), log.row(origin.upto)];
        if let Some(row) = self.db.query_one(sql, range, |row| row.get(0))? {
            self.note(Some(log), Some(number_in(row)), "is there twice, or is not an entry");
        }
        self.pieces(log, origin, sealed)
    }

    /// Checks the stored replay of a log. It can be made again, so its damage costs nothing but time.
    fn pieces(&mut self, log: Log, origin: Origin, sealed: EntryNumber) -> Result<(), StoreError> {
        let sql = "SELECT id, first, last, states, holes, checksum, packed FROM replay WHERE id >= ?1 AND id <= ?2";
        let (mut expected, mut last_row) = (origin.upto.next(), log.row(EntryNumber::START));
        let mut damaged = Vec::new();
        let db = self.db;
        let range = [last_row, log.last_row()];
        db.visit_rows(
            sql,
            range,
            |row| Ok((row.get::<_, i64>(0)?, read_piece(row))),
            |row| {
                let Some((id, piece)) = row else { return Ok(ControlFlow::Continue(())) };
                let is_whole = match &piece {
                    Some(piece) => unpack_lines(db, piece)?.is_some(),
                    None => false,
                };
                let is_next = id == last_row + 1 && piece.as_ref().is_none_or(|piece| piece.first == expected.get());
                if !is_whole || !is_next {
                    damaged.push(piece.as_ref().map_or(expected, |piece| EntryNumber::new(piece.first)));
                }
                last_row = id;
                if let Some(piece) = piece.filter(|piece| piece.states.is_some()) {
                    expected = EntryNumber::new(piece.last).next();
                }
                Ok(ControlFlow::Continue(()))
            },
        )?;
        let what = "has a damaged replay form, which is made again when it is read";
        if damaged.is_empty() && expected != sealed.next() {
            damaged.push(expected.min(sealed));
        }
        for first in damaged {
            self.note(Some(log), Some(first), what);
        }
        Ok(())
    }

    /// Looks for entries, pieces and content that belong to nothing.
    fn strays(&mut self) {
        for (table, rows) in [("entry", "entries"), ("replay", "pieces of a replay")] {
            let done = self.strays_in(table, rows);
            self.note_failure(None, done);
        }
        let sql = "SELECT count(*) FROM content WHERE NOT EXISTS
                   (SELECT 1 FROM content_use WHERE content_use.address = content.address)";
        match self.db.query_one(sql, [], |row| row.get::<_, u64>(0)) {
            Ok(None | Some(0)) => {}
            Ok(Some(count)) => self.note(None, None, format!("table `content`: {count} belong to no session")),
            Err(error) => self.note(None, None, tell(&error)),
        }
        let sql = "SELECT count(*) FROM content WHERE typeof(address) != 'blob' OR octet_length(address) != 32";
        match self.db.query_one(sql, [], |row| row.get::<_, u64>(0)) {
            Ok(None | Some(0)) => {}
            Ok(Some(count)) => self.note(None, None, format!("table `content`: {count} have no address")),
            Err(error) => self.note(None, None, tell(&error)),
        }
    }

    /// Looks for rows of `table` whose log is missing; from log to log, not from row to row.
    fn strays_in(&mut self, table: &str, rows: &str) -> Result<(), StoreError> {
        let sql = format!("SELECT id FROM {table} WHERE id > ?1 ORDER BY id LIMIT 1");
        let mut from = i64::MIN;
        let mut place = Advance::from(from);
        while let Some(id) = self.db.query_one(&sql, [from], |row| row.get::<_, i64>(0))? {
            if !place.to(id) {
                return Err(self.db.damaged(format!("table `{table}` is not in its order")));
            }
            let log = Log(id >> 32);
            if self.db.query_one("SELECT 1 FROM log WHERE id = ?1", [log.0], |_| Ok(()))?.is_none() {
                self.note(Some(log), None, format!("there are {rows} of log {}, which is missing", log.0));
            }
            from = log.last_row();
        }
        Ok(())
    }

    /// Checks what SQLite can't of the search index. It can be made again.
    fn index(&mut self) {
        let db = self.db;
        let sql = format!("SELECT id, {PASSAGE} FROM passage");
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, PassageRow::read(row, 1).is_some()));
        let done = db.visit_rows(&sql, [], read, |row| {
            // Whose it was is not known any more.
            if let Some((id, false)) = row {
                self.note(None, None, format!("table `passage`: row {id} of the search index is not what was written"));
            }
            Ok(ControlFlow::Continue(()))
        });
        self.note_failure(None, done);
        let no_words = "SELECT count(*) FROM passage WHERE id NOT IN (SELECT id FROM passage_text_docsize)";
        let no_passage = "SELECT count(*) FROM passage_text_docsize WHERE id NOT IN (SELECT id FROM passage)";
        let no_length = "SELECT count(*) FROM passage_text_docsize
                         WHERE typeof(sz) != 'blob' OR octet_length(sz) NOT BETWEEN 1 AND 9";
        let configuration = "SELECT count(*) != 2 OR sum((k, v) IN (VALUES ('version', 4), ('version', 5),
                             ('secure-delete', 1))) IS NOT 2 FROM passage_text_config";
        let checks = [
            (no_words, "has not the words of some passages"),
            (no_passage, "has words of passages that are missing"),
            (no_length, "does not know how long some passages are"),
            (configuration, "has another configuration than was written"),
        ];
        for (sql, what) in checks {
            match db.query_one(sql, [], |row| row.get::<_, i64>(0)) {
                Ok(None | Some(0)) => {}
                Ok(Some(_)) => self.note(None, None, format!("the search index {what}")),
                Err(error) => self.note(None, None, tell(&error)),
            }
        }
        match index::is_readable(db) {
            Ok(true) => {}
            Ok(false) => self.note(None, None, "the search index is not what was written"),
            Err(error) => self.note(None, None, tell(&error)),
        }
    }
}

/// The columns that [`SessionRow::read`] reads.
static SESSION: LazyLock<String> = LazyLock::new(|| {
    format!("{FACTS}, {SETTINGS}, running_since, recent_messages, token, holder, held_since, held_until")
});

/// A row of `session`.
struct SessionRow {
    log: Log,
    id: Option<String>,
    facts: Option<SessionFacts>,
    /// What of it is not what was written.
    wrong: Vec<&'static str>,
}

impl SessionRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let id = row.get::<_, String>(3).ok();
        let facts = read_facts(row);
        let mut wrong = Vec::new();
        let mut expect = |is_sound: bool, what| wrong.extend((!is_sound).then_some(what));
        expect(facts.is_some(), "what is known of it");
        expect(id.as_deref().is_none_or(|id| read_settings(row, id).is_some()), "its settings");
        let columns = BEHIND_SETTINGS;
        if let Some(facts) = &facts {
            let since = row.get_ref(columns)?.as_i64_or_null().ok();
            let recent = row.get_ref(columns + 1)?.as_str().ok();
            let recent = recent.and_then(|text| serde_json::from_str::<Vec<MessageId>>(text).ok());
            expect(since == Some(facts.running_since.map(|since| since.get().into())), "`running_since`");
            expect(recent.as_ref() == Some(&facts.recent_messages), "`recent_messages`");
        }
        let is_time = |column| row.get_ref(column).is_ok_and(|value| value.as_i64_or_null().is_ok());
        let holder = row.get_ref(columns + 3)?.as_str_or_null().ok();
        let is_holder = |text: Option<&str>| text.is_none_or(|text| serde_json::from_str::<Owner>(text).is_ok());
        let is_lease_sound = row.get::<_, u64>(columns + 2).is_ok()
            && holder.is_some_and(is_holder)
            && is_time(columns + 4)
            && is_time(columns + 5);
        expect(is_lease_sound, "its lease");
        Ok(Self { log: Log(row.get(0)?), id, facts, wrong })
    }
}

/// What the entries of a session tell, to be compared with what is known of it.
#[derive(Default)]
struct Seen {
    turns: u32,
    running_since: Option<EntryNumber>,
    /// The addresses of the big content in the last stretch, which is the session's own.
    own_content: HashSet<Address>,
    is_damaged: bool,
}

impl Seen {
    fn see(&mut self, number: EntryNumber, step: &Step) {
        match step.kind {
            StepKind::Prompt => {
                if let Turn::In(turn) = step.turn {
                    self.turns = self.turns.max(turn);
                }
                self.running_since = Some(number);
            }
            StepKind::TurnEnded | StepKind::ForkedFrom => self.running_since = None,
            StepKind::StateSet
            | StepKind::Update(_)
            | StepKind::PermissionAsked
            | StepKind::PermissionAnswered
            | StepKind::Restored => {}
        }
    }

    /// Compares with `facts`. Where entries are damaged, that is known already.
    fn compare(&self, facts: Option<&SessionFacts>, note: Note<'_>) {
        let Some(facts) = facts.filter(|_| !self.is_damaged) else { return };
        if facts.turns != self.turns {
            note(None, format!("has {} of {} turns", self.turns, facts.turns));
        } else if facts.running_since != self.running_since {
            note(None, "does not end as it did: entries of the last turn are missing".to_owned());
        }
    }
}

/// Checks the entries of one stretch, and says how many there are.
fn verify_entries(db: &Db<'_>, stretch: Stretch, seen: &mut Seen, note: Note<'_>) -> u64 {
    let (mut expected, mut entries) = (stretch.after.next(), 0);
    let mut is_damaged = false;
    let mut damage = |entry, what| {
        is_damaged = true;
        note(Some(entry), what);
    };
    let mut verify = || -> Result<(), StoreError> {
        let mut statement = db.prepare(SELECT_ENTRIES)?;
        let (first, last) = (stretch.log.row(stretch.after), stretch.log.row(stretch.upto));
        let mut rows = statement.query(params![first, last]).map_err(|error| db.error(error))?;
        let mut place = Advance::from(first);
        while let Some(row) = rows.next().map_err(|error| db.error(error))? {
            let id = row.get(0).map_err(|error| db.error(error))?;
            if !place.to(id) || id > last {
                return Err(db.damaged("the entries are not in their order"));
            }
            let number = number_in(id);
            if expected < number {
                damage(expected, missing(expected, number));
            }
            (expected, entries) = (number.next(), entries + 1);
            let Some(stored) = read_entry(row, id).filter(|stored| stored.has_nothing_else(row)) else {
                damage(number, "is not what was written".to_owned());
                continue;
            };
            seen.see(number, &stored.entry.step);
            if stretch.upto == OPEN {
                seen.own_content.extend(stored.holes.iter().map(|(_, address)| *address));
            }
            match content::restore(db, &stored) {
                Ok(Some(_)) => {}
                Ok(None) => damage(number, "has lost big content".to_owned()),
                Err(error) => damage(number, format!("has big content that can't be read: {}", tell(&error))),
            }
        }
        Ok(())
    };
    match verify() {
        Err(error) => damage(expected, tell(&error)),
        Ok(()) if stretch.upto != OPEN && expected <= stretch.upto => {
            damage(expected, missing(expected, stretch.upto.next()));
        }
        Ok(()) => {}
    }
    seen.is_damaged |= is_damaged;
    entries
}

/// Checks that `log` keeps the content of its entries, which is under `addresses`, and no other.
fn verify_uses(db: &Db<'_>, log: Log, addresses: &HashSet<Address>, note: Note<'_>) {
    let sql = "SELECT address FROM content_use WHERE log = ?1";
    match db.query_rows(sql, [log.0], |row| row.get::<_, Address>(0)) {
        Ok(kept) => {
            let count = kept.len();
            let kept: HashSet<Address> = kept.into_iter().flatten().collect();
            if kept != *addresses || count != kept.len() {
                note(None, "table `content_use`: other big content is kept than its entries have".to_owned());
            }
        }
        Err(error) => note(None, tell(&error)),
    }
}

/// The addresses of the big content in the entries of `log`.
fn used_content(db: &Db<'_>, log: Log) -> Result<HashSet<Address>, StoreError> {
    let sql = "SELECT holes FROM entry WHERE id > ?1 AND id <= ?2 AND holes IS NOT NULL";
    let range = params![log.row(EntryNumber::START), log.last_row()];
    let holes = db.query_all(sql, range, |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(read_holes)))?;
    Ok(holes.into_iter().flatten().flatten().map(|(_, address)| address).collect())
}

fn missing(first: EntryNumber, next: EntryNumber) -> String {
    match next.get() - first.get() {
        1 => "is missing".to_owned(),
        count => format!("is missing, and the {} behind it", count - 1),
    }
}

/// What is wrong, without the store's path, which the reader knows.
fn tell(error: &StoreError) -> String {
    match error {
        StoreError::Damaged { what, .. } => what.clone(),
        other => other.to_string(),
    }
}
