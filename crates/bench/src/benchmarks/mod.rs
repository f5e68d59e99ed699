//! The benchmarks, one in each file.

mod acp_list;
mod append_batch;
mod append_one;
mod first_token;
mod fork;
mod forward;
mod import;
mod list;
mod load;
pub(crate) mod memory;
mod read;
mod search;
mod size;
mod start;

use crate::Result;
use crate::bench::Bench;
use crate::figure::Figure;

/// Measures, and gives the figures.
pub(crate) type Benchmark = fn(&Bench) -> Result<Vec<Figure>>;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The store, in this process.
    Store,
    /// The session layer, or the built-in agent behind it: the program `rejoin`, over pipes.
    Layer,
}

/// All benchmarks by name, in the order in which they run.
pub(crate) const BENCHMARKS: [(&str, Subject, Benchmark); 14] = [
    ("append-batch", Subject::Store, append_batch::run),
    ("append-one", Subject::Store, append_one::run),
    ("read", Subject::Store, read::run),
    ("read-memory", Subject::Store, memory::run),
    ("list", Subject::Store, list::run),
    ("fork", Subject::Store, fork::run),
    ("search", Subject::Store, search::run),
    ("size", Subject::Store, size::run),
    ("forward", Subject::Layer, forward::run),
    ("load", Subject::Layer, load::run),
    ("start", Subject::Layer, start::run),
    ("acp-list", Subject::Layer, acp_list::run),
    ("import", Subject::Layer, import::run),
    ("first-token", Subject::Layer, first_token::run),
];
