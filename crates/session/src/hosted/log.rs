//! What was said in an open session, as updates: the record that it was opened with, and all since.

use std::sync::{Mutex, PoisonError};

use rejoin_transcript::Json;
use serde_json::Value;

#[derive(Default)]
pub(super) struct Log(Mutex<Vec<Json>>);

impl Log {
    /// The log of a session whose `_meta` brought its record.
    pub(super) fn of(meta: Option<&serde_json::Map<String, Value>>) -> Self {
        let record = meta.and_then(|meta| meta.get("rejoin")?.get("transcript")?.as_array());
        let updates = record.into_iter().flatten().map(|update| Json::from_stored(update.to_string()));
        Self(Mutex::new(updates.collect()))
    }

    pub(super) fn push(&self, update: Json) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(update);
    }

    /// How much there is.
    pub(super) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The first `len` updates.
    pub(super) fn first(&self, len: usize) -> Vec<Json> {
        let updates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        updates.iter().take(len).cloned().collect()
    }
}
