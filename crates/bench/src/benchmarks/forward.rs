//! A turn of many updates through `rejoin acp`, which records them, and through a proxy that does not.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::Result;
use crate::bench::Bench;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::median;
use crate::peer::Peer;
use crate::programs::conductor_name;

/// The updates of a turn that come as fast as the pipes take them.
const FAST: u32 = 100_000;

/// The updates of a turn that come as fast as a model writes.
const SLOW: u32 = 3_000;

/// So many of those come in a second.
const RATE: u32 = 1_000;

/// There are at most so many rounds of such turns, since they take their time.
const SLOW_ROUNDS: u32 = 5;

/// Where the sessions of one turn are recorded.
const STORE: &str = "store";

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let (fast, slow) = (bench.size(FAST), bench.size(SLOW));
    let [fast_updates, slow_updates, rate] = [fast, slow, RATE].map(|number| number.to_string());
    let fast_agent = ["stub-agent", &fast_updates];
    let slow_agent = ["stub-agent", &slow_updates, "--rate", &rate];
    let (mut at_full_rate, mut at_rate) =
        (Contest::new(bench, &fast_agent, fast), Contest::new(bench, &slow_agent, slow));
    let mut bare = Vec::new();
    for _ in 0..bench.rounds() {
        at_full_rate.take_turns()?;
        bare.push(take_turn(bench, bench.child(&fast_agent)?, fast)?);
    }
    for _ in 0..bench.rounds().min(SLOW_ROUNDS) {
        at_rate.take_turns()?;
    }

    let (cpu, wall) = (|turn: &Turn| turn.cpu, |turn: &Turn| turn.wall);
    let what = format!("processor time of an update that is recorded and passed on, {fast} in a turn");
    let what_at_rate = format!("processor time of an update that is recorded and passed on, {RATE} a second");
    let what_wall = format!("time of an update that is recorded and passed on, {fast} in a turn");
    let beside_bare = Figure::new(&what_wall, median_of(&at_full_rate.ours, wall));
    Ok(vec![
        at_full_rate.figure(&what, cpu, Wanted::Within(0.5)),
        at_rate.figure(&what_at_rate, cpu, Wanted::SayTimes),
        at_full_rate.figure(&what_wall, wall, Wanted::SayTimes),
        beside_bare.against("the agent's pipe, read directly", median_of(&bare, wall), Wanted::SayTimes),
    ])
}

/// What a turn costs, for each of its updates.
struct Turn {
    /// How long the process that the client speaks with ran on the processors.
    cpu: Duration,
    /// How long it took until the client had it.
    wall: Duration,
}

/// Ours and the conductor, with the same agent behind them.
struct Contest<'a> {
    bench: &'a Bench,
    agent: &'a [&'a str],
    updates: u32,
    /// Or why it can't be had.
    conductor: std::result::Result<PathBuf, String>,
    ours: Vec<Turn>,
    theirs: Vec<Turn>,
}

impl<'a> Contest<'a> {
    /// A contest with an agent that sends `updates` updates.
    fn new(bench: &'a Bench, agent: &'a [&'a str], updates: u32) -> Self {
        Self { bench, agent, updates, conductor: bench.find_conductor(), ours: Vec::new(), theirs: Vec::new() }
    }

    fn take_turns(&mut self) -> Result<()> {
        let Self { bench, updates, .. } = *self;
        let agent = bench.child(self.agent)?;
        // A new store each time, so that no turn pays for those before it.
        fs::create_dir(bench.path(STORE))?;
        self.ours.push(take_turn(bench, bench.rejoin(&format!("{STORE}/sessions.db"), &agent)?, updates)?);
        fs::remove_dir_all(bench.path(STORE))?;
        if let Ok(conductor) = &self.conductor {
            self.theirs.push(take_turn(bench, bench.conductor(conductor, &agent)?, updates)?);
        }
        Ok(())
    }

    fn figure(&self, what: &str, part: impl Fn(&Turn) -> Duration, wanted: Wanted) -> Figure {
        let figure = Figure::new(what, median_of(&self.ours, &part));
        match &self.conductor {
            Ok(_) => figure.against(conductor_name(), median_of(&self.theirs, &part), wanted),
            Err(why) => figure.without(conductor_name(), why, wanted),
        }
    }
}

/// One turn, from the prompt until the process has ended: what it does after its answer counts too.
fn take_turn(bench: &Bench, mut command: Command, updates: u32) -> Result<Turn> {
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    let session = peer.new_session(bench.folder())?;
    let before = peer.cpu_time()?;
    let prompt = json!([{ "type": "text", "text": "Go on." }]);
    let answer = peer.call("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))?;
    // Ours tells the session's title, too.
    if !(updates..=updates + 1).contains(&answer.updates) {
        return Err(format!("{} updates came, not {updates}", answer.updates).into());
    }
    peer.wait_for_rest()?;
    let cpu = peer.end()?.saturating_sub(before);
    Ok(Turn { cpu: cpu / updates, wall: answer.time / updates })
}

fn median_of(turns: &[Turn], part: impl Fn(&Turn) -> Duration) -> Amount {
    Amount::Time(median(turns.iter().map(part).collect()))
}
