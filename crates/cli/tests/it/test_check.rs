//! `rejoin check`

use serde_json::Value;

use crate::world::{Done, World};

/// Checks our own agent with `args`.
fn check(world: &World, args: &[&str]) -> Done {
    let agent = [env!("CARGO_BIN_EXE_rejoin"), "acp"];
    world.run(&[&["check"], args, &["--"], &agent].concat())
}

/// A program that is an agent only as far as `script`.
fn check_script(world: &World, args: &[&str], script: &str) -> Done {
    world.run(&[&["check"], args, &["--", "/bin/sh", "-c", script]].concat())
}

/// An agent that only says hello, and its version wrong.
const WRONG_VERSION: &str = r#"
while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    case $line in
        *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":7,"agentCapabilities":{}}}' ;;
        *'"method"'*) echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done"#;

#[test]
fn rules_that_are_kept_are_counted() {
    let world = World::new();

    insta::assert_snapshot!(check(&world, &["--rule", "initialize."]), @"
    rejoin 0.1.0 keeps 4 rules and breaks none; 0 skipped
    --- exit 0
    ");
}

#[test]
fn a_broken_rule_is_told_with_what_was_sent_and_what_came() {
    let world = World::new();

    insta::assert_snapshot!(check_script(&world, &["--rule", "initialize."], WRONG_VERSION), @r#"
    BROKEN  initialize.version  MUST  answers with the version that the client asked for, if it has it
            sent        {"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":false},"clientInfo":{"name":"rejoin-check","title":"rejoin check","version":"0.1.0"}}}
            came        {"result":{"protocolVersion":7,"agentCapabilities":{}}}
            expected    `protocolVersion` 1, which every agent has so far
            see         https://agentclientprotocol.com/protocol/v1/initialization#protocol-version

    should  initialize.info  SHOULD  says its name and version
    the agent keeps 2 rules and breaks 1, and 1 that it only should keep; 0 skipped
    --- exit 3
    "#);
}

#[test]
fn json_and_junit_hold_each_rule() {
    let world = World::new();
    let file = world.path("report.xml");
    let done = check_script(
        &world,
        &["--rule", "initialize.info", "--json", "--junit", file.to_str().unwrap()],
        WRONG_VERSION,
    );

    let report: Value = serde_json::from_str(&done.stdout).unwrap();
    let rule = &report["rules"][0];
    let told = (&rule["rule"], &rule["level"], &rule["status"], &rule["detail"]);
    let expected = "expected `agentInfo` with `name` and `version`";
    assert_eq!(told, (&"initialize.info".into(), &"SHOULD".into(), &"fail".into(), &expected.into()));
    assert_eq!((done.code, &report["counts"]["fail"]), (Some(0), &1.into()));
    insta::assert_snapshot!(std::fs::read_to_string(file).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuite name="rejoin check agent" tests="1" failures="0" skipped="0">
      <testcase classname="initialize" name="initialize.info: says its name and version">
        <system-out>expected `agentInfo` with `name` and `version`</system-out>
      </testcase>
    </testsuite>
    "#);
}

#[test]
fn an_agent_that_does_not_start_is_its_own_fault() {
    let world = World::new();

    insta::assert_snapshot!(check_script(&world, &[], "echo no licence >&2; exit 7"), @"
    --- stderr
    error: the agent `/bin/sh` can't be checked: at initialize: the agent ended (exit status: 7); it wrote to stderr: no licence
    --- exit 3
    ");
    insta::assert_snapshot!(world.run(&["check", "--", "no-such-agent"]), @"
    --- stderr
    error: there is no program `no-such-agent`
    --- exit 3
    ");
}

#[test]
fn what_is_typed_wrong_is_named() {
    let world = World::new();
    let file = world.write("prompts.toml", "shout = \"hey\"");

    insta::assert_snapshot!(world.run(&["check"]), @"
    --- stderr
    error: no agent is named
    hint: name its command behind `--`, or its name behind `--agent`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["check", "--rule", "lod.", "--", "agent"]), @"
    --- stderr
    error: there is no rule `lod.`
    hint: see them all with `rejoin check --list`
    --- exit 1
    ");
    insta::assert_snapshot!(world.run(&["check", "--prompts", &file, "--", "agent"]), @"
    --- stderr
    error: [WORLD]/prompts.toml does not hold prompts
    caused by: TOML parse error at line 1, column 1
        |
      1 | shout = \"hey\"
        | ^^^^^
      unknown field `shout`, expected one of `remember`, `recall`, `long`, `tool`
    hint: see what it can hold with `rejoin check --help`
    --- exit 1
    ");
}

#[test]
fn the_rules_can_be_listed() {
    let world = World::new();

    insta::assert_snapshot!(world.run(&["check", "--list", "--rule", "resume."]), @"
    RULE                    LEVEL    THE AGENT
    resume.survives-kill    quality  resumes a session after `kill -9`
    resume.silent           MUST     replays nothing
    resume.unknown-session  quality  refuses to resume a session that does not exist
    resume.remembers        quality  remembers what was said before
    resume.keeps-last-turn  quality  remembers a turn that ended right before `kill -9`
    resume.mode             quality  is in the same mode when it is resumed after a restart
    resume.commands         report   whether commands are told again
    --- exit 0
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_check_leaves_no_agent_behind() {
    use std::io::BufRead;
    use std::process::Stdio;

    let world = World::new();
    // It tells its number where the test reads it, and never answers.
    let pipe = world.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("echo $$ > '{}'; exec sleep 60", pipe.display());
    let mut command = world.command(&["check", "--", "/bin/sh", "-c", &script]);
    let check = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut agent = String::new();
    std::io::BufReader::new(std::fs::File::open(&pipe).unwrap()).read_line(&mut agent).unwrap();

    let interrupt = std::process::Command::new("kill").args(["-INT", &check.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let output = check.wait_with_output().unwrap();

    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(130), &b"error: interrupted\n"[..]));
    // It is killed before the check ends, and reaped by whoever is its parent then.
    let status = std::fs::read_to_string(format!("/proc/{}/status", agent.trim())).unwrap_or_default();
    assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
}
