//! `rejoin doctor`

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread;

use serde_json::Value;

use crate::world::{Transcript, World};

const USER_FILE: &str = "home/.config/rejoin/config.toml";

/// An agent that says who it is, and its environment to standard error.
const AGENT: &str = r#"
read -r line
printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"Robot","version":"2.0"}}}\n'
read -r line
"#;

/// Lines that depend on the machine's speed or on how SQLite lays out its file are made the same.
fn shown(world: &World, args: &[&str]) -> String {
    let shown = world.run(&[&["doctor"], args].concat()).to_string();
    let size = |line: &str| match (line.find(": 1 session, "), line.find(", schema")) {
        (Some(from), Some(to)) => format!("{}: 1 session, [SIZE]{}", &line[..from], &line[to..]),
        _ => line.to_owned(),
    };
    shown.lines().map(size).collect::<Vec<_>>().join("\n")
}

#[test]
fn help() {
    insta::assert_snapshot!(World::new().help(&["doctor"]), @"
    See what works, what doesn't, and what to do

    Usage: rejoin doctor [OPTIONS]

    Options:
          --json  Write a JSON object
      -h, --help  Print help

    Looks at the configuration and the store, starts each agent and each MCP server of the
    configuration, and asks each provider for its models. Exit code 1 says that something of it does not
    work. Secrets are not shown.

    Examples:
      rejoin doctor
      rejoin doctor --json
    --- exit 0
    ");
}

#[test]
fn without_anything_everything_works_and_nothing_is_made() {
    let world = World::new();
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration  no file, which is fine
    ✓ store          [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✓ model          none is set: the built-in agent repeats what it hears

    everything works
    --- exit 0
    ");
    assert!(!world.store_path().exists());
}

#[test]
fn json_holds_each_check() {
    let world = World::new();
    Transcript::new("one").prompt("hello").end_well().import(&world);
    insta::assert_snapshot!(shown(&world, &["--json"]), @r#"
    {
      "checks": [
        {
          "name": "configuration",
          "ok": true,
          "detail": "no file, which is fine"
        },
        {
          "name": "store",
          "ok": true,
          "detail": "[WORLD]/home/.local/share/rejoin/sessions.db: 1 session, [SIZE], schema 2, nothing is damaged"
        },
        {
          "name": "model",
          "ok": true,
          "detail": "none is set: the built-in agent repeats what it hears"
        }
      ]
    }
    --- exit 0
    "#);
}

#[test]
fn a_broken_configuration_is_named() {
    let world = World::new();
    let file = world.write("bad.toml", "this is = = not toml");
    let doctor = |args: &[&str]| world.run(&[&["--config", &file, "doctor"], args].concat());
    insta::assert_snapshot!(doctor(&[]), @"
    ✗ configuration  [WORLD]/bad.toml, line 1: key with no value, expected `=`
                     hint: mend it; the rest is looked at then

    1 problem found
    --- exit 1
    ");
    insta::assert_snapshot!(doctor(&["--json"]), @r#"
    {
      "checks": [
        {
          "name": "configuration",
          "ok": false,
          "detail": "[WORLD]/bad.toml, line 1: key with no value, expected `=`",
          "hint": "mend it; the rest is looked at then"
        }
      ]
    }
    --- exit 1
    "#);
}

#[test]
fn what_is_odd_in_files_is_told_with_what_to_do() {
    let world = World::new();
    world.write(USER_FILE, "whilebusy = 'queue'\ndefault_agent = 'nobody'\n");
    world.write(".rejoin.toml", "store = 'here.db'\n");
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration  [WORLD]/.rejoin.toml (not trusted), ~/.config/rejoin/config.toml
    ! configuration  [WORLD]/.rejoin.toml is not trusted; ignored in it: store
                     hint: look at the file, then take them with `rejoin config trust`
    ! configuration  [WORLD]/home/.config/rejoin/config.toml, line 1: there is no setting `whilebusy`
                     hint: did you mean `while_busy`?
    ✓ store          [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✗ default agent  there is no agent `nobody`
                     hint: add a table [agents.nobody], or name another as `default_agent`
    ✓ model          none is set: the built-in agent repeats what it hears

    1 problem found
    --- exit 1
    ");
}

#[test]
fn each_agent_is_started_and_its_secrets_are_not_shown() {
    let world = World::new();
    let agent = world.write("agent.sh", AGENT);
    let loud = world.write("loud.sh", "echo \"my token is $TOKEN\" >&2; exit 3");
    let answer = r#"printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"bad key %s"}}\n' "$KEY""#;
    let picky = world.write("picky.sh", &format!("read -r line; {answer}; read -r line"));
    let old = world.write("old.sh", &AGENT.replace("\"protocolVersion\":1", "\"protocolVersion\":7"));
    world.write(
        USER_FILE,
        &format!(
            "[agents.good]\ncommand = ['/bin/sh', '{agent}']\n\
             [agents.gone]\ncommand = ['/does/not/exist']\n\
             [agents.loud]\ncommand = ['/bin/sh', '{loud}']\nenv = {{ TOKEN = 'hush' }}\n\
             [agents.old]\ncommand = ['/bin/sh', '{old}']\n\
             [agents.picky]\ncommand = ['/bin/sh', '{picky}']\nenv = {{ KEY = 'hush' }}\n"
        ),
    );
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration  ~/.config/rejoin/config.toml
    ✓ store          [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✗ agent gone     there is no program `/does/not/exist`
                     hint: install it, or write where it is as `command` of [agents.gone]
    ✓ agent good     Robot 2.0 starts and answers
    ✗ agent loud     it ended without an answer to `initialize`; the last it said: my token is [redacted]
                     hint: see all that it says with `rejoin --log debug chat --agent loud -p hello`
    ✗ agent old      Robot 2.0 speaks version 7 of the protocol, and we speak 1
                     hint: use a version of the agent that speaks it
    ✗ agent picky    it answered `initialize` with an error: bad key [redacted]
                     hint: see all that it says with `rejoin --log debug chat --agent picky -p hello`
    ✓ model          none is set: the built-in agent repeats what it hears

    4 problems found
    --- exit 1
    ");
    // The hint is one that helps.
    let said = world.run(&["--log", "debug", "chat", "--agent", "loud", "-p", "hello"]).stderr;
    assert!(said.contains("stderr: my token is"), "{said}");
}

#[test]
fn an_agent_that_does_not_answer_is_not_waited_for_longer_than_its_limit() {
    let world = World::new();
    world.write(USER_FILE, "agent_start_limit = '200ms'\n[agents.silent]\ncommand = ['/bin/sleep', '600']\n");
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration  ~/.config/rejoin/config.toml
    ✓ store          [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✗ agent silent   it did not answer `initialize` within 200ms
                     hint: see all that it says with `rejoin --log debug chat --agent silent -p hello`
    ✓ model          none is set: the built-in agent repeats what it hears

    1 problem found
    --- exit 1
    ");
}

#[test]
fn mcp_servers_that_do_not_work_are_named() {
    let world = World::new();
    world.write(
        USER_FILE,
        "[mcp_servers.gone]\ncommand = ['/does/not/exist']\n\
         [mcp_servers.odd]\nurl = 'http://me:hush@127.0.0.1:1/mcp?key=hush'\nheaders = { Token = 'hush' }\n",
    );
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration    ~/.config/rejoin/config.toml
    ✓ store            [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✗ MCP server gone  stdio, failed: there is no program `/does/not/exist`: install it, or give its full path as `command`
                       hint: correct [mcp_servers.gone], or take it out
    ✗ MCP server odd   http, failed: http://127.0.0.1:1/mcp can't be reached: Connection refused (os error 111); is it running?
                       hint: correct [mcp_servers.odd], or take it out
    ✓ model            none is set: the built-in agent repeats what it hears

    2 problems found
    --- exit 1
    ");
}

#[test]
fn providers_are_asked_for_their_models() {
    let world = World::new();
    let good = serve("200 OK", r#"{"data":[{"id":"one"},{"id":"two"}]}"#);
    let bad = serve("401 Unauthorized", r#"{"error":"no such key: hush"}"#);
    world.write(
        USER_FILE,
        &format!(
            "model = 'good/two'\n[providers.good]\nkind = 'openai'\nbase_url = 'http://{good}/v1'\n\
             [providers.bad]\nkind = 'openai'\nbase_url = 'http://{bad}/v1'\nkey = 'env:KEY'\n\
             [providers.gone]\nkind = 'gemini'\nbase_url = 'http://127.0.0.1:1'\n[providers.anthropic]\n"
        ),
    );

    let done = world.run_in("", &[("KEY", "hush")], &["doctor"]).to_string();

    insta::assert_snapshot!(done.replace(&bad, "[HOST]"), @"
    ✓ configuration       ~/.config/rejoin/config.toml
    ✓ store               [WORLD]/home/.local/share/rejoin/sessions.db is not there yet; it is made with the first session
    ✗ provider anthropic  there is no key
                          hint: set ANTHROPIC_API_KEY
    ✗ provider bad        does not list its models: [HOST]: HTTP status 401 Unauthorized
                          hint: check KEY, and where the provider is
    ✗ provider gone       does not list its models: 127.0.0.1:1: Connection refused (os error 111)
                          hint: check providers.gone.key, and where the provider is
    ✓ provider good       answers, and lists 2 models
    ✓ model               good/two

    3 problems found
    --- exit 1
    ");
}

#[test]
fn a_model_without_a_provider_or_that_is_not_listed_is_told() {
    let world = World::new();
    let host = serve("200 OK", r#"{"data":[{"id":"one"}]}"#);
    let doctor = |model: &str| {
        let env = [("OPENAI_BASE_URL", format!("http://{host}/v1")), ("REJOIN_MODEL", model.to_owned())];
        let done =
            world.run_in("", &env.each_ref().map(|(name, value)| (*name, value.as_str())), &["doctor", "--json"]);
        let report: Value = serde_json::from_str(&done.stdout).unwrap();
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "model").unwrap().to_string()
    };
    insta::assert_snapshot!(doctor("openai/other"), @r#"{"name":"model","ok":true,"detail":"openai/other is not among those that its provider lists","hint":"see those that it lists in your client, or set another as `model`"}"#);
    insta::assert_snapshot!(doctor("nobody/x"), @r#"{"name":"model","ok":false,"detail":"there is no provider for nobody/x","hint":"name one of openai, anthropic, gemini, or add a table [providers.nobody]"}"#);
}

#[test]
fn a_store_that_is_damaged_or_no_store_is_told() {
    let world = World::new();
    let notes = world.write("notes.txt", "not a database\n");
    insta::assert_snapshot!(world.run(&["doctor", "--store", &notes]), @"
    ✓ configuration  no file, which is fine
    ✗ store          [WORLD]/notes.txt is not a store of sessions
                     hint: choose another file with `--store`
    ✓ model          none is set: the built-in agent repeats what it hears

    1 problem found
    --- exit 1
    ");
    Transcript::new("hurt").prompt("hello").say("the quick brown fox").end_well().import(&world);
    world.spoil(b"\"text\":\"the quick");
    insta::assert_snapshot!(shown(&world, &[]), @"
    ✓ configuration  no file, which is fine
    ✗ store          [WORLD]/home/.local/share/rejoin/sessions.db: 1 session, [SIZE], schema 2, 1 damage found
                     hint: see them with `rejoin verify`
    ✓ model          none is set: the built-in agent repeats what it hears

    1 problem found
    --- exit 1
    ");
}

/// Answers every request with `status` and `body`; gives the address.
fn serve(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}");
            // A client that is gone wants no answer.
            let _ = write!(stream, "{head}\r\nconnection: close\r\n\r\n{body}");
        }
    });
    address
}
