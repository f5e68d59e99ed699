//! The program runs, and tells what it found as a table and as JSON.

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
