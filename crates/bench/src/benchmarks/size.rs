//! The room that sessions take on disk once their turns are sealed and everything can be searched.
//!
//! Measured with what a coding agent sends: of each turn, two fifths are what it says, a fifth is what it thinks, and two
//! fifths are what its tools put out, all of it real prose and code. The worst case, nothing but random words that are
//! all searchable, is printed beside it.

use std::path::Path;

use rejoin_store::SqliteStore;
use rejoin_transcript::Step;
use rusqlite::Connection;

use crate::Result;
use crate::bench::{Bench, bytes_on_disk};
use crate::data::{Script, TEXT_BYTES, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::jsonl::JsonlFiles;
use crate::recording::{Recording, wait_until_indexed};
use crate::texts::{RealText, Texts};

const SESSIONS: u32 = 100;
const ENTRIES_OF_TURN: u32 = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let entries = bench.size(100_000);
    let mut texts = Texts::new(1);
    let mut prose = RealText::default();
    let mut figures = measure(bench, "coding", entries, Wanted::Within(1.6), &mut |script| {
        script.coding_turn(ENTRIES_OF_TURN, |bytes| prose.next(bytes))
    })?;
    let worst = measure(bench, "random", entries, Wanted::SayTimes, &mut |script| {
        script.whole_turn(&mut texts, ENTRIES_OF_TURN, TEXT_BYTES)
    })?;
    figures.extend(worst.into_iter().take(1));
    Ok(figures)
}

/// Writes turns to a store and to files, and compares; then tells the parts of the store.
fn measure(
    bench: &Bench,
    name: &str,
    entries: u32,
    wanted: Wanted,
    make_turn: &mut dyn FnMut(&mut Script) -> Result<Vec<Step>>,
) -> Result<Vec<Figure>> {
    let (folder, jsonl_folder) = (bench.path(&format!("{name}-store")), bench.path(&format!("{name}-jsonl")));
    let store = SqliteStore::open(folder.join("store.db"))?;
    let mut files = JsonlFiles::create(jsonl_folder.clone(), SESSIONS)?;
    bench.wait(write(&store, &mut files, entries / ENTRIES_OF_TURN, make_turn))?;
    // The last to leave empties the write-ahead log.
    drop(store);

    let bytes = Amount::Bytes(bytes_on_disk(&folder)?);
    let files = Amount::Bytes(bytes_on_disk(&jsonl_folder)?);
    let what = format!("{entries} entries on disk, {name}");
    let mut figures = vec![Figure::new(&what, bytes).against("JSON Lines", files, wanted)];
    for (part, bytes) in shares(&folder.join("store.db"))? {
        let figure = Figure::new(format!("{what}: {part}"), Amount::Bytes(bytes));
        figures.push(figure.against("JSON Lines", files, Wanted::SayTimes));
    }
    Ok(figures)
}

/// Writes `turns` turns to both: half to the first session, the rest to the others in turn.
async fn write(
    store: &SqliteStore,
    files: &mut JsonlFiles,
    turns: u32,
    make_turn: &mut dyn FnMut(&mut Script) -> Result<Vec<Step>>,
) -> Result<()> {
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        sessions.push((Recording::begin(store, session(number, 0)).await?, Script::default()));
    }
    for count in 0..turns {
        let number = if count % 2 == 0 { 0 } else { (1 + count / 2 % (SESSIONS - 1)) as usize };
        let (recording, script) = &mut sessions[number];
        let steps = make_turn(script)?;
        steps.iter().try_for_each(|step| files.append(number, step))?;
        recording.append(store, steps).await?;
    }
    files.sync()?;
    wait_until_indexed(store).await
}

/// The bytes of each part of the store.
fn shares(path: &Path) -> Result<Vec<(String, u64)>> {
    let connection = Connection::open(path)?;
    let mut statement = connection.prepare(
        "SELECT CASE WHEN name = 'entry' THEN 'the entries'
                     WHEN name = 'replay' THEN 'the replay form'
                     WHEN name LIKE 'passage%' THEN 'the search index'
                     ELSE 'the rest' END AS part, sum(pgsize)
         FROM dbstat GROUP BY part ORDER BY part",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.map(|row| Ok(row?)).collect()
}
