//! A scripted agent, a client, sessions, steps and stores for tests.
//!
//! Everything here stops the test when something is not as expected, so that tests read as what they promise.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(clippy::panic, reason = "the same, with words")]
#![expect(clippy::missing_panics_doc, reason = "to stop the test is what these functions do when something is wrong")]

pub mod agent;
mod client;
mod fault_store;
mod fold;
mod peers;
mod sessions;
mod steps;
mod temp_store;

pub use client::{Answer, Event, Pending, TestClient, updates_in};
pub use fault_store::FaultStore;
pub use fold::fold;
pub use peers::Peers;
pub use sessions::{
    append_turn, create, create_and_acquire, create_with_turn, finds, found, numbers, owner, query, read_all,
    replay_all, replay_of, session_in,
};
pub use steps::{at, chunk, end, number, prompt, update};
pub use temp_store::{TempStore, holds};
