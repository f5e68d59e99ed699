//! The terminal chat: an ordinary client of the session layer.
//!
//! The caller passes in a byte stream to a layer, and the chat speaks ACP over it; it knows nothing about stores or agents.
//! [`run_chat`] is interactive: finished output goes into the terminal's scrollback, and only the live part below it is
//! redrawn. [`prompt_once`] is for scripts: it sends one prompt and prints the answer.
//!
//! # Layout
//!
//! - `ui/`: the interactive chat, a state machine (events in, effects out) and the driver that runs it.
//!   - `chat.rs`, `keyboard.rs`, `actions.rs`: what each event does; `tests.rs` tests them as a table.
//!   - `keys.rs`: what each key does. A new key also needs its row in `docs/chat.md`.
//!   - `view.rs`: the live part of the screen; `pager.rs`: the full-screen view.
//! - `render/`: turns content into styled lines.
//!   - `item.rs`, `tool_call.rs`: how a message and a tool call look.
//!   - `screen.rs`: which bytes go to the terminal, also after a resize.
//! - `protocol/`: which updates and agent requests the chat understands.
//! - `once.rs`: what `rejoin chat -p` prints.
//! - `terminal.rs`: enters raw mode, and restores the terminal on exit or panic.
//! - `error.rs`: the errors, and who can fix each.

mod client;
mod error;
mod once;
mod options;
mod protocol;
mod render;
mod terminal;
pub mod text;
mod ui;

pub use error::{Blame, ChatError};
pub use once::{Form, OnceOptions, Permissions, prompt_once};
pub use options::{ChatOptions, Colours, Start};
pub use ui::{ChatOutcome, run_chat};
