//! `rejoin import` of other tools' histories, and how sessions go on in them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::world::World;

/// The file `name` that a real tool wrote, a year earlier, so that it is not of this month.
fn fixture(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../history/tests/fixtures/");
    fs::read_to_string(PathBuf::from(folder).join(name)).unwrap().replace("2026-11-17", "2025-11-17")
}

/// A world in whose home are the histories of three tools.
fn world_with_histories() -> World {
    let world = World::new();
    world.write("home/.claude/projects/-home-mira-almanac/ce5b5178.jsonl", &fixture("claude-code/session.jsonl"));
    world.write("home/.claude/projects/-home-mira-almanac/agent-1.jsonl", "{}");
    world.write("home/.codex/sessions/2026/11/17/rollout-1.jsonl", &fixture("codex/rollout-0.137.jsonl"));
    world.write("home/.gemini/tmp/almanac/chats/session-1.jsonl", &fixture("gemini/session.jsonl"));
    world
}

fn json(world: &World, args: &[&str]) -> Value {
    let done = world.run(&[args, &["--json"]].concat());
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn all_histories_on_the_machine_come_in_once() {
    let world = world_with_histories();

    insta::assert_snapshot!(world.run(&["import", "--all"]), @"
    imported 441e5f3e0b4a1ae119db91d5f8b79a50  Which colour is the door?
    imported a2893bb6f8ef05c728dd8f0266a60024  Which colour is the door?
    imported c194fc40190cc18fa5eafc4be957229b  Which colour is the door?
    3 imported, 0 skipped, 0 failed
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["import", "--all"]), @"
    0 imported, 3 skipped, 0 failed
    --- exit 0
    ");
}

#[test]
fn a_session_of_another_tool_is_shown_like_any_other() {
    let world = world_with_histories();
    let all = json(&world, &["import", "--from", "claude-code"]);

    insta::assert_snapshot!(world.run(&["show", all["imported"][0].as_str().unwrap()]), @r#"
    # Which colour is the door?

    - session: 441e5f3e0b4a1ae119db91d5f8b79a50
    - agent: claude-code 2.1.312
    - folder: /home/mira/almanac
    - created: 2025-11-17 23:44
    - updated: 2025-11-17 23:44
    - messages: 12 in 5 turns
    - resume: claude --resume ce5b5178-28f0-4a24-a4dd-ef386eb1051c

    ## Turn 1  2025-11-17 23:44

    ### You

    Which colour is the door?

    ### claude-code

    > The answer is in door.txt.

    I will look.

    - Read door.txt (completed)

    It is **blue**.

    ## Turn 2  2025-11-17 23:44

    ### You

    Paint it green.

    ### claude-code

    - Edit door.txt (completed)
      diff door.txt

    Now a note.

    - Write note.txt (completed)
      diff note.txt
    - grep "green" /home/mira/almanac (failed)
    - cat door.txt (completed)

    Done: the door is green.

    ## Turn 3  2025-11-17 23:44

    ### You

    [image image/png]
    What is in this picture?

    ### claude-code

    > A dot, and it is red.

    A red dot.

    ## Turn 4  2025-11-17 23:44

    ### You

    Make a plan.

    ### claude-code

    Here is the plan.

    Plan

    - [x] Open the tin
    - [~] Painting the door

    ## Turn 5  2025-11-17 23:44

    ### You

    Look nowhere, please.

    ### claude-code

    - ls nowhere (failed)

    There is no such folder.
    --- exit 0
    "#);
}

#[test]
fn times_folder_and_native_command_are_those_of_the_tool() {
    let world = world_with_histories();
    world.run(&["import", "--all"]);

    let rows = json(&world, &["list"]);
    let row = |row: &Value| {
        let text = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
        ["agent", "cwd", "createdAt", "updatedAt", "resumeCommand"].map(text).join(" ")
    };
    let mut rows: Vec<String> = rows.as_array().unwrap().iter().map(row).collect();
    rows.sort();
    insta::assert_snapshot!(rows.join("\n"), @"
    claude-code /home/mira/almanac 2025-11-17T23:44:19.749Z 2025-11-17T23:44:21.228Z claude --resume ce5b5178-28f0-4a24-a4dd-ef386eb1051c
    codex /home/mira/almanac 2025-11-17T23:45:25.262Z 2025-11-17T23:45:26.935Z codex resume 01a1ebe6-ab0e-75b2-a299-478fe1b1cacf
    gemini /home/mira/almanac 2025-11-17T23:46:01.759Z 2025-11-17T23:46:02.393Z gemini --resume 33fef423-e604-4890-8930-822cdd4e12d1
    ");
}

#[test]
fn what_can_not_be_read_is_counted_and_named_and_keeps_nothing_back() {
    let world = world_with_histories();
    let folder = "home/.claude/projects/-home-mira-almanac";
    world.write(&format!("{folder}/empty.jsonl"), "");
    world.write(&format!("{folder}/foreign.jsonl"), "{\"some\":\"thing\"}\n");
    world.write(&format!("{folder}/silent.jsonl"), "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n");
    let whole = fixture("claude-code/session.jsonl").replace("ce5b5178-28f0", "00000000-0000");
    world.write(&format!("{folder}/torn.jsonl"), &whole[..whole.len() / 2]);
    world.write(
        &format!("{folder}/damaged.jsonl"),
        &whole.replace("00000000", "11111111").replacen('\n', "\nnot a record\n", 9),
    );

    insta::assert_snapshot!(world.run(&["import", "--from", "claude-code"]), @"
    imported 441e5f3e0b4a1ae119db91d5f8b79a50  Which colour is the door?
    imported 2b9f25eaef21958739c2c9d873ccb9bf  Which colour is the door?
    imported 05f1e1e0d6053125b0d5b6a772a5bfe4  Which colour is the door?
    3 imported, 0 skipped, 3 failed
    --- stderr
    warning: [WORLD]/home/.claude/projects/-home-mira-almanac/damaged.jsonl: 9 lines could not be read
    warning: [WORLD]/home/.claude/projects/-home-mira-almanac/empty.jsonl is no history of claude-code
    warning: [WORLD]/home/.claude/projects/-home-mira-almanac/foreign.jsonl is no history of claude-code
    warning: [WORLD]/home/.claude/projects/-home-mira-almanac/silent.jsonl can't be imported: nothing was said in it
    --- exit 0
    ");
}

#[test]
fn only_what_was_used_since_then_is_taken() {
    let world = world_with_histories();

    assert_eq!(
        json(&world, &["import", "--all", "--since", "2025-11-17T23:45:00Z"])["imported"].as_array().unwrap().len(),
        2
    );
    insta::assert_snapshot!(world.run(&["import", "--all", "--since", "yesteryear"]), @r#"
    --- stderr
    error: "yesteryear" is no time
    hint: write a date like 2026-05-04, or an age like "7 days"
    --- exit 1
    "#);
}

#[test]
fn a_session_that_went_on_in_the_tool_goes_on_here() {
    let world = World::new();
    let whole = fixture("claude-code/session.jsonl");
    let half: String = whole.split_inclusive('\n').take(30).collect();
    let file = world.write("session.jsonl", &half);
    let first = json(&world, &["import", &file]);
    assert_eq!(first["imported"], true);
    let id = first["sessionId"].as_str().unwrap();
    let before = json(&world, &["show", id])["updates"].as_array().unwrap().len();

    world.write("session.jsonl", &whole);
    assert_eq!(json(&world, &["import", &file]), first);
    let after = json(&world, &["show", id]);
    assert!(after["updates"].as_array().unwrap().len() > before);
    let alone = World::new();
    let other = alone.write("session.jsonl", &whole);
    alone.run(&["import", &other]);
    let said = |shown: &Value| {
        let updates = shown["updates"].as_array().unwrap().iter();
        updates.filter_map(|update| update["content"]["text"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    assert_eq!(said(&after), said(&json(&alone, &["show", id])));
    assert_eq!(json(&world, &["import", &file])["imported"], false);
}

#[test]
fn a_folder_is_looked_through() {
    let world = World::new();
    world.write("old/laptop/a.jsonl", &fixture("claude-code/session.jsonl"));
    world.write("old/laptop/deep/b.jsonl", &fixture("codex/rollout-0.166.jsonl"));
    world.write("old/package.json", "{}");

    assert_eq!(json(&world, &["import", "old"])["imported"].as_array().unwrap().len(), 2);
    insta::assert_snapshot!(World::new().run(&["import", "--all"]), @"
    --- stderr
    no history was found
    hint: name a file: `rejoin import FILE`
    --- exit 0
    ");
}

#[test]
fn links_where_a_tool_keeps_its_files_are_followed_and_never_in_circles() {
    let world = World::new();
    world.write("elsewhere/ce5b5178.jsonl", &fixture("claude-code/session.jsonl"));
    let projects = world.path("home/.claude/projects");
    fs::create_dir_all(projects.join("-p")).unwrap();
    symlink(world.path("elsewhere"), projects.join("-linked")).unwrap();
    symlink(&projects, projects.join("-circle")).unwrap();
    symlink(world.path("nowhere"), projects.join("-p/gone.jsonl")).unwrap();

    insta::assert_snapshot!(world.run(&["import", "--all"]), @"
    imported 441e5f3e0b4a1ae119db91d5f8b79a50  Which colour is the door?
    1 imported, 0 skipped, 1 failed
    --- stderr
    warning: [WORLD]/home/.claude/projects/-p/gone.jsonl can't be read: No such file or directory (os error 2)
    --- exit 0
    ");
}

#[test]
fn what_another_program_writes_is_read_like_a_file() {
    let world = World::new();

    insta::assert_snapshot!(world.run_with_input(&["import", "/dev/fd/0"], &fixture("codex/rollout-0.137.jsonl")), @"
    imported a2893bb6f8ef05c728dd8f0266a60024  Which colour is the door?
    --- exit 0
    ");
}

#[test]
fn a_pipe_or_device_is_refused_at_once() {
    let world = World::new();
    let pipe = world.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Also where a tool would keep its database.
    let database = world.path("home/.local/share/opencode/opencode.db");
    fs::create_dir_all(database.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(&database).status().unwrap().success());

    insta::assert_snapshot!(world.run(&["import", pipe.to_str().unwrap()]), @"
    --- stderr
    error: [WORLD]/pipe is neither a file nor a folder
    hint: to import what another program writes, use its standard output: `COMMAND | rejoin import -`
    --- exit 1
    ");
    assert_eq!(world.run(&["import", "/dev/zero"]).code, Some(1));
    assert_eq!(world.run(&["import", "--all"]).code, Some(0));
}

#[test]
fn standard_input_may_hold_a_history() {
    let world = World::new();

    insta::assert_snapshot!(world.run_with_input(&["import", "-"], &fixture("codex/rollout-0.137.jsonl")), @"
    imported a2893bb6f8ef05c728dd8f0266a60024  Which colour is the door?
    --- exit 0
    ");
}

#[test]
fn whose_sessions_to_adopt_must_be_said() {
    insta::assert_snapshot!(World::new().run(&["adopt"]), @"
    --- stderr
    error: no agent is named
    hint: name its command behind `--`, or its name behind `--agent`
    --- exit 1
    ");
}
