//! What the SQLite backend promises of its file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use futures::TryStreamExt;
use rejoin_store::{
    Damage, ListFilter, ReplayPage, ReplayPlace, Retention, Run, SessionStore, SqliteStore, StoreError, new_session_id,
    replay_pages,
};
use rejoin_transcript::{EntryNumber, Fact};
use rusqlite::Connection;

use rejoin_testing::{
    TempStore, append_turn, at, chunk, create_and_acquire, create_with_turn, end, finds, found, holds, number, numbers,
    owner, prompt, read_all, replay_all, replay_of, update,
};

#[test]
fn the_file_is_its_owners_alone_and_its_folders_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for file in fs::read_dir(path.parent().unwrap()).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    assert_eq!(mode(&folder.path().join("a")), 0o700);
    drop(store);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let _store = SqliteStore::open(&path).unwrap();
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_there_after_reopening() {
    let temp = TempStore::new();
    let session = create_with_turn(&temp.store, "hello", "world").await;
    let before = (read_all(&temp.store, &session).await, temp.store.session(&session).await.unwrap());
    let temp = temp.reopen();
    assert_eq!((read_all(&temp.store, &session).await, temp.store.session(&session).await.unwrap()), before);
    finds(&temp.store, "world", &[&session]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_a_file() {
    let temp = TempStore::new();
    let other = SqliteStore::open(temp.store.path()).unwrap();
    let session = create_with_turn(&temp.store, "from one", "x").await;
    let lease = other.acquire(&session, &owner("b")).await.unwrap();
    append_turn(&other, &lease, 2, "from two", "x").await;
    assert_eq!(numbers(&temp.store, &session).await, [1, 2, 3, 4, 5, 6]);
    finds(&temp.store, "two", &[&session]).await;
    finds(&other, "one", &[&session]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_at_once_do_not_disturb_each_other() {
    let temp = TempStore::new();
    let store = &temp.store;
    let writers = (0..20).map(|_| async move {
        let (session, lease) = create_and_acquire(store).await;
        let mut last = EntryNumber::START;
        for turn in 1..=10 {
            last = store.append(&lease, last, vec![prompt(turn, "a"), end(turn)], Vec::new()).await.unwrap();
            let stale = store.append(&lease, EntryNumber::START, vec![prompt(turn, "stale")], Vec::new()).await;
            assert!(matches!(stale, Err(StoreError::Conflict { .. })), "{stale:?}");
        }
        (session, last)
    });
    for (session, last) in futures::future::join_all(writers).await {
        assert_eq!(last, number(20));
        assert_eq!(read_all(store, &session).await.len(), 20);
    }
    finds(store, "stale", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_was_given_up_is_not_made_later() {
    let temp = TempStore::new();
    let (session, lease) = create_and_acquire(&temp.store).await;
    let mut given_up = temp.store.append(&lease, EntryNumber::START, vec![prompt(1, "given up")], Vec::new());
    assert!(futures::poll!(&mut given_up).is_pending());
    drop(given_up);
    temp.store.append(&lease, EntryNumber::START, vec![prompt(1, "kept")], Vec::new()).await.unwrap();
    assert_eq!(numbers(&temp.store, &session).await, [1]);
    finds(&temp.store, "given", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_words_are_in_no_file() {
    let temp = TempStore::new();
    let store = &temp.store;
    // Words enough that the index has inner nodes, in which a word may stand too.
    let words: Vec<String> = (0..6_000).map(|n| format!("qzx{:08x}vw", n * 0x9e37_79b1_u64 % 0xffff_ffff)).collect();
    let (kept_words, gone_words) = words.split_at(3_000);
    let kept = create_with_turn(store, &kept_words.join(" "), "kept").await;
    let (gone, lease) = create_and_acquire(store).await;
    for (turn, words) in (1..).zip(gone_words.chunks(100)) {
        append_turn(store, &lease, turn, &words.join(" "), &words[0].repeat(2_000)).await;
    }
    let title = Fact::ManualTitle(Some("qzxtitlevw".to_owned()));
    store.tell(&gone, vec![title]).await.unwrap();
    finds(store, &gone_words[7], &[&gone]).await;
    finds(store, "qzxtitlevw", &[&gone]).await;

    store.delete(&gone).await.unwrap();

    let files: Vec<Vec<u8>> =
        fs::read_dir(temp.folder.path()).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap()).collect();
    let is_left = |word: &&String| files.iter().any(|file| holds(file, word.as_bytes()));
    let left: Vec<&String> = gone_words.iter().filter(is_left).collect();
    assert_eq!(left, Vec::<&String>::new());
    assert!(!temp.files_hold("qzxtitlevw") && !temp.files_hold(gone.as_str()));
    assert!(is_left(&&kept_words[0]));
    finds(store, &kept_words[2_999], &[&kept]).await;
    assert_eq!(store.verify().await.unwrap().damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_fork_does_not_need_goes_with_its_source() {
    let temp = TempStore::new();
    let store = &temp.store;
    let source = create_with_turn(store, "sharedqzx", "a").await;
    let lease = store.acquire(&source, &owner("a")).await.unwrap();
    append_turn(store, &lease, 2, "lostqzx", &"lostimageqzx".repeat(5_000)).await;
    found(store, "lostqzx").await;
    let fork = store.fork(&source, number(3), new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;

    store.delete(&source).await.unwrap();
    assert!(!temp.files_hold("lostqzx") && !temp.files_hold("lostimageqzx") && temp.files_hold("sharedqzx"));
    store.delete(&fork).await.unwrap();
    assert!(!temp.files_hold("sharedqzx"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_beside_a_reader_holds_nobody_up_and_is_finished_later() {
    let temp = TempStore::new();
    let gone = create_with_turn(&temp.store, "qzxgonevw", "x").await;
    let (_, lease) = create_and_acquire(&temp.store).await;
    let reader = Connection::open(temp.store.path()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM entry", [], |row| row.get::<_, u32>(0)).unwrap();

    let mut delete = Box::pin(temp.store.delete(&gone));
    // The writer goes on while the delete waits for the reader.
    let mut last = EntryNumber::START;
    for count in 0..50 {
        assert!(futures::poll!(&mut delete).is_pending());
        last = temp.store.append(&lease, last, vec![chunk(1, "m", &count.to_string())], Vec::new()).await.unwrap();
    }
    drop(delete);

    reader.execute_batch("COMMIT").unwrap();
    let temp = temp.reopen();
    // A search comes behind what is left to do.
    found(&temp.store, "anything").await;
    assert!(!temp.files_hold("qzxgonevw"));
    assert!(matches!(temp.store.session(&gone).await, Err(StoreError::SessionNotFound { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_prunes_at_once_share_the_work() {
    let temp = TempStore::new();
    for _ in 0..20 {
        create_with_turn(&temp.store, "a", "x").await;
    }
    let other = SqliteStore::open(temp.store.path()).unwrap();
    let everything = Retention { max_age_millis: Some(1), max_bytes: None };
    let now = rejoin_store::now();
    let (ours, theirs) =
        tokio::join!(temp.store.prune(&everything, now, Run::Real), other.prune(&everything, now, Run::Real));
    assert_eq!(ours.unwrap().len() + theirs.unwrap().len(), 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_shrinks_after_a_delete() {
    let temp = TempStore::new();
    let (session, lease) = create_and_acquire(&temp.store).await;
    let steps = (0..5_000).map(|n| update(1, &format!(r#"{{"sessionUpdate":"x","n":{n},"t":"{}"}}"#, "y".repeat(500))));
    temp.store.append(&lease, EntryNumber::START, steps.collect(), Vec::new()).await.unwrap();
    let size = || fs::metadata(temp.store.path()).unwrap().len();
    temp.store.delete(&session).await.unwrap();
    assert!(size() < 500_000, "{} bytes", size());
}

#[tokio::test(flavor = "multi_thread")]
async fn big_content_is_kept_once() {
    let temp = TempStore::new();
    // Nothing that compression could make small.
    let bits = |n: u64| blake3::hash(&n.to_le_bytes()).to_hex().to_string();
    let image: String = (0..16_000).map(bits).collect();
    for _ in 0..8 {
        let (_, lease) = create_and_acquire(&temp.store).await;
        let call = format!(r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":"Draw","rawOutput":"{image}"}}"#);
        let steps = vec![prompt(1, "draw"), update(1, &call), end(1)];
        temp.store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    }
    found(&temp.store, "draw").await;
    let temp = temp.reopen();
    let size = temp.store.stats(|_| String::new()).await.unwrap().bytes;
    assert!(size < 2 * image.len() as u64, "{size} bytes for an image of {}", image.len());
}

/// Writes over the bytes of `word` wherever it stands in the closed store's file.
fn damage(path: &Path, word: &str) {
    let bytes = fs::read(path).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let places: Vec<usize> =
        bytes.windows(word.len()).enumerate().filter(|(_, part)| *part == word.as_bytes()).map(|(at, _)| at).collect();
    assert!(!places.is_empty(), "`{word}` is not in the file");
    for place in places {
        file.write_at(&b"#".repeat(word.len()), place as u64).unwrap();
    }
}

/// A store of three sessions, closed, and the ids.
async fn three_sessions() -> (tempfile::TempDir, Vec<rejoin_transcript::SessionId>) {
    let TempStore { store, folder } = TempStore::new();
    let mut ids = Vec::new();
    for name in ["one", "two", "three"] {
        ids.push(create_with_turn(&store, name, &format!("damage{name} {}", "filler ".repeat(1_000))).await);
    }
    // What is not indexed before it is damaged never will be.
    found(&store, "filler").await;
    (folder, ids)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_entry_is_named_and_the_others_stay_usable() {
    let (folder, ids) = three_sessions().await;
    let path = folder.path().join("sessions.db");
    damage(&path, "damagetwo filler");
    let store = SqliteStore::open(&path).unwrap();

    let report = store.verify().await.unwrap();

    let what = "is not what was written".to_owned();
    assert_eq!(report.damages, [Damage { session: Some(ids[1].clone()), entry: Some(number(2)), what }]);
    let error = store.read(&ids[1], EntryNumber::START).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }) && error.to_string().contains(ids[1].as_str()), "{error}");
    assert_eq!(numbers(&store, &ids[0]).await, [1, 2, 3]);
    assert_eq!(numbers(&store, &ids[2]).await, [1, 2, 3]);
    finds(&store, "damagethree", &[&ids[2]]).await;
    let lease = store.acquire(&ids[0], &owner("a")).await.unwrap();
    append_turn(&store, &lease, 2, "still", "works").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_session_can_be_searched_around_and_deleted() {
    let (folder, ids) = three_sessions().await;
    let path = folder.path().join("sessions.db");
    damage(&path, "damagetwo filler");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(found(&store, "filler").await.len(), 3);
    store.delete(&ids[1]).await.unwrap();
    assert_eq!(found(&store, "filler").await.len(), 2);
    finds(&store, "two", &[]).await;
    let everything = Retention { max_age_millis: Some(1), max_bytes: None };
    assert_eq!(store.prune(&everything, rejoin_store::now(), Run::Real).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_facts_are_damaged_is_named_and_hides_no_other() {
    let temp = TempStore::new();
    let (hurt, sound) =
        (create_with_turn(&temp.store, "hi", "x").await, create_with_turn(&temp.store, "ho", "x").await);
    let connection = Connection::open(temp.store.path()).unwrap();
    connection.execute("UPDATE session SET facts = replace(facts, 'hi', 'HI') WHERE id = ?1", [hurt.as_str()]).unwrap();
    let listed = temp.store.list(&ListFilter::default(), None, 50).await.unwrap().sessions;
    assert_eq!(listed.iter().map(|facts| &facts.session_id).collect::<Vec<_>>(), [&sound]);
    finds(&temp.store, "x", &[&sound]).await;
    assert_eq!(temp.store.stats(|_| String::new()).await.unwrap().all.sessions, 1);
    assert!(matches!(temp.store.session(&hurt).await, Err(StoreError::Damaged { .. })));
    let damages = temp.store.verify().await.unwrap().damages;
    assert_eq!(damages.iter().map(|damage| damage.session.as_ref()).collect::<Vec<_>>(), [Some(&hurt)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_table_is_damaged_verify_tells_and_does_not_fail() {
    for table in ["session", "content", "entry", "replay", "passage", "passage_text_data", "log"] {
        let TempStore { store, folder } = TempStore::new();
        for name in 0..40 {
            create_with_turn(&store, &format!("hi {name}"), &"big ".repeat(10_000)).await;
        }
        found(&store, "hi").await;
        drop(store);
        let path = folder.path().join("sessions.db");
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        let page: u64 = Connection::open(&path).unwrap().query_row(sql, [table], |row| row.get(0)).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_at(&[0xff; 4096], (page - 1) * 4096).unwrap();
        let report = SqliteStore::open(&path).unwrap().verify().await.unwrap();
        assert!(!report.damages.is_empty(), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_sees_one_moment_while_others_delete() {
    let temp = TempStore::new();
    let mut ids = Vec::new();
    for _ in 0..60 {
        ids.push(create_with_turn(&temp.store, "a", &"word ".repeat(2_000)).await);
    }
    let other = SqliteStore::open(temp.store.path()).unwrap();
    let delete = async {
        for id in ids.iter().rev().take(20) {
            other.delete(id).await.unwrap();
        }
    };
    let (report, ()) = tokio::join!(temp.store.verify(), delete);
    assert_eq!(report.unwrap().damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_page_is_found_and_the_others_stay_usable() {
    let (folder, ids) = three_sessions().await;
    let path = folder.path().join("sessions.db");
    let bytes = fs::read(&path).unwrap();
    let place = bytes.windows(16).position(|part| part == b"damagetwo filler").unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_at(&[0xff; 4096], (place / 4096 * 4096) as u64).unwrap();
    let store = SqliteStore::open(&path).unwrap();

    let report = store.verify().await.unwrap();

    let names_it = |damage: &Damage| damage.session.as_ref() == Some(&ids[1]) && damage.entry.is_some();
    assert!(report.damages.iter().any(names_it), "{report:?}");
    store.session(&ids[2]).await.unwrap();
    assert!(matches!(store.read(&ids[1], EntryNumber::START).await, Err(StoreError::Damaged { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_replay_form_is_made_anew_from_the_entries() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    for turn in 1..=3 {
        append_turn(&store, &lease, turn, "a", &format!("b{turn}")).await;
    }
    found(&store, "a").await;
    drop(store);
    let path = folder.path().join("sessions.db");
    let connection = Connection::open(&path).unwrap();
    assert_eq!(connection.execute("UPDATE replay SET packed = zeroblob(9) WHERE first = 4", []).unwrap(), 1);
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(replay_all(&store, &session).await, replay_of(&read_all(&store, &session).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_shows_nothing_of_others() {
    let temp = TempStore::new();
    let (source, lease) = create_and_acquire(&temp.store).await;
    // A page of the replay ends exactly with the last piece of this turn.
    let mut steps = vec![prompt(1, "go")];
    steps.extend((0..22).map(|message| chunk(1, &format!("m{message}-"), &"x".repeat(50_000))));
    steps.push(end(1));
    let last = temp.store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    create_with_turn(&temp.store, "someone else's", "secret").await;
    let fork = temp.store.fork(&source, last, new_session_id(), at(0), Vec::new()).await.unwrap().facts.session_id;
    found(&temp.store, "go").await;
    assert_eq!(replay_all(&temp.store, &fork).await, replay_of(&read_all(&temp.store, &fork).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replay_form_refers_to_nothing_that_is_not_kept() {
    let temp = TempStore::new();
    let (_, lease) = create_and_acquire(&temp.store).await;
    // A big string in a body that is big without it, and is therefore kept whole.
    let numbers: Vec<u32> = (0..10_000).collect();
    let (big, numbers) = ("z".repeat(20_000), serde_json::to_string(&numbers).unwrap());
    let call = format!(
        r#"{{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","rawOutput":"{big}","rawInput":{numbers}}}"#
    );
    let steps = vec![prompt(1, "go"), update(1, &call), end(1)];
    temp.store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    found(&temp.store, "go").await;
    assert_eq!(temp.store.verify().await.unwrap().damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_of_many_segments_keeps_its_final_states_even_if_a_piece_is_damaged() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    let call = r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Build","status":"pending"}"#;
    let mut steps = vec![prompt(1, "go"), update(1, call)];
    for count in 0..900 {
        let (progress, filler) = ("y".repeat(10_000), "y".repeat(1_000));
        steps.push(update(
            1,
            &format!(r#"{{"sessionUpdate":"tool_call_update","toolCallId":"p","title":"{progress}"}}"#),
        ));
        steps.push(update(1, &format!(r#"{{"sessionUpdate":"x","n":{count},"t":"{filler}"}}"#)));
    }
    steps.push(update(1, r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}"#));
    steps.push(end(1));
    store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    found(&store, "go").await;
    drop(store);
    let path = folder.path().join("sessions.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE replay SET checksum = 0 WHERE id & 0xffffffff = 2", []).unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(replay_all(&store, &session).await, replay_of(&read_all(&store, &session).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_of_many_pieces_is_whole_even_if_one_is_damaged() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    let mut steps = vec![prompt(1, "go")];
    steps.extend(
        (0..3_000).map(|n| update(1, &format!(r#"{{"sessionUpdate":"x","n":{n},"t":"{}"}}"#, "y".repeat(400)))),
    );
    steps.push(end(1));
    store.append(&lease, EntryNumber::START, steps, Vec::new()).await.unwrap();
    found(&store, "go").await;
    let whole = replay_of(&read_all(&store, &session).await);
    assert_eq!(replay_all(&store, &session).await, whole);
    drop(store);
    let path = folder.path().join("sessions.db");
    let connection = Connection::open(&path).unwrap();
    let pieces: i64 = connection.query_row("SELECT count(*) FROM replay", [], |row| row.get(0)).unwrap();
    assert!(pieces > 3, "{pieces} pieces");
    connection.execute("UPDATE replay SET checksum = 0 WHERE id = (SELECT max(id) - 1 FROM replay)", []).unwrap();
    drop(connection);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(replay_all(&store, &session).await, whole);
}

/// How many pieces of replay forms there are.
fn pieces(folder: &Path) -> i64 {
    let connection = Connection::open(folder.join("sessions.db")).unwrap();
    connection.query_row("SELECT count(*) FROM replay", [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pieces_of_short_turns_are_joined_and_forks_and_deletes_cut_them_right() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    let mut ends = Vec::new();
    for turn in 1..=100 {
        let usage = format!(r#"{{"sessionUpdate":"usage_update","used":{turn},"size":9}}"#);
        ends.push(append_turn(&store, &lease, turn, "a", &format!("b{turn}")).await);
        store.append(&lease, ends[ends.len() - 1], vec![update(turn, &usage)], Vec::new()).await.unwrap();
    }
    found(&store, "a").await;
    assert!(pieces(folder.path()) < 20, "{} pieces", pieces(folder.path()));
    assert_eq!(replay_all(&store, &session).await, replay_of(&read_all(&store, &session).await));

    // One that ends inside a joined piece, and one at its end.
    let fork = async |at_turn: usize| {
        let made = store.fork(&session, ends[at_turn], new_session_id(), at(0), Vec::new()).await.unwrap();
        made.facts.session_id
    };
    let forks = [fork(20).await, fork(15).await, fork(99).await];
    for fork in &forks {
        assert_eq!(replay_all(&store, fork).await, replay_of(&read_all(&store, fork).await));
    }
    store.release(&lease).await.unwrap();
    store.delete(&forks[2]).await.unwrap();
    store.delete(&session).await.unwrap();
    found(&store, "a").await;
    for fork in &forks[..2] {
        assert_eq!(replay_all(&store, fork).await, replay_of(&read_all(&store, fork).await));
    }
    assert_eq!(store.verify().await.unwrap().damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_pieces_that_are_joined_meanwhile_gets_everything_once() {
    let TempStore { store, folder } = TempStore::new();
    let (session, lease) = create_and_acquire(&store).await;
    let long = |turn: u32| format!("b{turn} {}", "y".repeat(10_000));
    // Too big to be joined; then those that will be, with the end of a page among them.
    append_turn(&store, &lease, 1, "a", &"x".repeat(40_000)).await;
    append_turn(&store, &lease, 2, "a", &"x".repeat(100_000)).await;
    for turn in 3..=16 {
        append_turn(&store, &lease, turn, "a", &long(turn)).await;
    }
    found(&store, "a").await;
    let (whole, before) = (replay_of(&read_all(&store, &session).await), pieces(folder.path()));
    let mut first = store.replay(&session, ReplayPlace::all()).await.unwrap();
    let second = store.replay(&session, first.next.unwrap()).await.unwrap();
    first = ReplayPage { lines: first.lines + &second.lines, next: second.next };

    assert!(first.lines.contains("b3 ") && !first.lines.contains("b12 "), "the page does not end among them");
    for turn in 17..=21 {
        append_turn(&store, &lease, turn, "a", &long(turn)).await;
    }
    found(&store, "a").await;

    assert!(pieces(folder.path()) <= before, "{} pieces, then {}", before, pieces(folder.path()));
    let rest: Vec<String> = replay_pages(&store, &session, first.next.unwrap()).try_collect().await.unwrap();
    assert_eq!(first.lines + &rest.concat(), whole);
}

#[test]
fn many_can_make_the_store_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sessions.db");
        std::thread::scope(|scope| {
            let openers: Vec<_> = (0..6).map(|_| scope.spawn(|| SqliteStore::open(&path).map(drop))).collect();
            for opener in openers {
                opener.join().unwrap().unwrap();
            }
        });
    }
}

#[test]
fn a_file_of_another_kind_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "just some text, long enough to be no empty file".repeat(50)).unwrap();
    let database = folder.path().join("other.db");
    Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    for path in [&text, &database, &folder.path().to_owned()] {
        let state = || (fs::read(path).ok(), fs::metadata(path).unwrap().permissions());
        let before = state();
        let refused = SqliteStore::open(path).err().unwrap();
        assert!(matches!(refused, StoreError::NotAStore { .. } | StoreError::CannotOpen { .. }), "{refused:?}");
        assert!(refused.hint().unwrap().contains("--store"));
        assert_eq!(state(), before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_store_is_one_file() {
    let TempStore { store, folder } = TempStore::new();
    create_with_turn(&store, "hello", "world").await;
    found(&store, "hello").await;
    drop(store);
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, ["sessions.db"]);
}

/// Makes the file look as if a newer program had been there.
fn migrate_beyond(path: &Path, oldest_fit: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute("ALTER TABLE session ADD COLUMN from_the_future TEXT", []).unwrap();
    connection.execute("UPDATE meta SET value = ?1 WHERE key = 'oldest_fit'", [oldest_fit]).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_that_only_adds_changes_nothing_for_us() {
    let temp = TempStore::new();
    let (session, lease) = create_and_acquire(&temp.store).await;
    migrate_beyond(temp.store.path(), "1");
    append_turn(&temp.store, &lease, 1, "goes", "on").await;
    let temp = temp.reopen();
    assert_eq!(numbers(&temp.store, &session).await, [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_schema_that_we_cannot_follow_stops_us() {
    let temp = TempStore::new();
    let (_, lease) = create_and_acquire(&temp.store).await;
    migrate_beyond(temp.store.path(), "99");
    let is_refused = |error: StoreError| {
        assert!(matches!(error, StoreError::NewerSchema { found: 99, .. }), "{error:?}");
        assert!(error.hint().unwrap().contains("update"));
    };
    is_refused(temp.store.append(&lease, EntryNumber::START, vec![prompt(1, "a")], Vec::new()).await.unwrap_err());
    is_refused(SqliteStore::open(temp.store.path()).err().unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_locked_for_too_long_is_said_to_be() {
    let temp = TempStore::new();
    let findable = create_with_turn(&temp.store, "zebra", "x").await;
    found(&temp.store, "zebra").await;
    let (session, lease) = create_and_acquire(&temp.store).await;
    temp.store.tell(&session, Vec::new()).await.unwrap();
    let other = Connection::open(temp.store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    finds(&temp.store, "zebra", &[&findable]).await;
    let refused = temp.store.append(&lease, EntryNumber::START, vec![prompt(1, "a")], Vec::new()).await;
    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    assert!(numbers(&temp.store, &session).await.is_empty());
    other.execute_batch("ROLLBACK").unwrap();
    temp.store.append(&lease, EntryNumber::START, vec![prompt(1, "a")], Vec::new()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_deleted_at_once_are_all_gone_from_the_files() {
    let temp = TempStore::new();
    let mut made = Vec::new();
    for number in 0..40 {
        made.push(create_with_turn(&temp.store, &format!("zebra{number}"), "x").await);
    }
    found(&temp.store, "zebra1").await;
    let kept = made.pop().unwrap();
    for done in futures::future::join_all(made.iter().map(|session| temp.store.delete(session))).await {
        done.unwrap();
    }
    assert!((0..39).all(|number| !temp.files_hold(&format!("zebra{number}\""))));
    assert!(temp.files_hold("zebra39\""));
    finds(&temp.store, "zebra39", &[&kept]).await;
}

/// Runs this very test binary again, only for the test `name`, inside `shell`, where `$0` is the binary.
///
/// `shell` may mount things, which needs a namespace. Where there is none to be had, the test says so and is skipped.
fn run_inside(shell: &str, name: &str, folder: &Path) {
    let namespace = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    if !namespace.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: `unshare --map-root-user --mount` does not work here");
    }
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-euc", shell])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("REJOIN_TEST_FOLDER", folder)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(holds(&output.stdout, b"1 passed"), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_said_to_be_full_and_nothing_is_lost() {
    let Ok(folder) = std::env::var("REJOIN_TEST_FOLDER") else {
        let folder = tempfile::tempdir().unwrap();
        let shell = r#"mount -t tmpfs -o size=2m tmpfs "$REJOIN_TEST_FOLDER"; exec "$0" "$@""#;
        return run_inside(shell, "sqlite::a_full_disk_is_said_to_be_full_and_nothing_is_lost", folder.path());
    };
    let path = Path::new(&folder).join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let (session, lease) = create_and_acquire(&store).await;
    let mut last = EntryNumber::START;
    let error = loop {
        let steps = (0..20).map(|n| chunk(1, "m", &format!("{n}{}", "x".repeat(500)))).collect();
        match store.append(&lease, last, steps, Vec::new()).await {
            Ok(number) => last = number,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!((error.code(), error.kind()), (-32012, "store_failed"));
    assert_eq!(read_all(&store, &session).await.len(), last.get() as usize);
    drop(store);
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.head(&session).await.unwrap(), last);
    assert_eq!(store.verify().await.unwrap().damages, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_on_a_full_disk_can_be_read() {
    let Ok(folder) = std::env::var("REJOIN_TEST_FOLDER") else {
        let folder = tempfile::tempdir().unwrap();
        let shell = r#"mount -t tmpfs -o size=2m tmpfs "$REJOIN_TEST_FOLDER"; exec "$0" "$@""#;
        return run_inside(shell, "sqlite::a_store_on_a_full_disk_can_be_read", folder.path());
    };
    let path = Path::new(&folder).join("sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    let session = create_with_turn(&store, "zebra", "x").await;
    drop(store);
    let mut rest = fs::File::create(Path::new(&folder).join("rest")).unwrap();
    while rest.write_all(&[0; 512]).is_ok() {}

    assert!(matches!(SqliteStore::open(&path), Err(StoreError::Full { .. })));
    let store = SqliteStore::open_existing(&path).unwrap().unwrap();
    assert_eq!(numbers(&store, &session).await, [1, 2, 3]);
    assert!(store.try_to_write().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_file_can_be_read_and_is_said_to_be_read_only() {
    let Ok(folder) = std::env::var("REJOIN_TEST_FOLDER") else {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("sessions.db")).unwrap();
        create_with_turn(&store, "zebra", "x").await;
        found(&store, "zebra").await;
        drop(store);
        let shell = r#"mount --bind "$REJOIN_TEST_FOLDER" "$REJOIN_TEST_FOLDER"
            mount -o remount,ro,bind "$REJOIN_TEST_FOLDER"; exec "$0" "$@""#;
        let name = "sqlite::a_read_only_file_can_be_read_and_is_said_to_be_read_only";
        return run_inside(shell, name, folder.path());
    };
    let refused = SqliteStore::open(Path::new(&folder).join("sessions.db")).err().unwrap();
    assert!(matches!(refused, StoreError::ReadOnly { .. }), "{refused:?}");
    assert!(refused.hint().unwrap().contains("sessions.db"));
    let nowhere = SqliteStore::open(Path::new(&folder).join("sub/sessions.db")).err().unwrap();
    assert!(matches!(nowhere, StoreError::CannotOpen { .. }), "{nowhere:?}");

    let store = SqliteStore::open_existing(Path::new(&folder).join("sessions.db")).unwrap().unwrap();
    let listed = store.list(&ListFilter::default(), None, 50).await.unwrap().sessions;
    let session = &listed[0].session_id;
    assert_eq!((listed.len(), numbers(&store, session).await), (1, vec![1, 2, 3]));
    finds(&store, "zebra", &[session]).await;
    assert_eq!((store.verify().await.unwrap().damages, store.schema().await.unwrap()), (Vec::new(), 2));
    assert!(matches!(store.try_to_write().await, Err(StoreError::ReadOnly { .. })));
    let refused = store.tell(session, vec![Fact::Archived(true)]).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
}
