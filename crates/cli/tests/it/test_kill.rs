//! Killed in the middle of a turn: what a client has seen is there, the session goes on, and nothing is left running, not
//! even what the built-in agent's commands have started.
//!
//! `REJOIN_CRASHES` sets how often; the long form is `./check --long`.

use std::fs;
use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::acp::Acp;
use crate::world::World;

/// An agent that can do nothing but answer: it says its process id, then a hundred words.
const AGENT: &str = r#"
while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    say() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s "}}}}\n' $$ "$1"; }
    case $line in
        *'"initialize"'*) answer '{"protocolVersion":1}' ;;
        *'"session/new"'*) answer "{\"sessionId\":\"s$$\"}" ;;
        *'"session/prompt"'*) say "pid-$$"; n=0; while [ $n -lt 100 ]; do say "w$n"; n=$((n+1)); done; answer '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Rejoin,
    Agent,
    Both,
}

fn n_kills() -> u64 {
    std::env::var("REJOIN_CRASHES").map_or(12, |count| count.parse().unwrap())
}

#[test]
fn what_was_seen_survives_whoever_is_killed() {
    let world = World::new();
    let agent = world.write("agent.sh", AGENT);
    survive(&world, &agent, 0..n_kills());
}

#[test]
fn what_was_seen_survives_kills_of_several_processes_on_one_store() {
    const PROCESSES: u64 = 4;
    let world = World::new();
    let agent = world.write("agent.sh", AGENT);
    let share = n_kills() / PROCESSES;
    thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (world, agent) = (&world, &agent);
            scope.spawn(move || survive(world, agent, process * share..(process + 1) * share));
        }
    });
    let verified = world.run(&["verify"]);
    assert_eq!(verified.code, Some(0), "{verified}");
}

/// Kills by turns the program, the agent and both, each `kills` another time, and checks that all that was seen in the
/// session is there, that the session goes on, and that nothing is left running.
fn survive(world: &World, agent: &str, kills: Range<u64>) {
    let session = new_session(world, agent);
    for kill in kills {
        let victim = [Victim::Rejoin, Victim::Agent, Victim::Both][usize::try_from(kill % 3).unwrap()];
        let (seen, pids) = seen_until_killed(world, agent, &session, victim, kill * 37 % 101);
        let (kept, answer) = kept_and_prompted(world, agent, &session);
        assert!(
            kept.ends_with(&seen) || kept.contains(&seen),
            "kill {kill} of {victim:?}: {seen:?} is not in {kept:?}"
        );
        assert_eq!(answer["result"]["stopReason"], "end_turn", "kill {kill} of {victim:?}: {answer}");
        pids.into_iter().for_each(wait_until_gone);
    }
}

#[test]
fn no_command_of_the_built_in_agent_outlives_the_program() {
    for is_killed in [true, false] {
        let world = World::new();
        let mut acp = Acp::start(&world, &[]);
        acp.send(1, "initialize", &json!({ "protocolVersion": 1 }));
        acp.answer_to(1);
        acp.send(2, "session/new", &json!({ "cwd": world.path("home"), "mcpServers": [] }));
        let session = acp.answer_to(2).0["result"]["sessionId"].as_str().unwrap().to_owned();
        // Stubborn ones, the second in the background.
        let sleep = "trap '' TERM HUP INT; sleep 600";
        let command = format!("({sleep}) & echo pids: $$ $!; {sleep}");
        let text = format!("/call run_command {}", json!({ "command": command }));
        let params = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });
        acp.send(3, "session/prompt", &params);
        let pids: Vec<u32> = loop {
            let message = acp.next().unwrap();
            if message["method"] == "session/request_permission" {
                let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow" } });
                acp.respond(&message["id"], &outcome);
            }
            let shown = message["params"]["update"]["content"][0]["content"]["text"].as_str();
            if let Some((_, pids)) = shown.and_then(|text| text.split_once("\npids: ")) {
                break pids.lines().next().unwrap().split(' ').map(|pid| pid.parse().unwrap()).collect();
            }
        };
        if is_killed {
            acp.kill();
        } else {
            acp.end();
        }
        pids.into_iter().for_each(wait_until_gone);
    }
}

fn start(world: &World, agent: &str) -> Acp {
    let mut acp = Acp::start(world, &["/bin/sh", agent]);
    acp.send(1, "initialize", &json!({ "protocolVersion": 1, "clientCapabilities": { "session": { "notices": {} } } }));
    acp.answer_to(1);
    acp
}

fn new_session(world: &World, agent: &str) -> String {
    let mut acp = start(world, agent);
    acp.send(2, "session/new", &json!({ "cwd": world.path("home"), "mcpServers": [] }));
    let id = acp.answer_to(2).0["result"]["sessionId"].as_str().unwrap().to_owned();
    acp.end();
    id
}

/// Prompts, kills `victim` after `words` words, and gives the words that came, and the agent's process ids.
fn seen_until_killed(world: &World, agent: &str, session: &str, victim: Victim, words: u64) -> (String, Vec<u32>) {
    let mut acp = start(world, agent);
    acp.send(2, "session/load", &json!({ "sessionId": session, "cwd": world.path("home"), "mcpServers": [] }));
    acp.answer_to(2);
    acp.send(3, "session/prompt", &prompt(session));
    let (mut seen, mut pids, mut count) = (String::new(), Vec::new(), 0);
    while let Some(message) = acp.next() {
        if message["id"] == 3 {
            break;
        }
        let Some(said) = word_of(&message) else { continue };
        pids.extend(said.trim().strip_prefix("pid-").map(|pid| pid.parse::<u32>().unwrap()));
        seen += said;
        count += 1;
        if count == words + 1 {
            if victim != Victim::Rejoin {
                // It may have said everything and ended by itself.
                let _ = std::process::Command::new("kill").args(["-9", &pids[0].to_string()]).status().unwrap();
            }
            if victim != Victim::Agent {
                acp.kill();
            }
        }
    }
    if victim == Victim::Agent {
        acp.end();
    }
    (seen, pids)
}

/// What a load shows of the agent's words, and the answer to a prompt behind it.
fn kept_and_prompted(world: &World, agent: &str, session: &str) -> (String, Value) {
    let mut acp = start(world, agent);
    acp.send(2, "session/load", &json!({ "sessionId": session, "cwd": world.path("home"), "mcpServers": [] }));
    let mut kept = String::new();
    loop {
        let message = acp.next().unwrap();
        if message["id"] == 2 {
            break;
        }
        kept += word_of(&message).unwrap_or_default();
    }
    acp.send(3, "session/prompt", &prompt(session));
    let answer = acp.answer_to(3).0;
    acp.end();
    (kept, answer)
}

fn prompt(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] })
}

fn word_of(message: &Value) -> Option<&str> {
    let update = &message["params"]["update"];
    (update["sessionUpdate"] == "agent_message_chunk").then(|| update["content"]["text"].as_str().unwrap())
}

/// Waits until the process has ended; it has as long as the program's own ways of ending take.
fn wait_until_gone(pid: u32) {
    let begin = Instant::now();
    let is_there = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while is_there() {
        assert!(begin.elapsed() < Duration::from_secs(8), "process {pid} is left");
        thread::sleep(Duration::from_millis(10));
    }
}
