//! `rejoin fork`

use rejoin_store::SessionStore;
use rejoin_transcript::SessionId;
use serde_json::Value;

use crate::world::{Transcript, World};

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["fork"]), @"
    Make another session that begins with what was said in this one

    Usage: rejoin fork [OPTIONS] <ID>

    Arguments:
      <ID>  The session's id, or a beginning of it that no other id has

    Options:
          --at <MESSAGE>  Take what was said up to the end of the turn with this message
          --json          Write a JSON object
      -h, --help          Print help

    A running turn is not part of the fork. The ids of messages are in `rejoin show ID --json`.

    Examples:
      rejoin fork 0c5f2a91
      rejoin fork 0c5f2a91 --at 7d1b…     up to the end of the turn with that message
    --- exit 0
    ");
}

#[test]
fn a_fork_has_the_same_history_and_goes_its_own_way() {
    let world = World::new();
    Transcript::new("one").prompt("hello").say("hi").end_well().import(&world);

    let forked: Value = serde_json::from_str(&world.run(&["fork", "one", "--json"]).stdout).unwrap();

    assert_eq!(forked["forkOf"], "one");
    let fork = forked["sessionId"].as_str().unwrap();
    let updates = |id: &str| {
        let shown: Value = serde_json::from_str(&world.run(&["show", id, "--json"]).stdout).unwrap();
        shown["updates"].clone()
    };
    assert_eq!(updates(fork), updates("one"));
    assert_eq!(world.run(&["delete", "one", "--yes"]).code, Some(0));
    assert_eq!(updates(fork).as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_fork_can_begin_at_an_earlier_message() {
    let world = World::new();
    Transcript::new("two").prompt("first").say("one").end_well().prompt("second").end_well().import(&world);

    let forked = world.run(&["fork", "two", "--at", "prompt-1"]).stdout;

    let (done, rest) = forked.split_once(' ').unwrap();
    let (id, title) = rest.split_once("  ").unwrap();
    assert_eq!((done, title), ("forked", "first\n"));
    let facts = world.store().session(&SessionId::parse(id).unwrap()).await.unwrap().facts;
    assert_eq!((facts.turns, facts.parent.unwrap().at.get()), (1, 3));
    insta::assert_snapshot!(world.run(&["fork", "two", "--at", "nobody's"]), @"
    --- stderr
    error: no message of an ended turn of session `two` has the id `nobody's`
    hint: see the ids of messages with `rejoin show two --json`
    --- exit 1
    ");
}

#[test]
fn an_unknown_id_makes_nothing() {
    let world = World::new();
    insta::assert_snapshot!(world.run(&["fork", "nope-123"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    assert!(!world.store_path().exists());
}
