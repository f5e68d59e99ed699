//! The promises of the wire, checked from outside.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod connection;
mod garbage;
mod process;
