//! The built-in agent behind a session layer, as a client sees it: its tools, and models on the wire.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod project;
mod test_anthropic;
mod test_commands;
mod test_compaction;
mod test_deny;
mod test_errors;
mod test_files;
mod test_gemini;
mod test_history;
mod test_hostile_provider;
mod test_models;
mod test_openai;
mod test_permission;
mod test_settings;
mod test_writes;
mod wire;
mod world;
