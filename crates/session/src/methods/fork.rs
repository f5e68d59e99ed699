//! `session/fork`: another session that begins with what was said in this one.

use std::borrow::Cow;
use std::sync::Arc;

use rejoin_store::{fork_point, new_session_id, now, resolve_cwd};
use rejoin_transcript::json::{Object, read_string};
use rejoin_transcript::{EntryNumber, Fact, SessionId};

use super::Request;
use super::new::read_opening;
use super::resume::welcome;
use crate::Error;
use crate::agent::Opening;
use crate::choices::with_setup;
use crate::client::Responder;
use crate::live::{Command, Live};
use crate::mcp_servers::McpServers;
use crate::params::Params;

/// The request, to the session that is forked.
pub(crate) struct Fork {
    opening: Opening,
    /// Whether it gave MCP servers; if not, the fork has those of its source.
    gives_servers: bool,
    /// The message after whose turn the fork begins.
    at: Option<String>,
}

impl Fork {
    pub(super) fn read(params: &Params<'_>, text: &str) -> Result<Self, Error> {
        params.session_id()?;
        let at = params.ours("at").and_then(read_string).map(Cow::into_owned);
        let mcp = McpServers::optional(params)?;
        let gives_servers = mcp.is_some();
        Ok(Self { opening: read_opening(params, text, mcp.unwrap_or_default())?, gives_servers, at })
    }

    pub(super) async fn run(mut self, live: &mut Live, responder: Responder) {
        if !self.gives_servers {
            self.opening.mcp = live.servers_in_force();
        }
        match self.make(live).await {
            Ok(fork) => {
                let request = Request::Forked(Forked { opening: self.opening });
                Arc::clone(&live.layer).tell(&fork, Command::Request(request, responder));
            }
            Err(error) => live.respond(responder, Err(error)),
        }
    }

    /// A fork of the session as it was opened, at the last turn that has ended.
    pub(crate) fn alike(opening: Opening) -> Self {
        Self { opening, gives_servers: true, at: None }
    }

    /// Makes the fork in the store.
    pub(crate) async fn make(&self, live: &mut Live) -> Result<SessionId, Error> {
        let (fork, at) = (new_session_id(), self.point(live).await?);
        let facts = vec![
            Fact::Cwd(resolve_cwd(&self.opening.cwd)),
            Fact::AdditionalDirectories(self.opening.directories.clone()),
            Fact::McpServers(self.opening.mcp.names()),
        ];
        live.layer.store.fork(&live.id, at, fork.clone(), now(), facts).await?;
        Ok(fork)
    }

    /// The last entry that the fork shares.
    async fn point(&self, live: &Live) -> Result<EntryNumber, Error> {
        let point = fork_point(&*live.layer.store, &live.id, self.at.as_deref()).await?;
        point.ok_or_else(|| {
            let message = self.at.as_deref().unwrap_or_default();
            let problem =
                format!("`_meta.rejoin.at` is {message:?}, and no message of an ended turn has that `messageId`");
            Error::invalid("_meta.rejoin.at", problem)
        })
    }
}

/// What is left to do in the fork.
pub(crate) struct Forked {
    opening: Opening,
}

impl Forked {
    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        live.set_opening(self.opening);
        let result = live.flush().await.and_then(|()| {
            let result = Object::default().with_string("sessionId", live.id.as_str());
            Ok(with_setup(result, &live.session()?.settings, responder.client().shows()).finish())
        });
        match result {
            Ok(result) => welcome(live, responder, result),
            Err(error) => responder.answer(Err(error)),
        }
    }
}
