//! From a prompt to the first word of a model through `rejoin acp`, beside the same request sent to the endpoint directly.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Result;
use crate::bench::Bench;
use crate::endpoint::Endpoint;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::medians;
use crate::peer::Peer;

/// How many prompts the session has.
const PROMPTS: u32 = 300;

/// What may be added to what the endpoint takes.
const MORE: Amount = Amount::Time(Duration::from_millis(5));

const STORE: &str = "sessions.db";

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let endpoint = Endpoint::start()?;
    let mut command = bench.built_in(STORE)?;
    command.env("REJOIN_MODEL", "openai/stub").env("OPENAI_BASE_URL", endpoint.url());
    let mut peer = Peer::start(&mut command)?;
    peer.initialize()?;
    let session = peer.new_session(bench.folder())?;
    let prompt =
        json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "What is it like to be a stub?" }] });
    let mut connection = endpoint.connect()?;

    let mut ours = || first_word(&mut peer, &prompt);
    let mut theirs = || endpoint.ask_again(&mut connection);
    let count = bench.size(PROMPTS);
    let [ours, theirs] = medians(count, [&mut ours, &mut theirs])?.map(Amount::Time);
    peer.end()?;

    let what = format!("from a prompt to the first word of the model, {count} prompts in a session");
    Ok(vec![Figure::new(what, ours).against("the endpoint asked directly", theirs, Wanted::AtMostMore(MORE))])
}

/// Takes a turn, and says how long after the prompt the first word of the answer came.
fn first_word(peer: &mut Peer, prompt: &Value) -> Result<Duration> {
    let (begun, mut first) = (Instant::now(), None);
    peer.call_seen("session/prompt", prompt, |line| {
        if first.is_none() && is_said(line)? {
            first = Some(begun.elapsed());
        }
        Ok(())
    })?;
    first.ok_or_else(|| "the agent said nothing".into())
}

fn is_said(line: &[u8]) -> Result<bool> {
    let message: Value = serde_json::from_slice(line)?;
    Ok(message["params"]["update"]["sessionUpdate"] == "agent_message_chunk")
}
