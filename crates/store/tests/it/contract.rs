//! What every backend promises.

use std::collections::BTreeSet;

use rejoin_store::{
    ArchivedFilter, Cursor, ListFilter, MemoryStore, Owner, Page, ReplayPlace, Retention, Run, SearchOrder,
    SearchQuery, SessionStore, StoreError, fork_point, new_session_id, now, replay_pages,
};
use rejoin_transcript::{
    Audience, EntryNumber, Fact, InForce, Json, LayerKind, Parent, SessionId, Step, StepKind, Turn,
};

use rejoin_testing::{
    TempStore, append_turn, at, chunk, create, create_and_acquire, create_with_turn, end, finds, found, number,
    numbers, owner, prompt, query, read_all, replay_all, replay_of, session_in, update,
};

/// Runs each promise on each backend.
macro_rules! promises {
    ($($promise:ident)*) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $promise() {
                super::$promise(&super::TempStore::new().store).await;
            })*
        }
        mod memory {
            $(#[tokio::test]
            async fn $promise() {
                super::$promise(&super::MemoryStore::default()).await;
            })*
        }
    };
}

promises! {
    entries_come_back_as_they_were
    big_content_comes_back_as_it_was
    a_stale_writer_is_refused
    a_stale_token_can_write_nothing
    an_unknown_session_is_named
    an_id_is_taken_once
    facts_follow_the_entries
    messages_that_take_turns_count_once
    facts_that_are_told_stay
    an_idle_owner_gives_way
    a_running_turn_keeps_others_out
    a_dead_owner_is_taken_over_and_its_turn_is_unfinished
    a_released_lease_is_free
    a_released_lease_can_write_nothing
    a_replay_is_that_of_the_entries
    a_replay_can_stop_at_an_entry
    a_replay_ends_where_the_session_does
    lists_are_newest_first_in_pages_without_repeats
    lists_are_filtered_exactly
    what_is_used_now_is_listed_before_what_a_clock_stamped_that_was_ahead
    a_clock_that_is_behind_stamps_nothing
    never_prompted_sessions_are_not_listed
    foreign_cursors_are_refused
    a_fork_shares_the_past_and_not_the_future
    a_fork_of_an_earlier_point_knows_what_was_known_then
    a_fork_of_an_archived_session_is_listed
    a_fork_outlives_its_source
    forks_of_forks_read_through
    a_replay_of_forks_is_that_of_their_entries_however_big_they_are
    a_fork_point_must_exist
    a_fork_begins_at_the_end_of_a_turn
    a_deleted_session_is_gone
    a_running_session_is_not_deleted
    search_finds_words_in_what_was_said
    search_finds_cjk_and_accents
    search_finds_what_was_just_written
    search_finds_titles_and_forgets_old_ones
    search_gives_each_session_once_with_its_best_match
    newest_first_goes_by_when_it_was_said
    of_what_was_said_at_once_the_session_made_last_is_first
    search_finds_shared_entries_in_every_fork
    ids_can_be_shortened
    owners_do_not_see_each_other
    statistics_count_what_is_listed
    a_sound_store_verifies
    pruning_takes_the_oldest_and_says_so_first
    pruning_keeps_what_is_running
    empty_sessions_are_removed_after_their_time
}

async fn entries_come_back_as_they_were(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    let odd = r#"{"sessionUpdate":"odd","n":123456789012345678901234567890,"f":1.50,"z":null,"a":"\ud800é"}"#;
    let json = |text: &str| Json::parse(text).unwrap();
    let steps = vec![
        prompt(1, "hé"),
        update(1, odd).with_extra(json(r#"{"_meta":{"x":1}}"#)),
        update(1, r#"{"sessionUpdate":"x"}"#).with_audience(Audience::Agent),
        chunk(1, "m", "hello"),
        Step::of_layer(at(5), Turn::In(1), LayerKind::PermissionAsked, json(r#"{"options":[]}"#)),
        Step::of_layer(at(6), Turn::In(1), LayerKind::PermissionAnswered, json(r#"{"outcome":"cancelled"}"#)),
        end(1),
        Step::of_layer(at(7), Turn::After(1), LayerKind::StateSet, InForce::default().to_json()),
        Step::of_layer(at(8), Turn::After(1), LayerKind::Restored, json(r#"{"rung":"resume"}"#)),
    ];

    let last = store.append(&lease, EntryNumber::START, steps.clone(), Vec::new()).await.unwrap();

    let read = read_all(store, &session).await;
    assert_eq!(last, number(9));
    assert_eq!(read.iter().map(|entry| entry.number.get()).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert_eq!(read.into_iter().map(|entry| entry.step).collect::<Vec<_>>(), steps);
}

async fn big_content_comes_back_as_it_was(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    let image = "QUJD".repeat(30_000);
    let call = format!(
        r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":"Draw","content":[{{"type":"content","content":{{"type":"image","data":"{image}"}}}}],"rawOutput":"{image}"}}"#
    );
    let numbers: Vec<u32> = (0..10_000).collect();
    let long = format!(r#"{{"sessionUpdate":"numbers","all":{}}}"#, serde_json::to_string(&numbers).unwrap());
    let steps = vec![prompt(1, "draw"), update(1, &call), update(1, &long), end(1)];

    store.append(&lease, EntryNumber::START, steps.clone(), Vec::new()).await.unwrap();
    found(store, "draw").await;

    let read = read_all(store, &session).await;
    assert_eq!(replay_all(store, &session).await, replay_of(&read));
    assert_eq!(read.into_iter().map(|entry| entry.step).collect::<Vec<_>>(), steps);
}

async fn a_stale_writer_is_refused(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    let first = store.append(&lease, EntryNumber::START, vec![prompt(1, "one")], Vec::new()).await.unwrap();
    store.append(&lease, first, vec![chunk(1, "m", "two")], Vec::new()).await.unwrap();

    for stale in [EntryNumber::START, first, number(7)] {
        let refused = store.append(&lease, stale, vec![chunk(1, "m", "late")], Vec::new()).await;
        assert!(matches!(refused, Err(StoreError::Conflict { actual, .. }) if actual == number(2)), "{refused:?}");
    }
    assert_eq!(numbers(store, &session).await, [1, 2]);
}

async fn a_stale_token_can_write_nothing(store: &dyn SessionStore) {
    let (session, old) = create_and_acquire(store).await;
    let new = store.acquire(&session, &owner("b")).await.unwrap();
    assert!(new.token > old.token);

    let refused = store.append(&old, EntryNumber::START, vec![prompt(1, "late")], Vec::new()).await;
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    assert!(matches!(store.renew(&old).await, Err(StoreError::LeaseLost { .. })));
    store.release(&old).await.unwrap();
    store.append(&new, EntryNumber::START, vec![prompt(1, "in time")], Vec::new()).await.unwrap();
    assert_eq!(numbers(store, &session).await, [1]);
}

async fn an_unknown_session_is_named(store: &dyn SessionStore) {
    let unknown = SessionId::parse("nope-123").unwrap();
    let names_it = |error: StoreError| {
        assert!(matches!(&error, StoreError::SessionNotFound { id } if id == "nope-123"), "{error}");
    };
    names_it(store.session(&unknown).await.unwrap_err());
    names_it(store.head(&unknown).await.unwrap_err());
    names_it(store.read(&unknown, EntryNumber::START).await.unwrap_err());
    names_it(store.replay(&unknown, ReplayPlace::all()).await.unwrap_err());
    names_it(store.acquire(&unknown, &owner("a")).await.unwrap_err());
    names_it(store.tell(&unknown, Vec::new()).await.unwrap_err());
    names_it(store.delete(&unknown).await.unwrap_err());
    names_it(store.resolve("", "nope-123").await.unwrap_err());
    names_it(store.fork(&unknown, EntryNumber::START, new_session_id(), at(0), Vec::new()).await.unwrap_err());
}

async fn an_id_is_taken_once(store: &dyn SessionStore) {
    let session = session_in("/p");
    store.create(session.clone()).await.unwrap();
    assert!(matches!(store.create(session.clone()).await, Err(StoreError::SessionExists { .. })));
    let id = &session.facts.session_id;
    let forked = store.fork(id, EntryNumber::START, id.clone(), at(0), Vec::new()).await;
    assert!(matches!(forked, Err(StoreError::SessionExists { .. })), "{forked:?}");
}

async fn facts_follow_the_entries(store: &dyn SessionStore) {
    let (id, lease) = create_and_acquire(store).await;
    let usage = r#"{"sessionUpdate":"usage_update","used":5,"size":9,"cost":{"amount":0.5,"currency":"USD"}}"#;
    let steps = vec![prompt(1, "Fix it\nplease"), chunk(1, "m", "a"), chunk(1, "m", "b"), update(1, usage)];
    let last = store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    let running = store.session(&id).await.unwrap();
    assert_eq!((running.facts.running_since, running.facts.messages), (Some(number(1)), 2));

    store.append(&lease, last, vec![chunk(1, "n", "c"), end(1)], Vec::new()).await.unwrap();

    let session = store.session(&id).await.unwrap();
    assert_eq!(session.facts.title(), Some("Fix it"));
    assert_eq!((session.facts.messages, session.facts.turns, session.facts.running_since), (3, 1, None));
    assert_eq!(session.facts.updated_at, at(10_002));
    assert_eq!(session.facts.cost.map(|cost| cost.amount), Some(0.5));
    assert_eq!(session.settings.usage.map(|usage| usage.to_string()).as_deref(), Some(usage));
}

async fn messages_that_take_turns_count_once(store: &dyn SessionStore) {
    let (id, lease) = create_and_acquire(store).await;
    let mut last = store.append(&lease, EntryNumber::START, vec![prompt(1, "hi")], Vec::new()).await.unwrap();
    for message in ["a", "b", "a", "b"] {
        last = store.append(&lease, last, vec![chunk(1, message, "x")], Vec::new()).await.unwrap();
    }
    assert_eq!(store.session(&id).await.unwrap().facts.messages, 3);
}

async fn facts_that_are_told_stay(store: &dyn SessionStore) {
    let (id, lease) = create_and_acquire(store).await;
    let modes = Json::parse(r#"{"currentModeId":"ask", "availableModes":[]}"#).unwrap();
    let facts = vec![Fact::Modes(Some(modes.clone())), Fact::AdditionalDirectories(vec!["/lib".to_owned()])];
    store.append(&lease, EntryNumber::START, Vec::new(), facts).await.unwrap();
    let before = store.session(&id).await.unwrap().facts.updated_at;
    store.tell(&id, vec![Fact::ManualTitle(Some("Mine".to_owned())), Fact::Archived(true)]).await.unwrap();

    let session = store.session(&id).await.unwrap();
    assert_eq!(session.settings.modes, Some(modes));
    assert_eq!(session.facts.additional_directories, ["/lib"]);
    assert_eq!((session.facts.title(), session.facts.archived), (Some("Mine"), true));
    assert_eq!(session.facts.updated_at, before);
}

async fn an_idle_owner_gives_way(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    append_turn(store, &lease, 1, "a", "b").await;
    let taken = store.acquire(&session, &owner("b")).await.unwrap();
    assert_eq!((taken.head, taken.unfinished_since), (number(3), None));
}

async fn a_running_turn_keeps_others_out(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    store.append(&lease, EntryNumber::START, vec![prompt(1, "long work")], Vec::new()).await.unwrap();

    let refused = store.acquire(&session, &owner("b")).await;

    assert!(matches!(&refused, Err(StoreError::InUse { owner, .. }) if owner.host == "a"), "{refused:?}");
    store.renew(&lease).await.unwrap();
    store.append(&lease, number(1), vec![end(1)], Vec::new()).await.unwrap();
    store.acquire(&session, &owner("b")).await.unwrap();
}

async fn a_dead_owner_is_taken_over_and_its_turn_is_unfinished(store: &dyn SessionStore) {
    let session = create(store).await;
    let here = Owner::this_process();
    let dead = Owner { pid: u32::MAX, started: 1, ..here.clone() };
    let lease = store.acquire(&session, &dead).await.unwrap();
    store.append(&lease, EntryNumber::START, vec![prompt(1, "a"), chunk(1, "m", "half")], Vec::new()).await.unwrap();

    let taken = store.acquire(&session, &here).await.unwrap();

    assert_eq!((taken.head, taken.unfinished_since), (number(2), Some(number(1))));
    let late = store.append(&lease, number(2), vec![chunk(1, "m", "late")], Vec::new()).await;
    assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
}

async fn a_released_lease_is_free(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    store.append(&lease, EntryNumber::START, vec![prompt(1, "a")], Vec::new()).await.unwrap();
    store.release(&lease).await.unwrap();
    let taken = store.acquire(&session, &owner("b")).await.unwrap();
    assert_eq!(taken.unfinished_since, Some(number(1)));
}

async fn a_released_lease_can_write_nothing(store: &dyn SessionStore) {
    let (_, lease) = create_and_acquire(store).await;
    store.release(&lease).await.unwrap();
    let refused = store.append(&lease, EntryNumber::START, vec![prompt(1, "late")], Vec::new()).await;
    assert!(matches!(refused, Err(StoreError::LeaseLost { .. })), "{refused:?}");
    assert!(matches!(store.renew(&lease).await, Err(StoreError::LeaseLost { .. })));
}

async fn a_replay_is_that_of_the_entries(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    for turn in 1..=5 {
        let after = store.head(&session).await.unwrap();
        let mut steps = vec![prompt(turn, "go")];
        steps.extend((0..200).map(|word| chunk(turn, "m", &format!("w{word} "))));
        steps.push(update(turn, r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","status":"pending"}"#));
        steps.push(update(turn, r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}"#));
        steps.push(update(turn, &format!(r#"{{"sessionUpdate":"usage_update","used":{turn},"size":9}}"#)));
        steps.push(update(turn, r#"{"sessionUpdate":"current_mode_update","currentModeId":"a","_meta":{}}"#));
        if turn < 5 {
            steps.push(end(turn));
        }
        store.append(&lease, after, steps, Vec::new()).await.unwrap();
        let entries = read_all(store, &session).await;
        assert_eq!(replay_all(store, &session).await, replay_of(&entries), "while turn {turn} may be being sealed");
        found(store, "go").await;
        assert_eq!(replay_all(store, &session).await, replay_of(&entries), "after turn {turn} was sealed");
    }
}

async fn a_replay_can_stop_at_an_entry(store: &dyn SessionStore) {
    use futures::TryStreamExt;
    let session = create_with_turn(store, "one", "answer one").await;
    let lease = store.acquire(&session, &owner("a")).await.unwrap();
    append_turn(store, &lease, 2, "two", "answer two").await;
    found(store, "one").await;
    let entries = read_all(store, &session).await;
    for upto in 0..=6 {
        let place = ReplayPlace::up_to(number(upto));
        let lines: Vec<String> = replay_pages(store, &session, place).try_collect().await.unwrap();
        assert_eq!(lines.concat(), replay_of(&entries[..upto as usize]), "up to {upto}");
    }
}

async fn a_replay_ends_where_the_session_does(store: &dyn SessionStore) {
    use futures::TryStreamExt;
    let session = create_with_turn(store, "hi", "x").await;
    let pages = replay_pages(store, &session, ReplayPlace::up_to(number(99)));
    let lines: Vec<String> = pages.try_collect().await.unwrap();
    assert_eq!(lines.concat(), replay_of(&read_all(store, &session).await));
}

/// All sessions of a list, page by page.
async fn walk(store: &dyn SessionStore, filter: &ListFilter, limit: u32) -> Vec<SessionId> {
    let (mut ids, mut cursor) = (Vec::new(), None);
    loop {
        let Page { sessions, next } = store.list(filter, cursor.as_ref(), limit).await.unwrap();
        assert!(sessions.len() <= limit as usize);
        ids.extend(sessions.into_iter().map(|facts| facts.session_id));
        match next {
            Some(next) => cursor = Some(Cursor::from_text(next.as_str())),
            None => return ids,
        }
    }
}

async fn lists_are_newest_first_in_pages_without_repeats(store: &dyn SessionStore) {
    let mut made = Vec::new();
    for count in 0..23_i64 {
        let mut session = session_in("/p");
        // Some share a time.
        (session.facts.turns, session.facts.updated_at) = (1, at(count / 3));
        session.facts.archived = count % 5 == 0;
        made.push(session.facts.session_id.clone());
        store.create(session).await.unwrap();
    }
    made.reverse();
    for limit in [1, 2, 7, 23, 100] {
        let include = ListFilter { archived: ArchivedFilter::Include, ..ListFilter::default() };
        assert_eq!(walk(store, &include, limit).await, made, "{limit} a page");
        let [exclude, only] = [ArchivedFilter::Exclude, ArchivedFilter::Only]
            .map(|archived| ListFilter { archived, ..ListFilter::default() });
        let (listed, archived) = (walk(store, &exclude, limit).await, walk(store, &only, limit).await);
        assert_eq!((listed.len(), archived.len()), (18, 5));
        assert_eq!(listed.into_iter().chain(archived).collect::<BTreeSet<_>>(), made.iter().cloned().collect());
    }
}

async fn lists_are_filtered_exactly(store: &dyn SessionStore) {
    for (cwd, agent) in [("/work", "a"), ("/work-2", "a"), ("/work/sub", "b"), ("/work", "b")] {
        let mut session = session_in(cwd);
        session.facts.turns = 1;
        session.facts.agent.name = agent.to_owned();
        store.create(session).await.unwrap();
    }
    let count = async |cwd: Option<&str>, agent: Option<&str>| {
        let filter =
            ListFilter { cwd: cwd.map(str::to_owned), agent: agent.map(str::to_owned), ..ListFilter::default() };
        let page = store.list(&filter, None, 50).await.unwrap();
        assert!(page.sessions.iter().all(|facts| cwd.is_none_or(|cwd| facts.cwd.raw == format!("{cwd}/"))));
        page.sessions.len()
    };
    assert_eq!(count(None, None).await, 4);
    assert_eq!(count(Some("/work"), None).await, 2);
    assert_eq!(count(Some("/work"), Some("b")).await, 1);
    assert_eq!(count(None, Some("a")).await, 2);
    assert_eq!(count(Some("/wor"), None).await, 0);
}

const DAY: i64 = 24 * 60 * 60 * 1000;

/// Makes a session that was last used `days` after now.
async fn create_used_after(store: &dyn SessionStore, days: i64) -> SessionId {
    let mut session = session_in("/p");
    (session.facts.turns, session.facts.updated_at) = (1, now().plus_millis(days * DAY));
    let id = session.facts.session_id.clone();
    store.create(session).await.unwrap();
    id
}

async fn what_is_used_now_is_listed_before_what_a_clock_stamped_that_was_ahead(store: &dyn SessionStore) {
    let mut made = Vec::new();
    for days in [3_650, 1, -1] {
        made.push(create_used_after(store, days).await);
    }
    assert_eq!(walk(store, &ListFilter::default(), 50).await, made);

    let (used, lease) = create_and_acquire(store).await;
    let mut step = prompt(1, "a");
    step.at = now();
    store.append(&lease, EntryNumber::START, vec![step], Vec::new()).await.unwrap();

    let last = store.session(&made[0]).await.unwrap().facts.updated_at;
    made.insert(0, used);
    assert_eq!((walk(store, &ListFilter::default(), 50).await, last <= now()), (made, true));
}

async fn a_clock_that_is_behind_stamps_nothing(store: &dyn SessionStore) {
    let mut made = Vec::new();
    for _ in 0..=100 {
        made.push(create_used_after(store, 1).await);
    }
    made.reverse();

    store.acquire(&made[50], &owner("a")).await.unwrap();

    let last = store.session(&made[50]).await.unwrap().facts.updated_at;
    assert_eq!((walk(store, &ListFilter::default(), 200).await, last > now()), (made, true));
}

async fn never_prompted_sessions_are_not_listed(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    assert_eq!(walk(store, &ListFilter::default(), 50).await, []);
    store.append(&lease, EntryNumber::START, vec![prompt(1, "hi")], Vec::new()).await.unwrap();
    assert_eq!(walk(store, &ListFilter::default(), 50).await, [session]);
}

async fn foreign_cursors_are_refused(store: &dyn SessionStore) {
    for _ in 0..3 {
        create_with_turn(store, "a", "b").await;
    }
    let cursor = store.list(&ListFilter::default(), None, 1).await.unwrap().next.unwrap();
    let backwards: String = cursor.as_str().chars().rev().collect();
    let other = ListFilter { cwd: Some("/project".to_owned()), ..ListFilter::default() };
    for (filter, cursor) in [
        (&ListFilter::default(), Cursor::from_text("garbage")),
        (&ListFilter::default(), Cursor::from_text(backwards)),
        (&other, cursor.clone()),
    ] {
        let refused = store.list(filter, Some(&cursor), 1).await;
        assert!(matches!(refused, Err(StoreError::BadCursor { .. })), "{refused:?}");
    }
    let elsewhere = MemoryStore::default();
    assert!(matches!(
        elsewhere.list(&ListFilter::default(), Some(&cursor), 1).await,
        Err(StoreError::BadCursor { .. })
    ));
}

async fn a_fork_shares_the_past_and_not_the_future(store: &dyn SessionStore) {
    let source = create_with_turn(store, "common", "past").await;
    let facts = vec![Fact::ManualTitle(Some("Branch".to_owned()))];
    let fork = store.fork(&source, number(3), new_session_id(), at(77), facts).await.unwrap();
    let id = fork.facts.session_id.clone();
    for (session, text) in [(&source, "only source"), (&id, "only fork")] {
        let lease = store.acquire(session, &owner("a")).await.unwrap();
        append_turn(store, &lease, 2, text, text).await;
    }

    let (in_source, in_fork) = (replay_all(store, &source).await, replay_all(store, &id).await);

    assert!(in_source.contains("past") && in_source.contains("only source") && !in_source.contains("only fork"));
    assert!(in_fork.contains("past") && in_fork.contains("only fork") && !in_fork.contains("only source"));
    assert_eq!(numbers(store, &id).await, [1, 2, 3, 4, 5, 6, 7]);
    let entries = read_all(store, &id).await;
    assert_eq!(entries[3].step.kind, StepKind::ForkedFrom);
    assert_eq!(entries[3].step.body.as_str(), format!(r#"{{"sessionId":"{source}","entry":3}}"#));
    assert_eq!(fork.facts.parent, Some(Parent { session_id: source.clone(), at: number(3) }));
    assert_eq!((fork.facts.title(), fork.facts.created_at), (Some("Branch"), at(77)));
    assert_eq!(
        walk(store, &ListFilter::default(), 50).await.into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([source, id])
    );
}

async fn a_fork_of_an_earlier_point_knows_what_was_known_then(store: &dyn SessionStore) {
    let source = create_with_turn(store, "first", "a").await;
    let lease = store.acquire(&source, &owner("a")).await.unwrap();
    append_turn(store, &lease, 2, "second", "b").await;
    let mode = update(2, r#"{"sessionUpdate":"current_mode_update","currentModeId":"later"}"#);
    store.append(&lease, number(6), vec![mode], Vec::new()).await.unwrap();
    let fork = store.fork(&source, number(3), new_session_id(), at(77), Vec::new()).await.unwrap();
    assert_eq!(fork.settings.in_force, InForce::default());
    assert_eq!((fork.facts.messages, fork.facts.turns, fork.facts.title()), (2, 1, Some("first")));
    assert_eq!((fork.facts.created_at, fork.facts.updated_at), (at(77), at(77)));
    assert!(!replay_all(store, &fork.facts.session_id).await.contains("second"));
}

async fn a_fork_of_an_archived_session_is_listed(store: &dyn SessionStore) {
    let source = create_with_turn(store, "hi", "x").await;
    store.tell(&source, vec![Fact::Archived(true)]).await.unwrap();
    let fork = store.fork(&source, number(3), new_session_id(), at(5), Vec::new()).await.unwrap().facts.session_id;
    assert_eq!(walk(store, &ListFilter::default(), 50).await, [fork]);
}

async fn a_fork_outlives_its_source(store: &dyn SessionStore) {
    let image = "QUJD".repeat(30_000);
    let source = create_with_turn(store, "kept word", &image).await;
    let lease = store.acquire(&source, &owner("a")).await.unwrap();
    append_turn(store, &lease, 2, "lost word", "b").await;
    found(store, "word").await;
    let fork = store.fork(&source, number(3), new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
    let expected = read_all(store, &fork).await;

    store.delete(&source).await.unwrap();

    assert_eq!(read_all(store, &fork).await, expected);
    assert_eq!(replay_all(store, &fork).await, replay_of(&expected));
    finds(store, "kept", &[&fork]).await;
    finds(store, "lost", &[]).await;
    assert_eq!(store.verify().await.unwrap().damages, []);
    store.delete(&fork).await.unwrap();
    finds(store, "kept", &[]).await;
}

async fn forks_of_forks_read_through(store: &dyn SessionStore) {
    let mut newest = create_with_turn(store, "turn 1", "a").await;
    for turn in 2..=6 {
        let head = store.head(&newest).await.unwrap();
        newest = store.fork(&newest, head, new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
        let lease = store.acquire(&newest, &owner("a")).await.unwrap();
        append_turn(store, &lease, turn, &format!("turn {turn}"), "a").await;
    }
    let entries = read_all(store, &newest).await;
    assert_eq!(entries.iter().filter(|entry| entry.step.kind == StepKind::Prompt).count(), 6);
    assert_eq!(replay_all(store, &newest).await, replay_of(&entries));
    // A fork of an early point depends on the session that has it, not on those between.
    let early = store.fork(&newest, number(2), new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
    assert_eq!(numbers(store, &early).await, [1, 2, 3]);
}

async fn a_replay_of_forks_is_that_of_their_entries_however_big_they_are(store: &dyn SessionStore) {
    const PAGE: usize = 512 * 1024;
    // How big the updates are of one turn each, in a session, its fork and the fork's fork.
    let big = [PAGE + 1; 2];
    for (name, sizes) in [
        ("small parent", [&[10][..], &big, &[10]]),
        ("big parent", [&big, &[10], &big]),
        ("all big", [&[PAGE + 1; 3], &[PAGE + 1; 3], &[PAGE + 1; 3]]),
        ("pieces of a page", [&[PAGE / 2; 3], &[PAGE / 2; 5], &[PAGE / 4; 9]]),
        ("about a page", [&[PAGE - 200, 10], &[PAGE - 100, PAGE], &[10, PAGE + 1, 10]]),
    ] {
        let mut session = create(store).await;
        for (depth, sizes) in (1..).zip(sizes) {
            let lease = store.acquire(&session, &owner("a")).await.unwrap();
            let tool = |(index, size): (usize, &usize)| {
                let text = "x".repeat(*size);
                let call = format!(
                    r#"{{"sessionUpdate":"tool_call","toolCallId":"t{depth}-{index}","title":"Draw","rawOutput":"{text}"}}"#
                );
                update(depth, &call)
            };
            let mut steps = vec![prompt(depth, "draw")];
            steps.extend(sizes.iter().enumerate().map(tool));
            steps.push(end(depth));
            let head = store.head(&session).await.unwrap();
            let last = store.append(&lease, head, steps, Vec::new()).await.unwrap();

            let expected = replay_of(&read_all(store, &session).await);
            let is_same = |replay: String| replay == expected;
            assert!(is_same(replay_all(store, &session).await), "{name}, depth {depth}");
            // What was written is sealed when it can be found.
            found(store, "draw").await;
            assert!(is_same(replay_all(store, &session).await), "{name}, depth {depth}, sealed");

            store.release(&lease).await.unwrap();
            let fork = new_session_id();
            store.fork(&session, last, fork.clone(), at(1), Vec::new()).await.unwrap();
            session = fork;
        }
    }
}

async fn a_fork_point_must_exist(store: &dyn SessionStore) {
    let source = create_with_turn(store, "a", "b").await;
    let refused = store.fork(&source, number(9), new_session_id(), at(0), Vec::new()).await;
    assert!(matches!(refused, Err(StoreError::NoSuchEntry { last, .. }) if last == number(3)), "{refused:?}");
}

async fn a_fork_begins_at_the_end_of_a_turn(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    append_turn(store, &lease, 1, "a", "b").await;
    let set = Step::of_layer(at(5), Turn::After(1), LayerKind::StateSet, InForce::default().to_json());
    store.append(&lease, number(3), vec![set], Vec::new()).await.unwrap();
    append_turn(store, &lease, 2, "c", "d").await;
    let point = async |at| fork_point(store, &session, at).await.unwrap().map(EntryNumber::get);
    assert_eq!(point(None).await, Some(7));
    store.append(&lease, number(7), vec![prompt(3, "e"), chunk(3, "m", "f")], Vec::new()).await.unwrap();
    assert_eq!(point(None).await, Some(7));
    assert_eq!(
        [point(Some("u1")).await, point(Some("m1")).await, point(Some("m2")).await],
        [Some(4), Some(4), Some(7)]
    );
    assert_eq!([point(Some("u3")).await, point(Some("nobody's")).await], [None, None]);
}

async fn a_deleted_session_is_gone(store: &dyn SessionStore) {
    let (kept, gone) = (create_with_turn(store, "kept", "x").await, create_with_turn(store, "gone", "x").await);
    store.delete(&gone).await.unwrap();
    assert_eq!(walk(store, &ListFilter::default(), 50).await, [kept]);
    assert!(matches!(store.session(&gone).await, Err(StoreError::SessionNotFound { .. })));
    finds(store, "gone", &[]).await;
    store.create(session_in("/p")).await.unwrap();
}

async fn a_running_session_is_not_deleted(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    store.append(&lease, EntryNumber::START, vec![prompt(1, "busy")], Vec::new()).await.unwrap();
    assert!(matches!(store.delete(&session).await, Err(StoreError::InUse { .. })));
    store.append(&lease, number(1), vec![end(1)], Vec::new()).await.unwrap();
    store.delete(&session).await.unwrap();
}

async fn search_finds_words_in_what_was_said(store: &dyn SessionStore) {
    let zebra = create_with_turn(store, "tell me", "the zebra sleeps here").await;
    let otter = create_with_turn(store, "an otter-like animal", "swims").await;
    finds(store, "zebra", &[&zebra]).await;
    finds(store, "ZEBRA sleeps", &[&zebra]).await;
    finds(store, "\"zebra sleeps\"", &[&zebra]).await;
    finds(store, "\"sleeps zebra\"", &[]).await;
    finds(store, "zeb*", &[&zebra]).await;
    finds(store, "otter", &[&otter]).await;
    finds(store, "giraffe", &[]).await;
    assert!(matches!(store.search(&query("  ")).await, Err(StoreError::EmptyQuery { .. })));
    for odd in ["AND", "a OR (", "\"", "col:x", "^a", "-"] {
        let _ = store.search(&query(odd)).await;
    }
}

async fn search_finds_cjk_and_accents(store: &dyn SessionStore) {
    let session = create_with_turn(store, "tell me about Zürich", "東京都に行きました").await;
    for word in ["Zürich", "zurich", "東京", "東京都", "都", "行き"] {
        let hits = store.search(&query(word)).await.unwrap();
        assert_eq!(hits.iter().map(|hit| &hit.session_id).collect::<Vec<_>>(), [&session], "{word}");
    }
    let hits = store.search(&query("東京")).await.unwrap();
    assert!(hits[0].snippet.contains("東京"), "{hits:?}");
    finds(store, "京東", &[]).await;
}

async fn search_finds_what_was_just_written(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    store.append(&lease, EntryNumber::START, vec![prompt(1, "alpha"), chunk(1, "m", "be")], Vec::new()).await.unwrap();
    finds(store, "alpha", &[&session]).await;
    finds(store, "be", &[&session]).await;

    store.append(&lease, number(2), vec![chunk(1, "m", "ta gamma")], Vec::new()).await.unwrap();
    finds(store, "be", &[]).await;
    finds(store, "beta", &[&session]).await;
    store.append(&lease, number(3), vec![end(1)], Vec::new()).await.unwrap();
    finds(store, "gamma", &[&session]).await;
}

async fn search_finds_titles_and_forgets_old_ones(store: &dyn SessionStore) {
    let session = create_with_turn(store, "hello", "world").await;
    for (title, other) in [("Crimson plan", "violet"), ("Violet plan", "crimson")] {
        store.tell(&session, vec![Fact::ManualTitle(Some(title.to_owned()))]).await.unwrap();
        let hits = store.search(&query(title)).await.unwrap();
        assert_eq!((hits.len(), hits[0].entry, hits[0].snippet.as_str()), (1, EntryNumber::START, title));
        finds(store, other, &[]).await;
    }
}

async fn search_gives_each_session_once_with_its_best_match(store: &dyn SessionStore) {
    let (session, lease) = create_and_acquire(store).await;
    let padding = "something else entirely ".repeat(20);
    append_turn(store, &lease, 1, &format!("{padding} needle {padding}"), "first").await;
    append_turn(store, &lease, 2, "needle", "second").await;
    append_turn(store, &lease, 3, &format!("{padding} needle {padding}"), "third").await;
    let (later, lease) = create_and_acquire(store).await;
    append_turn(store, &lease, 4, &format!("{padding} {padding} needle"), "x").await;
    let search = async |order| {
        let hits = store.search(&SearchQuery { order, ..query("needle") }).await.unwrap();
        hits.into_iter().map(|hit| (hit.session_id, hit.entry, hit.hits)).collect::<Vec<_>>()
    };
    assert_eq!(search(SearchOrder::Best).await, [(session.clone(), number(4), 3), (later.clone(), number(1), 1)]);
    assert_eq!(search(SearchOrder::Newest).await, [(later, number(1), 1), (session, number(7), 3)]);
    assert_eq!(store.search(&SearchQuery { limit: 1, ..query("needle") }).await.unwrap()[0].snippet, "needle");
}

async fn newest_first_goes_by_when_it_was_said(store: &dyn SessionStore) {
    let (newer, lease) = create_and_acquire(store).await;
    let older = create_with_turn(store, "zebra early", "x").await;
    store.append(&lease, EntryNumber::START, vec![prompt(5, "zebra late")], Vec::new()).await.unwrap();
    let hits = store.search(&SearchQuery { order: SearchOrder::Newest, ..query("zebra") }).await.unwrap();
    assert_eq!(hits.iter().map(|hit| &hit.session_id).collect::<Vec<_>>(), [&newer, &older]);
}

async fn of_what_was_said_at_once_the_session_made_last_is_first(store: &dyn SessionStore) {
    let (first, first_lease) = create_and_acquire(store).await;
    let (last, last_lease) = create_and_acquire(store).await;
    // Searching brings the index up to date, so the first session is indexed last.
    store.append(&last_lease, EntryNumber::START, vec![prompt(1, "zebra")], Vec::new()).await.unwrap();
    assert_eq!(found(store, "zebra").await, std::slice::from_ref(&last));
    store.append(&first_lease, EntryNumber::START, vec![prompt(1, "zebra")], Vec::new()).await.unwrap();

    let hits = store.search(&SearchQuery { order: SearchOrder::Newest, ..query("zebra") }).await.unwrap();

    assert_eq!(hits.iter().map(|hit| &hit.session_id).collect::<Vec<_>>(), [&last, &first]);
}

async fn search_finds_shared_entries_in_every_fork(store: &dyn SessionStore) {
    let source = create_with_turn(store, "hello", "common heron").await;
    let fork = store.fork(&source, number(3), new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
    let early = store.fork(&source, number(1), new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
    let with_heron: BTreeSet<SessionId> = found(store, "heron").await.into_iter().collect();
    assert_eq!(with_heron, BTreeSet::from([source, fork]));
    assert!(found(store, "hello").await.contains(&early));
}

async fn ids_can_be_shortened(store: &dyn SessionStore) {
    for id in ["abc1", "abc2", "abc", "xyz"] {
        let mut session = session_in("/p");
        session.facts.session_id = SessionId::parse(id).unwrap();
        store.create(session).await.unwrap();
    }
    let resolve = async |prefix: &str| store.resolve("", prefix).await.map(|id| id.to_string());
    assert_eq!(resolve("x").await.unwrap(), "xyz");
    assert_eq!(resolve("abc").await.unwrap(), "abc");
    assert_eq!(resolve("abc2").await.unwrap(), "abc2");
    assert!(matches!(resolve("ab").await, Err(StoreError::AmbiguousPrefix { count: 3, .. })));
    assert!(matches!(resolve("").await, Err(StoreError::SessionNotFound { .. })));
}

async fn owners_do_not_see_each_other(store: &dyn SessionStore) {
    for name in ["ann", "bob"] {
        let mut session = session_in("/p");
        (session.facts.owner, session.facts.turns) = (name.to_owned(), 1);
        session.facts.titles.manual = Some("shared word".to_owned());
        store.create(session.clone()).await.unwrap();
        store.tell(&session.facts.session_id, Vec::new()).await.unwrap();
    }
    let ann = ListFilter { owner: "ann".to_owned(), ..ListFilter::default() };
    let mine = store.list(&ann, None, 50).await.unwrap().sessions;
    assert_eq!(mine.iter().map(|facts| facts.owner.as_str()).collect::<Vec<_>>(), ["ann"]);
    let hits = store.search(&SearchQuery { owner: "ann".to_owned(), ..query("shared") }).await.unwrap();
    assert_eq!(hits.iter().map(|hit| &hit.session_id).collect::<Vec<_>>(), [&mine[0].session_id]);
    finds(store, "shared", &[]).await;
    let id = mine[0].session_id.as_str();
    assert!(matches!(store.resolve("bob", id).await, Err(StoreError::SessionNotFound { .. })));
}

async fn statistics_count_what_is_listed(store: &dyn SessionStore) {
    create(store).await;
    let one = create_with_turn(store, "a", "b").await;
    create_with_turn(store, "c", "d").await;
    store.tell(&one, vec![Fact::Archived(true)]).await.unwrap();
    let stats = store.stats(|at| at.to_string()[..10].to_owned()).await.unwrap();
    assert_eq!((stats.all.sessions, stats.archived, stats.all.messages), (2, 1, 4));
    assert_eq!((&stats.agents["agent-a"], &stats.days["1970-01-01"]), (&stats.all, &stats.all));
    assert!(stats.bytes > 0);
}

async fn a_sound_store_verifies(store: &dyn SessionStore) {
    let source = create_with_turn(store, "a", &"b".repeat(50_000)).await;
    store.fork(&source, number(2), new_session_id(), at(0), Vec::new()).await.unwrap();
    found(store, "a").await;
    let report = store.verify().await.unwrap();
    assert_eq!((report.sessions, report.entries, report.damages), (2, 6, vec![]));
}

async fn pruning_takes_the_oldest_and_says_so_first(store: &dyn SessionStore) {
    let mut made = Vec::new();
    for turn in 1..=4 {
        let (session, lease) = create_and_acquire(store).await;
        append_turn(store, &lease, turn, &"x".repeat(10_000), "y").await;
        made.push(session);
    }
    // The turns ended at 10_002, 20_002, 30_002 and 40_002.
    let by_age = Retention { max_age_millis: Some(25_000), max_bytes: None };
    let dry = store.prune(&by_age, at(50_000), Run::Dry).await.unwrap();
    assert_eq!(dry.iter().map(|one| &one.session).collect::<Vec<_>>(), [&made[0], &made[1]]);
    assert_eq!(walk(store, &ListFilter::default(), 50).await.len(), 4);
    assert_eq!(store.prune(&by_age, at(50_000), Run::Real).await.unwrap(), dry);
    let by_size = Retention { max_age_millis: None, max_bytes: Some(15_000) };
    let pruned = store.prune(&by_size, at(50_000), Run::Real).await.unwrap();
    assert_eq!(pruned.iter().map(|one| &one.session).collect::<Vec<_>>(), [&made[2]]);
    assert_eq!(walk(store, &ListFilter::default(), 50).await, [made[3].clone()]);
    let none = Retention { max_age_millis: None, max_bytes: None };
    assert_eq!(store.prune(&none, at(50_000), Run::Real).await.unwrap(), []);
}

async fn pruning_keeps_what_is_running(store: &dyn SessionStore) {
    let session = create(store).await;
    let lease = store.acquire(&session, &Owner::this_process()).await.unwrap();
    store.append(&lease, EntryNumber::START, vec![prompt(1, "long work")], Vec::new()).await.unwrap();
    let nothing = Retention { max_age_millis: Some(1), max_bytes: Some(0) };
    assert_eq!(store.prune(&nothing, at(1_000_000), Run::Real).await.unwrap(), []);
}

async fn empty_sessions_are_removed_after_their_time(store: &dyn SessionStore) {
    let old = create(store).await;
    let mut young = session_in("/p");
    young.facts.created_at = at(2_000);
    store.create(young.clone()).await.unwrap();
    let prompted = create_with_turn(store, "a", "b").await;
    let open = create(store).await;
    store.acquire(&open, &Owner::this_process()).await.unwrap();
    assert_eq!(store.remove_empty(at(1_500), Run::Dry).await.unwrap(), 1);
    store.session(&old).await.unwrap();
    assert_eq!(store.remove_empty(at(1_500), Run::Real).await.unwrap(), 1);
    store.session(&open).await.unwrap();
    assert!(matches!(store.session(&old).await, Err(StoreError::SessionNotFound { .. })));
    store.session(&young.facts.session_id).await.unwrap();
    store.session(&prompted).await.unwrap();
}
