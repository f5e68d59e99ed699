//! The promises of the session layer, checked from both of its sides with a scripted agent.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod schema;
mod test_asks;
mod test_methods;
mod test_order;
mod test_restore;
mod test_settings;
mod test_turns;
mod world;
