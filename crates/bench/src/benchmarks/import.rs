//! Histories of another tool, taken in: beside reading their bytes and parsing every line.
//!
//! The files are a conversation that Claude Code wrote, each under an id of its own, with as many bytes of notes beside it
//! as the tool itself makes.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Result;
use crate::bench::Bench;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};
use crate::process::peak_memory;
use crate::texts::Texts;

/// The conversation, and its id.
const CONVERSATION: &str = include_str!("../../../history/tests/fixtures/claude-code/session.jsonl");
const ID: &str = "ce5b5178-28f0-4a24-a4dd-ef386eb1051c";

/// What the tool notes for itself beside such a conversation: lines, and bytes in each.
const NOTES: (usize, usize) = (4, 36_000);

const SESSIONS: u32 = 1000;

const STORE: &str = "sessions.db";

/// How many times the time of reading and parsing an import may take.
const TIMES: f64 = 10.0;

/// What it may have at its peak, however many sessions there are.
const MEMORY: Amount = Amount::Bytes(40 * 1024 * 1024);

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let histories = bench.path("histories");
    let sessions = bench.size(SESSIONS);
    write_sessions(&histories, sessions)?;

    let mut import = || {
        let mut command = bench.import(STORE, &histories)?;
        let taken = time(|| finish(&mut command));
        remove_store(bench)?;
        taken
    };
    let mut parse = || time(|| parse_all(&histories));
    let times = medians(bench.rounds(), [&mut import, &mut parse])?;
    let [import, parse] = times.map(Amount::Time);
    let memory = peak_of(bench.import(STORE, &histories)?)?;

    let what = format!("import {sessions} sessions of Claude Code");
    Ok(vec![
        Figure::new(&what, import).against("read the files and parse each line", parse, Wanted::Within(TIMES)),
        Figure::new(format!("peak memory: {what}"), Amount::Bytes(memory)).at_most(MEMORY),
    ])
}

fn write_sessions(folder: &Path, count: u32) -> Result<()> {
    fs::create_dir(folder)?;
    let mut texts = Texts::new(1);
    let (lines, bytes) = NOTES;
    for number in 0..count {
        let id = format!("{number:08}{}", &ID[8..]);
        let mut file = CONVERSATION.replace(ID, &id);
        for _ in 0..lines {
            let note = json!({ "type": "api-request-shape", "sessionId": id, "shape": texts.text(bytes) });
            file.push_str(&note.to_string());
            file.push('\n');
        }
        fs::write(folder.join(format!("{id}.jsonl")), file)?;
    }
    Ok(())
}

fn finish(command: &mut Command) -> Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("the import ended with {status}").into()) }
}

fn remove_store(bench: &Bench) -> Result<()> {
    for end in ["", "-wal", "-shm"] {
        let file = bench.path(&format!("{STORE}{end}"));
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn parse_all(folder: &Path) -> Result<u64> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        for line in BufReader::with_capacity(256 * 1024, File::open(entry?.path())?).lines() {
            let value: Value = serde_json::from_str(&line?)?;
            count += u64::from(value.is_object());
        }
    }
    Ok(count)
}

/// The most memory that `command` has while it runs.
fn peak_of(mut command: Command) -> Result<u64> {
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let mut peak = 0;
    while child.try_wait()?.is_none() {
        // It may end between the two.
        peak = peak.max(peak_memory(child.id()).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(peak)
}
