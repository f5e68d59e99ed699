//! Many sessions at once: batches of entries, each made to survive the loss of power.
//!
//! Half of a batch goes to one busy session, the rest to all others in turn. No turn ends, so that the append alone is
//! measured: checksums, facts, fencing and the commit.

use futures::future::try_join_all;
use rejoin_store::{SessionStore, SqliteStore};
use rejoin_transcript::Step;

use crate::Result;
use crate::bare::{BareSqlite, row_id};
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::jsonl::JsonlFiles;
use crate::measure::{medians, time};
use crate::recording::Recording;
use crate::texts::Texts;

const SESSIONS: u32 = 100;

/// The entries of a batch.
const BATCH: u32 = 512;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let batches = bench.size(20);
    let store = bench.store("store.db")?;
    let mut recordings = bench.wait(begin_sessions(&store))?;
    let mut files = JsonlFiles::create(bench.path("jsonl"), SESSIONS)?;
    let bare = BareSqlite::create(&bench.path("bare.db"))?;
    let mut heads = [0; SESSIONS as usize];
    // The same for all.
    let [mut for_ours, mut for_files, mut for_bare] = [(); 3].map(|()| Batches::new());

    let mut append_ours = || {
        let batches = for_ours.make(batches)?;
        time(|| bench.wait(append_to_store(&store, &mut recordings, batches)))
    };
    let mut append_to_files = || {
        let batches = for_files.make(batches)?;
        time(|| batches.iter().try_for_each(|batch| append_to_files(&mut files, batch)))
    };
    let mut append_to_bare = || {
        let batches = for_bare.make(batches)?;
        time(|| batches.iter().try_for_each(|batch| append_to_bare(&bare, &mut heads, batch)))
    };
    let times = medians(bench.rounds(), [&mut append_ours, &mut append_to_files, &mut append_to_bare])?;

    let [ours, files, bare] = times.map(|time| Amount::Time(time / (batches * BATCH)));
    let what = format!("append an entry, {BATCH} in a batch over {SESSIONS} sessions, each batch durable");
    Ok(vec![
        Figure::new(&what, ours).against("JSON Lines, a file a session", files, Wanted::Faster(3.0)),
        Figure::new(&what, ours).against("bare SQLite, a row an entry", bare, Wanted::SayFaster),
    ])
}

async fn begin_sessions(store: &SqliteStore) -> Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for number in 0..SESSIONS {
        recordings.push(Recording::begin(store, session(number, 0)).await?);
    }
    Ok(recordings)
}

async fn append_to_store(store: &SqliteStore, recordings: &mut [Recording], batches: Vec<Batch>) -> Result<()> {
    for batch in batches {
        try_join_all(recordings.iter_mut().zip(batch).map(|(recording, steps)| recording.append(store, steps))).await?;
        store.flush().await?;
    }
    Ok(())
}

fn append_to_files(files: &mut JsonlFiles, batch: &Batch) -> Result<()> {
    for (number, steps) in batch.iter().enumerate() {
        steps.iter().try_for_each(|step| files.append(number, step))?;
    }
    files.sync()
}

fn append_to_bare(bare: &BareSqlite, heads: &mut [u32], batch: &Batch) -> Result<()> {
    let mut rows = Vec::new();
    for (number, (steps, head)) in batch.iter().zip(heads).enumerate() {
        for step in steps {
            *head += 1;
            rows.push((row_id(number, *head)?, step.body.as_str()));
        }
    }
    bare.insert_batch(rows)
}

/// For each session, the steps that go to it.
type Batch = Vec<Vec<Step>>;

/// A source of batches, the same each time it is made.
struct Batches {
    texts: Texts,
    scripts: Vec<Script>,
    next_session: usize,
}

impl Batches {
    fn new() -> Self {
        let scripts = (0..SESSIONS).map(|_| Script::default()).collect();
        Self { texts: Texts::new(1), scripts, next_session: 1 }
    }

    fn make(&mut self, count: u32) -> Result<Vec<Batch>> {
        (0..count).map(|_| self.make_one()).collect()
    }

    fn make_one(&mut self) -> Result<Batch> {
        let mut batch: Batch = self.scripts.iter().map(|_| Vec::new()).collect();
        for count in 0..BATCH {
            let number = if count % 2 == 0 { 0 } else { self.take_session() };
            batch[number].push(self.scripts[number].chunk(&self.texts.text(crate::data::TEXT_BYTES))?);
        }
        Ok(batch)
    }

    /// The next session but the first.
    fn take_session(&mut self) -> usize {
        let number = self.next_session;
        self.next_session = number % (self.scripts.len() - 1) + 1;
        number
    }
}
