//! The live case: chunks of a message that come one by one, each committed before anyone sees it.

use rejoin_store::SqliteStore;
use rejoin_transcript::Step;

use crate::Result;
use crate::bare::{BareSqlite, row_id};
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};
use crate::recording::Recording;
use crate::texts::Texts;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let entries = bench.size(4_000);
    let store = bench.store("store.db")?;
    let mut recording = bench.wait(Recording::begin(&store, session(0, 0)))?;
    let bare = BareSqlite::create(&bench.path("bare.db"))?;
    let mut head = 0;
    let [(mut our_texts, mut our_script), (mut bare_texts, mut bare_script)] =
        [(); 2].map(|()| (Texts::new(1), Script::of_one_message()));

    let mut append_ours = || {
        let steps = our_script.chunks(&mut our_texts, entries)?;
        time(|| bench.wait(append_one_by_one(&store, &mut recording, steps)))
    };
    let mut append_to_bare = || {
        let steps = bare_script.chunks(&mut bare_texts, entries)?;
        time(|| insert_one_by_one(&bare, &mut head, &steps))
    };
    let times = medians(bench.rounds(), [&mut append_ours, &mut append_to_bare])?;

    let [ours, bare] = times.map(|time| Amount::Time(time / entries));
    let figure = Figure::new("append an entry, alone in its commit", ours);
    Ok(vec![figure.against("bare SQLite, a row a commit", bare, Wanted::Faster(0.5))])
}

async fn append_one_by_one(store: &SqliteStore, recording: &mut Recording, steps: Vec<Step>) -> Result<()> {
    for step in steps {
        recording.append(store, vec![step]).await?;
    }
    Ok(())
}

fn insert_one_by_one(bare: &BareSqlite, head: &mut u32, steps: &[Step]) -> Result<()> {
    for step in steps {
        *head += 1;
        bare.insert(row_id(1, *head)?, step.body.as_str())?;
    }
    Ok(())
}
