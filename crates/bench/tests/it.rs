//! The program runs, and tells what it found as a table and as JSON.

use std::path::Path;
use std::process::Command;

#[test]
fn a_quick_run_prints_a_table_and_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("figures.json");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin-bench"));
    command.args(["--quick", "--only", "fork"]).arg("--dir").arg(folder.path()).arg("--json").arg(&json);

    let output = command.output().unwrap();

    let table = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(table.lines().filter(|line| line.starts_with("| fork |")).count(), 2, "{table}");
    let figures: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(figures.as_array().map(Vec::len), Some(2), "{figures}");
    // The working folder is gone.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_session_layer_is_measured_over_pipes() {
    let bench = Path::new(env!("CARGO_BIN_EXE_rejoin-bench"));
    if !bench.with_file_name("rejoin").exists() {
        skip("the program `rejoin` is not built");
        return;
    }
    for (benchmark, rows) in [("forward", 4), ("load", 5), ("start", 2), ("acp-list", 2), ("first-token", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(bench);
        command.args(["--quick", "--only", benchmark]).arg("--dir").arg(folder.path());

        let output = command.output().unwrap();

        let table = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let row = format!("| {benchmark} |");
        assert_eq!(table.lines().filter(|line| line.starts_with(&row)).count(), rows, "{table}");
    }
}

#[test]
fn a_program_that_is_not_there_is_named_at_once() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin-bench"));
    command.args(["--quick", "--only", "start", "--rejoin", "/no/such/rejoin"]);

    let output = command.output().unwrap();

    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(error.contains("there is no program /no/such/rejoin"), "{error}");
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}
