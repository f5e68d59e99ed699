//! JSON-RPC as raw frames: what ACP needs of it, and nothing of what ACP means.
//!
//! A [`Connection`] sends and an [`Incoming`] receives whole lines, each one message whose payload stays the text it
//! came as. Both are bounded: a line by [`Options::line_limit`], what waits to be written by [`Options::room`]. No line,
//! however broken, ends a connection. A [`Process`] is the program at the other end, with all it has started.

mod connection;
mod environment;
mod error;
mod lock;
mod message;
mod process;
mod reader;
mod rpc_error;
mod secrets;
mod stderr;
mod stdin;
mod watchdog;
mod writer;

pub use connection::{Connection, Direction, Incoming, InvalidUtf8, Options, Received, Tap};
pub use environment::{Inherited, NamePattern, NotANamePattern, Requested};
pub use error::{Closed, ProcessError};
pub use message::{RequestId, notification_line, request_line, response_line};
pub use process::{Command, Process};
pub use reader::{Line, LineSplitter};
pub use rpc_error::{Outcome, RpcError};
pub use secrets::{names_secret, secrets_in_args, secrets_in_path};
pub use serde_json::value::RawValue;
pub use stdin::Stdin;
