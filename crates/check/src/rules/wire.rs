//! Lines, answers, and the end of a process.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_wire::Direction;
use serde_json::Value;

use crate::log::{Line, Log};
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail, fail_with, judge, skip};
use crate::run::{Exchange, Exit, Proc, Reply, Run, Step, shown};
use crate::schema::{Call, To, may_be_called, problem_with_error, problem_with_params, problem_with_result};

/// How many examples are shown.
const EXAMPLES: usize = 3;

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "wire.stdout-clean",
        level: Level::Must,
        title: "writes nothing but messages to stdout",
        page: "transports#stdio",
        part: Part::First,
        judge: stdout_clean,
    },
    Rule {
        id: "wire.schema",
        level: Level::Must,
        title: "sends messages as the schema has them",
        page: "schema",
        part: Part::First,
        judge: schema,
    },
    Rule {
        id: "wire.own-methods",
        level: Level::Quality,
        title: "begins the names of methods of its own with an underscore",
        page: "extensibility#extension-methods",
        part: Part::First,
        judge: own_methods,
    },
    Rule {
        id: "wire.one-answer",
        level: Level::Must,
        title: "answers no request twice, and none that was not sent",
        page: "overview#communication-model",
        part: Part::First,
        judge: one_answer,
    },
    Rule {
        id: "wire.unknown-method",
        level: Level::Quality,
        title: "refuses a method that it does not have",
        page: "extensibility#custom-requests",
        part: Part::First,
        judge: unknown_method,
    },
    Rule {
        id: "wire.unadvertised",
        level: Level::Quality,
        title: "answers at once what it did not advertise",
        page: "initialization#agent-capabilities",
        part: Part::First,
        judge: unadvertised,
    },
    Rule {
        id: "wire.invalid-params",
        level: Level::Quality,
        title: "refuses a request that lacks a required field",
        page: "error",
        part: Part::First,
        judge: invalid_params,
    },
    Rule {
        id: "wire.unknown-notification",
        level: Level::Should,
        title: "ignores a notification that it does not know",
        page: "extensibility#custom-notifications",
        part: Part::Rough,
        judge: unknown_notification,
    },
    Rule {
        id: "wire.garbage",
        level: Level::Quality,
        title: "goes on after a line that is no message",
        page: "transports#stdio",
        part: Part::Rough,
        judge: garbage,
    },
    Rule {
        id: "wire.long-line",
        level: Level::Quality,
        title: "takes a line of 10 MiB",
        page: "transports#stdio",
        part: Part::Rough,
        judge: long_line,
    },
    Rule {
        id: "wire.only-advertised",
        level: Level::Must,
        title: "asks a client for nothing that it did not advertise",
        page: "initialization#capabilities",
        part: Part::Second,
        judge: only_advertised,
    },
    Rule {
        id: "wire.stays",
        level: Level::Quality,
        title: "runs as long as its input is open",
        page: "transports#stdio",
        part: Part::First,
        judge: stays,
    },
    Rule {
        id: "wire.eof-ends",
        level: Level::Quality,
        title: "ends when its input ends",
        page: "transports#stdio",
        part: Part::Second,
        judge: eof_ends,
    },
    Rule {
        id: "wire.term-ends",
        level: Level::Quality,
        title: "ends when it is told to by SIGTERM",
        page: "transports#stdio",
        part: Part::Version,
        judge: term_ends,
    },
    Rule {
        id: "wire.no-leftovers",
        level: Level::Quality,
        title: "leaves no process behind",
        page: "transports#stdio",
        part: Part::Second,
        judge: no_leftovers,
    },
];

fn stdout_clean(run: &Run) -> Judged {
    let is_noise = |line: &&Line| line.direction == Direction::In && !is_message(&line.message);
    let noise: Vec<String> = logs(run)
        .flat_map(|log| log.lines().iter().filter(is_noise).map(|line| shown(&line.text)).collect::<Vec<_>>())
        .collect();
    if noise.is_empty() {
        return Ok(Verdict::Pass);
    }
    fail_with("-", examples(&noise), "on stdout, one JSON-RPC message a line and nothing else; logs go to stderr")
}

fn is_message(message: &Value) -> bool {
    let is_call = message["method"].is_string();
    let is_answer = message.get("id").is_some() && (message.get("result").is_some() || message.get("error").is_some());
    message["jsonrpc"] == "2.0" && (is_call || is_answer)
}

fn schema(run: &Run) -> Judged {
    // The same mistake is often made many times.
    let mut problems: BTreeMap<String, String> = BTreeMap::new();
    // Where another version was agreed on, its schema is another.
    for (_, log) in run.logs.iter().filter(|(process, _)| process.is_treated_well()) {
        for (what, problem, line) in problems_in(log) {
            let key = format!("{what}: {}", problem.rsplit(" at ").next().unwrap_or_default());
            problems.entry(key).or_insert_with(|| format!("{what}: {}\n{}", shown(&problem), shown(&line)));
        }
    }
    if problems.is_empty() {
        return Ok(Verdict::Pass);
    }
    let problems: Vec<String> = problems.into_values().collect();
    fail_with("-", examples(&problems), "messages that fit the JSON schema of protocol version 1")
}

fn own_methods(run: &Run) -> Judged {
    let is_strange = |line: &&Line| {
        let method = line.message["method"].as_str();
        line.direction == Direction::In && method.is_some_and(|method| !may_be_called(To::Client, method))
    };
    let mut strange: BTreeMap<String, String> = BTreeMap::new();
    for log in logs(run) {
        for line in log.lines().iter().filter(is_strange) {
            strange.entry(line.message["method"].to_string()).or_insert_with(|| shown(&line.text));
        }
    }
    if strange.is_empty() {
        return Ok(Verdict::Pass);
    }
    let strange: Vec<String> = strange.into_values().collect();
    fail_with(
        "-",
        examples(&strange),
        "methods of the protocol, or names that begin with `_`: all others are the protocol's to come",
    )
}

/// What the agent sent that does not fit: what it is, what is wrong with it, and the line.
fn problems_in(log: &Log) -> Vec<(String, String, String)> {
    let mut asked: BTreeMap<String, String> = BTreeMap::new();
    let mut problems = Vec::new();
    for line in log.lines().into_iter().filter(|line| line.message.is_object()) {
        let (message, id) = (&line.message, line.message["id"].to_string());
        let method = message["method"].as_str();
        let found = match (line.direction, method) {
            (Direction::Out, Some(method)) => {
                asked.insert(id, method.to_owned());
                None
            }
            (Direction::Out, None) => None,
            // Such a name has a rule of its own.
            (Direction::In, Some(method)) if !may_be_called(To::Client, method) => None,
            (Direction::In, Some(method)) => {
                let call = if message.get("id").is_some() { Call::Request } else { Call::Notification };
                let problem = problem_with_params(To::Client, call, method, message.get("params"));
                problem.map(|problem| (method.to_owned(), problem))
            }
            (Direction::In, None) => {
                let asked = asked.get(&id).map_or("an answer", String::as_str);
                let result = message.get("result").and_then(|result| problem_with_result(asked, result));
                let problem = result.or_else(|| message.get("error").and_then(problem_with_error));
                problem.map(|problem| (format!("the answer to {asked}"), problem))
            }
        };
        problems.extend(found.map(|(what, problem)| (what, problem, line.text)));
    }
    problems
}

fn one_answer(run: &Run) -> Judged {
    for (process, log) in &run.logs {
        let mut open = BTreeSet::new();
        for line in log.lines() {
            let (message, id) = (&line.message, line.message["id"].to_string());
            let is_call = message["method"].is_string();
            match line.direction {
                Direction::Out if is_call => drop(open.insert(id)),
                // The answer to what is no message has no id.
                Direction::In if is_message(message) && !is_call && !message["id"].is_null() && !open.remove(&id) => {
                    let sent = format!("no request with the id {id} that was not answered yet ({process:?} process)");
                    return fail_with(sent, shown(&line.text), "one answer to each request");
                }
                Direction::Out | Direction::In => {}
            }
        }
    }
    Ok(Verdict::Pass)
}

fn unknown_method(run: &Run) -> Judged {
    let exchange = run.one(Step::UnknownMethod)?;
    judge(exchange.error().is_some(), exchange, "the error -32601 (method not found)")
}

fn unadvertised(run: &Run) -> Judged {
    let Ok(exchanges) = run.all(Step::Unadvertised) else { return skip("the agent advertises every method") };
    match exchanges.iter().find(|exchange| !exchange.is_answered()) {
        Some(silent) => fail(silent, "an answer, normally the error -32601 (method not found)"),
        None => Ok(Verdict::Pass),
    }
}

fn invalid_params(run: &Run) -> Judged {
    let exchange = run.one(Step::BadParams)?;
    judge(exchange.error().is_some(), exchange, "the error -32602 (invalid params), which says that `cwd` is missing")
}

fn unknown_notification(run: &Run) -> Judged {
    let exchange = run.one(Step::AfterUnknownNotification)?;
    let log = run.log(exchange.process)?;
    let lines = log.lines();
    let since = lines.iter().position(|line| line.message["method"] == "_rejoin_check/unknown").unwrap_or_default();
    let is_error = |line: &&Line| line.direction == Direction::In && line.message.get("error").is_some();
    if let Some(line) = lines[since..].iter().take(exchange.answered_at().saturating_sub(since)).find(is_error) {
        let sent = "the notification `_rejoin_check/unknown`";
        return fail_with(sent, shown(&line.text), "nothing: a notification has no answer");
    }
    survives(run, Step::AfterUnknownNotification, "the notification `_rejoin_check/unknown`, then")
}

fn garbage(run: &Run) -> Judged {
    survives(run, Step::AfterGarbage, "the line `this is no message`, then")
}

fn long_line(run: &Run) -> Judged {
    survives(run, Step::AfterLongLine, "a notification of 10 MiB, then")
}

fn survives(run: &Run, step: Step, what: &str) -> Judged {
    let exchange = run.one(step)?;
    if exchange.is_answered() {
        return Ok(Verdict::Pass);
    }
    fail_with(format!("{what} {}", exchange.sent()), exchange.came(), "an answer to the request that came behind it")
}

fn only_advertised(run: &Run) -> Judged {
    for (process, log) in &run.logs {
        let is_beyond = |line: &&Line| {
            let method = line.message["method"].as_str().unwrap_or_default();
            let has_files = *process == Proc::First;
            let is_lacking = |start: &str| method.starts_with(start);
            let is_beyond = is_lacking("terminal/") || is_lacking("elicitation/") || (is_lacking("fs/") && !has_files);
            line.direction == Direction::In && is_beyond
        };
        if let Some(line) = log.lines().iter().find(is_beyond) {
            let sent = format!("`initialize` without it in `clientCapabilities` ({process:?} process)");
            return fail_with(sent, shown(&line.text), "no such request: what is not advertised is not supported");
        }
    }
    Ok(Verdict::Pass)
}

fn stays(run: &Run) -> Judged {
    let is_gone =
        |exchange: &&Exchange| exchange.process.is_treated_well() && matches!(exchange.reply, Reply::Gone { .. });
    let gone = run.every().find(is_gone);
    match gone {
        Some(exchange) => fail(exchange, "an answer; the agent ends only when its input does, or when it is told to"),
        None => Ok(Verdict::Pass),
    }
}

fn eof_ends(run: &Run) -> Judged {
    let Some(exit) = run.ended_input.get(&Proc::Second) else { return skip("that process was not started") };
    ends(run, exit, "stdin was closed")
}

fn term_ends(run: &Run) -> Judged {
    let Some(exit) = &run.terminated else { return skip("that process was not started") };
    ends(run, exit, "SIGTERM")
}

fn ends(run: &Run, exit: &Exit, sent: &str) -> Judged {
    let limit = run.limits.exit.as_secs_f32();
    match exit.took {
        Some(_) => Ok(Verdict::Pass),
        None => fail_with(sent, format!("it still ran after {limit} s"), "the process exits"),
    }
}

fn no_leftovers(run: &Run) -> Judged {
    let exits: Vec<&Exit> =
        run.ended_input.values().chain(&run.terminated).filter(|exit| exit.took.is_some()).collect();
    let left: Option<Vec<&Vec<String>>> = exits.iter().map(|exit| exit.left_behind.as_ref()).collect();
    match left {
        Some(left) if exits.is_empty() || left.is_empty() => skip("no process ended by itself"),
        Some(left) => match left.into_iter().find(|left| !left.is_empty()) {
            Some(left) => fail_with(
                "stdin was closed, or SIGTERM",
                left.join(", "),
                "no process that the agent started runs any more",
            ),
            None => Ok(Verdict::Pass),
        },
        None => skip("this system does not show which processes belong together"),
    }
}

/// The traffic with those that were sent nothing but messages.
fn logs(run: &Run) -> impl Iterator<Item = &Log> {
    run.logs.iter().filter(|(process, _)| **process != Proc::Rough).map(|(_, log)| log.as_ref())
}

fn examples(all: &[String]) -> String {
    let more = all.len().saturating_sub(EXAMPLES);
    let rest = if more > 0 { format!("\n… and {more} more") } else { String::new() };
    format!("{}{rest}", all[..all.len().min(EXAMPLES)].join("\n"))
}
