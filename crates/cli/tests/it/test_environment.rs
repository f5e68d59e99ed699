//! What of our environment other programs get, and what they can read of it.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::acp::Acp;
use crate::test_built_in::Client;
use crate::world::World;

const CONFIG: &str = "home/.config/rejoin/config.toml";

/// What a user has in the environment: what programs need, secrets, and what is ours alone.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("PATH", "/usr/bin:/bin"),
    ("LC_CTYPE", "C.UTF-8"),
    ("COLOUR", "teal"),
    ("GITHUB_TOKEN", "hush-1"),
    ("OPENAI_API_KEY", "hush-2"),
    ("WORK_ACCESS", "hush-3"),
    ("REJOIN_TOKEN", "hush-4"),
    ("REJOIN_LOG", "warn"),
    ("PGPASSWORD", "hush-5"),
    ("PGHOST", "127.0.0.1"),
];

/// A configuration in which `WORK_ACCESS` holds a key of a provider.
const PROVIDER: &str = "[providers.work]\nkind = 'anthropic'\nkey = 'env:WORK_ACCESS'\n";

/// Which of the variables above stand in `text`, which `env` has written.
fn names(text: &str) -> Vec<&'static str> {
    let is_there = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));
    ENVIRONMENT.iter().map(|(name, _)| *name).filter(|name| is_there(name)).collect()
}

/// A server that writes its environment to `server.env` and exits.
fn server(world: &World, env: &[(&str, &str)]) -> Value {
    let script = format!("env > {}", world.path("server.env").display());
    let env: Vec<Value> = env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    json!({ "name": "spy", "command": "/bin/sh", "args": ["-c", script], "env": env })
}

#[test]
fn an_agent_gets_all_but_our_own_settings() {
    let world = World::new();
    let file = world.path("agent.env");
    let script = format!("env > {}; exec cat", file.display());
    let mut command = world.command(&["acp", "--", "/bin/sh", "-c", &script]);
    command.envs(ENVIRONMENT);
    let mut acp = Acp::of(command);

    // The agent gives back what it is asked, so that it has started when something comes.
    acp.send(1, "initialize", &json!({ "protocolVersion": 1 }));
    acp.next();

    let told = fs::read_to_string(file).unwrap();
    let expected = ["PATH", "LC_CTYPE", "COLOUR", "GITHUB_TOKEN", "OPENAI_API_KEY", "WORK_ACCESS"];
    assert_eq!(names(&told), expected);
}

#[test]
fn an_mcp_server_gets_a_few_variables_and_those_that_it_is_given() {
    let world = World::new();
    world.write(CONFIG, PROVIDER);
    let mut client = Client::start_with(&world, &ENVIRONMENT);

    client.new_session(&world, &json!([server(&world, &[("PGHOST", "given")])]));

    let told = fs::read_to_string(world.path("server.env")).unwrap();
    assert_eq!(names(&told), ["PATH", "LC_CTYPE", "PGHOST"]);
    assert!(told.contains("PGHOST=given"), "{told}");
    client.acp.end();
}

#[test]
fn a_command_gets_no_secrets() {
    let world = World::new();
    world.write(CONFIG, PROVIDER);
    let mut client = Client::start_with(&world, &ENVIRONMENT);
    let session = client.new_session(&world, &json!([]));

    let told = client.prompt(&session, r#"/call run_command {"command": "env"}"#);

    assert_eq!((names(&told), told.contains("hush")), (vec!["PATH", "LC_CTYPE", "COLOUR"], false), "{told}");
    client.acp.end();
}

#[test]
fn the_user_decides_which_variables_are_passed_on_besides() {
    let world = World::new();
    world.write(CONFIG, &format!("pass_environment = ['GITHUB_TOKEN', 'COL*', 'W*', 'PG*', 'REJOIN_*']\n{PROVIDER}"));
    let mut client = Client::start_with(&world, &ENVIRONMENT);
    let session = client.new_session(&world, &json!([server(&world, &[])]));

    let told = client.prompt(&session, r#"/call run_command {"command": "env"}"#);

    let expected = ["PATH", "LC_CTYPE", "COLOUR", "GITHUB_TOKEN"];
    let server = fs::read_to_string(world.path("server.env")).unwrap();
    assert_eq!((names(&told), names(&server)), (expected.to_vec(), expected.to_vec()));
    client.acp.end();
}

#[test]
fn a_command_can_not_read_the_environment_of_the_program_itself() {
    let world = World::new();
    let mut command = world.command(&["acp"]);
    if rustix::process::geteuid().is_root() {
        // Root may read everything, unless it has none of the capabilities for it.
        let program = command.get_program().to_owned();
        let mut limited = Command::new("setpriv");
        limited.args(["--bounding-set=-all", "--inh-caps=-all"]).arg(program).arg("acp");
        limited.env_clear().env("HOME", world.path("home")).current_dir(world.path(""));
        command = limited;
    }
    command.envs(ENVIRONMENT);
    let mut client = Client::of(command);
    let session = client.new_session(&world, &json!([]));

    let told =
        client.prompt(&session, r#"/call run_command {"command": "cat /proc/$PPID/environ; cat /proc/self/status"}"#);

    assert!(told.contains("/environ: Permission denied") && !told.contains("hush"), "{told}");
    assert!(told.contains("Name:\tcat"), "a command can be read as usual: {told}");
    client.acp.end();
}

#[test]
fn a_command_that_begins_with_a_dash_is_run_as_it_is() {
    let world = World::new();
    let mut client = Client::start_with(&world, &ENVIRONMENT);
    let session = client.new_session(&world, &json!([]));

    let told = client.prompt(&session, r#"/call run_command {"command": "-x; echo ran"}"#);

    assert!(told.contains("-x: not found") || told.contains("-x: command not found"), "{told}");
    assert!(told.contains("\nran\n"), "{told}");
    client.acp.end();
}
