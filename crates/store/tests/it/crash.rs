//! `kill -9` at any moment loses nothing that was acknowledged.
//!
//! The test runs itself again as a writer that says after each append what was stored, kills it at a random moment, and
//! looks what is there. `REJOIN_CRASHES` sets how often; the long form is `./check --long`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rejoin_store::{Owner, SessionStore, SqliteStore};
use rejoin_transcript::{EntryNumber, SessionId, UnfinishedTurn};

use rejoin_testing::{at, chunk, create, end, prompt, read_all, replay_all, replay_of};

const NAME: &str = "crash::killing_a_writer_loses_nothing_that_was_acknowledged";

#[tokio::test(flavor = "multi_thread")]
async fn killing_a_writer_loses_nothing_that_was_acknowledged() {
    if let Ok(path) = std::env::var("REJOIN_TEST_WRITER") {
        return write_until_killed(Path::new(&path)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let crashes = std::env::var("REJOIN_CRASHES").map_or(25, |count| count.parse().unwrap());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for crash in 0..crashes {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let acknowledged = run_and_kill(&path, Duration::from_micros((random >> 33) % 60_000));
        check(&path, &acknowledged, crash).await;
    }
}

/// Starts the writer, kills it `after` its first word, and gives what it said: session, entry, text.
fn run_and_kill(path: &Path, after: Duration) -> Vec<(SessionId, u32, String)> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env("REJOIN_TEST_WRITER", path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut said = Vec::new();
    let first = lines.by_ref().map_while(Result::ok).find_map(|line| parse(&line));
    said.extend(first);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        writer.kill().unwrap();
        writer.wait().unwrap();
    });
    said.extend(lines.map_while(Result::ok).filter_map(|line| parse(&line)));
    killer.join().unwrap();
    said
}

/// A line that was written whole.
fn parse(line: &str) -> Option<(SessionId, u32, String)> {
    let mut words = line.strip_prefix("stored ")?.strip_suffix(" .")?.split(' ');
    let session = SessionId::parse(words.next()?).ok()?;
    Some((session, words.next()?.parse().ok()?, words.next()?.to_owned()))
}

/// Everything acknowledged is there, nothing is torn, and the sessions can be written at once.
async fn check(path: &Path, acknowledged: &[(SessionId, u32, String)], crash: u32) {
    assert!(!acknowledged.is_empty(), "crash {crash}: the writer said nothing");
    let store = SqliteStore::open(path).unwrap();
    let mut sessions: Vec<&SessionId> = acknowledged.iter().map(|(session, ..)| session).collect();
    sessions.dedup();
    for session in sessions {
        let entries = read_all(&store, session).await;
        let numbers: Vec<usize> = entries.iter().map(|entry| entry.number.get() as usize).collect();
        assert_eq!(numbers, (1..=entries.len()).collect::<Vec<_>>(), "crash {crash}");
        for (_, number, text) in acknowledged.iter().filter(|(of, ..)| of == session) {
            let entry = entries.get(*number as usize - 1);
            let is_there = entry.is_some_and(|entry| entry.step.body.as_str().contains(text.as_str()));
            assert!(is_there, "crash {crash}: entry {number} with {text} is lost; {} are there", entries.len());
        }
        let facts = store.session(session).await.unwrap().facts;
        let lease = store.acquire(session, &Owner::this_process()).await.unwrap();
        assert_eq!(lease.unfinished_since, facts.running_since, "crash {crash}");
        let mut last_turn = UnfinishedTurn::default();
        for entry in &entries {
            last_turn.observe(&entry.step);
        }
        let closing = last_turn.interrupt(at(1));
        assert_eq!(closing.is_empty(), facts.running_since.is_none(), "crash {crash}");
        store.append(&lease, lease.head, closing, Vec::new()).await.unwrap();
        let entries = read_all(&store, session).await;
        assert_eq!(replay_all(&store, session).await, replay_of(&entries), "crash {crash}");
    }
    if crash.is_multiple_of(10) {
        assert_eq!(store.verify().await.unwrap().damages, [], "crash {crash}");
    }
}

/// Writes turn after turn into two sessions at once, and says what was stored, until killed.
async fn write_until_killed(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let _ = tokio::join!(write_session(&store, "a"), write_session(&store, "b"));
}

async fn write_session(store: &SqliteStore, name: &str) {
    let session = create(store).await;
    let lease = store.acquire(&session, &Owner::this_process()).await.unwrap();
    let mut last = EntryNumber::START;
    for turn in 1.. {
        let mut steps = vec![prompt(turn, "go")];
        for count in 0..30 {
            let text = format!("{name}-{turn}-{count}-{}", "x".repeat(count * 700));
            steps.push(chunk(turn, "m", &text));
            last = store.append(&lease, last, std::mem::take(&mut steps), Vec::new()).await.unwrap();
            say(&format!("stored {session} {last} {name}-{turn}-{count}- ."));
        }
        last = store.append(&lease, last, vec![end(turn)], Vec::new()).await.unwrap();
        store.flush().await.unwrap();
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may be listening any more.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
