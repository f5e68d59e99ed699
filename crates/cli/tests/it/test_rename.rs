//! `rejoin rename`

use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["rename"]), @"
    Give a session a title

    Usage: rejoin rename [OPTIONS] <ID> <TITLE>...

    Arguments:
      <ID>        The session's id, or a beginning of it that no other id has
      <TITLE>...  The title

    Options:
      -h, --help  Print help

    Your title stays, whatever the agent calls the session. This works while the session is in use
    elsewhere, too.

    Examples:
      rejoin rename 0c5f2a91 Fix the login page
    --- exit 0
    ");
}

#[test]
fn a_persons_title_is_one_line_and_moves_no_time() {
    let world = World::new();
    Transcript::new("one").prompt("hello").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["rename", "one", "Fix", "the\n\u{1b}[31mlogin", "頁"]), @"
    renamed one  Fix the [31mlogin 頁
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["list"]), @"
    ID   TITLE                 AGENT  FOLDER    UPDATED     MSGS
    one  Fix the [31mlogin 頁  robot  /src/app  2024-05-06     1
    --- exit 0
    ");
}

#[test]
fn a_title_that_can_not_be_seen_is_refused() {
    let world = World::new();
    Transcript::new("one").prompt("hello").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["rename", "one", " \n"]), @"
    --- stderr
    error: the title is empty
    hint: write at least one character that can be seen
    --- exit 2
    ");
    insta::assert_snapshot!(world.run(&["rename", "nope-123", "title"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
}
