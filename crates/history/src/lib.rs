//! Histories of other tools, read into the terms of the record.
//!
//! A tool keeps its conversations in files of its own. [`recognise()`] tells by its content what a file is, and
//! [`conversations`] reads what is in it: facts, and the steps that the tool's own `session/load` would replay, with the
//! times at which they happened. What can't be read of a file is left out and counted; the rest is read.
//!
//! Files are only ever read, and never as a whole: memory is bounded by a line, and by a few bytes for each line.

mod blocks;
mod claude_code;
mod codex;
mod conversation;
mod error;
mod gemini;
mod input;
mod lines;
mod opencode;
mod recognise;
mod tool;

pub use conversation::{About, Conversation, Conversations, LeftOut, conversations, session_id};
pub use error::HistoryError;
pub use recognise::{Content, recognise};
pub use tool::Tool;
