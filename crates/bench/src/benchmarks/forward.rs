//! A turn of many updates through `rejoin acp`, which records them, and through a proxy that does not.

use std::fs;
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
const SLOW: u32 = 5_000;

/// So many of those come in a second.
const RATE: u32 = 1_000;

/// Where the sessions of one turn are recorded.
const STORE: &str = "store";

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let (fast, slow) = (bench.size(FAST), bench.size(SLOW));
    let [fast_updates, slow_updates, rate] = [fast, slow, RATE].map(|number| number.to_string());
    let at_full_rate = Contest::hold(bench, &["stub-agent", &fast_updates], fast)?;
    let at_rate = Contest::hold(bench, &["stub-agent", &slow_updates, "--rate", &rate], slow)?;

    let cpu = |turn: &Turn| Amount::Time(turn.cpu);
    let wall = |turn: &Turn| Amount::Time(turn.wall);
    let what = format!("processor time of an update that is recorded and passed on, {fast} in a turn");
    let what_at_rate = format!("processor time of an update that is recorded and passed on, {RATE} a second");
    let what_wall = format!("time of an update that is recorded and passed on, {fast} in a turn");
    let bare = Figure::new(&what_wall, wall(&at_full_rate.ours));
    Ok(vec![
        at_full_rate.against_conductor(&what, cpu, Wanted::Within(0.5)),
        at_rate.against_conductor(&what_at_rate, cpu, Wanted::SayTimes),
        at_full_rate.against_conductor(&what_wall, wall, Wanted::SayTimes),
        bare.against("the agent's pipe, read directly", wall(&at_full_rate.bare), Wanted::SayTimes),
    ])
}

/// What a turn costs, for each of its updates.
struct Turn {
    /// How long the process that the client speaks with ran on the processors.
    cpu: Duration,
    /// How long it took until the client had it.
    wall: Duration,
}

/// The medians of all contenders.
struct Contest {
    ours: Turn,
    bare: Turn,
    /// Or why it could not be had.
    conductor: std::result::Result<Turn, String>,
}

impl Contest {
    /// Lets the contenders take turns, with an agent that sends `updates` updates.
    fn hold(bench: &Bench, agent: &[&str], updates: u32) -> Result<Self> {
        let conductor = bench.find_conductor();
        let (mut ours, mut bare, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..bench.rounds() {
            let agent = bench.child(agent)?;
            // A new store each time, so that no turn pays for those before it.
            fs::create_dir(bench.path(STORE))?;
            ours.push(take_turn(bench, bench.rejoin(&format!("{STORE}/sessions.db"), &agent)?, updates)?);
            fs::remove_dir_all(bench.path(STORE))?;
            if let Ok(conductor) = &conductor {
                theirs.push(take_turn(bench, bench.conductor(conductor, &agent)?, updates)?);
            }
            bare.push(take_turn(bench, agent, updates)?);
        }
        Ok(Self {
            ours: median_turn(&ours),
            bare: median_turn(&bare),
            conductor: conductor.map(|_| median_turn(&theirs)),
        })
    }

    fn against_conductor(&self, what: &str, amount: impl Fn(&Turn) -> Amount, wanted: Wanted) -> Figure {
        let figure = Figure::new(what, amount(&self.ours));
        match &self.conductor {
            Ok(theirs) => figure.against(conductor_name(), amount(theirs), wanted),
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

fn median_turn(turns: &[Turn]) -> Turn {
    let of = |part: fn(&Turn) -> Duration| median(turns.iter().map(part).collect());
    Turn { cpu: of(|turn| turn.cpu), wall: of(|turn| turn.wall) }
}
