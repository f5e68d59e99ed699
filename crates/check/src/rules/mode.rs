//! Session modes.

use serde_json::{Value, json};

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, judge, skip};
use crate::run::{Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "mode.offered",
        level: Level::Quality,
        title: "is in one of the modes that it offers",
        page: "session-modes#initial-state",
        part: Part::First,
        judge: offered,
    },
    Rule {
        id: "mode.set",
        level: Level::Quality,
        title: "changes to a mode that it offers",
        page: "session-modes#from-the-client",
        part: Part::First,
        judge: set,
    },
    Rule {
        id: "mode.unknown",
        level: Level::Quality,
        title: "refuses a mode that it does not offer",
        page: "session-modes#from-the-client",
        part: Part::First,
        judge: unknown,
    },
    Rule {
        id: "mode.survives-restart",
        level: Level::Quality,
        title: "is in the same mode after a restart",
        page: "session-modes#initial-state",
        part: Part::Second,
        judge: survives_restart,
    },
];

fn offered(run: &Run) -> Judged {
    let (exchange, result) = run.done(Step::New(Who::Main))?;
    let modes = &result["modes"];
    let Some(available) = modes["availableModes"].as_array() else { return skip("the agent offers no modes") };
    let is_there = available.iter().any(|mode| mode["id"] == modes["currentModeId"]);
    judge(is_there, exchange, "a `currentModeId` that is among `availableModes`")
}

fn set(run: &Run) -> Judged {
    let exchange = run.one(Step::SetMode)?;
    judge(exchange.result().is_some(), exchange, "a result: the agent offered this mode when it opened the session")
}

fn unknown(run: &Run) -> Judged {
    let exchange = run.one(Step::SetUnknownMode)?;
    judge(exchange.error().is_some(), exchange, "an error, such as -32602 (invalid params)")
}

fn survives_restart(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let (set, _) = run.done(Step::SetMode)?;
    let (load, result) = run.done(Step::LoadMain)?;
    let current = current_mode(result);
    if current.is_null() {
        let expected = format!("`modes` with the mode that was set before: {}", set.params["modeId"]);
        return judge(false, load, &expected);
    }
    judge(current == set.params["modeId"], load, &format!("the mode that was set before: {}", set.params["modeId"]))
}

/// The mode in force, as the answer to the opening of a session tells it.
pub(super) fn current_mode(setup: &Value) -> Value {
    let from_modes = setup["modes"]["currentModeId"].clone();
    if !from_modes.is_null() {
        return from_modes;
    }
    let options = setup["configOptions"].as_array().map_or(&[][..], Vec::as_slice);
    let mode = options.iter().find(|option| option["category"] == json!("mode"));
    mode.map(|option| option["currentValue"].clone()).unwrap_or_default()
}
