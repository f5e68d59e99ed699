//! The turn machine as a table: what happens, and what is done about it.

use super::machine::{Machine, QUEUE_LIMIT, WhileBusy};
use super::{Answer, AskId, AskKind, Effect, End, Event, Ticket};
use crate::Error;

/// Runs `script`, lines of `event -> effects`, on a session whose last turn was 0.
///
/// Written short: `prompt 1` is the prompt with ticket 1, `stop 1 end_turn` the agent's answer to turn 1.
fn check(while_busy: WhileBusy, script: &str) {
    let mut machine = Machine::new(0, while_busy);
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (event, expected) = line.split_once("->").unwrap();
        let effects = machine.handle(event_of(event.trim()));
        let told: Vec<String> = effects.iter().map(text_of).collect();
        assert_eq!(told.join(", "), expected.trim(), "{line}");
    }
}

fn event_of(text: &str) -> Event {
    let words: Vec<&str> = text.split(' ').collect();
    let number = || words[1].parse().unwrap();
    let turn = || words[1].parse().unwrap();
    match words[0] {
        "prompt" => Event::Prompted(Ticket(number())),
        "not-begun" => Event::NotBegun(Error::Cancelled),
        "ready" => Event::AgentReady,
        "not-ready" => Event::AgentNotReady(Error::Cancelled),
        "stop" => Event::Answered {
            turn: turn(),
            answer: Answer::Stopped {
                reason: words[2].to_owned(),
                result: format!(r#"{{"stopReason":"{}","usage":7}}"#, words[2]),
            },
        },
        "fail" => Event::Answered { turn: turn(), answer: Answer::Failed(Error::Cancelled) },
        "untaken" => Event::Untaken,
        "gone" => Event::AgentGone(Error::Cancelled),
        "cancel" => Event::Cancelled,
        "take-back" => Event::TakenBack(Ticket(number())),
        "deadline" => Event::DeadlinePassed { turn: turn() },
        "permission" => Event::Asked(AskId(number()), AskKind::Permission),
        "service" => Event::Asked(AskId(number()), AskKind::Service),
        "settled" => Event::Settled(AskId(number())),
        "close" => Event::Closing,
        "store-failed" => Event::StoreFailed(Error::Cancelled),
        other => panic!("there is no event {other}"),
    }
}

fn text_of(effect: &Effect) -> String {
    match effect {
        Effect::Begin { turn, ticket } => format!("begin {turn} for {}", ticket.0),
        Effect::OpenAgent => "open".to_owned(),
        Effect::SendPrompt { turn, ticket } => format!("send {turn} for {}", ticket.0),
        Effect::SendCancel => "send-cancel".to_owned(),
        Effect::ArmDeadline { turn } => format!("arm {turn}"),
        Effect::AbandonAgent => "abandon".to_owned(),
        Effect::CancelAsk(ask) => format!("cancel-ask {}", ask.0),
        Effect::End { turn, end: End::Stopped(reason) } => format!("end {turn} {reason}"),
        Effect::End { turn, end: End::Cancelled } => format!("end {turn} cancelled"),
        Effect::End { turn, end: End::Failed(_) } => format!("end {turn} failed"),
        Effect::Answer { ticket, answer: Answer::Stopped { result, .. } } => format!("answer {} {result}", ticket.0),
        Effect::Answer { ticket, answer: Answer::Failed(error) } => {
            let kind = if matches!(error, Error::Busy { .. }) { "busy" } else { "failed" };
            format!("answer {} {kind}", ticket.0)
        }
        Effect::Close => "close".to_owned(),
    }
}

#[test]
fn a_turn_is_recorded_sent_ended_and_answered() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        stop 1 end_turn -> end 1 end_turn, answer 1 {"stopReason":"end_turn","usage":7}
        prompt 2 -> begin 2 for 2, open
        "#,
    );
}

#[test]
fn a_prompt_that_comes_during_a_turn_waits_for_its_end() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        prompt 2 ->
        ready -> send 1 for 1
        prompt 3 ->
        fail 1 -> end 1 failed, answer 1 failed, begin 2 for 2, open
        ready -> send 2 for 2
        stop 2 refusal -> end 2 refusal, answer 2 {"stopReason":"refusal","usage":7}, begin 3 for 3, open
        "#,
    );
}

#[test]
fn a_prompt_during_a_turn_is_refused_where_that_is_wanted() {
    check(
        WhileBusy::Reject,
        "
        prompt 1 -> begin 1 for 1, open
        prompt 2 -> answer 2 busy
        ",
    );
}

#[test]
fn no_more_prompts_wait_than_may() {
    let waiting: Vec<String> = (2..2 + QUEUE_LIMIT).map(|ticket| format!("prompt {ticket} ->")).collect();
    let script = format!("prompt 1 -> begin 1 for 1, open\n{}\nprompt 99 -> answer 99 busy", waiting.join("\n"));
    check(WhileBusy::Queue, &script);
}

#[test]
fn a_cancel_ends_the_turn_and_answers_every_prompt_that_waits() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        prompt 2 ->
        cancel -> answer 2 {"stopReason":"cancelled"}, send-cancel, arm 1
        cancel -> send-cancel
        stop 1 cancelled -> end 1 cancelled, answer 1 {"stopReason":"cancelled","usage":7}
        deadline 1 ->
        "#,
    );
}

#[test]
fn whatever_the_agent_says_to_a_cancel_means_cancelled() {
    let begin = "prompt 1 -> begin 1 for 1, open\nready -> send 1 for 1\ncancel -> send-cancel, arm 1\n";
    for (answer, told) in [
        ("stop 1 end_turn", r#"{"stopReason":"cancelled","usage":7}"#),
        ("fail 1", r#"{"stopReason":"cancelled"}"#),
        ("gone", r#"{"stopReason":"cancelled"}"#),
    ] {
        check(WhileBusy::Queue, &format!("{begin}{answer} -> end 1 cancelled, answer 1 {told}"));
    }
}

#[test]
fn an_agent_that_does_not_obey_is_abandoned() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        deadline 1 ->
        cancel -> send-cancel, arm 1
        deadline 7 ->
        deadline 1 -> abandon, end 1 cancelled, answer 1 {"stopReason":"cancelled"}
        stop 1 end_turn ->
        "#,
    );
}

#[test]
fn a_cancel_before_the_agent_is_ready_ends_the_turn_at_once() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        cancel -> end 1 cancelled, answer 1 {"stopReason":"cancelled"}
        ready ->
        prompt 2 -> begin 2 for 2, open
        ready -> send 2 for 2
        "#,
    );
}

#[test]
fn a_cancel_while_no_turn_runs_reaches_neither_the_agent_nor_the_next_turn() {
    check(
        WhileBusy::Queue,
        r#"
        cancel ->
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        stop 1 end_turn -> end 1 end_turn, answer 1 {"stopReason":"end_turn","usage":7}
        cancel ->
        "#,
    );
}

#[test]
fn a_cancel_behind_the_prompt_that_was_next_in_the_queue_is_not_lost() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        prompt 2 ->
        stop 1 end_turn -> end 1 end_turn, answer 1 {"stopReason":"end_turn","usage":7}, begin 2 for 2, open
        cancel -> end 2 cancelled, answer 2 {"stopReason":"cancelled"}
        ready ->
        cancel ->
        "#,
    );
}

#[test]
fn one_prompt_is_taken_back_and_the_others_stay() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        prompt 2 ->
        prompt 3 ->
        take-back 2 -> answer 2 {"stopReason":"cancelled"}
        take-back 9 ->
        take-back 1 -> send-cancel, arm 1
        stop 1 cancelled -> end 1 cancelled, answer 1 {"stopReason":"cancelled","usage":7}, begin 2 for 3, open
        "#,
    );
}

#[test]
fn questions_are_cancelled_with_their_turn() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        permission 1 ->
        permission 2 ->
        service 3 ->
        settled 1 ->
        cancel -> send-cancel, cancel-ask 2, arm 1
        permission 4 -> cancel-ask 4
        stop 1 cancelled -> cancel-ask 3, end 1 cancelled, answer 1 {"stopReason":"cancelled","usage":7}
        "#,
    );
}

#[test]
fn a_turn_that_can_not_be_recorded_never_was() {
    check(
        WhileBusy::Queue,
        "
        prompt 1 -> begin 1 for 1, open
        not-begun -> answer 1 failed
        prompt 2 -> begin 1 for 2, open
        ",
    );
}

#[test]
fn an_agent_that_can_not_be_opened_fails_the_turn() {
    check(
        WhileBusy::Queue,
        "
        prompt 1 -> begin 1 for 1, open
        prompt 2 ->
        not-ready -> end 1 failed, answer 1 failed, begin 2 for 2, open
        not-ready -> end 2 failed, answer 2 failed
        ",
    );
}

#[test]
fn an_agent_that_dies_fails_the_turn_and_its_questions() {
    check(
        WhileBusy::Queue,
        "
        gone ->
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        service 1 ->
        gone -> cancel-ask 1, end 1 failed, answer 1 failed
        ",
    );
}

#[test]
fn an_agent_that_forgot_the_session_opens_it_again_and_gets_the_prompt() {
    check(
        WhileBusy::Queue,
        r#"
        permission 1 ->
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        untaken -> cancel-ask 1, open
        ready -> send 1 for 1
        stop 1 end_turn -> end 1 end_turn, answer 1 {"stopReason":"end_turn","usage":7}
        untaken ->
        "#,
    );
}

#[test]
fn questions_outside_of_turns_are_cancelled_when_the_session_is_closed() {
    check(WhileBusy::Queue, "permission 1 ->\nservice 2 ->\nclose -> cancel-ask 1, cancel-ask 2, close");
}

#[test]
fn closing_waits_for_the_cancelled_turn() {
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        prompt 2 ->
        close -> answer 2 {"stopReason":"cancelled"}, send-cancel, arm 1
        stop 1 cancelled -> end 1 cancelled, answer 1 {"stopReason":"cancelled","usage":7}, close
        "#,
    );
    check(WhileBusy::Queue, "close -> close");
    check(
        WhileBusy::Queue,
        r#"
        prompt 1 -> begin 1 for 1, open
        close -> end 1 cancelled, answer 1 {"stopReason":"cancelled"}, close
        "#,
    );
}

#[test]
fn when_the_store_fails_the_prompt_is_told_and_the_agent_let_go() {
    check(
        WhileBusy::Queue,
        "
        prompt 1 -> begin 1 for 1, open
        ready -> send 1 for 1
        permission 1 ->
        store-failed -> cancel-ask 1, send-cancel, abandon, end 1 failed, answer 1 failed
        stop 1 end_turn ->
        prompt 2 -> begin 2 for 2, open
        store-failed -> abandon, end 2 failed, answer 2 failed
        ",
    );
}
