//! Codex

use rejoin_history::HistoryError;

use crate::files::{fixture, lines, read, read_one, steps, written};

#[test]
fn a_packed_file_is_read_like_any_other() {
    let text = std::fs::read(fixture("codex/rollout-0.137.jsonl")).unwrap();
    let (_folder, file) = written("rollout.jsonl.zst", &zstd::encode_all(text.as_slice(), 3).unwrap());
    assert_eq!(steps(&file), steps(&fixture("codex/rollout-0.137.jsonl")));
}

#[test]
fn the_oldest_files_have_neither_wrapped_items_nor_events() {
    let text = [
        r#"{"id":"old-1","timestamp":"2025-06-01T10:00:00.000Z","instructions":null}"#,
        r#"{"record_type":"state"}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"}]}"#,
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Which colour?"}]}"#,
        r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Look."}]}"#,
        r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"cat door.txt\"]}","call_id":"c1"}"#,
        r#"{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"blue\",\"metadata\":{\"exit_code\":0}}"}"#,
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Blue."}]}"#,
    ];
    let (_folder, file) = written("rollout.jsonl", text.join("\n").as_bytes());
    assert_eq!(read_one(&file).about().cwd, "/p");
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: Which colour?
    thought: Look.
    tool: Read door.txt [read] completed @/p/door.txt
    agent: Blue.
    ");
}

#[test]
fn a_turn_that_was_stopped_ended_so() {
    let text = [
        r#"{"timestamp":"2026-05-04T10:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-05-04T10:00:00.000Z","cwd":"/p"}}"#,
        r#"{"timestamp":"2026-05-04T10:00:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"Go"}}"#,
        r#"{"timestamp":"2026-05-04T10:00:02.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"sleep\",\"9\"]}","call_id":"c1"}}"#,
        r#"{"timestamp":"2026-05-04T10:00:03.000Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
    ];
    let (_folder, file) = written("rollout.jsonl", text.join("\n").as_bytes());
    let all = steps(&file);
    let last = all.last().unwrap();
    assert_eq!(
        (last.body.as_str(), last.at.to_string().as_str()),
        (r#"{"stopReason":"cancelled"}"#, "2026-05-04T10:00:03.000Z")
    );
    insta::assert_snapshot!(lines(&all), @"
    user: Go
    tool: sleep 9 [execute] failed
    ");
}

const META: &str = r#"{"timestamp":"2026-05-04T10:00:00.000Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-05-04T10:00:00.000Z","cwd":"/p"}}"#;

fn event(kind: &str, more: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-05-04T10:00:01.000Z","type":"event_msg","payload":{{"type":"{kind}","message":"{more}","num_turns":1}}}}"#
    )
}

fn answer(text: &str) -> String {
    let message =
        format!(r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#);
    format!(r#"{{"timestamp":"2026-05-04T10:00:02.000Z","type":"response_item","payload":{message}}}"#)
}

fn turn(user: &str, agent: &str) -> Vec<String> {
    vec![event("task_started", ""), event("user_message", user), answer(agent), event("task_complete", "")]
}

#[test]
fn turns_that_were_taken_back_are_not_part_of_the_conversation() {
    let text = [
        vec![META.to_owned()],
        turn("one", "first"),
        turn("two", "second"),
        turn("three", "third"),
        vec![event("thread_rolled_back", ""), event("thread_rolled_back", "")],
        turn("four", "fourth"),
    ];
    let (_folder, file) = written("rollout.jsonl", text.concat().join("\n").as_bytes());
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: one
    agent: first
    user: four
    agent: fourth
    ");
}

#[test]
fn turns_without_a_beginning_are_taken_back_too() {
    let text = [
        vec![META.to_owned()],
        vec![event("user_message", "one"), answer("first")],
        vec![event("user_message", "two"), answer("second")],
        vec![event("thread_rolled_back", ""), event("user_message", "three"), answer("third")],
    ];
    let (_folder, file) = written("rollout.jsonl", text.concat().join("\n").as_bytes());
    insta::assert_snapshot!(lines(&steps(&file)), @"
    user: one
    agent: first
    user: three
    agent: third
    ");
}

#[test]
fn what_a_subagent_said_is_no_conversation() {
    let meta = META.replace(r#""cwd":"#, r#""source":{"subagent":"review"},"cwd":"#);
    let text = [vec![meta], turn("look", "seen")].concat().join("\n");
    let (_folder, file) = written("rollout.jsonl", text.as_bytes());
    assert!(matches!(read(&file).as_slice(), [Err(HistoryError::Subagent)]));
}
