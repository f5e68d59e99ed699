//! A future that has begun: what it waits for goes on while something else is done.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use futures::future::{MaybeDone, maybe_done};

/// A future that may have begun.
pub(crate) struct Begun<F: Future>(Pin<Box<MaybeDone<F>>>);

impl<F: Future> Begun<F> {
    /// One that begins when its end is waited for.
    pub(crate) fn later(future: F) -> Self {
        Self(Box::pin(maybe_done(future)))
    }

    /// Looks at it once, so that it begins.
    pub(crate) async fn begin(mut self) -> Self {
        poll_fn(|context| {
            let _ = self.0.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
        self
    }

    /// Waits for its end; nothing, if that was done before.
    pub(crate) async fn end(&mut self) -> Option<F::Output> {
        self.0.as_mut().await;
        self.0.as_mut().take_output()
    }
}
