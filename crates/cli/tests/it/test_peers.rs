//! `rejoin acp` between the clients and agents of others; see `peers/README.md`.
//!
//! The agents can do nothing but new, prompt and cancel. Their clients find that they can do everything.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rejoin_testing::Peers;
use serde_json::Value;

use crate::world::{Done, World};

/// What the clients on the SDKs walk through.
const STEPS: &str = "\
ok initialize
ok new
ok prompt
ok cancel
ok list
ok end
ok initialize
ok list in another process
ok load
ok prompt after load
ok close
ok resume
ok fork
ok delete
ok end
";

#[test]
fn the_typescript_sdk_can_do_everything_with_an_agent_on_the_typescript_sdk() {
    check("client.mjs", "agent.mjs");
}

#[test]
fn the_typescript_sdk_can_do_everything_with_an_agent_on_the_python_sdk() {
    check("client.mjs", "agent.py");
}

#[test]
fn the_python_sdk_can_do_everything_with_an_agent_on_the_typescript_sdk() {
    check("client.py", "agent.mjs");
}

#[test]
fn the_python_sdk_can_do_everything_with_an_agent_on_the_python_sdk() {
    check("client.py", "agent.py");
}

#[test]
fn the_typescript_sdk_talks_with_the_built_in_agent() {
    check_built_in("client.mjs");
}

#[test]
fn the_python_sdk_talks_with_the_built_in_agent() {
    check_built_in("client.py");
}

#[test]
fn acpx_talks_with_the_built_in_agent() {
    let Some(peers) = Peers::find() else { return };
    let acpx = Acpx { peers: &peers, world: World::new(), agent: format!("'{}' acp", env!("CARGO_BIN_EXE_rejoin")) };

    let id = acpx.run(&["--format", "quiet", "sessions", "new"]).trim().to_owned();
    let said = acpx.run(&["--format", "quiet", "prompt", "Hello, heron."]);
    assert!(said.ends_with("Hello, heron.\n"), "{said}");
    acpx.run(&["sessions", "close"]);
    acpx.run(&["--format", "quiet", "sessions", "new", "--resume-session", &id]);
    assert_eq!(acpx.run(&["--format", "quiet", "prompt", "Again."]).trim(), "Again.");
    acpx.run(&["sessions", "close"]);
    assert_eq!(acpx.listed(), [id.as_str()]);
}

#[test]
fn acpx_can_do_everything_it_knows_with_an_agent_on_the_typescript_sdk() {
    let Some(peers) = Peers::find() else { return };
    let acpx = Acpx::new(&peers, "agent.mjs");

    let id = acpx.run(&["--format", "quiet", "sessions", "new"]).trim().to_owned();
    let kept = acpx.run(&["--format", "quiet", "prompt", "The word is heron."]);
    assert_eq!(kept.trim(), "I keep it in mind.");
    assert_eq!(acpx.count_and_cancel(), "cancelled");
    assert_eq!(acpx.listed(), [id.as_str()]);
    let history = acpx.run(&["sessions", "history"]);
    assert!(history.contains("\tThe word is heron.\n") && history.contains("\tCount.\n"), "{history}");
    acpx.run(&["sessions", "close"]);

    // The program behind it has ended; it resumes the session with another.
    let resumed = acpx.run(&["--format", "quiet", "sessions", "new", "--resume-session", &id]);
    assert_eq!(resumed.trim(), id);
    let word = acpx.run(&["--format", "quiet", "prompt", "Which word?"]);
    assert!(word.ends_with("It is heron.\n"), "{word}");
    acpx.run(&["sessions", "close"]);

    let word = acpx.run(&["--format", "quiet", "exec", "Which word?"]);
    assert_eq!(word.trim(), "I do not know.");
    assert_eq!(acpx.listed().len(), 2);
}

/// Has the client on an SDK walk through everything, with an agent on an SDK.
fn check(client: &str, agent: &str) {
    let Some(peers) = Peers::find() else { return };
    let world = World::new();
    let [interpreter, script] = command(&peers, client);
    let mut running = start(&peers, &world, &interpreter);
    running.arg(script).args([env!("CARGO_BIN_EXE_rejoin"), "acp", "--"]).args(command(&peers, agent));

    let done = world.finish(running, "");

    assert_eq!((done.code, done.stdout.as_str()), (Some(0), STEPS), "{done}");
}

/// What the clients on the SDKs walk through with the built-in agent.
const ECHO_STEPS: &str = "\
ok initialize
ok new
ok prompt
ok mode
ok end
ok initialize
ok load
ok fork
ok delete
ok end
";

/// Has the client on an SDK talk with the built-in agent.
fn check_built_in(client: &str) {
    let Some(peers) = Peers::find() else { return };
    let world = World::new();
    let [interpreter, script] = command(&peers, client);
    let mut running = start(&peers, &world, &interpreter);
    running.arg(script).args(["--echo", env!("CARGO_BIN_EXE_rejoin"), "acp"]);

    let done = world.finish(running, "");

    assert_eq!((done.code, done.stdout.as_str()), (Some(0), ECHO_STEPS), "{done}");
}

/// How `script` is run.
fn command(peers: &Peers, script: &str) -> [PathBuf; 2] {
    let is_python = Path::new(script).extension().is_some_and(|extension| extension == "py");
    let interpreter = if is_python { peers.path(".venv/bin/python") } else { peers.bin("node") };
    [interpreter, peers.path(script)]
}

/// A program, ready to be run in `world`.
fn start(peers: &Peers, world: &World, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", world.path("home")).current_dir(world.path(""));
    command.env("PATH", format!("{}:/usr/bin:/bin", peers.path("node_modules/.bin").display()));
    command
}

/// The command line client acpx, with `rejoin acp` as its agent.
///
/// It leaves a process behind that holds the agent, until its session is closed or nothing was asked for a while.
struct Acpx<'a> {
    peers: &'a Peers,
    world: World,
    agent: String,
}

impl<'a> Acpx<'a> {
    fn new(peers: &'a Peers, agent: &str) -> Self {
        let [interpreter, script] = command(peers, agent);
        let rejoin = env!("CARGO_BIN_EXE_rejoin");
        let agent = format!("'{rejoin}' acp -- '{}' '{}'", interpreter.display(), script.display());
        Self { peers, world: World::new(), agent }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = start(self.peers, &self.world, &self.peers.bin("acpx"));
        command.args(["--agent", &self.agent, "--ttl", "20", "--timeout", "60"]).args(args);
        command
    }

    /// What it prints.
    fn run(&self, args: &[&str]) -> String {
        let done: Done = self.world.finish(self.command(args), "");
        assert_eq!(done.code, Some(0), "{args:?}: {done}");
        done.stdout
    }

    /// The ids of the sessions that the agent lists.
    fn listed(&self) -> Vec<String> {
        let listed: Value = serde_json::from_str(&self.run(&["--format", "json", "sessions", "list"])).unwrap();
        assert_eq!(listed["source"], "agent");
        let id = |session: &Value| session["sessionId"].as_str().unwrap().to_owned();
        listed["sessions"].as_array().unwrap().iter().map(id).collect()
    }

    /// Has the agent count, cancels it in the middle, and gives the reason for which the turn stopped.
    fn count_and_cancel(&self) -> String {
        let mut prompt = self.command(&["--format", "json", "prompt", "Count."]);
        let mut child = prompt.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stop_reason = None;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if message["params"]["update"]["content"]["text"] == "3 " {
                self.run(&["cancel"]);
            }
            stop_reason = message["result"]["stopReason"].as_str().map(ToOwned::to_owned).or(stop_reason);
        }
        child.wait().unwrap();
        stop_reason.unwrap()
    }
}
