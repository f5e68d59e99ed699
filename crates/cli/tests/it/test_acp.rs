//! `rejoin acp`: its help, and a client that does not read.

use serde_json::json;

use crate::acp::Acp;
use crate::world::{Transcript, World};

const ID: &str = "00000000000000000000000000000001";

/// How many bytes the history has at least.
const HISTORY: usize = 100 * 1024 * 1024;

/// How much more memory a client may cost that does not read.
const ROOM: u64 = 16 * 1024 * 1024;

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["acp"]), @"
    Speak ACP on standard input and output, with an agent behind

    Usage: rejoin acp [OPTIONS] [-- <COMMAND>...]

    Arguments:
      [COMMAND]...  The command that starts the agent, and its arguments [default: `default_agent` of
                    the configuration, else the built-in agent]

    Options:
          --agent <NAME>  The agent with this name, of those that `rejoin agents` lists; `rejoin` is the
                          built-in one
      -h, --help          Print help

    Examples:
      rejoin acp                          the built-in agent
      rejoin acp -- claude-agent-acp      any ACP agent, with sessions that last
      rejoin acp --agent claude           an agent by its name
    --- exit 0
    ");
}

#[test]
fn a_client_that_does_not_read_costs_little_memory_and_gets_everything_when_it_does() {
    let world = World::new();
    import_long_session(&world);
    let mut acp = Acp::start(&world, &["/does/not/exist"]);
    acp.send(1, "initialize", &json!({ "protocolVersion": 1, "clientCapabilities": {} }));
    acp.answer_to(1);
    let before = acp.peak_memory();

    acp.send(2, "session/load", &json!({ "sessionId": ID, "cwd": world.path("home"), "mcpServers": [] }));
    acp.wait_until_stalled();
    let stalled = acp.peak_memory();
    let (answer, n_bytes) = acp.answer_to(2);
    let read = acp.peak_memory();

    assert!(stalled < before + ROOM && read < before + ROOM, "{before} bytes, {stalled} stalled, {read} when read");
    assert!(answer["result"].is_object() && n_bytes > HISTORY, "{n_bytes} bytes, then {answer}");
}

/// A session of a hundred turns with a megabyte of text in each.
fn import_long_session(world: &World) {
    let (n_turns, text) = (100, noise(64 * 1024));
    let mut transcript = Transcript::new(ID).in_folder(&world.path("home"));
    for turn in 0..n_turns {
        transcript = transcript.prompt(&format!("part {turn}"));
        for _ in 0..=HISTORY / n_turns / text.len() {
            transcript = transcript.say(&text);
        }
        transcript = transcript.end_well();
    }
    transcript.import(world);
}

/// Text that is like no other.
fn noise(len: usize) -> String {
    let mut seed = 1_u64;
    let letter = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from(seed >> 58).unwrap())
    };
    (0..len).map(letter).collect()
}
