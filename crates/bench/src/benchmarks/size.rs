//! The room that sessions take on disk once their turns are sealed and everything can be searched.

use std::path::Path;

use rejoin_store::SqliteStore;
use rusqlite::Connection;

use crate::Result;
use crate::bench::{Bench, bytes_on_disk};
use crate::data::{Script, TEXT_BYTES, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::jsonl::JsonlFiles;
use crate::recording::{Recording, wait_until_indexed};
use crate::texts::Texts;

const SESSIONS: u32 = 100;
const ENTRIES_OF_TURN: u32 = 100;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let entries = bench.size(100_000);
    let (folder, jsonl_folder) = (bench.path("store"), bench.path("jsonl"));
    let store = SqliteStore::open(folder.join("store.db"))?;
    let mut files = JsonlFiles::create(jsonl_folder.clone(), SESSIONS)?;
    bench.wait(write(&store, &mut files, entries / ENTRIES_OF_TURN))?;
    // The last to leave empties the write-ahead log.
    drop(store);

    let bytes = Amount::Bytes(bytes_on_disk(&folder)?);
    let files = Amount::Bytes(bytes_on_disk(&jsonl_folder)?);
    let what = format!("{entries} entries on disk");
    let mut figures = vec![Figure::new(&what, bytes).against("JSON Lines", files, Wanted::Within(1.6))];
    for (part, bytes) in shares(&folder.join("store.db"))? {
        let figure = Figure::new(format!("{what}: {part}"), Amount::Bytes(bytes));
        figures.push(figure.against("JSON Lines", files, Wanted::SayTimes));
    }
    Ok(figures)
}

/// Writes `turns` turns to both: half to the first session, the rest to the others in turn.
async fn write(store: &SqliteStore, files: &mut JsonlFiles, turns: u32) -> Result<()> {
    let mut texts = Texts::new(1);
    let mut sessions = Vec::new();
    for number in 0..SESSIONS {
        sessions.push((Recording::begin(store, session(number, 0)).await?, Script::default()));
    }
    for count in 0..turns {
        let number = if count % 2 == 0 { 0 } else { (1 + count / 2 % (SESSIONS - 1)) as usize };
        let (recording, script) = &mut sessions[number];
        let steps = script.whole_turn(&mut texts, ENTRIES_OF_TURN, TEXT_BYTES)?;
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
