//! `rejoin search`

use crate::world::{Transcript, World};

fn world() -> World {
    let world = World::new();
    Transcript::new("zebra").prompt("Tell me of zebras").say("The zebra sleeps.").end_well().import(&world);
    Transcript::new("otter").prompt("And of otters?").say("It swims past a zebra.").end_well().import(&world);
    world
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["search"]), @r#"
    Find sessions by the words in them

    Usage: rejoin search [OPTIONS] <TEXT>...

    Arguments:
      <TEXT>...  What to search for

    Options:
          --newest     Show what was said last first, instead of what fits best
          --limit <N>  Show at most N sessions; 0 for all [default: 20, or all with --json]
          --json       Write a JSON array
      -h, --help       Print help

    All words must be there, in any order, in what was said or in the title. Of what fits, the newest
    thousand passages count.

    Examples:
      rejoin search time zone             both words
      rejoin search '"time zone"'         the words together
      rejoin search 'migrat*'             a beginning of a word
    --- exit 0
    "#);
}

#[test]
fn what_fits_best_comes_first_with_the_words_around_it() {
    insta::assert_snapshot!(world().run(&["search", "zebra"]), @"
    zebra  Tell me of zebras  (1 match)
        The zebra sleeps.

    otter  And of otters?  (1 match)
        It swims past a zebra.
    --- exit 0
    ");
    insta::assert_snapshot!(world().run(&["search", "swims", "zebra"]), @"
    otter  And of otters?  (1 match)
        It swims past a zebra.
    --- exit 0
    ");
}

#[test]
fn that_there_is_more_is_said() {
    insta::assert_snapshot!(world().run(&["search", "zebra", "--limit", "1"]), @"
    zebra  Tell me of zebras  (1 match)
        The zebra sleeps.
    --- stderr
    there are more than 1 session
    hint: show all with `--limit 0`
    --- exit 0
    ");
    assert_eq!(world().run(&["search", "zebra", "--limit", "0"]).stdout, world().run(&["search", "zebra"]).stdout);
}

#[test]
fn json_tells_where_the_match_is() {
    insta::assert_snapshot!(world().run(&["search", "--newest", "--limit", "1", "--json", "zebra"]), @r#"
    [
      {
        "sessionId": "otter",
        "title": "And of otters?",
        "snippet": "It swims past a zebra.",
        "entry": 2,
        "hits": 1
      }
    ]
    --- exit 0
    "#);
}

#[test]
fn nothing_found_is_no_error() {
    insta::assert_snapshot!(world().run(&["search", "giraffe"]), @"
    --- stderr
    nothing found for `giraffe`
    hint: a beginning of a word is found with `wor*`
    --- exit 0
    ");
    insta::assert_snapshot!(World::new().run(&["search", "giraffe", "--json"]), @"
    []
    --- exit 0
    ");
}

#[test]
fn a_search_needs_a_word() {
    insta::assert_snapshot!(World::new().run(&["search", "?!"]), @"
    --- stderr
    error: `?!` holds no word to search for
    hint: give at least one word with a letter or digit in it
    --- exit 1
    ");
}
