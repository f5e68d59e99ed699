//! A session's MCP servers: over stdio, streamable HTTP and legacy SSE.
//!
//! [`Servers::connect`] connects to all at once and never fails as a whole: a server that can't be used is named by
//! [`Servers::status`], with the reason in plain words, and the others work. One [`Servers`] belongs to one session, and
//! what it started ends with it.
//!
//! No text that leaves this crate, and no `Debug` of its types, holds a value of a server's environment or headers, or the
//! user and the query of its address.

mod error;
mod handler;
mod link;
mod lists;
mod names;
mod options;
mod request;
mod schema;
mod secrets;
mod server;
mod servers;
mod spec;
mod status;
mod supervisor;
mod transport;

pub use error::{CallError, Failure};
pub use options::{Folders, Options};
pub use request::Progress;
pub use rmcp::model;
pub use servers::{Listed, Servers, Tool};
pub use spec::{ServerSpec, Transport};
pub use status::{LeftOut, ServerStatus, State};
