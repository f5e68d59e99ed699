//! Signals: those that say that the program should end, and one that must not end it.

use rustix::process::Signal as Number;
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

/// Has a write fail that would make a file longer than the system allows (`ulimit -f`), instead of ending the program.
///
/// The signal is handled, not ignored: what is ignored here would also be ignored by every program that is started.
///
/// Must be called inside a Tokio runtime.
pub(crate) fn outlive_full_files() -> std::io::Result<()> {
    // The handler stays although nobody listens.
    signal(SignalKind::from_raw(Number::XFSZ.as_raw())).map(drop)
}
