//! `session/fork`.

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge, report, skip};
use crate::rules::list::rows;
use crate::rules::load::recalls_in;
use crate::rules::mode::current_mode;
use crate::rules::new::came;
use crate::run::{Run, Step, Who};

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "fork.own-id",
        level: Level::Must,
        title: "gives a fork an id of its own",
        page: "draft/schema#session-fork",
        part: Part::First,
        judge: own_id,
    },
    Rule {
        id: "fork.no-early-updates",
        level: Level::Quality,
        title: "sends nothing of a fork before the client knows its id",
        page: "draft/schema#session-fork",
        part: Part::First,
        judge: no_early_updates,
    },
    Rule {
        id: "fork.listed",
        level: Level::Quality,
        title: "lists a fork beside its source",
        page: "session-list#listing-sessions",
        part: Part::First,
        judge: listed,
    },
    Rule {
        id: "fork.mode",
        level: Level::Quality,
        title: "gives a fork the mode of its source",
        page: "draft/schema#session-fork",
        part: Part::First,
        judge: mode,
    },
    Rule {
        id: "fork.remembers",
        level: Level::Quality,
        title: "remembers in a fork what its source was told",
        page: "draft/schema#session-fork",
        part: Part::First,
        judge: remembers,
    },
    Rule {
        id: "fork.replays",
        level: Level::Report,
        title: "whether a fork's history is sent",
        page: "draft/schema#session-fork",
        part: Part::First,
        judge: replays,
    },
];

fn own_id(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let exchange = run.one(Step::Fork)?;
    let id = exchange.result().and_then(|result| result["sessionId"].as_str()).unwrap_or_default();
    let is_new = !id.is_empty() && run.sessions.values().all(|opened| opened.id != id);
    judge(is_new, exchange, "a result with a `sessionId` that no other session has")
}

fn no_early_updates(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let (exchange, result) = run.done(Step::Fork)?;
    let id = result["sessionId"].as_str().unwrap_or_default();
    match run.updates_during(exchange, id).first() {
        Some(update) => {
            fail_with(exchange.sent(), came(update), "no `session/update` before the answer that tells the id")
        }
        None => Ok(Verdict::Pass),
    }
}

fn listed(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let (_, result) = run.done(Step::Fork)?;
    let main = run.session(Who::Main)?;
    let (exchange, rows) = rows(run, Step::ListAfterFork)?;
    for (what, id) in [("the fork", result["sessionId"].as_str().unwrap_or_default()), ("its source", main.id.as_str())]
    {
        if rows.iter().all(|row| row["sessionId"] != id) {
            let came = format!("{} sessions, none of which is {what}, {id}", rows.len());
            return fail_with(exchange.sent(), came, "the fork and its source");
        }
    }
    Ok(Verdict::Pass)
}

fn mode(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let (exchange, result) = run.done(Step::Fork)?;
    let (set, _) = run.done(Step::SetMode)?;
    let current = current_mode(result);
    if current.is_null() {
        return skip("the answer does not tell the mode");
    }
    judge(current == set.params["modeId"], exchange, &format!("the mode of the source: {}", set.params["modeId"]))
}

fn remembers(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let (_, result) = run.done(Step::Fork)?;
    recalls_in(run, Step::RecallForked, Who::Main, result["sessionId"].as_str().unwrap_or_default())
}

fn replays(run: &Run) -> Judged {
    run.need(Ability::Fork)?;
    let (exchange, result) = run.done(Step::Fork)?;
    let id = result["sessionId"].as_str().unwrap_or_default();
    let updates = run.log(exchange.process)?.updates(exchange.from..usize::MAX, Some(id));
    let n_updates = updates.iter().filter(|update| update.is_conversation()).count();
    report(if n_updates == 0 { "it is not".to_owned() } else { format!("it is: {n_updates} updates") })
}
