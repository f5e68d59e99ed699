//! What the agent asks of us, and not of a client: to name the session, to fork it.

use rejoin_transcript::json::Object;
use rejoin_wire::RpcError;

use super::Live;
use crate::Error;
use crate::methods::{Fork, SetTitle};
use crate::params::Params;

impl Live {
    /// Does what the agent asks of us; nothing, if the question is for a client.
    pub(super) async fn asked_us(&mut self, method: &str, params: &str) -> Option<Result<String, RpcError>> {
        let outcome = match method {
            "_rejoin/session/set_title" => self.set_title_for_agent(params).await,
            "_rejoin/session/fork" => self.fork_for_agent().await,
            _ => return None,
        };
        Some(outcome.map_err(|error| error.to_rpc()))
    }

    async fn set_title_for_agent(&mut self, params: &str) -> Result<String, Error> {
        SetTitle::read(&Params::read(Some(params))?)?.set(self).await
    }

    async fn fork_for_agent(&mut self) -> Result<String, Error> {
        let (opening, ..) = self.opening.clone().ok_or(Error::Ended)?;
        let fork = Fork::alike(opening).make(self).await?;
        Ok(Object::default().with_string("sessionId", fork.as_str()).finish())
    }
}
