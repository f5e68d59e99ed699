//! What an agent answers to `initialize`.

use serde_json::json;

use crate::rule::{Judged, Level, Part, Rule, fail, judge};
use crate::run::{Run, Step};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "initialize.version",
        level: Level::Must,
        title: "answers with the version that the client asked for, if it has it",
        page: "initialization#protocol-version",
        part: Part::First,
        judge: version,
    },
    Rule {
        id: "initialize.unknown-version",
        level: Level::Must,
        title: "answers with its latest version where it lacks the one that was asked for",
        page: "initialization#protocol-version",
        part: Part::Version,
        judge: unknown_version,
    },
    Rule {
        id: "initialize.capabilities",
        level: Level::Must,
        title: "says what it can do",
        page: "initialization#agent-capabilities",
        part: Part::First,
        judge: capabilities,
    },
    Rule {
        id: "initialize.info",
        level: Level::Should,
        title: "says its name and version",
        page: "initialization#implementation-information",
        part: Part::First,
        judge: info,
    },
];

fn version(run: &Run) -> Judged {
    let (exchange, result) = run.done(Step::Initialize)?;
    judge(result["protocolVersion"] == json!(1), exchange, "`protocolVersion` 1, which every agent has so far")
}

fn unknown_version(run: &Run) -> Judged {
    let exchange = run.one(Step::InitializeHigh)?;
    let Some(result) = exchange.result() else {
        return fail(exchange, "a result with the latest version that the agent has, not an error");
    };
    let is_real = result["protocolVersion"].as_u64().is_some_and(|version| (1..100).contains(&version));
    judge(is_real, exchange, "the latest version that the agent has, not an echo of one that does not exist")
}

fn capabilities(run: &Run) -> Judged {
    let (exchange, result) = run.done(Step::Initialize)?;
    judge(result["agentCapabilities"].is_object(), exchange, "an object `agentCapabilities`")
}

fn info(run: &Run) -> Judged {
    let (exchange, result) = run.done(Step::Initialize)?;
    let has = |name: &str| result["agentInfo"][name].as_str().is_some_and(|text| !text.is_empty());
    judge(has("name") && has("version"), exchange, "`agentInfo` with `name` and `version`")
}
