//! `initialize`: the client says what it can do, and is told what the agent and the layer can do.

use std::sync::Arc;

use crate::Error;
use crate::capabilities::{ClientProfile, initialize_result};
use crate::client::Client;
use crate::layer::Shared;

/// Takes what the client told, and answers with what the agent can do and what we add. What the first client told is what
/// the agent is told.
///
/// An agent that can't be started does not keep a client from its sessions: what needs the agent fails later, and says
/// why.
pub(crate) async fn initialize(
    layer: &Arc<Shared>,
    client: &Arc<Client>,
    params: Option<&str>,
) -> Result<String, Error> {
    let profile = ClientProfile::read(params)?;
    layer.agents.introduce(&profile.initialize);
    client.introduce(profile);
    layer.clients.add(client);
    match layer.agents.link().await {
        Ok(link) => Ok(initialize_result(Some(&link.initialize_result()))),
        Err(error) => {
            tracing::error!(%error, "the agent can't be started");
            Ok(initialize_result(None))
        }
    }
}
