//! The chat in the terminal: a client of the session layer like any other.
//!
//! It is given a stream of bytes to a layer and speaks ACP over it; it knows nothing of stores and agents. [`talk()`] is for
//! people: the conversation goes into the terminal's own scrollback, and below it is what still changes. [`ask_once`] is
//! for scripts.

mod client;
mod error;
mod look;
mod once;
mod options;
mod protocol;
mod talk;
mod terminal;
pub mod text;

pub use error::{Blame, ChatError};
pub use once::{Form, OnceOptions, Permissions, ask_once};
pub use options::{Colours, Start, TalkOptions};
pub use talk::{Talked, talk};
