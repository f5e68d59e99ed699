//! `rejoin show`

use std::io::Read;
use std::process::Stdio;

use rejoin_transcript::{Json, TurnEnd};

use crate::pty::run_at_terminal;
use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["show"]), @"
    Show a conversation

    Usage: rejoin show [OPTIONS] <ID>

    Arguments:
      <ID>  The session's id, or a beginning of it that no other id has

    Options:
          --tail <N>  Show only the last N turns
          --json      Write a JSON object with the updates that a load replays
          --raw       Write the stored entries, as `export` does
          --no-pager  Do not use a pager
      -h, --help      Print help

    At a terminal it is shown by the pager: that of REJOIN_PAGER, else of PAGER, else `less`.

    Examples:
      rejoin show 0c5f2a91                a session, by the beginning of its id
      rejoin show 0c5f2a91 --tail 1       its last turn
      rejoin show 0c5f2a91 --json         what a client gets when it loads the session
    --- exit 0
    ");
}

#[test]
fn every_kind_of_thing_in_a_conversation_is_shown() {
    let world = World::new();
    Transcript::new("all")
        .prompt("look at this")
        .update(r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":""}}"#)
        .update(r#"{"sessionUpdate":"weather_update","sky":"blue"}"#)
        .update(r#"{"sessionUpdate":"tool_call","toolCallId":"1","title":"slow build"}"#)
        .update(r#"{"sessionUpdate":"plan","entries":[{"content":"first","status":"completed"},{"content":"second","status":"in_progress"},{"content":"third","status":"pending"}]}"#)
        .end(&TurnEnd::Stopped { reason: "max_tokens".to_owned() })
        .prompt("and now?")
        .update(r#"{"sessionUpdate":"tool_call_update","toolCallId":"1","status":"failed"}"#)
        .say("\u{1b}[31mred")
        .end(&TurnEnd::Failed { error: Json::parse(r#"{"code":-32000,"message":"the key has expired"}"#).unwrap() })
        .prompt("still there?")
        .end(&TurnEnd::Interrupted)
        .import(&world);

    insta::assert_snapshot!(world.run(&["show", "all"]), @r#"
    # look at this

    - session: all
    - agent: robot
    - folder: /src/app
    - created: 2024-05-06 07:08
    - updated: 2024-05-06 07:08
    - messages: 5 in 3 turns

    ## Turn 1  2024-05-06 07:08

    ### You

    look at this

    ### robot

    [image image/png]

    - (update) {"sessionUpdate":"weather_update","sky":"blue"}
    - slow build (pending)

    Plan

    - [x] first
    - [~] second
    - [ ] third

    (stopped: max tokens)

    ## Turn 2  2024-05-06 07:08

    ### You

    and now?

    ### robot

    - slow build (failed)

    ␛[31mred

    error: the key has expired

    ## Turn 3  2024-05-06 07:08

    ### You

    still there?

    interrupted
    --- exit 0
    "#);
}

#[test]
fn json_is_the_row_with_the_updates_of_a_load() {
    let world = World::new();
    Transcript::new("one").prompt("hello").say("hi").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["show", "one", "--json"]), @r#"
    {"sessionId":"one","cwd":"/src/app","title":"hello","updatedAt":"2024-05-06T07:08:00.000Z","createdAt":"2024-05-06T07:08:00.000Z","agent":"robot","messages":2,"turns":1,"hasErrors":false,"archived":false,"updates":[
    {"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello"},"messageId":"prompt-1"},
    {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"answer-1"}]}
    --- exit 0
    "#);
}

#[test]
fn json_of_the_sample_can_be_read() {
    let shown = World::with_sample().run(&["show", "5e7d", "--json"]).stdout;

    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();

    assert_eq!(shown["cost"]["amount"], 0.07);
    let kinds: Vec<&str> =
        shown["updates"].as_array().unwrap().iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect();
    insta::assert_snapshot!(kinds.join("\n"), @"
    user_message_chunk
    user_message_chunk
    agent_thought_chunk
    tool_call
    agent_message_chunk
    user_message_chunk
    tool_call
    tool_call
    tool_call
    agent_message_chunk
    plan
    user_message_chunk
    agent_thought_chunk
    agent_message_chunk
    usage_update
    available_commands_update
    session_info_update
    ");
}

#[test]
fn raw_and_tail_show_the_entries_of_the_last_turns() {
    let world = World::new();
    Transcript::new("two").prompt("one").end_well().prompt("two").say("yes").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["show", "two", "--raw", "--tail", "1"]), @r#"
    {"number":3,"at":"2024-05-06T07:08:00.000Z","turn":2,"kind":"prompt","audience":"client","protocol":1,"messageId":"prompt-2","body":[{"type":"text","text":"two"}]}
    {"number":4,"at":"2024-05-06T07:08:00.000Z","turn":2,"kind":"update","audience":"client","protocol":1,"body":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"yes"},"messageId":"answer-3"}}
    {"number":5,"at":"2024-05-06T07:08:00.000Z","turn":2,"kind":"turn_ended","audience":"layer","protocol":1,"body":{"stopReason":"end_turn"}}
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["show", "two", "--tail", "1"]), @"
    # one

    - session: two
    - agent: robot
    - folder: /src/app
    - created: 2024-05-06 07:08
    - updated: 2024-05-06 07:08
    - messages: 3 in 2 turns

    ## Turn 2  2024-05-06 07:08

    ### You

    two

    ### robot

    yes
    --- exit 0
    ");
}

#[test]
fn an_id_may_be_shortened_while_it_fits_one_session_only() {
    let world = World::new();
    for id in ["abc1", "abc2"] {
        Transcript::new(id).prompt(id).end_well().import(&world);
    }

    assert_eq!(world.run(&["show", "abc1"]).code, Some(0));
    insta::assert_snapshot!(world.run(&["show", "abc"]), @"
    --- stderr
    error: `abc` fits 2 sessions
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["show", "abd"]), @"
    --- stderr
    error: there is no session `abd`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let world = World::new();
    let long = "All work and no play makes Jack a dull boy.\n".repeat(20_000);
    Transcript::new("long").prompt("write").say(&long).end_well().import(&world);
    let mut command = world.command(&["show", "long"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 10]).unwrap();

    let done = child.wait_with_output().unwrap();

    assert_eq!((done.status.code(), String::from_utf8(done.stderr).unwrap().as_str()), (Some(0), ""));
}

#[test]
fn at_a_terminal_it_goes_through_the_pager_that_the_user_wants() {
    let world = World::new();
    Transcript::new("one").prompt("hello").say("hi").end_well().import(&world);
    let seen = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = world.command(&[&["show", "one"], args].concat());
        command.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1").envs(env.iter().copied());
        let (code, seen) = run_at_terminal(command, "");
        assert_eq!(code, Some(0), "{seen}");
        seen.lines().next().unwrap_or_default().to_owned()
    };
    let (ours, others) = (("REJOIN_PAGER", "sed 's/^/ours: /'"), ("PAGER", "sed 's/^/others: /'"));

    assert_eq!(seen(&[], &[ours, others]), "ours: # hello");
    assert_eq!(seen(&[], &[others]), "others: # hello");
    assert_eq!(seen(&[], &[("PAGER", "cat")]), "# hello");
    assert_eq!(seen(&[], &[("PATH", "/does/not/exist")]), "# hello");
    assert_eq!(seen(&["--no-pager"], &[ours]), "# hello");
    assert_eq!(world.run_in("", &[ours], &["show", "one"]).stdout.lines().next(), Some("# hello"));
}

#[test]
fn a_pager_that_ends_early_is_no_error_and_one_that_is_not_there_is() {
    let world = World::new();
    let long = "All work and no play makes Jack a dull boy.\n".repeat(20_000);
    Transcript::new("long").prompt("write").say(&long).end_well().import(&world);
    let show = |pager| {
        let mut command = world.command(&["show", "long"]);
        command.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1").env("PAGER", pager);
        run_at_terminal(command, "")
    };

    assert_eq!(show("head -n 1"), (Some(0), "# write\n".to_owned()));
    let (code, seen) = show("exec /does/not/exist 2>/dev/null");
    insta::assert_snapshot!(format!("{seen}--- exit {}", code.unwrap()), @"
    error: the pager `exec /does/not/exist 2>/dev/null` can't be started
    caused by: entity not found
    hint: name another with REJOIN_PAGER, or use none with `--no-pager`
    --- exit 1
    ");
}
