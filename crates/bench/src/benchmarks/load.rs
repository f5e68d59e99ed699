//! Loading a long session through `rejoin acp`, which needs no agent for it.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rejoin_store::SqliteStore;
use rejoin_transcript::Session;
use serde_json::json;

use super::read::expect;
use crate::Result;
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::median;
use crate::peer::{Answer, Peer};
use crate::programs::{Programs, plain_command};
use crate::recording::{Recording, wait_until_indexed};
use crate::texts::Texts;

/// The messages of the session whose load is timed: a prompt and an answer, over and over.
const MESSAGES: u32 = 10_000;

/// How long such a message is.
const TEXT_BYTES: usize = 130;

/// The updates of the sessions whose loads are held against each other.
const SHORT_AND_LONG: [u32; 2] = [10_000, 1_000_000];

/// What a session a hundred times as long may need more.
const MORE: Amount = Amount::Bytes(8 * 1024 * 1024);

/// An agent that is not there, since none is needed.
const NO_AGENT: &str = "/no/such/agent";

const STORE: &str = "sessions.db";

const FLOOR: &str = "an agent on the TypeScript SDK";

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = time_loads(bench)?;
    figures.push(compare_memory(bench)?);
    Ok(figures)
}

fn time_loads(bench: &Bench) -> Result<Vec<Figure>> {
    let messages = bench.size(MESSAGES);
    let session = session(0, 0);
    bench.wait(write(&bench.path(STORE), session.clone(), messages, Turns::OfTwo))?;
    let replay = bench.path("replay.jsonl");
    save_replay(bench, &session, messages, &replay)?;

    let replay = replay.to_str().ok_or("the folder's name is not text")?;
    let floor = Programs::floor_agent();
    let (mut ours, mut file, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.rounds() {
        ours.push(load(ours_of(bench)?, &session, messages)?);
        file.push(load(bench.child(&["copy-file", replay])?, &session, messages)?);
        if let Ok([node, agent]) = &floor {
            let mut command = plain_command(node, bench.folder());
            command.arg(agent).arg(replay);
            theirs.push(load(command, &session, messages)?);
        }
    }
    let (ours, file, theirs) = (Load::median(&ours), Load::median(&file), floor.map(|_| Load::median(&theirs)));

    let whole = || Figure::new(format!("load {messages} messages"), Amount::Time(ours.time));
    let first = Figure::new(format!("load {messages} messages: until the first is there"), Amount::Time(ours.first));
    let memory = Figure::new(format!("most memory while loading {messages} messages"), Amount::Bytes(ours.memory));
    let against_floor = |figure: Figure, amount: fn(&Load) -> Amount, wanted| match &theirs {
        Ok(theirs) => figure.against(FLOOR, amount(theirs), wanted),
        Err(why) => figure.without(FLOOR, why, wanted),
    };
    Ok(vec![
        whole().against("the same bytes from a file", Amount::Time(file.time), Wanted::Within(2.0)),
        against_floor(whole(), |load| Amount::Time(load.time), Wanted::Faster(5.0)),
        against_floor(first, |load| Amount::Time(load.first), Wanted::SayFaster),
        against_floor(memory, |load| Amount::Bytes(load.memory), Wanted::SayTimes),
    ])
}

fn compare_memory(bench: &Bench) -> Result<Figure> {
    let counts = SHORT_AND_LONG.map(|full| bench.size(full));
    let measure = |number, count| {
        let session = session(number, 0);
        bench.wait(write(&bench.path(STORE), session.clone(), count, Turns::OfAHundred))?;
        memory_of_load(ours_of(bench)?, &session, count)
    };
    let (short, long) = (measure(1, counts[0])?, measure(2, counts[1])?);
    let what = format!("most memory while loading {} updates, with a client that is late", counts[1]);
    let with = format!("{} updates", counts[0]);
    Ok(Figure::new(what, Amount::Bytes(long)).against(with, Amount::Bytes(short), Wanted::AtMostMore(MORE)))
}

fn ours_of(bench: &Bench) -> Result<Command> {
    bench.rejoin(STORE, &Command::new(NO_AGENT))
}

/// What a load costs.
struct Load {
    /// Until the client had all of it.
    time: Duration,
    /// Until it had the first update.
    first: Duration,
    /// The most memory of the process that the client spoke with.
    memory: u64,
}

impl Load {
    fn median(loads: &[Self]) -> Self {
        let of = |part: fn(&Self) -> Duration| median(loads.iter().map(part).collect());
        let memory = loads.iter().map(|load| load.memory).max().unwrap_or_default();
        Self { time: of(|load| load.time), first: of(|load| load.first), memory }
    }
}

/// Loads a session in a process of its own, whose start does not count.
fn load(mut command: Command, session: &Session, updates: u32) -> Result<Load> {
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    let Answer { updates: found, time, first_update: first, .. } = peer.call("session/load", &params(session))?;
    expect(updates, found)?;
    let memory = peer.peak_memory()?;
    peer.end()?;
    Ok(Load { time, first, memory })
}

/// The most memory it takes to load a session for a client that lets everything wait that can.
fn memory_of_load(mut command: Command, session: &Session, updates: u32) -> Result<u64> {
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    expect(updates, peer.call_late("session/load", &params(session))?.updates)?;
    let memory = peer.peak_memory()?;
    peer.end()?;
    Ok(memory)
}

/// Writes what a load sends, its answer too, to the file `path`.
fn save_replay(bench: &Bench, session: &Session, updates: u32, path: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut peer = Peer::start(&mut ours_of(bench)?)?;
    peer.initialize()?;
    let answer = peer.call_seen("session/load", &params(session), |line| Ok(file.write_all(line)?))?;
    expect(updates, answer.updates)?;
    peer.end()?;
    Ok(file.flush()?)
}

fn params(session: &Session) -> serde_json::Value {
    json!({ "sessionId": session.facts.session_id.as_str(), "cwd": session.facts.cwd.raw, "mcpServers": [] })
}

/// How a session is cut into turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turns {
    /// A prompt and one answer.
    OfTwo,
    /// A prompt and many answers, of few words each.
    OfAHundred,
}

impl Turns {
    /// How many messages a turn has, and how long they are.
    fn shape(self) -> (u32, usize) {
        match self {
            Self::OfTwo => (2, TEXT_BYTES),
            Self::OfAHundred => (100, 60),
        }
    }
}

/// Writes `session` with `messages` messages, each of which is one update of a load, and waits until all is sealed.
async fn write(path: &Path, session: Session, messages: u32, turns: Turns) -> Result<()> {
    let store = SqliteStore::open(path)?;
    let mut recording = Recording::begin(&store, session).await?;
    let (mut texts, mut script) = (Texts::new(1), Script::of_short_messages());
    let (messages_of_turn, bytes) = turns.shape();
    for _ in 0..messages / messages_of_turn {
        // The end of a turn is an entry, too.
        let turn = script.whole_turn(&mut texts, messages_of_turn + 1, bytes)?;
        recording.append(&store, turn).await?;
    }
    wait_until_indexed(&store).await
}
