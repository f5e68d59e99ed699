//! The session layer for the Agent Client Protocol: durable sessions for any client and any agent.
//!
//! A [`SessionLayer`] stands between clients and an agent. To a client it is an agent whose sessions can be listed, loaded,
//! resumed, forked and closed, whatever the agent behind it can do; to the agent it is a client. What the agent sends is
//! recorded as it came, stored, then forwarded, so that a load shows what was seen.
//!
//! An agent is a program ([`AgentCommand`]), anything that speaks ACP over a stream ([`AgentSource::in_process`]), or an
//! implementation of [`Agent`]:
//!
//! ```
//! use std::sync::Arc;
//!
//! use rejoin::schema::StopReason;
//! use rejoin::store::MemoryStore;
//! use rejoin::{About, Agent, AgentError, Chosen, Offer, SessionContext, SessionLayer, Transport, Turn};
//! use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//!
//! struct Echo;
//!
//! impl Agent for Echo {
//!     type Session = ();
//!
//!     fn about(&self) -> About {
//!         About::new("echo", "1.0.0")
//!     }
//!     async fn open(&self, _: SessionContext) -> Result<(), AgentError> {
//!         Ok(())
//!     }
//!     fn offer(&self, (): &(), _: &Chosen) -> Offer {
//!         Offer::default()
//!     }
//!     async fn prompt(&self, turn: Turn<()>) -> Result<StopReason, AgentError> {
//!         turn.say(turn.prompt_text()).await?;
//!         Ok(StopReason::EndTurn)
//!     }
//!     async fn close(&self, (): &()) {}
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let layer = SessionLayer::new(Arc::new(MemoryStore::default())).agent(Echo);
//! let (mut client, ours) = tokio::io::duplex(4096);
//! tokio::spawn(async move { layer.serve(Transport::stream(ours)).await });
//!
//! // A client, which would mostly be an editor.
//! let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}"#;
//! client.write_all(format!("{hello}\n").as_bytes()).await?;
//! let answer = BufReader::new(client).lines().next_line().await?.unwrap();
//! assert!(answer.contains(r#""loadSession":true"#) && answer.contains(r#""name":"echo""#));
//! # Ok(())
//! # }
//! ```
//!
//! With [`Transport::stdio`] and [`store::SqliteStore`] in its place, that is a whole agent with durable sessions: see
//! `examples/echo.rs`, and `docs/agent-authors.md` for the rest.

mod adopt;
mod agent;
mod capabilities;
mod choices;
mod client;
pub mod deny;
mod error;
mod feed;
mod hosted;
mod layer;
mod layer_methods;
mod live;
mod lock;
mod mcp_servers;
mod methods;
mod params;
mod policy;
mod recorder;
mod serve;
mod shown;
mod transport;
mod turn;

pub use adopt::{Adopted, Adoption};
pub use agent::{AgentCommand, AgentSource, Restore, Sharing};
pub use agent_client_protocol_schema::v1 as schema;
pub use deny::DenyRules;
pub use error::Error;
pub use hosted::{About, Agent, AgentError, Chosen, Offer, Past, SessionContext, Terminal, Turn};
pub use layer::{LayerOptions, LayerSetup, SessionLayer, Taps};
pub use rejoin_store as store;
pub use transport::Transport;
pub use turn::WhileBusy;
