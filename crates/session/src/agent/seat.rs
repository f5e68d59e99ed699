//! A session's hold on an agent process.
//!
//! A process that is retired takes no new sessions, and ends with the last seat in it.

use std::ops::Deref;
use std::sync::Arc;

use tokio::runtime::Handle;

use super::link::Link;
use super::source::Sharing;

/// A session's hold on an agent process, given up when it is dropped.
pub(crate) struct Seat(Arc<Link>);

impl Seat {
    /// A seat in `link`; nothing if it takes no more sessions.
    pub(super) fn take(link: &Arc<Link>, sharing: Sharing) -> Option<Self> {
        let mut routes = link.lock();
        if routes.is_retired {
            return None;
        }
        routes.seats += 1;
        routes.is_retired = sharing == Sharing::OneEach;
        drop(routes);
        Some(Self(Arc::clone(link)))
    }
}

impl Clone for Seat {
    fn clone(&self) -> Self {
        self.0.lock().seats += 1;
        Self(Arc::clone(&self.0))
    }
}

impl Deref for Seat {
    type Target = Arc<Link>;

    fn deref(&self) -> &Arc<Link> {
        &self.0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.lock().seats -= 1;
        end_if_done(&self.0);
    }
}

/// Has `link` end if it is retired and nobody sits there any more.
pub(super) fn end_if_done(link: &Arc<Link>) {
    let routes = link.lock();
    let is_done = routes.is_retired && routes.seats == 0;
    drop(routes);
    // Without a runtime everything ends anyway.
    if let (true, Ok(runtime)) = (is_done, Handle::try_current()) {
        let link = Arc::clone(link);
        runtime.spawn(async move { link.end().await });
    }
}
