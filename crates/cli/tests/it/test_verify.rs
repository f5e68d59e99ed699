//! `rejoin verify`

use std::fs;

use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["verify"]), @"
    Check the store for damage

    Usage: rejoin verify [OPTIONS]

    Options:
          --json  Write a JSON object
      -h, --help  Print help

    Reads every stored byte that has a checksum, and checks that nothing is missing and that everything
    belongs to a session. Exit code 1 says that something is damaged.

    Examples:
      rejoin verify
      rejoin --store backup.db verify --json
    --- exit 0
    ");
}

#[test]
fn a_store_that_is_well_is_said_to_be() {
    insta::assert_snapshot!(World::with_sample().run(&["verify"]), @"
    1 session with 33 entries checked: nothing is damaged
    --- exit 0
    ");
    insta::assert_snapshot!(World::new().run(&["verify"]), @"
    0 sessions with 0 entries checked: nothing is damaged
    --- exit 0
    ");
}

#[test]
fn what_is_damaged_is_named() {
    let world = World::new();
    Transcript::new("hurt").prompt("hello").say("the quick brown fox").end_well().import(&world);
    world.spoil(b"\"text\":\"the quick");

    insta::assert_snapshot!(world.run(&["verify"]), @"
    session hurt, entry 2: is not what was written
    1 session with 3 entries checked: 1 damage found
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["verify", "--json"]), @r#"
    {
      "sessions": 1,
      "entries": 3,
      "damages": [
        {
          "sessionId": "hurt",
          "entry": 2,
          "what": "is not what was written"
        }
      ]
    }
    --- exit 1
    "#);
}

#[test]
fn a_store_that_can_not_even_be_opened_is_damaged() {
    let world = World::with_sample();
    let file = fs::read(world.store_path()).unwrap();
    fs::write(world.store_path(), &file[..5000]).unwrap();

    insta::assert_snapshot!(world.run(&["verify"]), @"
    the store's file: a page of it can't be read
    0 sessions with 0 entries checked: 1 damage found
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["list"]), @"
    --- stderr
    error: the store [WORLD]/home/.local/share/rejoin/sessions.db is damaged: a page of it can't be read
    hint: run `rejoin verify` to see which sessions are touched; the others stay usable
    --- exit 1
    ");
}
