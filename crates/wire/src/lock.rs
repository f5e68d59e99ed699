//! One way to take a lock.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock of `mutex`. Each change under our locks is one step, so what a panicking holder left behind is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
