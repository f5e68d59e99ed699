//! `rejoin delete`

use std::fs;

use rejoin_transcript::{AgentSession, FormerAgentSession};

use crate::pty::run_at_terminal;
use crate::world::{Transcript, World};

/// An agent that keeps a list of what it was told to delete.
const AGENT: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
  case "$line" in
    *'"initialize"'*) result='{"protocolVersion":1,"agentInfo":{"name":"robot","version":"2"},"agentCapabilities":{"sessionCapabilities":{"delete":{}}}}' ;;
    *) printf '%s\n' "$line" | sed 's/.*"sessionId":"\([^"]*\)".*/\1/' >> deleted.txt; result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// A session that the agent `robot` has a copy of.
fn with_copy(id: &str, copy: &str) -> Transcript {
    let mut transcript = Transcript::new(id).prompt(&format!("this is {id}")).say("hi").end_well();
    transcript.session.facts.agent_session = Some(AgentSession { id: copy.to_owned(), generation: 1, lacks: 0 });
    transcript
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["delete"]), @"
    Delete sessions for good

    Usage: rejoin delete [OPTIONS] <ID>... [-- <COMMAND>...]

    Arguments:
      <ID>...       The sessions' ids, or beginnings of them that no other ids have
      [COMMAND]...  The command that starts the sessions' agent, and its arguments, if the configuration
                    does not name it

    Options:
      -y, --yes   Do not ask
      -h, --help  Print help

    Nothing of them stays in the store's files; what a fork of them needs stays with the fork. A session
    whose turn is running is not deleted.

    Agents keep copies of their own. An agent that the configuration names, or whose COMMAND is given,
    is started and asked to delete its copies, if it can. Which stay is said.

    Examples:
      rejoin delete 0c5f2a91
      rejoin delete 0c5f2a91 5e7d0c41 --yes
      rejoin delete 0c5f2a91 -- claude-agent-acp
    --- exit 0
    ");
}

#[test]
fn deleted_sessions_are_gone_from_the_files_too() {
    let world = World::new();
    for id in ["one", "two"] {
        Transcript::new(id).prompt(&format!("zebra {id}")).end_well().import(&world);
    }

    insta::assert_snapshot!(world.run(&["delete", "one", "--yes"]), @"
    deleted one  zebra one
    --- exit 0
    ");
    insta::assert_snapshot!(world.run(&["show", "one"]), @"
    --- stderr
    error: there is no session `one`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    let file = fs::read(world.store_path()).unwrap();
    let holds = |word: &[u8]| file.windows(word.len()).any(|bytes| bytes == word);
    assert_eq!((holds(b"zebra one"), holds(b"zebra two")), (false, true));
}

#[test]
fn nothing_is_deleted_if_one_id_is_unknown_or_nobody_can_be_asked() {
    let world = World::new();
    Transcript::new("one").prompt("hello").end_well().import(&world);

    insta::assert_snapshot!(world.run(&["delete", "one", "nope-123", "--yes"]), @"
    --- stderr
    error: there is no session `nope-123`
    hint: find ids with `rejoin list`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["delete", "one"]), @"
    --- stderr
    error: nobody is there to be asked whether this is wanted, and it can't be undone
    hint: add `--yes`, if it is wanted
    --- exit 2
    ");
    assert_eq!(world.run(&["show", "one"]).code, Some(0));
}

#[test]
fn at_a_terminal_it_asks_and_takes_only_yes_for_yes() {
    let world = World::new();
    for id in ["one", "two"] {
        Transcript::new(id).prompt(&format!("this is {id}")).end_well().import(&world);
    }
    let delete = |ids: &[&str], answer| {
        let mut command = world.command(&[&["delete"], ids].concat());
        command.env("NO_COLOR", "1");
        let (code, seen) = run_at_terminal(command, answer);
        // The terminal may show what was typed before or behind the question.
        format!("{}--- exit {}", seen.replace(answer, ""), code.unwrap())
    };

    insta::assert_snapshot!(delete(&["one"], "\n"), @"Delete one (this is one; 1 message) for good? [y/N] --- exit 1");
    insta::assert_snapshot!(delete(&["one", "two"], "x\n"), @"
    one  this is one
    two  this is two
    Delete these 2 sessions for good? [y/N] --- exit 1
    ");
    insta::assert_snapshot!(delete(&["one"], "\u{4}"), @"
    Delete one (this is one; 1 message) for good? [y/N] 
    --- exit 1
    ");
    insta::assert_snapshot!(delete(&["one"], "y\n"), @"
    Delete one (this is one; 1 message) for good? [y/N] deleted one  this is one
    --- exit 0
    ");
}

#[test]
fn an_agent_of_the_configuration_deletes_its_copies() {
    let world = World::new();
    let agent = world.write("agent.sh", AGENT);
    world.write("home/.config/rejoin/config.toml", &format!("[agents.robot]\ncommand = ['/bin/sh', '{agent}']\n"));
    let mut two = with_copy("two", "copy-2");
    two.session.facts.former_agent_sessions =
        vec![FormerAgentSession { agent: "robot".to_owned(), id: "copy-1".to_owned() }];
    two.import(&world);
    with_copy("three", "copy-3").import(&world);

    insta::assert_snapshot!(world.run(&["delete", "two", "three", "--yes"]), @"
    deleted two  this is two
    deleted three  this is three
    --- exit 0
    ");
    assert_eq!(fs::read_to_string(world.path("deleted.txt")).unwrap(), "copy-1\ncopy-2\ncopy-3\n");
}

#[test]
fn an_agent_whose_command_is_typed_deletes_its_copies_and_no_others() {
    let world = World::new();
    let agent = world.write("agent.sh", AGENT);
    with_copy("one", "copy-1").import(&world);
    let mut two = with_copy("two", "copy-2");
    two.session.facts.agent.name = "other".to_owned();
    two.import(&world);

    insta::assert_snapshot!(world.run(&["delete", "one", "two", "-y", "--", "/bin/sh", &agent]), @"
    deleted one  this is one
    deleted two  this is two
    --- stderr
    note: agent `other` may keep 1 copy of its own: the command starts `robot`
    --- exit 0
    ");
    assert_eq!(fs::read_to_string(world.path("deleted.txt")).unwrap(), "copy-1\n");
}

#[test]
fn copies_that_stay_are_told() {
    let world = World::new();
    world.write("home/.config/rejoin/config.toml", "[agents.gone]\ncommand = ['/does/not/exist']\n");
    let mut one = with_copy("one", "copy-1");
    one.session.facts.former_agent_sessions =
        vec![FormerAgentSession { agent: "gone".to_owned(), id: "copy-0".to_owned() }];
    one.import(&world);

    insta::assert_snapshot!(world.run(&["delete", "one", "--yes"]), @"
    deleted one  this is one
    --- stderr
    note: agent `gone` may keep 1 copy of its own: there is no program `/does/not/exist`
    note: agent `robot` may keep 1 copy of its own: its command is not known; next time, name it with `rejoin delete ID -- COMMAND`
    --- exit 0
    ");
}
