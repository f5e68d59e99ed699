//! Forking a short and a long session, and going on with the forks.

use std::time::{Duration, Instant};

use rejoin_store::{SessionStore, SqliteStore, new_session_id, now};
use rejoin_transcript::SessionId;

use crate::Result;
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};
use crate::recording::Recording;
use crate::texts::Texts;

/// How many forks are made in one round.
const FORKS: u32 = 200;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let counts = [10, bench.size(100_000)];
    let store = bench.store("store.db")?;
    let [short, long] = [0, 1].map(|number| bench.wait(write(&store, number, counts[number as usize])));
    let (short, long) = (short?, long?);
    let (mut short_forks, mut long_forks) = (Vec::new(), Vec::new());

    let mut fork_short = || time(|| bench.wait(fork(&store, &short, &mut short_forks)));
    let mut fork_long = || time(|| bench.wait(fork(&store, &long, &mut long_forks)));
    let forked = medians(bench.rounds(), [&mut fork_long, &mut fork_short])?;

    let mut append_to_short = || bench.wait(append_to_each(&store, &mut short_forks));
    let mut append_to_long = || bench.wait(append_to_each(&store, &mut long_forks));
    let appended = medians(bench.rounds(), [&mut append_to_long, &mut append_to_short])?;

    let figure = |what: &str, times: [Duration; 2]| {
        let [long, short] = times.map(|time| Amount::Time(time / FORKS));
        let what = format!("{what} {} entries", counts[1]);
        Figure::new(what, long).against(format!("{} entries", counts[0]), short, Wanted::Within(1.5))
    };
    Ok(vec![figure("fork a session of", forked), figure("append the first entry to a fork of", appended)])
}

/// Writes session `number` with `entries` entries.
async fn write(store: &SqliteStore, number: u32, entries: u32) -> Result<Recording> {
    const PIECE: u32 = 500;
    let mut recording = Recording::begin(store, session(number, 0)).await?;
    let (mut texts, mut script) = (Texts::new(u64::from(number)), Script::default());
    let mut left = entries;
    while left > 0 {
        let piece = left.min(PIECE);
        recording.append(store, script.chunks(&mut texts, piece)?).await?;
        left -= piece;
    }
    Ok(recording)
}

/// Forks the session [`FORKS`] times at its last entry, and keeps the forks in `forks`.
async fn fork(store: &SqliteStore, source: &Recording, forks: &mut Vec<SessionId>) -> Result<()> {
    for _ in 0..FORKS {
        let id = new_session_id();
        store.fork(source.session_id(), source.head(), id.clone(), now(), Vec::new()).await?;
        forks.push(id);
    }
    Ok(())
}

/// Appends one entry to each of [`FORKS`] forks, which are taken from `forks`, and says how long the appends took.
async fn append_to_each(store: &SqliteStore, forks: &mut Vec<SessionId>) -> Result<Duration> {
    let (mut texts, mut script) = (Texts::new(1), Script::default());
    let mut took = Duration::ZERO;
    for fork in forks.split_off(forks.len().saturating_sub(FORKS as usize)) {
        let mut recording = Recording::take_over(store, &fork).await?;
        let steps = script.chunks(&mut texts, 1)?;
        let begun = Instant::now();
        recording.append(store, steps).await?;
        took += begun.elapsed();
    }
    Ok(took)
}
