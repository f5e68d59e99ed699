//! The interactive chat: a state machine that takes events and returns effects and frames.

mod actions;
mod chat;
mod commands;
mod completion;

mod driver;
mod form;
mod history;
mod input;
mod keyboard;
mod keys;
mod menu;
mod opening;
mod pager;
mod question;
mod session;
#[cfg(test)]
mod tests;
mod transcript;
mod view;

use crossterm::event::KeyEvent;
use rejoin_wire::{Received, RequestId, RpcError};
use serde_json::Value;

use crate::protocol::Failure;
use crate::render::screen::Size;

pub use driver::{ChatOutcome, run_chat};

/// Something happened.
#[derive(Debug)]
pub(crate) enum Event {
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    Resized(Size),
    /// The layer said something.
    Received(Received<Tag>),
    /// The layer is gone.
    LayerGone,
    /// Time has passed.
    Tick,
}

/// Which request an answer is to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tag {
    Initialize,
    List,
    /// More of the same list.
    ListMore,
    New,
    Load,
    /// The prompt with this number.
    Prompt(u64),
    /// A choice, and the value that it is to have.
    Choose(String, Value),
    Authenticate,
    /// A session that is left.
    Close,
}

/// Something to do.
#[derive(Debug)]
pub(crate) enum Effect {
    Request {
        method: &'static str,
        params: Value,
        tag: Tag,
    },
    Notify {
        method: &'static str,
        params: Value,
    },
    Respond {
        id: RequestId,
        outcome: Result<Value, RpcError>,
    },
    /// What is on the terminal is of another session, and stays as it is.
    BeginBelow,
    /// The screen is to be drawn anew.
    Redraw,
    /// The program is to be stopped until the shell continues it.
    Suspend,
}

/// Why the chat is over.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum End {
    /// The user wants so.
    Quit,
    /// The user has chosen the session with this id, and another agent goes on with it.
    Elsewhere(String),
    /// There is no session to talk in.
    Failed(Failure),
    LayerGone,
}
