//! What `rejoin acp` does when the store can't be written: a full disk, a limit on file sizes, a disk that is read-only, a
//! store that was taken away.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::acp::Acp;
use crate::world::World;

/// An agent that says `one`, waits until there is a file `GO`, and then says a lot.
const AGENT: &str = r#"
text=$(/usr/bin/head -c 3000 /dev/urandom | /usr/bin/base64 -w0)
while read -r line; do
    id=${line#*'"id":'}; id=${id%%,*}
    answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    say() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
    case $line in
        *'"initialize"'*) answer '{"protocolVersion":1}' ;;
        *'"session/new"'*) answer '{"sessionId":"s"}' ;;
        *'"session/prompt"'*)
            say one
            until [ -e 'GO' ]; do /bin/sleep 0.01; done
            n=0; while [ $n -lt 400 ]; do say "$n $text"; n=$((n+1)); done
            answer '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

/// Starts the program with the agent, in the shell command `shell` if there is one, where `"$0" "$@"` is the program.
fn start(world: &World, shell: Option<&str>) -> Acp {
    let agent = world.write("agent.sh", &AGENT.replace("GO", &world.path("go").display().to_string()));
    let plain = world.command(&["acp", "--", "/bin/sh", &agent]);
    let command = match shell {
        None => plain,
        Some(shell) => {
            let mut command = Command::new("/bin/sh");
            command.args(["-euc", shell]).arg(plain.get_program()).args(plain.get_args());
            command.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.current_dir(world.path(""));
            command
        }
    };
    let mut acp = Acp::of(command);
    acp.send(1, "initialize", &json!({ "protocolVersion": 1 }));
    assert_eq!(acp.answer_to(1).0["result"]["protocolVersion"], 1);
    acp
}

fn new_session(world: &World, acp: &mut Acp) -> String {
    acp.send(2, "session/new", &opening(world));
    acp.answer_to(2).0["result"]["sessionId"].as_str().unwrap().to_owned()
}

fn opening(world: &World) -> Value {
    json!({ "cwd": world.path("home"), "mcpServers": [] })
}

fn of_session(world: &World, session: &str) -> Value {
    let mut params = opening(world);
    params["sessionId"] = json!(session);
    params
}

fn prompt(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] })
}

/// Begins a turn, as request 3, and waits until the agent has said something.
fn begin_turn(acp: &mut Acp, session: &str) {
    acp.send(3, "session/prompt", &prompt(session));
    while acp.next().unwrap()["params"]["update"]["content"]["text"] != "one" {}
}

/// What the agent waits for.
fn let_go(world: &World) {
    File::create(world.path("go")).unwrap();
}

/// The code and the kind of an error.
fn code_and_kind(answer: &Value) -> (Option<i64>, Option<&str>) {
    (answer["error"]["code"].as_i64(), answer["error"]["data"]["kind"].as_str())
}

const STORE_FAILED: (Option<i64>, Option<&str>) = (Some(-32012), Some("store_failed"));

/// Whether file systems can be mounted here. Where not, a test says so and is skipped.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn can_mount() -> bool {
    let namespace = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
    let can = namespace.is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: `unshare --map-root-user --mount` does not work here");
    }
    can
}

#[test]
fn a_limit_on_file_sizes_fails_the_turn_and_not_the_program() {
    let world = World::new();
    let mut acp = start(&world, Some(r#"ulimit -f 1500; exec "$0" "$@""#));
    let session = new_session(&world, &mut acp);

    begin_turn(&mut acp, &session);
    let_go(&world);
    let answer = acp.answer_to(3).0;
    acp.send(4, "session/list", &json!({}));
    let list = acp.answer_to(4).0;

    assert_eq!(code_and_kind(&answer), STORE_FAILED, "{answer}");
    assert_eq!(list["result"]["sessions"][0]["sessionId"].as_str(), Some(session.as_str()), "{list}");
    acp.end();
}

#[test]
fn a_store_that_was_taken_away_fails_the_turn() {
    let world = World::new();
    let mut acp = start(&world, None);
    let session = new_session(&world, &mut acp);

    begin_turn(&mut acp, &session);
    fs::remove_dir_all(world.store_path().parent().unwrap()).unwrap();
    let_go(&world);
    let answer = acp.answer_to(3).0;
    acp.send(4, "session/prompt", &prompt(&session));
    let next = acp.answer_to(4).0;

    assert_eq!((code_and_kind(&answer), code_and_kind(&next)), (STORE_FAILED, STORE_FAILED), "{answer}");
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("sessions.db") && text.contains("was removed, renamed or replaced"), "{text}");
    acp.end();
}

/// Checks that a session can be listed, loaded and resumed over a store on a read-only disk, and nothing be written there.
fn check_read_only(world: &World, session: &str) {
    let folder = world.store_path().parent().unwrap().display().to_string();
    let shell = format!(
        r#"exec unshare --map-root-user --mount /bin/sh -euc 'mount --bind "{folder}" "{folder}"
           mount -o remount,ro,bind "{folder}"; exec "$0" "$@"' "$0" "$@""#
    );
    let mut acp = start(world, Some(&shell));
    acp.send(2, "session/list", &json!({}));
    let list = acp.answer_to(2).0;
    acp.send(3, "session/load", &of_session(world, session));
    let mut said = Vec::new();
    let loaded = loop {
        let message = acp.next().unwrap();
        if message["id"] == 3 {
            break message;
        }
        said.extend(message["params"]["update"]["content"]["text"].as_str().map(str::to_owned));
    };
    // What is sent to open a session can't be noted, and does not keep anybody from reading.
    let mut params = of_session(world, session);
    params["additionalDirectories"] = json!([world.path("home")]);
    acp.send(4, "session/resume", &params);
    let resumed = acp.answer_to(4).0;
    acp.send(5, "session/prompt", &prompt(session));
    let prompted = acp.answer_to(5).0;
    acp.send(6, "session/new", &opening(world));
    let made = acp.answer_to(6).0;
    acp.end();

    assert_eq!(list["result"]["sessions"][0]["sessionId"].as_str(), Some(session), "{list}");
    assert!(loaded["result"].is_object() && resumed["result"].is_object(), "{loaded} {resumed}");
    assert!(said[0] == "go" && said[1].starts_with("one"), "{said:?}");
    assert_eq!((code_and_kind(&prompted), code_and_kind(&made)), (STORE_FAILED, STORE_FAILED), "{prompted} {made}");
}

#[test]
fn a_store_on_a_read_only_disk_can_be_read() {
    if !can_mount() {
        return;
    }
    for is_killed in [false, true] {
        let world = World::new();
        let mut acp = start(&world, None);
        let session = new_session(&world, &mut acp);
        begin_turn(&mut acp, &session);
        if is_killed {
            // Then the last of it is in the write-ahead log.
            acp.kill();
        } else {
            let_go(&world);
            acp.answer_to(3);
            acp.end();
        }
        check_read_only(&world, &session);
    }
}

#[test]
fn another_process_goes_on_when_a_full_disk_that_failed_a_turn_has_room_again() {
    let name = "test_disk::another_process_goes_on_when_a_full_disk_that_failed_a_turn_has_room_again";
    let Ok(folder) = std::env::var("REJOIN_TEST_FOLDER") else {
        if can_mount() {
            run_on_small_disk(name);
        }
        return;
    };
    let world = World::new();
    let mut first = start(&world, None);
    let session = new_session(&world, &mut first);
    begin_turn(&mut first, &session);
    let filling = Path::new(&folder).join("filling");
    fill(&filling);
    let_go(&world);
    let failed = first.answer_to(3).0;
    let mut second = start(&world, None);

    fs::remove_file(&filling).unwrap();
    second.send(2, "session/load", &of_session(&world, &session));
    second.answer_to(2);
    second.send(3, "session/prompt", &prompt(&session));
    let answer = second.answer_to(3).0;

    assert_eq!(code_and_kind(&failed), STORE_FAILED, "{failed}");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer}");
    first.end();
    second.end();
}

/// Writes to a new file at `path` until the disk is full.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
}

/// Runs this very test binary again, only for the test `name`, with its temporary folder on a small disk.
fn run_on_small_disk(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let shell = r#"mount -t tmpfs -o size=12m tmpfs "$TMPDIR"; exec "$0" "$@""#;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-euc", shell])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("TMPDIR", folder.path())
        .env("REJOIN_TEST_FOLDER", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
