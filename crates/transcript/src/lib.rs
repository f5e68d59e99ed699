//! What happened in an ACP session, as plain data.
//!
//! A session's record is a list of numbered [`Entry`]s: one for each `session/update` the agent sent, verbatim, and one
//! for each other thing worth remembering (a prompt, the end of a turn, a permission). From them follow
//!
//! - the [`View`]: what people see, folded;
//! - the [`replay`](replay()): the shortest list of updates with the same view, which a load sends;
//! - the [`Session`]: title, times, counts and settings, as a list shows and a load needs them.
//!
//! Nothing here reads a clock, a file or a socket.

mod entry;
mod error;
pub mod export;
pub mod json;
mod message;
mod replay;
mod retelling;
mod session;
mod settings;
mod state;
mod text;
mod time;
mod title;
mod turn;
mod update;
mod view;

pub use entry::{Audience, Entry, EntryNumber, LayerKind, Step, StepKind, Turn};
pub use error::TranscriptError;
pub use json::Json;
pub use message::{MessageId, MessageIds};
pub use replay::{Replay, Replayed, live, replay};
pub use retelling::{Retelling, Told};
pub use session::{
    AgentInfo, AgentMemory, AgentSession, Cost, Cwd, Fact, FormerAgentSession, Parent, Session, SessionFacts,
    SessionId, Shelf,
};
pub use settings::{InForce, MadeWith, McpServerNames, McpTransport, Settings};
pub use state::States;
pub use time::Timestamp;
pub use title::{Titles, manual_title};
pub use turn::{OpenWork, TurnEnd, UnfinishedTurn};
pub use update::{UpdateKind, content_text, with_message_id};
pub use view::{Fold, Item, Message, Part, Role, State, ToolCall, View, What};
