//! How many things have been looked at, on a terminal.

use std::cell::Cell;
use std::future::Future;
use std::io::{self, IsTerminal, Write};

/// How far the work has come.
pub(super) struct Progress {
    total: usize,
    done: Cell<usize>,
    is_shown: bool,
}

impl Progress {
    /// Begins with `total` things to do; shown where a person looks at standard error.
    pub(super) fn new(total: usize) -> Self {
        let progress = Self { total, done: Cell::new(0), is_shown: io::stderr().is_terminal() };
        progress.show();
        progress
    }

    /// `work`, which counts when it is done.
    pub(super) async fn watch<T>(&self, work: impl Future<Output = T>) -> T {
        let done = work.await;
        self.done.set(self.done.get() + 1);
        self.show();
        done
    }

    /// Takes it away.
    pub(super) fn clear(&self) {
        self.write("\r\x1b[K");
    }

    fn show(&self) {
        self.write(&format!("\r\x1b[K{} of {} done …", self.done.get(), self.total));
    }

    fn write(&self, text: &str) {
        if self.is_shown {
            // Nobody misses it where it can't be shown.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}
