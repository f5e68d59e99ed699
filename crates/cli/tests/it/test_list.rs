//! `rejoin list`

use rejoin_store::{SessionStore, now};
use rejoin_transcript::{Fact, SessionId};

use crate::pty::{run_at_terminal, run_at_terminal_of};
use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["list"]), @"
    List sessions, the most recently used first

    Usage: rejoin list [OPTIONS]

    Options:
          --cwd [<DIR>]   Only sessions that work in DIR, or in the current folder
          --agent <NAME>  Only sessions of the agent NAME
          --archived      Show the archived sessions instead
          --limit <N>     Show at most N sessions; 0 for all [default: 50, or all with --json]
          --resume        Show the command with which a session goes on in its agent's own tool
          --json          Write a JSON array
      -h, --help          Print help

    Examples:
      rejoin list --cwd                   sessions of the current folder
      rejoin list --agent claude-code     sessions of one agent
      rejoin list --resume                how each goes on in its agent's own tool
      rejoin list --json                  all sessions, for a program
    --- exit 0
    ");
}

#[test]
fn without_sessions_a_hint_is_given_and_no_store_is_made() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    no sessions yet
    hint: begin one with `rejoin chat`, or take in those of other tools with `rejoin import --all`
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list", "--json"]), @"
    []
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list", "--agent", "robot"]), @"
    --- stderr
    no session fits
    hint: see all with `rejoin list`
    --- exit 0
    ");
    assert!(!world.store_path().exists());
}

#[test]
fn sessions_tell_how_they_go_on_in_their_own_tool() {
    let world = World::with_sample();
    Transcript::new("one").prompt("hello").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["list", "--resume"]), @"
    ID        TITLE                             RESUME WITH
    5e7d0c41  Keep the time zone in parse_date  claude --resume 0d1f4d7e-5b7c-4c1e-9a53-7b6a2a0f9c11
    one       hello
    --- exit 0
    ");
}

#[test]
fn the_table_holds_the_newest_first_with_ids_that_tell_them_apart() {
    let world = World::new();
    Transcript::new("aaaaaaaa01").prompt("Paint the fence\nwith green colour").end_well().import(&world);
    Transcript::new("aaaaaaaa02")
        .at(now().plus_millis(-190_000))
        .in_folder(&world.path("home/garden"))
        .prompt("東京の天気")
        .say("晴れ")
        .end_well()
        .import(&world);

    insta::assert_snapshot!(world.run(&["list"]), @"
    ID          TITLE            AGENT  FOLDER    UPDATED     MSGS
    aaaaaaaa02  東京の天気       robot  ~/garden  3 min ago      2
    aaaaaaaa01  Paint the fence  robot  /src/app  2024-05-06     1
    --- exit 0
    ");
}

#[test]
fn json_rows_hold_what_is_known() {
    insta::assert_snapshot!(World::with_sample().run(&["list", "--json"]), @r#"
    [
      {
        "sessionId": "5e7d0c41b9f24a86a3d1c08f62e94b75",
        "cwd": "/home/mira/almanac",
        "title": "Keep the time zone in parse_date",
        "updatedAt": "2025-11-04T09:20:49.940Z",
        "createdAt": "2025-11-04T09:14:00.000Z",
        "agent": "claude-code",
        "messages": 6,
        "turns": 3,
        "hasErrors": false,
        "archived": false,
        "cost": {
          "amount": 0.07,
          "currency": "USD"
        },
        "resumeCommand": "claude --resume 0d1f4d7e-5b7c-4c1e-9a53-7b6a2a0f9c11"
      }
    ]
    --- exit 0
    "#);
}

#[test]
fn a_list_can_be_of_one_folder_or_one_agent() {
    let world = World::new();
    Transcript::new("here").in_folder(&world.path("home")).prompt("one").end_well().import(&world);
    let mut elsewhere = Transcript::new("elsewhere").prompt("two").end_well();
    elsewhere.session.facts.agent.name = "other".to_owned();
    elsewhere.import(&world);
    let list = |args: &[&str]| {
        let listed = world.command(&[&["list"], args].concat()).current_dir(world.path("home")).output().unwrap();
        String::from_utf8(listed.stdout).unwrap()
    };

    insta::assert_snapshot!(list(&["--cwd"]), @"
    ID    TITLE  AGENT  FOLDER  UPDATED     MSGS
    here  one    robot  ~       2024-05-06     1
    ");
    insta::assert_snapshot!(list(&["--cwd", "/src/app/"]), @"
    ID        TITLE  AGENT  FOLDER    UPDATED     MSGS
    elsewher  two    other  /src/app  2024-05-06     1
    ");
    insta::assert_snapshot!(list(&["--agent", "other"]), @"
    ID        TITLE  AGENT  FOLDER    UPDATED     MSGS
    elsewher  two    other  /src/app  2024-05-06     1
    ");
}

#[tokio::test]
async fn archived_sessions_have_a_list_of_their_own() {
    let world = World::new();
    Transcript::new("away").prompt("one").end_well().import(&world);
    let id = SessionId::parse("away").unwrap();
    world.store().tell(&id, vec![Fact::Archived(true)]).await.unwrap();

    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    no sessions yet
    hint: begin one with `rejoin chat`, or take in those of other tools with `rejoin import --all`
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list", "--archived"]), @"
    ID    TITLE  AGENT  FOLDER    UPDATED     MSGS
    away  one    robot  /src/app  2024-05-06     1
    --- exit 0
    ");
}

#[test]
fn a_list_is_as_long_as_asked_for() {
    let world = World::new();
    for number in 1..=3 {
        let at = format!("2024-01-01T00:0{number}:00Z").parse().unwrap();
        Transcript::new(&format!("session-{number}")).at(at).prompt("hello").end_well().import(&world);
    }

    insta::assert_snapshot!(world.run(&["list", "--limit", "2"]), @"
    ID         TITLE  AGENT  FOLDER    UPDATED     MSGS
    session-3  hello  robot  /src/app  2024-01-01     1
    session-2  hello  robot  /src/app  2024-01-01     1
    --- stderr
    there are more than 2 sessions
    hint: show all with `--limit 0`
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list", "--limit", "0"]), @"
    ID         TITLE  AGENT  FOLDER    UPDATED     MSGS
    session-3  hello  robot  /src/app  2024-01-01     1
    session-2  hello  robot  /src/app  2024-01-01     1
    session-1  hello  robot  /src/app  2024-01-01     1
    --- exit 0
    ");
}

#[test]
fn a_short_id_means_one_session_among_those_that_are_not_shown_too() {
    let world = World::new();
    for (number, id) in ["0198c0de-1111", "0198c0de-1122", "0198c0de-2222"].into_iter().enumerate() {
        let at = format!("2024-01-01T00:0{number}:00Z").parse().unwrap();
        Transcript::new(id).at(at).prompt("hello").end_well().import(&world);
    }
    assert_eq!(world.run(&["archive", "0198c0de-2222"]).code, Some(0));

    insta::assert_snapshot!(world.run(&["list", "--limit", "1"]), @"
    ID            TITLE  AGENT  FOLDER    UPDATED     MSGS
    0198c0de-112  hello  robot  /src/app  2024-01-01     1
    --- stderr
    there are more than 1 session
    hint: show all with `--limit 0`
    --- exit 0
    ");
    assert_eq!(world.run(&["show", "0198c0de-112"]).code, Some(0));
}

#[test]
fn what_sessions_cost_is_shown_where_it_is_known() {
    let world = World::with_sample();
    Transcript::new("free").prompt("hello").end_well().import(&world);
    insta::assert_snapshot!(world.run(&["list"]), @"
    ID        TITLE                             AGENT        FOLDER              UPDATED     MSGS   COST
    5e7d0c41  Keep the time zone in parse_date  claude-code  /home/mira/almanac  2025-11-04     6  $0.07
    free      hello                             robot        /src/app            2024-05-06     1
    --- exit 0
    ");
}

#[test]
fn a_table_fits_the_terminal_and_stays_in_line_whatever_the_titles_hold() {
    let world = World::with_sample();
    let at = "2025-12-31T00:00:00Z".parse().unwrap();
    for (id, title) in [
        ("wide", "東京都庁の展望室から富士山が見える日の天気と気温"),
        ("evil", "\u{1b}]0;pwned\u{7}\u{1b}[2J\u{202e}detrevni\u{202c} title\u{9b}31m"),
        ("emoji", "👩‍👩‍👧‍👦 family 🏳️‍🌈 flag é combined"),
        ("none", "\u{0}"),
    ] {
        Transcript::new(id)
            .at(at)
            .in_folder("/a/very/long/folder/name/of/a/project".as_ref())
            .prompt(title)
            .end_well()
            .import(&world);
    }
    let mut command = world.command(&["list"]);
    command.env("NO_COLOR", "1");

    let (code, seen) = run_at_terminal(command, "");

    assert_eq!(code, Some(0));
    insta::assert_snapshot!(seen, @"
    ID        TITLE                  AGENT      FOLDER       UPDATED     MSGS   COST
    none      (no title)             robot      …/a/project  2025-12-31     1
    emoji     👩‍👩‍👧‍👦 family 🏳️‍🌈 flag é…   robot      …/a/project  2025-12-31     1
    evil      ]0;pwned [2J�detrevn…  robot      …/a/project  2025-12-31     1
    wide      東京都庁の展望室から…  robot      …/a/project  2025-12-31     1
    5e7d0c41  Keep the time zone i…  claude-c…  …ra/almanac  2025-11-04     6  $0.07
    ");
}

#[test]
fn in_a_narrow_terminal_the_titles_stay() {
    let world = World::with_sample();
    let seen = |width| {
        let mut command = world.command(&["list"]);
        command.env("NO_COLOR", "1");
        run_at_terminal_of(width, command, "").1
    };
    insta::assert_snapshot!(seen(60), @"
    ID        TITLE                      UPDATED     MSGS   COST
    5e7d0c41  Keep the time zone in pa…  2025-11-04     6  $0.07
    ");
    insta::assert_snapshot!(seen(40), @"
    ID        TITLE
    5e7d0c41  Keep the time zone in parse_d…
    ");
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let world = World::with_sample();
    let seen = |env: &[(&str, &str)]| {
        let mut command = world.command(&["list"]);
        command.env("TERM", "xterm").envs(env.iter().copied());
        run_at_terminal(command, "").1
    };
    assert!(seen(&[]).contains('\u{1b}'));
    assert!(!seen(&[("NO_COLOR", "1")]).contains('\u{1b}'));
}
