//! What `rejoin acp` adds to the start of an agent, and what it needs for itself.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bench::Bench;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::medians;
use crate::peer::Peer;

/// How often each is started.
const STARTS: u32 = 50;

/// What may be added to the agent's own start.
const MORE: Amount = Amount::Time(Duration::from_millis(10));

/// What it may have for itself with one session.
const MEMORY: Amount = Amount::Bytes(15 * 1024 * 1024);

const STORE: &str = "sessions.db";

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let agent = || bench.child(&["stub-agent", "0"]);
    // Makes the store, too.
    let memory = memory_with_session(bench, bench.rejoin(STORE, &agent()?)?)?;
    let mut ours = || start(bench.rejoin(STORE, &agent()?)?);
    let mut alone = || start(agent()?);
    let times = medians(bench.size(STARTS), [&mut ours, &mut alone])?;
    let [ours, alone] = times.map(Amount::Time);

    Ok(vec![
        Figure::new("start until `initialize` is answered", ours).against(
            "the agent alone",
            alone,
            Wanted::AtMostMore(MORE),
        ),
        Figure::new("anonymous memory after `session/new`", Amount::Bytes(memory)).at_most(MEMORY),
    ])
}

fn start(mut command: Command) -> Result<Duration> {
    let begun = Instant::now();
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    let time = begun.elapsed();
    peer.end()?;
    Ok(time)
}

fn memory_with_session(bench: &Bench, mut command: Command) -> Result<u64> {
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    peer.new_session(bench.folder())?;
    let memory = peer.anonymous_memory()?;
    peer.end()?;
    Ok(memory)
}
