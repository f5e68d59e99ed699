//! The benchmarks, one in each file.

mod append_batch;
mod append_one;
mod fork;
mod list;
pub(crate) mod memory;
mod read;
mod search;
mod size;

use crate::Result;
use crate::bench::Bench;
use crate::figure::Figure;

/// Measures, and gives the figures.
pub(crate) type Benchmark = fn(&Bench) -> Result<Vec<Figure>>;

/// All benchmarks by name, in the order in which they run.
pub(crate) const BENCHMARKS: [(&str, Benchmark); 8] = [
    ("append-batch", append_batch::run),
    ("append-one", append_one::run),
    ("read", read::run),
    ("read-memory", memory::run),
    ("list", list::run),
    ("fork", fork::run),
    ("search", search::run),
    ("size", size::run),
];
