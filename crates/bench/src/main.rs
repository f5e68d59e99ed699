//! The benchmarks of the session store and the session layer: runs them all, prints a table, and says whether every promise is kept.
//!
//! Each figure stands beside that of the obvious alternative, taken in the same run, because ratios hold on any machine
//! where rates do not. Everything is written to a folder of its own, which is removed at the end.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

mod bare;
mod bench;
mod benchmarks;
mod data;
mod endpoint;
mod figure;
mod jsonl;
mod measure;
mod peer;
mod process;
mod programs;
mod recording;
mod stub;
mod texts;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::bench::{Bench, Scale};
use crate::benchmarks::{BENCHMARKS, Subject, memory};
use crate::figure::{Figure, TABLE_HEAD};
use crate::programs::Programs;
use crate::stub::{CopyFile, StubAgent};

/// What any part of this program returns: nothing here recovers from an error, so one kind will do.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures the session store and the session layer against the obvious alternatives.
///
/// Exits with 1 if a figure misses what is wanted of it.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Run only the benchmark of this name.
    #[arg(long, value_name = "NAME", value_parser = BENCHMARKS.map(|(name, ..)| name))]
    only: Option<String>,
    /// Write the figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Use small sizes and few rounds, and ask nothing of the figures: proves only that everything runs.
    #[arg(long)]
    quick: bool,
    /// Work in a new folder inside this one, instead of where temporary files go; it should be on a real disk.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(flatten)]
    programs: Programs,
    #[command(subcommand)]
    child: Option<Child>,
}

/// What this program does as a process of its own, to be measured or to be spoken with.
#[derive(Subcommand)]
enum Child {
    /// Reads a session, and prints the most memory that took.
    #[command(hide = true)]
    ReadSession(memory::ReadSession),
    /// Is an agent.
    #[command(hide = true)]
    StubAgent(StubAgent),
    /// Answers with a file.
    #[command(hide = true)]
    CopyFile(CopyFile),
}

fn main() -> Result<ExitCode> {
    let mut args = Args::parse();
    if let Some(child) = args.child.take() {
        match child {
            Child::ReadSession(child) => println!("{}", child.run()?),
            Child::StubAgent(child) => child.run()?,
            Child::CopyFile(child) => child.run()?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let figures = run_benchmarks(&args)?;
    if let Some(path) = &args.json {
        let figures: Vec<_> = figures.iter().map(Figure::to_json).collect();
        fs::write(path, serde_json::to_string_pretty(&figures)?)?;
    }
    let is_good = args.quick || figures.iter().all(|figure| figure.is_met() != Some(false));
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the benchmarks that were asked for, and prints the figures of each as soon as they are known.
fn run_benchmarks(args: &Args) -> Result<Vec<Figure>> {
    let folder = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    let scale = if args.quick { Scale::Quick } else { Scale::Full };
    let is_meant = |name: &str| args.only.as_deref().is_none_or(|only| only == name);
    let meant: Vec<_> = BENCHMARKS.into_iter().filter(|(name, ..)| is_meant(name)).collect();
    // Better now than when all the others have run.
    if meant.iter().any(|(_, subject, _)| *subject == Subject::Layer) {
        args.programs.rejoin()?;
    }
    let mut all = Vec::new();
    println!("{TABLE_HEAD}");
    for (name, _, run) in meant {
        let bench = Bench::new(folder.path().join(name), scale, args.programs.clone())?;
        for figure in run(&bench)? {
            let figure = figure.of(name);
            println!("{}", figure.to_row());
            all.push(figure);
        }
        std::io::stdout().flush()?;
        bench.clean_up()?;
    }
    Ok(all)
}
