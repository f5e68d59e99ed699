//! The session layer for the Agent Client Protocol: durable sessions for any client and any agent.
//!
//! A [`SessionLayer`] stands between clients and an agent. To a client it is an agent whose sessions can be listed, loaded,
//! resumed, forked and closed, whatever the agent behind it can do; to the agent it is a client. What the agent sends is
//! recorded as it came, stored, then forwarded, so that a load shows what was seen.

mod agent;
mod capabilities;
mod choices;
mod client;
mod error;
mod feed;
mod hosted;
mod layer;
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

pub use agent::{AgentCommand, AgentSource, Restore, Sharing};
pub use agent_client_protocol_schema::v1 as schema;
pub use error::Error;
pub use hosted::{About, Agent, AgentError, Chosen, Offer, Past, SessionContext, Terminal, Turn};
pub use layer::{LayerOptions, LayerSetup, SessionLayer, Taps};
pub use rejoin_store as store;
pub use transport::Transport;
pub use turn::WhileBusy;
