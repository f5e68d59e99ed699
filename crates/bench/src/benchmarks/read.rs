//! Reading a long session back, entry by entry.

use std::pin::pin;

use futures::TryStreamExt;
use rejoin_store::{SqliteStore, entries};
use rejoin_transcript::{EntryNumber, SessionId};

use crate::Result;
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::jsonl::{JsonlFiles, Line, count_lines};
use crate::measure::{medians, time};
use crate::recording::Recording;
use crate::texts::Texts;

/// How many entries are written at once.
const PIECE: u32 = 500;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let count = bench.size(100_000);
    let store = bench.store("store.db")?;
    let mut files = JsonlFiles::create(bench.path("jsonl"), 1)?;
    let session = bench.wait(write(&store, &mut files, count))?;
    let path = files.path(0);

    let mut read_ours = || time(|| expect(count, bench.wait(count_entries(&store, &session))?));
    let mut read_lines = || time(|| expect(count, count_lines::<Line>(&path)?));
    let mut read_values = || time(|| expect(count, count_lines::<serde_json::Value>(&path)?));
    let times = medians(bench.rounds(), [&mut read_ours, &mut read_lines, &mut read_values])?;

    let [ours, lines, values] = times.map(Amount::Time);
    let what = format!("read {count} entries");
    Ok(vec![
        Figure::new(&what, ours).against("JSON Lines, parsed", values, Wanted::Faster(2.0)),
        Figure::new(&what, ours).against("JSON Lines, bodies left as text", lines, Wanted::SayFaster),
    ])
}

/// Writes the same session to `store` and to the first of `files`.
async fn write(store: &SqliteStore, files: &mut JsonlFiles, count: u32) -> Result<SessionId> {
    let mut recording = Recording::begin(store, session(0, 0)).await?;
    let (mut texts, mut script) = (Texts::new(1), Script::default());
    for _ in 0..count / PIECE {
        let steps = script.chunks(&mut texts, PIECE)?;
        steps.iter().try_for_each(|step| files.append(0, step))?;
        recording.append(store, steps).await?;
    }
    files.sync()?;
    Ok(recording.session_id().clone())
}

/// Reads all entries of `session`, and says how many there are.
pub(super) async fn count_entries(store: &SqliteStore, session: &SessionId) -> Result<u32> {
    let mut entries = pin!(entries(store, session, EntryNumber::START));
    let mut count = 0;
    while let Some(entry) = entries.try_next().await? {
        std::hint::black_box(entry);
        count += 1;
    }
    Ok(count)
}

/// Fails unless everything was read.
pub(super) fn expect(expected: u32, found: u32) -> Result<()> {
    if found == expected { Ok(()) } else { Err(format!("{found} entries were read, not {expected}").into()) }
}
