//! `rejoin import`

use std::fs;

use rejoin_store::{Owner, SessionStore, now};
use rejoin_transcript::{Fact, Json, SessionId};
use serde_json::json;

use crate::test_built_in::Client;
use crate::world::{SAMPLE, SAMPLE_ID, Transcript, World};

#[test]
fn the_sample_is_imported_shown_and_exported_byte_for_byte() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["import", SAMPLE]), @"
    imported 5e7d0c41b9f24a86a3d1c08f62e94b75  Keep the time zone in parse_date
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["show", "5e7d"]), @r#"
    # Keep the time zone in parse_date

    - session: 5e7d0c41b9f24a86a3d1c08f62e94b75
    - agent: claude-code 0.16.2
    - folder: /home/mira/almanac
    - created: 2025-11-04 09:14
    - updated: 2025-11-04 09:20
    - messages: 6 in 3 turns
    - cost: $0.07
    - resume: claude --resume 0d1f4d7e-5b7c-4c1e-9a53-7b6a2a0f9c11

    ## Turn 1  2025-11-04 09:15

    ### You

    `parse_date` drops the time zone: "2025-11-04T09:00:00+02:00" comes back without an offset. Why?
    [date.py](file:///home/mira/almanac/src/date.py)

    ### claude-code

    > The offset goes missing somewhere between the split and the constructor. Let me read the parser b…

    - Read src/date.py (completed)

    The parser keeps only the first eight characters of the clock, so `+02:00` is cut off:

    ```python
    clock = clock[:8]
    ```

    `datetime.fromisoformat` reads offsets by itself since Python 3.11, so the cut is no longer needed.

    ## Turn 2  2025-11-04 09:16

    ### You

    Fix it, and add a test for an offset.

    ### claude-code

    - Edit src/date.py (completed)
      diff src/date.py
    - Edit tests/test_date.py (completed)
      diff tests/test_date.py
    - pytest -q (completed)

    `parse_date` now hands the whole text to `datetime.fromisoformat`, and `test_an_offset_is_kept` guards it. All 14 tests pass.

    Plan

    - [x] Let `parse_date` keep the offset
    - [x] Test a date with an offset

    ## Turn 3  2025-11-04 09:20

    ### You

    Does this change what callers get for dates without an offset?

    ### claude-code

    > Without an offset fromisoformat gives a naive datetime, as before.

    No. A text without an offset still gives a naive `datetime`:

    | text | before | now |
    |---|---|---|
    | `2025-11-04T09:00:00` | naive | naive |
    | `2025-11-04T09:00:00+02:00` | naive, **wrong** | +02:00 |

    Code that compares the two kinds will raise `TypeError` now, where it used to be silently wrong.
    --- exit 0
    "#);
    assert_eq!(world.run(&["export", "5e7d"]).stdout, fs::read_to_string(SAMPLE).unwrap());
}

#[test]
fn a_session_that_is_there_already_is_skipped() {
    let world = World::with_sample();

    insta::assert_snapshot!(world.run(&["import", SAMPLE]), @"
    skipped 5e7d0c41b9f24a86a3d1c08f62e94b75  Keep the time zone in parse_date (is there already)
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["import", SAMPLE, "--json"]), @r#"
    {
      "sessionId": "5e7d0c41b9f24a86a3d1c08f62e94b75",
      "imported": false
    }
    --- exit 0
    "#);
}

#[test]
fn of_a_session_that_is_there_only_what_is_new_is_taken() {
    let world = World::new();
    // As an import leaves it that was killed between two batches.
    Transcript::new("grown").prompt("one").say("first").end_well().import(&world);
    let longer = Transcript::new("grown").prompt("one").say("first").end_well().prompt("two").say("second").end_well();
    insta::assert_snapshot!(world.run_with_input(&["import", "-"], &longer.export()), @"
    imported grown  one
    --- exit 0
    ");
    let exported = world.run(&["export", "grown"]);
    assert_eq!(exported.stdout, longer.export());
    insta::assert_snapshot!(world.run_with_input(&["import", "-"], &longer.export()), @"
    skipped grown  one (is there already)
    --- exit 0
    ");
}

#[test]
fn a_session_that_went_its_own_way_is_left_alone() {
    let world = World::new();
    Transcript::new("own").prompt("one").say("here").end_well().import(&world);
    let before = world.run(&["export", "own"]).stdout;
    let other = Transcript::new("own").prompt("one").say("elsewhere").end_well().prompt("two").end_well();
    insta::assert_snapshot!(world.run_with_input(&["import", "-"], &other.export()), @"
    skipped own  one (is there already)
    --- exit 0
    ");
    assert_eq!(world.run(&["export", "own"]).stdout, before);
}

#[test]
fn json_names_the_session_of_the_one_file() {
    insta::assert_snapshot!(World::new().run(&["import", SAMPLE, "--json"]), @r#"
    {
      "sessionId": "5e7d0c41b9f24a86a3d1c08f62e94b75",
      "imported": true
    }
    --- exit 0
    "#);
}

#[test]
fn of_several_files_the_good_ones_are_imported_and_the_others_named() {
    let world = World::with_sample();
    let good = world.write("good.jsonl", &Transcript::new("good").prompt("hello").end_well().export());
    let other = world.write("other.jsonl", "{\"type\":\"user\"}\n");

    let files = [SAMPLE, &good, &other, "missing.jsonl"];
    insta::assert_snapshot!(world.run(&[&["import", "--json"], files.as_slice()].concat()), @r#"
    {
      "imported": [
        "good"
      ],
      "skipped": [
        "5e7d0c41b9f24a86a3d1c08f62e94b75"
      ],
      "failed": [
        {
          "file": "[WORLD]/other.jsonl",
          "error": "[WORLD]/other.jsonl is not a transcript that can be imported: line 1 is not the header of an exported transcript"
        },
        {
          "file": "missing.jsonl",
          "error": "missing.jsonl can't be read: No such file or directory (os error 2)"
        }
      ]
    }
    --- stderr
    error: [WORLD]/other.jsonl is not a transcript that can be imported
    caused by: line 1 is not the header of an exported transcript
    hint: import takes what `rejoin export ID` writes, and histories of claude-code, codex, gemini, opencode
    error: missing.jsonl can't be read
    caused by: No such file or directory (os error 2)
    --- exit 1
    "#);
    insta::assert_snapshot!(world.run(&[&["import"], files.as_slice()].concat()), @"
    skipped 5e7d0c41b9f24a86a3d1c08f62e94b75  Keep the time zone in parse_date (is there already)
    skipped good  hello (is there already)
    --- stderr
    error: [WORLD]/other.jsonl is not a transcript that can be imported
    caused by: line 1 is not the header of an exported transcript
    hint: import takes what `rejoin export ID` writes, and histories of claude-code, codex, gemini, opencode
    error: missing.jsonl can't be read
    caused by: No such file or directory (os error 2)
    --- exit 1
    ");
}

#[test]
fn a_file_that_breaks_off_leaves_nothing_behind() {
    let world = World::new();
    let whole = Transcript::new("torn").prompt("hello").say("a").say("b").end_well().export();
    let torn = world.write("torn.jsonl", &whole[..whole.len() - 40]);

    insta::assert_snapshot!(world.run(&["import", &torn]), @"
    --- stderr
    error: [WORLD]/torn.jsonl is not a transcript that can be imported
    caused by: line 5 is not an entry of a transcript
    caused by: EOF while parsing a string at line 1 column 99
    hint: import takes what `rejoin export ID` writes, and histories of claude-code, codex, gemini, opencode
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["show", "torn"]), @"
    --- stderr
    error: there is no session `torn`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
}

#[test]
fn standard_input_is_a_file_too() {
    let world = World::new();
    let file = Transcript::new("piped").prompt("hello").end_well().export();

    insta::assert_snapshot!(world.run_with_input(&["import", "-"], &file), @"
    imported piped  hello
    --- exit 0
    ");
}

#[test]
fn a_turn_that_was_running_is_closed_as_interrupted() {
    let world = World::new();
    Transcript::new("cut")
        .prompt("run the tests")
        .update(r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"cargo test","status":"in_progress"}"#)
        .import(&world);

    insta::assert_snapshot!(world.run(&["show", "cut"]), @"
    # run the tests

    - session: cut
    - agent: robot
    - folder: /src/app
    - created: 2024-05-06 07:08
    - updated: 2024-05-06 07:08
    - messages: 1 in 1 turn

    ## Turn 1  2024-05-06 07:08

    ### You

    run the tests

    ### robot

    - cargo test (failed)

    interrupted
    --- exit 0
    ");
}

#[tokio::test]
async fn an_import_gives_back_the_same_session() {
    let (from, to) = (World::new(), World::new());
    let options = r#"[{"id":"tone","currentValue":"dry","type":"select","options":[]}]"#;
    let options_update = format!(r#"{{"sessionUpdate":"config_option_update","configOptions":{options}}}"#);
    Transcript::new("source")
        .prompt("hello")
        .update(&options_update)
        .update(r#"{"sessionUpdate":"current_mode_update","currentModeId":"ask"}"#)
        .update(r#"{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","description":"b"}]}"#)
        .update(r#"{"sessionUpdate":"session_info_update","title":"Agent's","_meta":{"k":1.50}}"#)
        .update(r#"{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":0.5,"currency":"EUR"}}"#)
        .say("hi")
        .end_well()
        .import(&from);
    let (source, fork) = (SessionId::parse("source").unwrap(), SessionId::parse("fork").unwrap());
    let store = from.store();
    let json = |text: &str| Some(Json::parse(text).unwrap());
    let facts = vec![
        Fact::ManualTitle(Some("Mine".to_owned())),
        Fact::AdditionalDirectories(vec!["/lib".to_owned()]),
        Fact::Modes(json(r#"{"currentModeId":"code","availableModes":[]}"#)),
        Fact::Models(json(r#"{"currentModelId":"big","availableModels":[]}"#)),
        Fact::ConfigOptions(json("[]")),
        Fact::AvailableCommands(None),
        Fact::Archived(true),
    ];
    store.fork(&source, store.head(&source).await.unwrap(), fork.clone(), now(), facts).await.unwrap();

    for id in [source, fork] {
        let file = to.write("exported.jsonl", &from.run(&["export", id.as_str()]).stdout);
        let done = to.run(&["import", &file]);
        assert_eq!(done.code, Some(0), "{done}");
        let (mut exported, imported) = (store.session(&id).await.unwrap(), to.store().session(&id).await.unwrap());
        // All of it came by an import there.
        exported.facts.imported = to.store().head(&id).await.unwrap();
        assert_eq!(imported, exported);
    }
}

#[test]
fn an_imported_session_begins_in_ask_whatever_mode_it_was_in() {
    let world = World::new();
    let mut client = Client::start_with(&world, &[]);
    let session = client.new_session(&world, &json!([]));
    client.prompt(&session, "hello");
    client.prompt(&session, "/mode code");
    client.acp.end();
    let exported = world.run(&["export", &session]).stdout;
    let here = world.write("exported.jsonl", &exported);
    assert_eq!(world.run(&["delete", &session, "--yes"]).code, Some(0));
    assert_eq!(world.run(&["import", &here]).code, Some(0));

    let mut client = Client::start_with(&world, &[]);
    let params = json!({ "sessionId": session, "cwd": world.path("home"), "mcpServers": [] });
    client.call("session/load", &params);

    assert_eq!(client.prompt(&session, "/mode"), "The mode is ask.\n");
    client.prompt(&session, "/mode code");
    client.acp.end();
    let mut client = Client::start_with(&world, &[]);
    client.call("session/load", &params);
    assert_eq!(client.prompt(&session, "/mode"), "The mode is code.\n", "what the user chose here stays");
    client.acp.end();
}

#[tokio::test]
async fn an_imported_session_is_free_to_be_used() {
    let world = World::with_sample();
    let session = SessionId::parse(SAMPLE_ID).unwrap();

    let lease = world.store().acquire(&session, &Owner::this_process()).await.unwrap();

    assert_eq!((lease.head.get(), lease.unfinished_since), (33, None));
}
