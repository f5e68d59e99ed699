//! The stdin of a program, which knows how much of it the program has read.
//!
//! What was written and not read yet lies in the pipe, also when the program has ended. So of what was sent to one that died
//! it can be told whether anything came of it.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use rustix::io::ioctl_fionread;
use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;

use crate::lock::lock;

/// The way to a program's stdin. It is closed when this is dropped.
#[derive(Debug)]
pub struct Stdin(Arc<Mutex<Pipe>>);

/// Tells how much of its stdin a program has read.
#[derive(Debug, Clone)]
pub(crate) struct ReadCount(Arc<Mutex<Pipe>>);

#[derive(Debug)]
enum Pipe {
    Open { end: ChildStdin, n_written: u64 },
    Closed { n_read: u64 },
}

impl Stdin {
    pub(crate) fn new(end: ChildStdin) -> (Self, ReadCount) {
        let pipe = Arc::new(Mutex::new(Pipe::Open { end, n_written: 0 }));
        (Self(Arc::clone(&pipe)), ReadCount(pipe))
    }

    fn with_end<T>(
        &self,
        act: impl FnOnce(Pin<&mut ChildStdin>, &mut u64) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut *lock(&self.0) {
            Pipe::Open { end, n_written } => act(Pin::new(end), n_written),
            Pipe::Closed { .. } => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl ReadCount {
    /// How many bytes the program has read; all that were written, where that can't be known.
    pub(crate) fn n_read(&self) -> u64 {
        lock(&self.0).n_read()
    }
}

impl Pipe {
    fn n_read(&self) -> u64 {
        match self {
            Self::Open { end, n_written } => n_written.saturating_sub(ioctl_fionread(end).unwrap_or_default()),
            Self::Closed { n_read } => *n_read,
        }
    }
}

impl AsyncWrite for Stdin {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with_end(|end, n_written| {
            let written = end.poll_write(cx, bytes);
            if let Poll::Ready(Ok(n_bytes)) = &written {
                *n_written += *n_bytes as u64;
            }
            written
        })
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_end(|end, _| end.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with_end(|end, _| end.poll_shutdown(cx))
    }
}

impl Drop for Stdin {
    fn drop(&mut self) {
        let mut pipe = lock(&self.0);
        *pipe = Pipe::Closed { n_read: pipe.n_read() };
    }
}
