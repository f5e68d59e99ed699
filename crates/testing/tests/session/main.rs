//! The promises of the session layer, checked from both of its sides with a scripted agent.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it did not expect")]

mod raw;
mod schema;
mod test_adopt;
mod test_asks;
mod test_connection;
mod test_fuzz;
mod test_hosted;
mod test_lost;
mod test_memory;
mod test_methods;
mod test_opening;
mod test_order;
mod test_restore;
mod test_settings;
mod test_store;
mod test_turns;
mod world;
