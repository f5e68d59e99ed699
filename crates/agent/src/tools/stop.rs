//! Work on another thread that ends when nobody waits for it any more.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the work is to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopped(Arc<AtomicBool>);

/// Has the work end when this is dropped.
#[derive(Debug, Default)]
pub(super) struct StopOnDrop(Stopped);

/// A reader that fails once its work is to end.
pub(super) struct Stoppable<R> {
    reader: R,
    stopped: Stopped,
}

impl Stopped {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl StopOnDrop {
    /// What the work looks at.
    pub(super) fn flag(&self) -> Stopped {
        self.0.clone()
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl<R: Read> Stoppable<R> {
    pub(super) fn new(reader: R, stopped: Stopped) -> Self {
        Self { reader, stopped }
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.stopped.is_set() {
            // Not `Interrupted`, after which a reader is asked again.
            return Err(io::Error::other("nobody waits for it any more"));
        }
        self.reader.read(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_waits_for_is_not_read_to_its_end() {
        let stop = StopOnDrop::default();
        let mut endless = Stoppable::new(io::repeat(b'x'), stop.flag());
        assert_eq!(endless.read(&mut [0; 3]).unwrap(), 3);
        drop(stop);
        assert!(io::copy(&mut endless, &mut io::sink()).is_err());
    }
}
