//! `session/load`: the history, then the session as it is in force, then whatever happens.

use std::sync::Arc;

use rejoin_store::{StoreError, resolve_cwd};
use rejoin_transcript::Fact;
use rejoin_transcript::json::Object;

use super::new::read_opening;
use crate::Error;
use crate::agent::{Opening, Restore};
use crate::choices::with_setup;
use crate::client::{Client, Responder};
use crate::live::Live;
use crate::mcp_servers::McpServers;
use crate::params::Params;

/// The request.
pub(crate) struct Load {
    entry: Entry,
}

impl Load {
    pub(super) fn read(params: &Params<'_>, text: &str) -> Result<Self, Error> {
        // What the error is about is what the client has to add first.
        let id = params.session_id();
        let mcp = McpServers::required(params);
        id?;
        Ok(Self { entry: Entry::read(params, text, mcp?)? })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let client = Arc::clone(responder.client());
        let result = match self.entry.enter(live, &client).await {
            Ok(result) => result,
            Err(error) => return live.respond(responder, Err(error)),
        };
        let Some(head) = live.recorder.as_ref().map(crate::recorder::Recorder::head) else { return };
        let manual = live.session().ok().and_then(|session| session.facts.titles.manual.clone());
        let feed = live.subscribers.add(&client, &live.layer.store, &live.id);
        if let Some(id) = responder.into_id() {
            feed.push_load(head, id, result);
        }
        if let Some(title) = manual {
            live.show_title(&title);
        }
        live.ask_anew(&client, &feed);
    }
}

/// A client's way into a session that exists.
pub(super) struct Entry {
    opening: Opening,
    /// Whether the session is to move to the client's folder.
    is_rebound: bool,
}

impl Entry {
    pub(super) fn read(params: &Params<'_>, text: &str, mcp: McpServers) -> Result<Self, Error> {
        let is_rebound = params.ours("rebind") == Some("true");
        Ok(Self { opening: read_opening(params, text, mcp)?, is_rebound })
    }

    /// Lets the client in: notes what it sent, and gives the result.
    pub(super) async fn enter(self, live: &mut Live, client: &Arc<Client>) -> Result<String, Error> {
        let Self { opening, is_rebound } = self;
        let given = resolve_cwd(&opening.cwd);
        let session = live.session()?;
        let mut facts = Vec::new();
        if given.canonical != session.facts.cwd.canonical {
            if !is_rebound {
                let (session, cwd) = (live.id.clone(), Box::new(session.facts.cwd.clone()));
                return Err(Error::CwdMismatch { session, cwd, given: opening.cwd });
            }
            facts.push(Fact::Cwd(given));
        }
        if session.facts.additional_directories != opening.directories {
            facts.push(Fact::AdditionalDirectories(opening.directories.clone()));
        }
        let names = opening.mcp.names();
        if session.settings.mcp_servers != names {
            facts.push(Fact::McpServers(names));
        }
        let is_cut_off = session.facts.running_since.is_some() && !live.machine.is_in_turn();
        if is_cut_off {
            close_cut_off_turn(live).await?;
        }
        if !facts.is_empty() {
            live.recorder()?.tell(facts).await?;
        }
        live.set_opening(opening, client);
        if live.layer.options.restore == Restore::Required && !live.machine.is_in_turn() {
            live.open_now().await?;
        }
        Ok(with_setup(Object::default(), &live.session()?.settings, client.shows()).finish())
    }
}

/// Closes a turn whose owner is gone; while it lives, the turn is shown as far as it is.
async fn close_cut_off_turn(live: &mut Live) -> Result<(), Error> {
    match live.take().await {
        Ok(()) | Err(Error::Store(StoreError::InUse { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}
