//! How much memory it takes to read and to replay a session, however long: each in a process of its own.

use std::path::{Path, PathBuf};
use std::pin::pin;

use clap::ValueEnum;
use futures::TryStreamExt;
use rejoin_store::{ReplayPlace, SqliteStore, replay_pages};
use rejoin_transcript::SessionId;
use tokio::runtime::Runtime;

use super::read::{count_entries, expect};
use crate::Result;
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::number_from_child;
use crate::process::peak_memory;
use crate::recording::{Recording, wait_until_indexed};
use crate::texts::Texts;

const ENTRIES_OF_TURN: u32 = 100;

/// Short, since a million of them must be written.
const TEXT_BYTES: usize = 60;

/// What may be added by a session a hundred times as long.
const MORE: Amount = Amount::Bytes(8 * 1024 * 1024);

/// How a session is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// All its entries.
    Entries,
    /// Its replay.
    Replay,
}

/// The process whose memory is measured: reads a whole session.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadSession {
    way: Way,
    store: PathBuf,
    session: String,
    /// How many entries it has.
    entries: u32,
}

impl ReadSession {
    /// Reads the session, and says how much memory the process used at most.
    pub(crate) fn run(self) -> Result<u64> {
        let store = SqliteStore::open(&self.store)?;
        let session = SessionId::parse(self.session)?;
        let runtime = Runtime::new()?;
        match self.way {
            Way::Entries => expect(self.entries, runtime.block_on(count_entries(&store, &session))?)?,
            Way::Replay => runtime.block_on(read_replay(&store, &session))?,
        }
        peak_memory(std::process::id())
    }
}

async fn read_replay(store: &SqliteStore, session: &SessionId) -> Result<()> {
    let mut pages = pin!(replay_pages(store, session, ReplayPlace::all()));
    while let Some(page) = pages.try_next().await? {
        std::hint::black_box(page);
    }
    Ok(())
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let counts = [10_000, 1_000_000].map(|full| bench.size(full));
    let path = bench.path("store.db");
    let [short, long] = bench.wait(write(&path, counts))?;
    let mut figures = Vec::new();
    for (way, name) in [(Way::Entries, "reading"), (Way::Replay, "replaying")] {
        let [short, long] = [(&short, counts[0]), (&long, counts[1])].map(|(id, count)| measure(&path, way, id, count));
        let figure = Figure::new(format!("most memory while {name} {} entries", counts[1]), Amount::Bytes(long?));
        let with = format!("{} entries", counts[0]);
        figures.push(figure.against(with, Amount::Bytes(short?), Wanted::AtMostMore(MORE)));
    }
    Ok(figures)
}

fn measure(store: &Path, way: Way, session: &SessionId, entries: u32) -> Result<u64> {
    let store = store.to_str().ok_or("the folder's name is not text")?;
    let way = way.to_possible_value().ok_or("every way has a name")?;
    number_from_child(&["read-session", way.get_name(), store, session.as_str(), &entries.to_string()])
}

/// Writes a session for each of `counts`, with so many entries, and waits until its turns are sealed.
async fn write(path: &Path, counts: [u32; 2]) -> Result<[SessionId; 2]> {
    let store = SqliteStore::open(path)?;
    let mut texts = Texts::new(1);
    let sessions = [session(0, 0), session(1, 0)];
    let ids = sessions.each_ref().map(|session| session.facts.session_id.clone());
    for (session, count) in sessions.into_iter().zip(counts) {
        let mut recording = Recording::begin(&store, session).await?;
        let mut script = Script::default();
        for _ in 0..count / ENTRIES_OF_TURN {
            let turn = script.whole_turn(&mut texts, ENTRIES_OF_TURN, TEXT_BYTES)?;
            recording.append(&store, turn).await?;
        }
    }
    wait_until_indexed(&store).await?;
    Ok(ids)
}
