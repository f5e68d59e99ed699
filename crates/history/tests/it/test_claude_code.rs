//! Claude Code

use rejoin_history::HistoryError;
use serde_json::{Value, json};

use crate::files::{lines, read, read_one, steps, written};

/// Lines of a file in the making.
struct Script {
    lines: Vec<Value>,
}

impl Script {
    fn new() -> Self {
        Self { lines: Vec::new() }
    }

    /// Adds the record `id`, which follows `parent`.
    fn record(mut self, id: &str, parent: Option<&str>, kind: &str, content: &Value, more: &Value) -> Self {
        let second = self.lines.len();
        let mut message = json!({ "role": kind, "content": content });
        if kind == "assistant" {
            message["id"] = more.get("message_id").cloned().unwrap_or_else(|| format!("msg_{id}").into());
        }
        let mut line = json!({
            "type": kind, "uuid": id, "parentUuid": parent, "message": message, "sessionId": "s-1", "cwd": "/p",
            "timestamp": format!("2026-05-04T10:00:{second:02}.000Z"), "version": "2.1.0", "isSidechain": false,
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.lines.push(line);
        self
    }

    fn user(self, id: &str, parent: Option<&str>, text: &str) -> Self {
        self.record(id, parent, "user", &text.into(), &json!({}))
    }

    fn agent(self, id: &str, parent: &str, text: &str) -> Self {
        self.record(id, Some(parent), "assistant", &json!([{ "type": "text", "text": text }]), &json!({}))
    }

    fn call(self, id: &str, parent: &str, message: &str) -> Self {
        let call = json!([{ "type": "tool_use", "id": format!("t-{id}"), "name": "Glob", "input": { "pattern": id } }]);
        self.record(id, Some(parent), "assistant", &call, &json!({ "message_id": message }))
    }

    fn result(self, id: &str, parent: &str) -> Self {
        let result = json!([{ "type": "tool_result", "tool_use_id": format!("t-{parent}"), "content": "found" }]);
        self.record(id, Some(parent), "user", &result, &json!({}))
    }

    fn line(mut self, line: Value) -> Self {
        self.lines.push(line);
        self
    }

    fn text(&self) -> String {
        self.lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect()
    }

    fn read(&self) -> String {
        let (_folder, file) = written("s-1.jsonl", self.text().as_bytes());
        lines(&steps(&file))
    }
}

#[test]
fn of_several_branches_the_last_one_counts() {
    let script = Script::new()
        .user("u1", None, "paint it")
        .agent("a1", "u1", "blue?")
        .user("u2", Some("a1"), "no, red")
        .agent("a2", "u2", "red it is")
        .user("u3", Some("a1"), "yes")
        .agent("a3", "u3", "blue it is");
    insta::assert_snapshot!(script.read(), @"
    user: paint it
    agent: blue?
    user: yes
    agent: blue it is
    ");
}

#[test]
fn what_a_subagent_said_is_not_part_of_the_conversation() {
    let script = Script::new()
        .user("u1", None, "paint it")
        .record(
            "s1",
            Some("u1"),
            "assistant",
            &json!([{ "type": "text", "text": "from inside" }]),
            &json!({ "isSidechain": true }),
        )
        .agent("a1", "u1", "done");
    insta::assert_snapshot!(script.read(), @"
    user: paint it
    agent: done
    ");
}

#[test]
fn tools_that_ran_at_once_all_have_their_results() {
    let script = Script::new()
        .user("u1", None, "look")
        .call("c1", "u1", "msg_1")
        .call("c2", "c1", "msg_1")
        .call("c3", "c1", "msg_1")
        .result("r1", "c1")
        .result("r2", "c2")
        .result("r3", "c3")
        .agent("a1", "r2", "seen");
    insta::assert_snapshot!(script.read(), @r#"
    user: look
    tool: Find `c1` [search] completed "found"
    tool: Find `c2` [search] completed "found"
    tool: Find `c3` [search] completed "found"
    agent: seen
    "#);
}

#[test]
fn nothing_before_a_compaction_is_lost_and_the_summary_is_its_marker() {
    let boundary = json!({
        "type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": null, "logicalParentUuid": "a1",
        "isSidechain": false, "timestamp": "2026-05-04T10:01:00.000Z",
    });
    let script = Script::new()
        .user("u1", None, "paint it")
        .agent("a1", "u1", "blue?")
        .line(boundary)
        .record("u2", Some("b1"), "user", &"It was about paint.".into(), &json!({ "isCompactSummary": true }))
        .user("u3", Some("u2"), "go on")
        .agent("a3", "u3", "gladly");
    insta::assert_snapshot!(script.read(), @r#"
    user: paint it
    agent: blue?
    compaction_update: {"sessionUpdate":"compaction_update","compactionId":"u2","status":"completed","summary":[{"type":"text","text":"It was about paint."}]}
    user: go on
    agent: gladly
    "#);
}

#[test]
fn a_record_whose_parent_is_lost_follows_the_one_before_it() {
    let script = Script::new().user("u1", None, "paint it").agent("a1", "u1", "blue?").user("u2", Some("gone"), "yes");
    insta::assert_snapshot!(script.read(), @"
    user: paint it
    agent: blue?
    user: yes
    ");
}

#[test]
fn an_interruption_ends_the_turn_and_is_no_message() {
    let script = Script::new()
        .user("u1", None, "look")
        .call("c1", "u1", "msg_1")
        .record(
            "u2",
            Some("c1"),
            "user",
            &json!([{ "type": "text", "text": "[Request interrupted by user for tool use]" }]),
            &json!({}),
        )
        .user("u3", Some("u2"), "again")
        .agent("a1", "u3", "gladly");
    let (_folder, file) = written("s-1.jsonl", script.text().as_bytes());
    let ends: Vec<String> = steps(&file)
        .iter()
        .filter(|step| step.kind == rejoin_transcript::StepKind::TurnEnded)
        .map(|step| step.body.to_string())
        .collect();
    assert_eq!(ends, [r#"{"stopReason":"cancelled"}"#, r#"{"stopReason":"end_turn"}"#]);
}

#[test]
fn what_the_user_said_while_the_agent_worked_is_part_of_it() {
    let queued = json!({
        "type": "attachment", "uuid": "q1", "parentUuid": "a1", "isSidechain": false,
        "timestamp": "2026-05-04T10:00:02.000Z",
        "attachment": { "type": "queued_command", "prompt": "and make it shine", "commandMode": "prompt" },
    });
    let script = Script::new().user("u1", None, "paint it").agent("a1", "u1", "at once").line(queued).agent(
        "a2",
        "q1",
        "it shines",
    );
    assert_eq!(script.read(), "user: paint it\nagent: at once\nuser: and make it shine\nagent: it shines");
}

#[test]
fn titles_are_a_persons_or_the_tools() {
    let about = |line: Value| {
        let script = Script::new().user("u1", None, "one").agent("a1", "u1", "two").line(line);
        let (_folder, file) = written("s-1.jsonl", script.text().as_bytes());
        (read_one(&file).about().title.clone(), lines(&steps(&file)).lines().last().unwrap().to_owned())
    };
    let custom = about(json!({ "type": "custom-title", "customTitle": "Mine", "sessionId": "s-1" }));
    assert_eq!(custom, (Some("Mine".to_owned()), "agent: two".to_owned()));
    let made = about(json!({ "type": "ai-title", "aiTitle": "Made", "sessionId": "s-1" }));
    assert_eq!(made, (None, "title: Made".to_owned()));
    let summary = about(json!({ "type": "summary", "summary": "In short", "leafUuid": "a1" }));
    assert_eq!(summary, (None, "title: In short".to_owned()));
    let of_another = about(json!({ "type": "summary", "summary": "In short", "leafUuid": "elsewhere" }));
    assert_eq!(of_another, (None, "agent: two".to_owned()));
}

#[test]
fn the_folder_is_that_of_the_records_and_not_of_the_name() {
    let script = Script::new().user("u1", None, "one").agent("a1", "u1", "two");
    let (_folder, file) = written("session-other.jsonl", script.text().as_bytes());
    let about = read_one(&file).about().clone();
    assert_eq!((about.id.as_str(), about.cwd.as_str(), about.version.as_deref()), ("s-1", "/p", Some("2.1.0")));
}

#[test]
fn a_file_without_a_word_of_a_user_holds_no_conversation() {
    for text in [
        "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n",
        "{\"type\":\"file-history-snapshot\",\"snapshot\":{}}\n",
    ] {
        let (_folder, file) = written("s.jsonl", text.as_bytes());
        let all = read(&file);
        assert!(matches!(all.as_slice(), [Err(HistoryError::NoConversation)]), "{text}");
    }
}

#[test]
fn a_record_that_is_there_twice_is_told_once() {
    let twice = Script::new()
        .user("u1", None, "paint it")
        .agent("a1", "u1", "blue?")
        .user("u1", None, "paint it")
        .agent("a1", "u1", "blue?")
        .user("u2", Some("a1"), "yes")
        .agent("a2", "u2", "blue it is")
        .agent("a1", "u1", "blue?");
    insta::assert_snapshot!(twice.read(), @"
    user: paint it
    agent: blue?
    user: yes
    agent: blue it is
    ");
}

#[test]
fn records_without_links_follow_one_another() {
    let mut script =
        Script::new().user("u1", None, "paint it").agent("a1", "u1", "blue?").user("u2", Some("a1"), "yes");
    for line in &mut script.lines {
        let members = line.as_object_mut().unwrap();
        members.remove("uuid");
        members.remove("parentUuid");
    }
    insta::assert_snapshot!(script.read(), @"
    user: paint it
    agent: blue?
    user: yes
    ");
}

#[test]
fn a_record_that_is_its_own_parent_ends_nothing_and_loops_nowhere() {
    let script = Script::new().user("u1", None, "paint it").user("u2", Some("u2"), "now");
    assert_eq!(script.read(), "user: paint it\nuser: now");
}

#[test]
fn a_conversation_that_goes_on_from_another_has_an_id_of_its_own() {
    let script = Script::new().user("u1", None, "one").agent("a1", "u1", "two");
    let id = "0c5f2a91-1111-4222-8333-444455556666";
    for name in [format!("{id}.jsonl"), format!("session-{id}.jsonl")] {
        let (_folder, file) = written(&name, script.text().as_bytes());
        assert_eq!(read_one(&file).about().id, id);
    }
}

#[test]
fn how_a_record_is_spaced_does_not_matter() {
    let script = Script::new()
        .user("u1", None, "look")
        .call("c1", "u1", "msg_1")
        .call("c2", "u1", "msg_1")
        .result("r1", "c1")
        .result("r2", "c2")
        .agent("a1", "r2", "seen");
    let spaced = script.text().replace("\":", "\": ").replace(",\"", ", \"").replace('\n', "\r\n");
    let (_folder, file) = written("s-1.jsonl", format!("\u{feff}{spaced}").as_bytes());
    assert_eq!(lines(&steps(&file)), script.read());
    assert_eq!(read_one(&file).left_out().count(), 0);
    insta::assert_snapshot!(script.read(), @r#"
    user: look
    tool: Find `c1` [search] completed "found"
    tool: Find `c2` [search] completed "found"
    agent: seen
    "#);
}

#[test]
fn a_file_may_begin_with_a_very_big_picture() {
    let picture = json!({ "type": "base64", "media_type": "image/png", "data": "A".repeat(3_000_000) });
    let script = Script::new()
        .record("u1", None, "user", &json!([{ "type": "image", "source": picture }]), &json!({}))
        .agent("a1", "u1", "a dot");
    assert_eq!(script.read(), "user: [image image/png 3000000]\nagent: a dot");
}

#[test]
fn what_only_a_subagent_said_is_no_conversation() {
    let script = Script::new().record("s1", None, "user", &"look".into(), &json!({ "isSidechain": true }));
    let (_folder, file) = written("agent-1.jsonl", script.text().as_bytes());
    assert!(matches!(read(&file).as_slice(), [Err(HistoryError::Subagent)]));
}

#[test]
fn a_conversation_without_times_is_as_old_as_its_file() {
    let mut script = Script::new().user("u1", None, "one").agent("a1", "u1", "two");
    for line in &mut script.lines {
        line.as_object_mut().unwrap().remove("timestamp");
    }
    assert_eq!(script.read(), "user: one\nagent: two");
}
