//! The built-in agent behind a session layer, as a client sees it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod project;
mod test_commands;
mod test_files;
mod test_permission;
mod test_settings;
