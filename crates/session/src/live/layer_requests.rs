//! Answers what the agent asks of the layer itself: to name the session, to fork it, to tell the user something.

use std::borrow::Cow;

use rejoin_transcript::json::{Members, Object};
use rejoin_wire::RpcError;

use super::Live;
use crate::Error;
use crate::agent::Remark;
use crate::layer_methods::{FORK, REMARK, SET_TITLE};
use crate::methods::{Fork, SetTitle};
use crate::params::Params;

impl Live {
    /// Answers a request of the agent to the layer; `None` if it is for a client.
    pub(super) async fn asked_us(&mut self, method: &str, params: &str) -> Option<Result<String, RpcError>> {
        let outcome = match method {
            SET_TITLE => self.set_title_for_agent(params).await,
            FORK => self.fork_for_agent().await,
            _ => return None,
        };
        Some(outcome.map_err(|error| error.to_rpc()))
    }

    /// Takes a notification of the agent to the layer; `false` if it is for clients.
    pub(super) async fn told_us(&mut self, method: &str, params: &str) -> bool {
        if method != REMARK {
            return false;
        }
        let members = Members::read(params);
        let text = |name| {
            let text = members.as_ref().and_then(|members| members.get_string(name));
            text.map(Cow::into_owned).unwrap_or_default()
        };
        self.say_now(Remark { title: text("title"), description: text("description") }).await;
        true
    }

    async fn set_title_for_agent(&mut self, params: &str) -> Result<String, Error> {
        SetTitle::read(&Params::read(Some(params))?)?.set(self).await
    }

    async fn fork_for_agent(&mut self) -> Result<String, Error> {
        let opening = self.opening.clone().ok_or(Error::Ended)?;
        let fork = Fork::alike(opening).make(self).await?;
        Ok(Object::default().with_string("sessionId", fork.as_str()).finish())
    }
}
