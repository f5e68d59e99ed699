//! `rejoin archive`, `rejoin unarchive`

use crate::world::{Transcript, World};

#[test]
fn help() {
    let world = World::new();
    insta::assert_snapshot!(world.help(&["archive"]), @"
    Take sessions out of the list

    Usage: rejoin archive [OPTIONS] <ID>...

    Arguments:
      <ID>...  The sessions' ids, or beginnings of them that no other ids have

    Options:
      -h, --help  Print help

    An archived session is kept, found by `rejoin search` and can be used as before.

    Examples:
      rejoin archive 0c5f2a91 5e7d0c41
      rejoin list --archived              the archived ones
    --- exit 0
    ");
    insta::assert_snapshot!(world.help(&["unarchive"]), @"
    Put archived sessions back into the list

    Usage: rejoin unarchive [OPTIONS] <ID>...

    Arguments:
      <ID>...  The sessions' ids, or beginnings of them that no other ids have

    Options:
      -h, --help  Print help

    Examples:
      rejoin unarchive 0c5f2a91
    --- exit 0
    ");
}

#[test]
fn sessions_leave_the_list_and_come_back() {
    let world = World::new();
    for id in ["one", "two", "three"] {
        Transcript::new(id).prompt(&format!("this is {id}")).end_well().import(&world);
    }

    insta::assert_snapshot!(world.run(&["archive", "one", "three", "one"]), @"
    archived one  this is one
    archived three  this is three
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list"]), @"
    ID   TITLE        AGENT  FOLDER    UPDATED     MSGS
    two  this is two  robot  /src/app  2024-05-06     1
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["unarchive", "three"]), @"
    unarchived three  this is three
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list", "--archived"]), @"
    ID   TITLE        AGENT  FOLDER    UPDATED     MSGS
    one  this is one  robot  /src/app  2024-05-06     1
    --- exit 0
    ");
}

#[test]
fn if_one_id_is_unknown_nothing_is_done() {
    let world = World::new();
    Transcript::new("one").prompt("hello").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["archive", "one", "nope-123"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    assert_eq!(world.run(&["list", "--archived", "--json"]).stdout, "[]\n");
}
