//! One way to take a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock of `mutex`. Nothing that is done under our locks leaves things half done, so it does not matter if
/// somebody panicked there.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
