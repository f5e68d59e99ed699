//! Replay and view agree, for any sequence of updates.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use proptest::prelude::*;
use rejoin_transcript::{
    Audience, Entry, EntryNumber, Json, MessageId, MessageIds, Replayed, Step, StepKind, Timestamp, Turn, TurnEnd,
    UpdateKind, View, What, replay,
};

/// What must be equal: all but the numbers of the entries.
fn told(view: View) -> impl PartialEq + std::fmt::Debug {
    let items: Vec<(Turn, What)> = view.items.into_iter().map(|item| (item.turn, item.what)).collect();
    (items, view.plans, view.state)
}

/// A replay as a record of its own.
fn as_entries(replayed: &[Replayed]) -> Vec<Entry> {
    let steps = replayed.iter().map(|replayed| {
        let params = replayed.params.members().unwrap();
        let rest: Vec<String> = params
            .iter()
            .filter(|(name, _)| *name != "update")
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        let update = Json::parse(params.get("update").unwrap()).unwrap();
        // The states stand behind all turns.
        let turn = replayed.turn.unwrap_or(Turn::After(u32::MAX));
        let step = Step::update(Timestamp::from_millis(0), turn, update).unwrap();
        if rest.is_empty() { step } else { step.with_extra(Json::parse(format!("{{{}}}", rest.join(","))).unwrap()) }
    });
    numbered(steps.collect())
}

fn numbered(steps: Vec<Step>) -> Vec<Entry> {
    (1..).zip(steps).map(|(number, step)| Entry { number: EntryNumber::new(number), step }).collect()
}

fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => text().prop_map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)),
        1 => Just(r#"{"text":"other order","type":"text"}"#.to_owned()),
        1 => Just(r#"{"type":"text","text":"x","annotations":{"audience":["user"]}}"#.to_owned()),
        1 => Just(r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#.to_owned()),
        1 => Just(r#"{"type":"hologram","depth":123456789012345678901234567890}"#.to_owned()),
    ]
}

/// Text as it stands between the quotes of a JSON string; some of it half a character.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z ]{0,6}".prop_map(|text| text),
        1 => Just(r"\ud83d".to_owned()),
        1 => Just(r"\ude00".to_owned()),
        1 => Just(r#"\"\\\n"#.to_owned()),
        1 => Just("x".repeat(40_000)),
    ]
}

/// Further members, some of which nobody knows.
fn extras() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just(String::new()),
        1 => Just(r#","_meta":{"k":[1,null]}"#.to_owned()),
        1 => Just(r#","tone":1.50"#.to_owned()),
        1 => Just(r#","_meta":null"#.to_owned()),
        1 => Just(r#","_meta":{"k":1,"thread":{"status":"running"}}"#.to_owned()),
    ]
}

fn message_id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just(String::new()),
        2 => "[ab]".prop_map(|id| format!(r#","messageId":"{id}""#)),
        1 => Just(r#","messageId":null"#.to_owned()),
        1 => Just(r#","messageId":7"#.to_owned()),
    ]
}

fn tool_members() -> impl Strategy<Value = String> {
    let member = prop_oneof![
        Just(r#""status":"pending""#),
        Just(r#""status":"completed""#),
        Just(r#""status":null"#),
        Just(r#""title":"Run""#),
        Just(r#""kind":"execute""#),
        Just(r#""content":[{"type":"diff","path":"/a","oldText":null,"newText":"b"}]"#),
        Just(r#""content":[]"#),
        Just(r#""rawInput":{"n":1e400}"#),
        Just(r#""rawOutput":null"#),
        Just(r#""locations":[{"path":"/p","line":3}]"#),
        Just(r#""name":"sh""#),
    ];
    proptest::collection::vec(member, 0..4)
        .prop_map(|members| members.iter().flat_map(|member| [",", member]).collect())
}

fn update() -> impl Strategy<Value = String> {
    let kinds = vec!["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "agent_message_chunk"];
    let chunk =
        (prop::sample::select(kinds), content(), message_id(), extras()).prop_map(|(kind, content, id, extras)| {
            format!(r#"{{"sessionUpdate":"{kind}","content":{content}{id}{extras}}}"#)
        });
    let tool = (
        prop::sample::select(&["tool_call", "tool_call_update", "tool_call_update"][..]),
        "[tu]",
        tool_members(),
        extras(),
    )
        .prop_map(|(kind, id, members, extras)| {
            format!(r#"{{"sessionUpdate":"{kind}","toolCallId":"{id}"{members}{extras}}}"#)
        });
    let state = (
        prop_oneof![
            (0..9u8).prop_map(|used| format!(r#""sessionUpdate":"usage_update","used":{used},"size":9"#)),
            "[ab]".prop_map(|mode| format!(r#""sessionUpdate":"current_mode_update","currentModeId":"{mode}""#)),
            "[ab]".prop_map(|mode| format!(r#""sessionUpdate":"current_mode_update","modeId":"{mode}""#)),
            "[ab]".prop_map(|name| format!(
                r#""sessionUpdate":"available_commands_update","availableCommands":[{{"name":"{name}"}}]"#
            )),
            "[ab]"
                .prop_map(|id| format!(r#""sessionUpdate":"config_option_update","configOptions":[{{"id":"{id}"}}]"#)),
            "[ab]".prop_map(|title| format!(r#""sessionUpdate":"session_info_update","title":"{title}""#)),
            Just(r#""sessionUpdate":"session_info_update","title":null"#.to_owned()),
            Just(r#""sessionUpdate":"session_info_update","updatedAt":"2026-01-01T00:00:00Z""#.to_owned()),
            Just(r#""sessionUpdate":"session_info_update""#.to_owned()),
            Just(r#""sessionUpdate":"notice","severity":"info","title":"n""#.to_owned()),
        ],
        extras(),
    )
        .prop_map(|(state, extras)| format!("{{{state}{extras}}}"));
    let plan = ("[ab]", extras())
        .prop_map(|(step, extras)| format!(r#"{{"sessionUpdate":"plan","entries":[{{"content":"{step}"}}]{extras}}}"#));
    let rest = prop_oneof![
        Just(r#"{"sessionUpdate":"weather_update","sky":["blue",null]}"#.to_owned()),
        Just(r#"{"sessionUpdate":"compaction_update","compactionId":"c","status":"in_progress"}"#.to_owned()),
        Just(
            r#"{"sessionUpdate":"compaction_summary_chunk","compactionId":"c","content":{"type":"text","text":"s"}}"#
                .to_owned()
        ),
        Just(r#"{"sessionUpdate":"plan_removed","planId":"p"}"#.to_owned()),
        // Not what their names promise.
        Just(r#"{"sessionUpdate":"agent_message_chunk"}"#.to_owned()),
        Just(r#"{"sessionUpdate":"tool_call","toolCallId":5}"#.to_owned()),
        Just(r#"{"sessionUpdate":"plan"}"#.to_owned()),
    ];
    prop_oneof![6 => chunk, 4 => tool, 2 => state, 1 => plan, 1 => rest]
}

#[derive(Debug, Clone)]
enum Event {
    Prompt(Vec<String>),
    Update(String, Audience, bool),
    End,
}

fn event() -> impl Strategy<Value = Event> {
    let audience = prop_oneof![8 => Just(Audience::Client), 1 => Just(Audience::Agent), 1 => Just(Audience::Layer)];
    prop_oneof![
        1 => proptest::collection::vec(content(), 1..4).prop_map(Event::Prompt),
        12 => (update(), audience, proptest::bool::weighted(0.05)).prop_map(|(update, audience, extra)| Event::Update(update, audience, extra)),
        1 => Just(Event::End),
    ]
}

/// The record that a recorder would make of `events`.
fn record(events: Vec<Event>) -> Vec<Entry> {
    let (mut ids, mut count, mut turn, mut running) = (MessageIds::default(), 0, 0, false);
    let mut new_id = || {
        count += 1;
        MessageId::new(format!("ours-{count}"))
    };
    let at = Timestamp::from_millis(1);
    let steps = events.into_iter().filter_map(|event| match event {
        Event::Prompt(blocks) => {
            (turn, running) = (turn + 1, true);
            Step::prompt(at, turn, new_id(), Json::parse(format!("[{}]", blocks.join(","))).unwrap()).ok()
        }
        Event::End => std::mem::take(&mut running).then(|| Step::turn_ended(at, turn, &TurnEnd::Interrupted)),
        Event::Update(update, audience, has_extra) => {
            let (update, now) =
                (Json::parse(update).unwrap(), if running { Turn::In(turn) } else { Turn::After(turn) });
            let id = ids.assign(now, UpdateKind::of(&update).unwrap(), &update, &mut new_id);
            let mut step = Step::update(at, now, update).unwrap().with_audience(audience);
            if has_extra {
                step = step.with_extra(Json::parse(r#"{"_meta":{"p":1}}"#).unwrap());
            }
            Some(match id {
                Some(id) => step.with_message_id(id),
                None => step,
            })
        }
    });
    numbered(steps.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_shows_the_same_conversation(events in proptest::collection::vec(event(), 0..40)) {
        let entries = record(events);
        let replayed = as_entries(&replay(&entries));
        prop_assert_eq!(told(View::of(&replayed)), told(View::of(&entries)));
    }

    #[test]
    fn replaying_a_replay_changes_nothing(events in proptest::collection::vec(event(), 0..40)) {
        let once = replay(&record(events));
        let texts = |replayed: &[Replayed]| replayed.iter().map(|one| one.params.clone()).collect::<Vec<_>>();
        prop_assert_eq!(texts(&replay(&as_entries(&once))), texts(&once));
    }

    #[test]
    fn every_update_with_something_of_its_own_is_in_the_replay(events in proptest::collection::vec(event(), 0..40)) {
        let entries = record(events);
        let replayed: Vec<Replayed> = replay(&entries);
        let replayed: String = replayed.iter().flat_map(|one| [one.params.as_str(), "\n"]).collect();
        let own = entries.iter().filter(|entry| entry.step.audience == Audience::Client
            && matches!(entry.step.kind, StepKind::Update(_)) && entry.step.body.as_str().contains("\"tone\":1.50"));
        // Notices are not history, the last of each state counts, and a call takes in its updates.
        let is_folded = |kind: UpdateKind| kind.is_state() || matches!(kind, UpdateKind::Notice | UpdateKind::ToolCall);
        let own = own.filter(|entry| !UpdateKind::of(&entry.step.body).is_some_and(is_folded));
        for entry in own {
            let text = entry.step.body.as_str();
            let text = text.split(",\"messageId\":null").next().unwrap();
            prop_assert!(replayed.contains(text.trim_end_matches('}')), "{text} is not in\n{replayed}");
        }
    }
}

/// The updates that a client is sent for `updates` in one turn, as text.
fn check(updates: &[&str], expected: &[&str]) {
    let events = updates.iter().map(|update| Event::Update((*update).to_owned(), Audience::Client, false));
    let entries = record(std::iter::once(Event::Prompt(Vec::new())).chain(events).collect());
    let replayed: Vec<String> = replay(&entries).iter().map(|one| one.update().unwrap().to_owned()).collect();
    assert_eq!(replayed, expected);
}

#[test]
fn chunks_of_a_message_are_joined_across_tool_progress_and_state() {
    check(
        &[
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","status":"pending"}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[]}"#,
            r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b\n"}}"#,
        ],
        &[
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","status":"completed","content":[]}"#,
            r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ab\n"},"messageId":"ours-2"}"#,
            r#"{"sessionUpdate":"usage_update","used":1,"size":2}"#,
        ],
    );
}

#[test]
fn an_update_with_meta_keeps_its_place_and_the_final_state_is_still_last() {
    check(
        &[
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","_meta":{"a":1}}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress"}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","_meta":{"b":2}}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":1}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}"#,
        ],
        &[
            r#"{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","_meta":{"a":1},"status":"in_progress"}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","_meta":{"b":2}}"#,
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"t","rawOutput":1,"status":"completed"}"#,
        ],
    );
}

#[test]
fn the_last_plan_of_a_turn_comes_once_at_its_end() {
    check(
        &[
            r#"{"sessionUpdate":"plan","entries":[]}"#,
            r#"{"sessionUpdate":"plan","entries":[{"content":"x"}]}"#,
            r#"{"sessionUpdate":"weather_update"}"#,
        ],
        &[r#"{"sessionUpdate":"weather_update"}"#, r#"{"sessionUpdate":"plan","entries":[{"content":"x"}]}"#],
    );
}

#[test]
fn a_prompt_comes_block_by_block_as_it_was_sent() {
    let blocks = [r#"{"type":"text","text":"a"}"#, r#"{"type":"text","text":"b"}"#, r#"{"type":"image","data":"A"}"#];
    let entries = record(vec![Event::Prompt(blocks.map(str::to_owned).to_vec())]);
    let replayed = replay(&entries);
    let sent: Vec<&str> = replayed.iter().map(|one| one.params.as_str()).collect();
    let chunk = |block| {
        format!(r#"{{"update":{{"sessionUpdate":"user_message_chunk","content":{block},"messageId":"ours-1"}}}}"#)
    };
    assert_eq!(sent, blocks.map(chunk));
}

#[test]
fn two_thousand_chunks_come_as_few_updates() {
    let chunk = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"word "}}"#;
    let entries = record((0..2_000).map(|_| Event::Update(chunk.to_owned(), Audience::Client, false)).collect());
    assert_eq!(replay(&entries).len(), 1);
}
