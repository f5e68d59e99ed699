//! The architecture page tells the truth about the crates.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Each crate of ours, by folder, with those it uses.
type Crates = BTreeMap<String, BTreeSet<String>>;

#[test]
fn the_table_of_crates_is_that_of_the_manifests() {
    assert_eq!(crates_in_page(), crates_in_manifests());
}

fn crates_in_page() -> Crates {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>()).filter(|cells| cells.len() == 3);
    cells
        .map(|cells| {
            let uses = cells[2].split(", ").filter(|name| *name != "–").map(str::to_owned).collect();
            (cells[0].trim_end_matches('`').to_owned(), uses)
        })
        .collect()
}

fn crates_in_manifests() -> Crates {
    let cargo = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let folder = |path: &Value| Path::new(path.as_str().unwrap()).file_name().unwrap().to_str().unwrap().to_owned();
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let name = manifest.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
            // What only tests use gives no direction.
            let uses =
                package["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"].is_null());
            (name, uses.filter(|dependency| !dependency["path"].is_null()).map(|it| folder(&it["path"])).collect())
        })
        .collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}
