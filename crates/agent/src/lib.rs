//! The built-in agent: an ACP agent like any other, written with the library's own trait.
//!
//! A prompt is a slash command, or goes to a language model with the conversation so far; what the model calls is shown,
//! asked for where the mode says so, done, and given back. Without a configured model, `offline/echo` repeats what it hears,
//! so that sessions, tools and permissions can be tried without a key.

mod agent;
mod ask;
mod calls;
mod cancellation;
mod commands;
mod compaction;
mod context;
mod instructions;
mod kept;
mod mcp_servers;
mod mode;
mod models;
mod offer;
mod permission;
mod repeats;
mod session;
mod shorten;
mod tools;
mod turn_loop;

pub use agent::{AgentConfig, BuiltInAgent};
pub use models::{KeySource, ModelId, NotAModel, ProviderConfig, ProviderKind, Secret, ask_for_models};
