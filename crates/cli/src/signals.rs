//! Whatever says that the program should end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Whatever says that the program should end. From the moment it is made, none of it ends the program by itself.
pub(crate) struct Signals([Signal; 3]);

impl Signals {
    /// Begins to listen.
    ///
    /// Must be called inside a Tokio runtime.
    pub(crate) fn new() -> std::io::Result<Self> {
        let [interrupt, terminate, hangup] = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        Ok(Self([signal(interrupt)?, signal(terminate)?, signal(hangup)?]))
    }

    /// Waits for one of them.
    pub(crate) async fn any(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
