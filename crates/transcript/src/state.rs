//! State updates: what is in force, told by the last update of each kind.
//!
//! Usage, commands, mode, options and session info replay once, behind everything else. The last update of a kind counts;
//! `_meta` is merged by its top-level keys, and so are the members of `session_info_update`, because one that is left out is
//! unchanged. A key of `_meta` that tells of a running turn counts only until that turn ends: an agent that was killed can't
//! take it back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::{Members, Object, keep, other_members, read_string, set_member};
use crate::replay::Replayed;
use crate::{Json, Turn, UpdateKind};

/// The latest state update of each kind.
///
/// A stretch of entries tells some of them; [`States::then`] joins stretches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, from = "StoredStates")]
pub struct States {
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<State>,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<State>,
    /// Whether a turn ended in this stretch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    has_ended: bool,
}

/// One state update, merged from all of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    update: Json,
    /// The other params of the latest `session/update`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    extra: Option<Json>,
    /// The keys of `_meta` that tell of a turn which has not ended in this stretch, with what each held before it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    running: BTreeMap<String, Option<Json>>,
}

impl States {
    /// The states after `later` came behind this stretch.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        if later.has_ended {
            self.end_turn();
        }
        let join = |kind, earlier: Option<State>, later: Option<State>| match (earlier, later) {
            (Some(earlier), Some(later)) => Some(earlier.then(kind, later)),
            (earlier, later) => later.or(earlier),
        };
        Self {
            usage: join(UpdateKind::Usage, self.usage, later.usage),
            commands: join(UpdateKind::AvailableCommands, self.commands, later.commands),
            mode: join(UpdateKind::CurrentMode, self.mode, later.mode),
            options: join(UpdateKind::ConfigOption, self.options, later.options),
            info: join(UpdateKind::SessionInfo, self.info, later.info),
            has_ended: self.has_ended || later.has_ended,
        }
    }

    /// Takes the state update `update` of `kind`, told in `turn` beside the params `extra`.
    pub(crate) fn push(&mut self, kind: UpdateKind, turn: Turn, update: &Json, extra: Option<&Json>) {
        let Some(slot) = self.slot(kind) else { return };
        let running = if matches!(turn, Turn::In(_)) { keys_of_running_turn(update) } else { BTreeMap::new() };
        let told = State { update: update.clone(), extra: extra.cloned(), running };
        *slot = Some(match slot.take() {
            Some(earlier) => earlier.then(kind, told),
            None => told,
        });
    }

    /// Forgets what told of the turn that has just ended.
    pub(crate) fn end_turn(&mut self) {
        self.has_ended = true;
        for state in [&mut self.usage, &mut self.commands, &mut self.mode, &mut self.options, &mut self.info] {
            *state = state.take().and_then(State::settled);
        }
    }

    /// The updates that come behind everything.
    pub fn updates(&self) -> Vec<Replayed> {
        let all = [&self.usage, &self.commands, &self.mode, &self.options, &self.info];
        let told = all.into_iter().flatten();
        told.map(|state| Replayed::new(None, state.update.as_str(), state.extra.as_ref())).collect()
    }

    /// The latest update of `kind`, if one was told.
    pub(crate) fn latest(&self, kind: UpdateKind) -> Option<&Json> {
        let state = match kind {
            UpdateKind::Usage => &self.usage,
            UpdateKind::AvailableCommands => &self.commands,
            UpdateKind::CurrentMode => &self.mode,
            UpdateKind::ConfigOption => &self.options,
            UpdateKind::SessionInfo => &self.info,
            _ => return None,
        };
        state.as_ref().map(|state| &state.update)
    }

    fn slot(&mut self, kind: UpdateKind) -> Option<&mut Option<State>> {
        match kind {
            UpdateKind::Usage => Some(&mut self.usage),
            UpdateKind::AvailableCommands => Some(&mut self.commands),
            UpdateKind::CurrentMode => Some(&mut self.mode),
            UpdateKind::ConfigOption => Some(&mut self.options),
            UpdateKind::SessionInfo => Some(&mut self.info),
            _ => None,
        }
    }
}

impl State {
    /// The state after `later`, of the same `kind`.
    fn then(self, kind: UpdateKind, later: Self) -> Self {
        let (before, told) = (meta_of(&self.update), meta_of(&later.update));
        let mut running = self.running;
        // A key that is told again tells of the running turn only if its new value does.
        for key in told.iter().flat_map(Members::iter).map(|(key, _)| key) {
            let earlier = running.remove(key);
            if let Some(in_stretch) = later.running.get(key) {
                let earlier = earlier.unwrap_or_else(|| before.as_ref()?.get(key).map(keep));
                running.insert(key.to_owned(), in_stretch.clone().or(earlier));
            }
        }
        let update = match kind {
            UpdateKind::SessionInfo => merged_members(&self.update, &later.update),
            _ => with_meta(&later.update, merged_meta(&self.update, &later.update)),
        };
        Self { update, extra: later.extra, running }
    }

    /// The state without what told of a turn that has ended; nothing if no other member is left.
    fn settled(self) -> Option<Self> {
        if self.running.is_empty() {
            return Some(self);
        }
        let meta = meta_of(&self.update)?;
        let kept = meta.iter().filter_map(|(key, value)| match self.running.get(key) {
            None => Some((key, value)),
            Some(before) => before.as_ref().map(|before| (key, before.as_str())),
        });
        let kept = kept.fold(Object::default(), |object, (key, value)| object.with(key, value)).finish();
        let update = with_meta(&self.update, (kept != "{}").then_some(kept));
        let says_something = update.members()?.iter().any(|(name, _)| name != "sessionUpdate");
        says_something.then_some(Self { update, running: BTreeMap::new(), ..self })
    }
}

/// Whether `value`, a member of an update's `_meta`, tells that a turn is running.
///
/// Agents name it freely, so this goes by the words that all of them use: a status such as `active` or `running`.
pub(crate) fn tells_of_running_turn(value: &str) -> bool {
    has_running_status(value, 4)
}

fn has_running_status(value: &str, depth: u32) -> bool {
    const WORDS: [&str; 14] = [
        "active",
        "busy",
        "executing",
        "generating",
        "inprogress",
        "processing",
        "requiresaction",
        "running",
        "started",
        "streaming",
        "thinking",
        "typing",
        "waiting",
        "working",
    ];
    const NAMES: [&str; 5] = ["activity", "phase", "state", "status", "type"];
    let plain = |word: &str| word.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    let Some(members) = Members::read(value).filter(|_| depth > 0) else { return false };
    members.iter().any(|(name, value)| {
        let name = plain(name);
        let is_status = NAMES.iter().any(|ending| name.ends_with(ending));
        let is_running_word = |word: &str| WORDS.contains(&plain(word).as_str());
        let is_flag = WORDS.contains(&name.strip_prefix("is").unwrap_or(&name));
        (is_status && read_string(value).is_some_and(|word| is_running_word(&word)))
            || (is_flag && value == "true")
            || has_running_status(value, depth - 1)
    })
}

fn keys_of_running_turn(update: &Json) -> BTreeMap<String, Option<Json>> {
    let meta = meta_of(update);
    let keys = meta.iter().flat_map(Members::iter).filter(|(key, value)| {
        // A bare status is as good as one in an object.
        tells_of_running_turn(value) || tells_of_running_turn(&Object::default().with(key, value).finish())
    });
    keys.map(|(key, _)| (key.to_owned(), None)).collect()
}

/// The `_meta` of `update`, unless it is `null`.
fn given_meta(update: &Json) -> Option<&str> {
    // Most updates have none, which is seen without parsing them; a name may be spelled with escapes.
    let text = update.as_str();
    let may_have = text.contains("_meta") || text.contains("\\u00");
    may_have.then(|| update.members()).flatten()?.get_some("_meta")
}

/// The `_meta` of `update`, if it is an object.
fn meta_of(update: &Json) -> Option<Members<'_>> {
    Members::read(given_meta(update)?)
}

/// The `_meta` of `later` over that of `earlier`: key by key where both are objects.
fn merged_meta(earlier: &Json, later: &Json) -> Option<String> {
    match (meta_of(earlier), meta_of(later)) {
        (Some(before), Some(told)) => {
            let mut meta = before.iter().filter(|(key, _)| told.get(key).is_none()).collect::<Vec<_>>();
            meta.extend(told.iter());
            Some(meta.into_iter().fold(Object::default(), |object, (key, value)| object.with(key, value)).finish())
        }
        _ => given_meta(later).or_else(|| given_meta(earlier)).map(str::to_owned),
    }
}

/// The members of `later` over those of `earlier`.
fn merged_members(earlier: &Json, later: &Json) -> Json {
    let merged = later.members().into_iter().fold(earlier.as_str().to_owned(), |merged, told| {
        let told = told.iter().filter(|(name, _)| *name != "_meta");
        told.fold(merged, |merged, (name, value)| set_member(&merged, name, value).unwrap_or(merged))
    });
    with_meta(&Json::from_stored(merged), merged_meta(earlier, later))
}

/// `update` with `meta` as its `_meta`; without one, if there is none.
fn with_meta(update: &Json, meta: Option<String>) -> Json {
    let changed = match meta {
        meta if given_meta(update) == meta.as_deref() => None,
        Some(meta) => set_member(update.as_str(), "_meta", &meta).map(Json::from_stored),
        None => other_members(update.as_str(), &["_meta"]),
    };
    changed.unwrap_or_else(|| update.clone())
}

/// [`States`] as they are stored, by this version or by the first one.
///
/// The first version kept the members of the session info one by one, and left an update with `_meta` in its place.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StoredStates {
    usage: Option<Json>,
    commands: Option<Json>,
    mode: Option<Json>,
    options: Option<Json>,
    info: Option<Json>,
    has_ended: bool,
    title: Option<Json>,
    updated_at: Option<Json>,
}

impl From<StoredStates> for States {
    fn from(stored: StoredStates) -> Self {
        let at_end = |stored: &Json| stored.members()?.get("at_end").map(keep);
        let first_version = |update| State { update, extra: None, running: BTreeMap::new() };
        let read = |stored: Option<Json>| {
            let stored = stored?;
            serde_json::from_str(stored.as_str()).ok().or_else(|| at_end(&stored).map(first_version))
        };
        let members = [("title", stored.title), ("updatedAt", stored.updated_at)];
        let mut members = members.into_iter().filter_map(|(name, value)| Some((name, at_end(&value?)?))).peekable();
        let has_members = members.peek().is_some();
        let info = Object::default().with("sessionUpdate", "\"session_info_update\"");
        let info = members.fold(info, |info, (name, value)| info.with(name, value.as_str()));
        let first_info = has_members.then(|| first_version(Json::from_stored(info.finish())));
        Self {
            usage: read(stored.usage),
            commands: read(stored.commands),
            mode: read(stored.mode),
            options: read(stored.options),
            info: read(stored.info).or(first_info),
            has_ended: stored.has_ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &str =
        r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"active"}}}}"#;
    const IDLE: &str = r#"{"sessionUpdate":"session_info_update","_meta":{"codex":{"threadStatus":{"type":"idle"}}}}"#;
    const END: &str = "end";

    /// The states of `updates`, told in a turn; `END` ends it.
    fn states(updates: &[&str]) -> States {
        let mut states = States::default();
        for update in updates {
            if *update == END {
                states.end_turn();
            } else {
                let update = Json::parse(*update).unwrap();
                states.push(UpdateKind::of(&update).unwrap(), Turn::In(1), &update, None);
            }
        }
        states
    }

    /// Checks what is told in the end, wherever the stretches are cut and in whatever order they are joined.
    fn check(updates: &[&str], expected: &[&str]) {
        let told =
            |states: &States| states.updates().iter().map(|one| one.update().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(told(&states(updates)), expected);
        for first in 0..=updates.len() {
            for second in first..=updates.len() {
                let parts = || [&updates[..first], &updates[first..second], &updates[second..]].map(states);
                let [a, b, c] = parts();
                assert_eq!(told(&a.then(b).then(c)), expected, "cut at {first} and {second}");
                let [a, b, c] = parts();
                let stored = serde_json::to_string(&b.then(c)).unwrap();
                assert_eq!(
                    told(&a.then(serde_json::from_str(&stored).unwrap())),
                    expected,
                    "cut at {first} and {second}"
                );
            }
        }
    }

    #[test]
    fn the_last_of_a_kind_counts_and_its_meta_is_merged_by_key() {
        check(
            &[
                r#"{"sessionUpdate":"usage_update","used":1,"size":9,"_meta":{"a":1,"limit":{"x":1}},"old":true}"#,
                r#"{"sessionUpdate":"usage_update","used":2,"size":9}"#,
                r#"{"sessionUpdate":"usage_update","used":3,"size":9,"_meta":{"limit":{"y":2}},"new":1.50}"#,
                r#"{"sessionUpdate":"usage_update","used":4,"size":9,"_meta":null,"new":1.50}"#,
            ],
            &[r#"{"sessionUpdate":"usage_update","used":4,"size":9,"_meta":{"a":1,"limit":{"y":2}},"new":1.50}"#],
        );
    }

    #[test]
    fn a_member_of_the_session_info_that_is_left_out_is_unchanged() {
        check(
            &[
                r#"{"sessionUpdate":"session_info_update","title":"a","mood":"good"}"#,
                r#"{"sessionUpdate":"session_info_update","updatedAt":"2026-01-01T00:00:00Z","_meta":{"k":[1]}}"#,
                r#"{"sessionUpdate":"session_info_update","title":null}"#,
            ],
            &[
                r#"{"sessionUpdate":"session_info_update","title":null,"mood":"good","updatedAt":"2026-01-01T00:00:00Z","_meta":{"k":[1]}}"#,
            ],
        );
    }

    #[test]
    fn what_tells_of_a_running_turn_counts_until_it_ends() {
        check(&[RUNNING], &[RUNNING]);
        check(&[RUNNING, END], &[]);
        check(&[RUNNING, IDLE, END], &[IDLE]);
        check(&[RUNNING, IDLE, END, RUNNING, END], &[IDLE]);
        check(&[IDLE, RUNNING, RUNNING, END], &[IDLE]);
        let title = r#"{"sessionUpdate":"session_info_update","title":"t"}"#;
        check(&[RUNNING, title, END], &[title]);
        check(&[END, RUNNING], &[RUNNING]);
        let bare =
            r#"{"sessionUpdate":"usage_update","used":1,"size":2,"_meta":{"status":"running","tags":["active"]}}"#;
        check(&[bare, END], &[r#"{"sessionUpdate":"usage_update","used":1,"size":2,"_meta":{"tags":["active"]}}"#]);
    }

    #[test]
    fn words_that_only_look_like_a_status_stay() {
        for value in
            [r#"{"title":"active"}"#, r#"{"status":"completed"}"#, r#"{"active":false}"#, r#"["running"]"#, "7"]
        {
            assert!(!tells_of_running_turn(value), "{value}");
        }
        for value in [
            r#"{"state":"running","since":1}"#,
            r#"{"turn":{"state":"waiting"}}"#,
            r#"{"isRunning":true}"#,
            r#"{"threadStatus":{"type":"active","activeFlags":[]}}"#,
            r#"{"status":"IN_PROGRESS"}"#,
        ] {
            assert!(tells_of_running_turn(value), "{value}");
        }
    }

    #[test]
    fn states_that_the_first_version_stored_are_read() {
        let stored = r#"{"usage":{"at_end":{"sessionUpdate":"usage_update","used":1,"size":2}},"mode":"in_place","title":{"at_end":"t"},"updated_at":{"at_end":"u"}}"#;
        let states: States = serde_json::from_str(stored).unwrap();
        let told: Vec<String> = states.updates().iter().map(|one| one.update().unwrap().to_owned()).collect();
        let expected = [
            r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#,
            r#"{"sessionUpdate":"session_info_update","title":"t","updatedAt":"u"}"#,
        ];
        assert_eq!(told, expected);
    }
}
