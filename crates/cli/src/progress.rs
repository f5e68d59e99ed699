//! How far a long command has come: a bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that grows.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar of `length` steps. What takes one step needs none.
    pub(crate) fn new(length: usize) -> Self {
        let bar = if length > 1 { ProgressBar::new(length as u64) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }

    /// Has `write` write something above the bar.
    pub(crate) fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        self.0.suspend(write)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.0.finish_and_clear();
    }
}
