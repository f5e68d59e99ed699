//! The promises of a store, checked from outside.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod contract;
mod crash;
mod sqlite;
