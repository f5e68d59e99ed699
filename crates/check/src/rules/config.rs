//! Session config options.

use serde_json::Value;

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Skipped, Verdict, fail, fail_with, judge, skip};
use crate::run::{Exchange, Run, Step, Who};
use crate::settings::{value_of, values_of};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "config.default",
        level: Level::Must,
        title: "gives every option a value that it offers",
        page: "session-config-options#default-values-and-graceful-degradation",
        part: Part::First,
        judge: default,
    },
    Rule {
        id: "config.no-boolean",
        level: Level::Must,
        title: "offers no boolean option to a client that has none",
        page: "session-config-options#boolean-config-options",
        part: Part::First,
        judge: no_boolean,
    },
    Rule {
        id: "config.complete",
        level: Level::Must,
        title: "answers a choice with all options and the value that was chosen",
        page: "session-config-options#setting-a-config-option",
        part: Part::First,
        judge: complete,
    },
    Rule {
        id: "config.unknown-value",
        level: Level::Quality,
        title: "refuses a value that it does not offer",
        page: "session-config-options#setting-a-config-option",
        part: Part::First,
        judge: unknown_value,
    },
    Rule {
        id: "config.mode-agrees",
        level: Level::Should,
        title: "tells the same mode as a mode and as an option",
        page: "session-config-options#relationship-to-session-modes",
        part: Part::First,
        judge: mode_agrees,
    },
    Rule {
        id: "config.survives-restart",
        level: Level::Quality,
        title: "has the same options in force after a restart",
        page: "session-config-options#setting-a-config-option",
        part: Part::Second,
        judge: survives_restart,
    },
];

fn default(run: &Run) -> Judged {
    let (exchange, options) = offered(run)?;
    let is_bad = |option: &&Value| {
        let current = option["currentValue"].as_str();
        option["type"] == "select" && current.is_none_or(|current| !values_of(option).contains(&current))
    };
    match options.iter().find(is_bad) {
        Some(option) => fail_with(exchange.sent(), option.to_string(), "a `currentValue` that is among its `options`"),
        None => Ok(Verdict::Pass),
    }
}

fn no_boolean(run: &Run) -> Judged {
    let (exchange, options) = offered(run)?;
    match options.iter().find(|option| option["type"] == "boolean") {
        Some(option) => {
            let expected = "no boolean option: the client did not advertise session.configOptions.boolean";
            fail_with(exchange.sent(), option.to_string(), expected)
        }
        None => Ok(Verdict::Pass),
    }
}

fn complete(run: &Run) -> Judged {
    let exchange = run.one(Step::SetOption)?;
    let Some(result) = exchange.result() else { return fail(exchange, "a result with all `configOptions`") };
    let id = exchange.params["configId"].as_str().unwrap_or_default();
    let is_set = value_of(result, id) == Some(&exchange.params["value"]);
    judge(is_set, exchange, "all `configOptions`, with the value that was chosen in force")
}

fn unknown_value(run: &Run) -> Judged {
    let exchange = run.one(Step::SetUnknownValue)?;
    judge(exchange.error().is_some(), exchange, "an error, such as -32602 (invalid params)")
}

fn mode_agrees(run: &Run) -> Judged {
    let (exchange, result) = run.done(Step::New(Who::Main))?;
    let (_, options) = offered(run)?;
    let option = options.iter().find(|option| option["category"] == "mode");
    let (Some(option), Some(mode)) = (option, result["modes"]["currentModeId"].as_str()) else {
        return skip("the agent does not offer modes both ways");
    };
    judge(option["currentValue"] == mode, exchange, "the same in `modes` and in the option of the category `mode`")
}

fn survives_restart(run: &Run) -> Judged {
    run.need(Ability::Load)?;
    let (set, _) = run.done(Step::SetOption)?;
    let (load, result) = run.done(Step::LoadMain)?;
    let id = set.params["configId"].as_str().unwrap_or_default();
    let expected = format!("`configOptions` in which `{id}` is {}, as it was set before", set.params["value"]);
    judge(value_of(result, id) == Some(&set.params["value"]), load, &expected)
}

/// What the agent offers in a new session.
fn offered(run: &Run) -> Result<(&Exchange, &Vec<Value>), Skipped> {
    let (exchange, result) = run.done(Step::New(Who::Main))?;
    match result["configOptions"].as_array() {
        Some(options) if !options.is_empty() => Ok((exchange, options)),
        _ => skip("the agent offers no options"),
    }
}
