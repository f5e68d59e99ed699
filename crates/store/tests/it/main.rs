//! The promises of a store, checked from outside.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod contract;
mod crash;
mod damage;
mod replaced;
mod sqlite;
mod take_in;
