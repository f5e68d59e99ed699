//! `rejoin export`

use crate::world::{Transcript, World};

#[test]
fn an_export_is_a_header_and_every_entry() {
    let world = World::new();
    Transcript::new("one").prompt("hello").say("hi").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["export", "one", "--format", "jsonl"]), @r#"
    {"rejoin":"transcript","version":1,"session":{"sessionId":"one","titles":{"derived":"hello","agent":null,"manual":null},"cwd":{"raw":"/src/app","canonical":"/src/app"},"agent":{"name":"robot","command":[],"version":null},"messages":2,"recentMessages":["answer-1"],"turns":1,"hasErrors":false,"archived":false,"child":false,"createdAt":"2024-05-06T07:08:00.000Z","updatedAt":"2024-05-06T07:08:00.000Z"},"settings":{"modes":null,"models":null,"configOptions":null,"availableCommands":null,"inForce":{"mode":null,"model":null,"options":{}},"usage":null,"mcpServers":[]}}
    {"number":1,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"prompt","audience":"client","protocol":1,"messageId":"prompt-1","body":[{"type":"text","text":"hello"}]}
    {"number":2,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"answer-1"}}
    {"number":3,"at":"2024-05-06T07:08:00.000Z","turn":1,"kind":"turn_ended","audience":"layer","protocol":1,"body":{"stopReason":"end_turn"}}
    --- exit 0
    "#);
}

#[test]
fn an_unknown_id_writes_nothing_and_tells_how_to_find_ids() {
    insta::assert_snapshot!(World::with_sample().run(&["export", "nope-123"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
}
