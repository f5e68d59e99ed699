//! `rejoin gc`

use rejoin_store::{SessionStore, now};
use rejoin_transcript::Timestamp;

use crate::pty::run_at_terminal;
use crate::world::{Transcript, World};

/// Three sessions: of 2023, of 2022, and of now; and two that were never prompted, one of them of now.
async fn filled() -> World {
    let world = World::new();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    for (id, at) in [("old", at("2023-01-02T03:04:05Z")), ("older", at("2022-01-02T03:04:05Z")), ("new", now())] {
        Transcript::new(id).at(at).prompt(&format!("this is {id}")).say(&"x".repeat(1_000)).end_well().import(&world);
    }
    let store = world.store();
    for (id, at) in [("empty-old", at("2023-01-02T03:04:05Z")), ("empty-new", now())] {
        store.create(Transcript::new(id).at(at).session).await.unwrap();
    }
    world
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["gc"]), @"
    Remove old sessions

    Usage: rejoin gc [OPTIONS]

    Options:
          --older-than <TIME>  Remove sessions that were not used for so long, such as 90d
          --max-size <SIZE>    Remove the oldest sessions until the others have at most so many bytes,
                               such as 2GiB
          --dry-run            Only show what would be removed
      -y, --yes                Do not ask
          --json               Write a JSON object
      -h, --help               Print help

    Sessions that were never prompted are removed too, when they are older than `empty_session_limit`.
    Archived sessions are sessions like the others. A session whose turn is running is kept, and agents
    keep their own copies. With its index the store takes some more bytes than its sessions. The limits
    can be settings: `gc_older_than` and `gc_max_size`.

    Examples:
      rejoin gc --older-than 90d --dry-run    what would be removed
      rejoin gc --older-than 90d              sessions that were not used for 90 days
      rejoin gc --max-size 2GiB --yes         the oldest, until the others have at most 2 GiB
    --- exit 0
    ");
}

#[tokio::test]
async fn what_is_old_is_removed_and_can_be_seen_before() {
    let world = filled().await;

    insta::assert_snapshot!(world.run(&["gc", "--older-than", "90d", "--dry-run"]), @"
    ID     TITLE          UPDATED        SIZE
    older  this is older  2022-01-02  1.7 KiB
    old    this is old    2023-01-02  1.6 KiB
    would remove 2 sessions with 3.3 KiB, and 1 session never prompted
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["gc", "--older-than", "90d", "--dry-run", "--json"]), @r#"
    {
      "dryRun": true,
      "removed": [
        {
          "sessionId": "older",
          "title": "this is older",
          "updatedAt": "2022-01-02T03:04:05.000Z",
          "bytes": 1695
        },
        {
          "sessionId": "old",
          "title": "this is old",
          "updatedAt": "2023-01-02T03:04:05.000Z",
          "bytes": 1689
        }
      ],
      "empty": 1
    }
    --- exit 0
    "#);
    insta::assert_snapshot!(world.run(&["gc", "--older-than", "90d", "--yes"]), @"
    ID     TITLE          UPDATED        SIZE
    older  this is older  2022-01-02  1.7 KiB
    old    this is old    2023-01-02  1.6 KiB
    removed 2 sessions with 3.3 KiB, and 1 session never prompted
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["gc", "--older-than", "90d", "--yes"]), @"
    nothing to remove
    --- exit 0
    ");
    assert!(world.run(&["list"]).stdout.contains("this is new"));
}

#[tokio::test]
async fn the_oldest_go_until_the_others_are_small_enough() {
    let world = filled().await;
    insta::assert_snapshot!(world.run(&["gc", "--max-size", "4KiB", "--dry-run"]), @"
    ID     TITLE          UPDATED        SIZE
    older  this is older  2022-01-02  1.7 KiB
    would remove 1 session with 1.7 KiB, and 1 session never prompted
    --- exit 0
    ");
}

#[tokio::test]
async fn without_limits_only_sessions_that_were_never_prompted_go() {
    let world = filled().await;
    insta::assert_snapshot!(world.run(&["gc", "--yes"]), @"
    removed 1 session never prompted
    --- stderr
    hint: no limit is set: name one with `--older-than 90d` or `--max-size 2GiB`
    --- exit 0
    ");
}

#[tokio::test]
async fn the_limits_can_be_settings_of_the_user_and_not_of_a_project() {
    let world = filled().await;
    world.write("home/app/.rejoin.toml", "gc_max_size = 1\n");
    insta::assert_snapshot!(world.run_in("home/app", &[], &["gc", "--dry-run"]), @"
    would remove 1 session never prompted
    --- stderr
    warning: [WORLD]/home/app/.rejoin.toml is not trusted; ignored in it: gc_max_size
    hint: look at the file, then take them with `rejoin config trust`
    hint: no limit is set: name one with `--older-than 90d` or `--max-size 2GiB`
    --- exit 0
    ");
    world.write("home/.config/rejoin/config.toml", "gc_older_than = '700 days'\n");
    insta::assert_snapshot!(world.run_in("home", &[], &["gc", "--dry-run"]), @"
    ID     TITLE          UPDATED        SIZE
    older  this is older  2022-01-02  1.7 KiB
    old    this is old    2023-01-02  1.6 KiB
    would remove 2 sessions with 3.3 KiB, and 1 session never prompted
    --- exit 0
    ");
    let all = world.run_in("home", &[("REJOIN_GC_MAX_SIZE", "1B")], &["gc", "--dry-run"]).stdout;
    assert!(all.ends_with("would remove 3 sessions with 5.0 KiB, and 1 session never prompted\n"), "{all}");
}

#[tokio::test]
async fn at_a_terminal_it_shows_what_goes_and_asks() {
    let world = filled().await;
    let mut command = world.command(&["gc", "--older-than", "90d"]);
    command.env("NO_COLOR", "1");

    let (code, seen) = run_at_terminal(command, "n\n");

    insta::assert_snapshot!(format!("{}--- exit {}", seen.replace("n\n", "\n"), code.unwrap()), @"

    ID     TITLE          UPDATED        SIZE
    older  this is older  2022-01-02  1.7 KiB
    old    this is old    2023-01-02  1.6 KiB
    Remove 2 sessions with 3.3 KiB, and 1 session never prompted for good? [y/N] --- exit 1
    ");
    assert!(world.run(&["list"]).stdout.contains("this is old"));
    insta::assert_snapshot!(world.run(&["gc", "--older-than", "90d"]), @"
    --- stderr
    error: nobody is there to be asked whether this is wanted, and it can't be undone
    hint: add `--yes`, if it is wanted
    --- exit 2
    ");
}

#[test]
fn a_limit_that_is_none_is_a_usage_error() {
    insta::assert_snapshot!(World::new().run(&["gc", "--older-than", "soon"]), @r#"
    --- stderr
    error: invalid value 'soon' for '--older-than <TIME>': write a time above zero, like "5s", "15 min" or "1 day", or a number of seconds

    For more information, try '--help'.
    --- exit 2
    "#);
    insta::assert_snapshot!(World::new().run(&["gc", "--max-size", "2 potatoes"]), @r#"
    --- stderr
    error: invalid value '2 potatoes' for '--max-size <SIZE>': write an amount above zero, like "32KiB", "1MiB" or "2GiB", or a number of bytes

    For more information, try '--help'.
    --- exit 2
    "#);
}
