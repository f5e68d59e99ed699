//! What a process promises. That a process is gone is seen at a pipe which only it held open.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rejoin_wire::{Command, Connection, Options, Process, ProcessError, Received};
use rustix::process::{Pid, Signal, WaitIdOptions, kill_process, waitid};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// A program, and something it starts, that exit neither when their stdin ends nor when they are told to. The second
/// says that it is there, and holds descriptor 3 open as the first does.
const STUBBORN: &str = "trap '' TERM; sh -c 'echo ready >&3; while :; do sleep 1000; done' & wait";

fn shell(script: &str) -> Command {
    let env = vec![("ADDED".to_owned(), "to ours".to_owned())];
    Command { env, ..Command::new("/bin/sh", ["-c", script].map(str::to_owned)) }
}

async fn check_exit(script: &str, code: Option<i32>, signal: Option<i32>, stderr: &str) {
    let (process, _stdin, _stdout) = Process::start(&shell(script)).unwrap();
    let (exit, again) = tokio::join!(process.wait(), process.wait());
    assert_eq!(exit, again);
    assert_eq!((exit.unwrap().code(), exit.unwrap().signal()), (code, signal));
    assert_eq!(process.stderr_tail(), stderr);
}

#[tokio::test]
async fn all_who_wait_learn_how_a_program_exited_and_what_it_said() {
    check_exit("exit 0", Some(0), None, "").await;
    check_exit("echo $ADDED >&2; printf last >&2; exit 3", Some(3), None, "to ours\nlast\n").await;
    check_exit("kill -KILL $$", None, Some(9), "").await;
    // Something that holds stderr open is not waited for.
    check_exit("sleep 1000 & exit 7", Some(7), None, "").await;
}

fn check_refusal(command: &Command, expected: &str) {
    let error = Process::start(command).map(|_| ()).unwrap_err();
    let source = match &error {
        ProcessError::CannotStart { source, .. } => source.to_string(),
        _ => "-".to_owned(),
    };
    assert_eq!(format!("{error}: {source}"), expected);
}

#[tokio::test]
async fn a_program_that_can_not_be_started_is_named() {
    let command =
        |program: &str, cwd: Option<&str>| Command { cwd: cwd.map(PathBuf::from), ..Command::new(program, []) };
    check_refusal(&command("no-such-program", None), "there is no program `no-such-program`: -");
    check_refusal(&command("/", None), "cannot start `/`: Permission denied (os error 13)");
    check_refusal(&command("cat", Some("/no/such")), "cannot start `cat`: there is no folder `/no/such`");
}

#[tokio::test]
async fn a_connection_works_through_a_process() {
    let (process, stdin, stdout) = Process::start(&shell("exec cat")).unwrap();
    let (connection, mut incoming) = Connection::open(stdout, stdin, Options::default());
    let id = connection.request("echo", "{}", ()).await.unwrap();
    let received = incoming.next().await;
    assert!(matches!(&received, Some(Received::Request { id: came, .. }) if *came == id), "{received:?}");
    connection.finish().await;
    assert_eq!(process.wait().await.and_then(|exit| exit.code()), Some(0));
    process.end().await;
}

#[tokio::test]
async fn it_is_known_how_much_a_program_has_read_also_when_it_is_gone() {
    let (process, mut stdin, stdout) = Process::start(&shell("read -r line; echo; exec sleep 1000")).unwrap();
    stdin.write_all(b"read\n").await.unwrap();
    BufReader::new(stdout).read_line(&mut String::new()).await.unwrap();
    stdin.write_all(b"not read\n").await.unwrap();
    let while_it_runs = process.n_read();
    process.kill().await;
    let refused = stdin.write_all(b"too late\n").await;
    let when_it_is_gone = process.n_read();
    drop(stdin);
    assert_eq!((while_it_runs, when_it_is_gone, process.n_read(), refused.is_err()), (5, 5, 5, true));
}

#[tokio::test]
async fn ending_a_program_ends_its_whole_group() {
    let (process, stdin, stdout) = Process::start(&shell(&format!("exec 3>&1; {STUBBORN}"))).unwrap();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut String::new()).await.unwrap();
    drop(stdin);
    process.end().await;
    assert_eq!(stdout.read_to_string(&mut String::new()).await.unwrap(), 0);
    assert_eq!(process.wait().await.and_then(|exit| exit.signal()), Some(9));
}

#[tokio::test]
async fn ending_a_program_that_has_exited_ends_what_it_left() {
    let (process, _stdin, stdout) = Process::start(&shell("sleep 1000 & echo ready")).unwrap();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut String::new()).await.unwrap();
    assert_eq!(process.wait().await.and_then(|exit| exit.code()), Some(0));
    process.end().await;
    assert_eq!(stdout.read_to_string(&mut String::new()).await.unwrap(), 0);
}

#[tokio::test]
async fn dropping_a_process_kills_its_whole_group() {
    let (process, _stdin, stdout) = Process::start(&shell(&format!("exec 3>&1; {STUBBORN}"))).unwrap();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut String::new()).await.unwrap();
    drop(process);
    assert_eq!(stdout.read_to_string(&mut String::new()).await.unwrap(), 0);
}

#[tokio::test]
async fn when_we_are_killed_the_whole_group_ends() {
    let (_folder, path, open) = named_pipe();
    let mut us = run_helper("start-stubborn", &path);
    let mut seen = BufReader::new(open);
    seen.read_line(&mut String::new()).await.unwrap();
    us.kill().await.unwrap();
    assert_eq!(seen.read_to_string(&mut String::new()).await.unwrap(), 0);
}

#[tokio::test]
async fn nothing_is_left_after_an_end() {
    let (_folder, path, _open) = named_pipe();
    assert!(run_helper("end-and-count", &path).wait().await.unwrap().success());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_watchdog_holds_nothing_of_ours() {
    let (_folder, path, _open) = named_pipe();
    assert!(run_helper("look-at-watchdog", &path).wait().await.unwrap().success());
}

/// A named pipe, and its end to read from.
fn named_pipe() -> (TempDir, PathBuf, pipe::Receiver) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let open = pipe::OpenOptions::new().open_receiver(&path).unwrap();
    (folder, path, open)
}

/// Runs [`helper`] in a process of its own, with a descriptor that it did not ask for.
fn run_helper(task: &str, pipe: &Path) -> tokio::process::Child {
    tokio::process::Command::new("/bin/sh")
        .args(["-c", "exec 5>&1; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "process::helper"])
        .env("WIRE_TEST_TASK", task)
        .env("WIRE_TEST_PIPE", pipe)
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// Not a test of its own: does what another test wants done in a process that it may kill, or that has no other children.
#[tokio::test]
async fn helper() {
    let Ok(task) = std::env::var("WIRE_TEST_TASK") else { return };
    match task.as_str() {
        "start-stubborn" => {
            let script = format!("exec 3>\"$WIRE_TEST_PIPE\"; {STUBBORN}");
            let (process, _stdin, _stdout) = Process::start(&shell(&script)).unwrap();
            process.wait().await;
        }
        "end-and-count" => {
            let (process, stdin, _stdout) = Process::start(&shell("cat")).unwrap();
            drop(stdin);
            process.end().await;
            let children = waitid(rustix::process::WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            assert_eq!(children.map(|_| ()), Err(rustix::io::Errno::CHILD));
        }
        "look-at-watchdog" => {
            let (process, _stdin, _stdout) = Process::start(&shell("cat")).unwrap();
            let watchdog = children().into_iter().find(|id| *id != process.id()).unwrap();
            let proc = PathBuf::from(format!("/proc/{watchdog}"));
            // It closes what it was given once it runs.
            let closing = async {
                while descriptors(&proc).len() > 3 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), closing).await.unwrap();
            let open = descriptors(&proc);
            let null = PathBuf::from("/dev/null");
            assert!(matches!(&open[..], [(0, _), (1, out), (2, err)] if *out == null && *err == null), "{open:?}");
            assert_eq!(fs::read_to_string(proc.join("environ")).unwrap(), "PATH=/usr/bin:/bin\0");
            for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
                kill_process(Pid::from_raw(watchdog.try_into().unwrap()).unwrap(), signal).unwrap();
            }
            assert_eq!(descriptors(&proc), open);
            process.end().await;
            assert!(!proc.exists());
        }
        _ => panic!("there is no task `{task}`"),
    }
}

/// The processes whose parent we are.
fn children() -> Vec<u32> {
    let us = std::process::id().to_string();
    let ids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let parent = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some(stat.rsplit_once(')')?.1.split(' ').nth(2)?.to_owned())
    };
    ids.filter(|id| parent(id).as_ref() == Some(&us)).collect()
}

/// The open descriptors of the process at `proc` that a shell can close, in order, with what they are.
fn descriptors(proc: &Path) -> Vec<(u32, PathBuf)> {
    let open = fs::read_dir(proc.join("fd")).unwrap().map(Result::unwrap);
    let mut open: Vec<_> = open
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, fs::read_link(entry.path()).ok()?)))
        .collect();
    open.retain(|(number, _)| *number < 10);
    open.sort_unstable();
    open
}

#[tokio::test]
async fn a_program_has_ended_when_it_has_exited_and_not_before() {
    let (process, stdin, _stdout) = Process::start(&shell("read line")).unwrap();
    assert!(!process.has_ended());
    drop(stdin);
    process.wait().await;
    assert!(process.has_ended());
    process.end().await;
    assert!(process.has_ended());
}

#[tokio::test]
async fn a_program_can_be_killed_at_once_or_told_to_end() {
    let (process, _stdin, _stdout) = Process::start(&shell("trap '' TERM; while :; do sleep 1000; done")).unwrap();
    process.kill().await;
    assert_eq!(process.wait().await.unwrap().signal(), Some(9));

    let (process, _stdin, _stdout) = Process::start(&shell("exec sleep 1000")).unwrap();
    process.terminate();
    assert_eq!(process.wait().await.unwrap().signal(), Some(15));
}
