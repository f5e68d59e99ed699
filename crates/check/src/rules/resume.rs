//! `session/resume`.

use rejoin_transcript::UpdateKind;

use crate::ability::Ability;
use crate::rule::{Judged, Level, Part, Rule, Verdict, fail_with, judge, report, skip};
use crate::rules::load::recalls;
use crate::rules::mode::current_mode;
use crate::rules::new::came;
use crate::run::{Run, Step, Who};

const WHO: Who = Who::Spare(5);

pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "resume.survives-kill",
        level: Level::Quality,
        title: "resumes a session after `kill -9`",
        page: "session-setup#resuming-sessions",
        part: Part::Second,
        judge: survives_kill,
    },
    Rule {
        id: "resume.silent",
        level: Level::Must,
        title: "replays nothing",
        page: "session-setup#resuming-a-session",
        part: Part::Second,
        judge: silent,
    },
    Rule {
        id: "resume.unknown-session",
        level: Level::Quality,
        title: "refuses to resume a session that does not exist",
        page: "session-setup#resuming-a-session",
        part: Part::Second,
        judge: unknown_session,
    },
    Rule {
        id: "resume.remembers",
        level: Level::Quality,
        title: "remembers what was said before",
        page: "session-setup#resuming-sessions",
        part: Part::Second,
        judge: remembers,
    },
    Rule {
        id: "resume.keeps-last-turn",
        level: Level::Quality,
        title: "remembers a turn that ended right before `kill -9`",
        page: "session-setup#resuming-sessions",
        part: Part::Second,
        judge: keeps_last_turn,
    },
    Rule {
        id: "resume.mode",
        level: Level::Quality,
        title: "is in the same mode when it is resumed after a restart",
        page: "session-modes#initial-state",
        part: Part::Second,
        judge: mode,
    },
    Rule {
        id: "resume.commands",
        level: Level::Report,
        title: "whether commands are told again",
        page: "slash-commands#advertising-commands",
        part: Part::Second,
        judge: commands,
    },
];

fn survives_kill(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    let exchange = run.one(Step::Resume)?;
    judge(
        exchange.result().is_some(),
        exchange,
        "the session: the process before was killed, and had answered its prompt",
    )
}

fn silent(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    let (exchange, _) = run.done(Step::Resume)?;
    let id = &run.session(WHO)?.id;
    let mut updates = run.updates_during(exchange, id);
    updates.extend(run.updates_after(exchange, id));
    match updates.iter().find(|update| update.is_conversation()) {
        Some(update) => {
            fail_with(exchange.sent(), came(update), "no message and no tool call of the conversation so far")
        }
        None => Ok(Verdict::Pass),
    }
}

fn unknown_session(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    let exchange = run.one(Step::ResumeUnknown)?;
    judge(exchange.error().is_some(), exchange, "an error, such as -32002 (not found); not a new session")
}

fn remembers(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    run.done(Step::Resume)?;
    recalls(run, Step::RecallResumed, WHO)
}

fn keeps_last_turn(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    run.done(Step::Resume)?;
    run.done(Step::Remember(Who::Last))?;
    if !matches!(recalls(run, Step::RecallResumed, WHO)?, Verdict::Pass) {
        return skip("the agent does not remember earlier turns either: see resume.remembers");
    }
    let resume = run.one(Step::ResumeLast)?;
    if resume.result().is_none() {
        return judge(false, resume, "the session: its turn had ended when the process was killed");
    }
    recalls(run, Step::RecallLast, Who::Last)
}

fn mode(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    let (set, _) = run.done(Step::SetModeToResume)?;
    let (resume, result) = run.done(Step::Resume)?;
    let expected = format!("`modes` with the mode that was set before: {}", set.params["modeId"]);
    judge(current_mode(result) == set.params["modeId"], resume, &expected)
}

fn commands(run: &Run) -> Judged {
    run.need(Ability::Resume)?;
    let (exchange, _) = run.done(Step::Resume)?;
    let log = run.log(exchange.process)?;
    let updates = log.updates(exchange.from..usize::MAX, Some(&run.session(WHO)?.id));
    let is_told = updates.iter().any(|update| update.kind() == UpdateKind::AvailableCommands);
    report(if is_told { "they are" } else { "they are not" })
}
