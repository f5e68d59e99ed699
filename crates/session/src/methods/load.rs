//! `session/load`: the history, then the session as it is in force, then whatever happens.

use std::sync::Arc;

use rejoin_store::resolve_cwd;
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
        Ok(Self { entry: Entry::read(params, text, Some(mcp?))? })
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
    /// Whether it gave MCP servers; if not, those in force stay.
    gives_servers: bool,
    /// Whether the session is to move to the client's folder.
    is_rebound: bool,
}

impl Entry {
    pub(super) fn read(params: &Params<'_>, text: &str, mcp: Option<McpServers>) -> Result<Self, Error> {
        let (gives_servers, is_rebound) = (mcp.is_some(), params.ours("rebind") == Some("true"));
        Ok(Self { opening: read_opening(params, text, mcp.unwrap_or_default())?, gives_servers, is_rebound })
    }

    /// Lets the client in: notes what it sent, and gives the result.
    pub(super) async fn enter(self, live: &mut Live, client: &Arc<Client>) -> Result<String, Error> {
        let Self { mut opening, gives_servers, is_rebound } = self;
        if !gives_servers {
            opening.mcp = live.servers_in_force();
        }
        let given = resolve_cwd(&opening.cwd);
        let session = live.session()?;
        let mut facts = Vec::new();
        // A folder that is gone may resolve to another than it did, so its spelling counts too.
        if given.canonical != session.facts.cwd.canonical && given.raw != session.facts.cwd.raw {
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
        if gives_servers && session.settings.mcp_servers != names {
            facts.push(Fact::McpServers(names));
        }
        let is_cut_off = session.facts.running_since.is_some() && !live.machine.is_in_turn();
        if is_cut_off {
            close_cut_off_turn(live).await;
        }
        if !facts.is_empty() {
            let told = live.recorder()?.tell(facts).await;
            if let Err(error) = told {
                if is_rebound {
                    return Err(error.into());
                }
                tracing::warn!(session = %live.id, %error, "what the client sent to open a session could not be noted");
            }
        }
        live.set_opening(opening);
        if live.layer.options.restore == Restore::Required && !live.machine.is_in_turn() {
            live.open_now().await?;
        }
        Ok(with_setup(Object::default(), &live.session()?.settings, client.shows()).finish())
    }
}

/// Closes a turn whose owner is gone. While it lives, or if that can't be written, the turn is shown as far as it is:
/// reading always works.
async fn close_cut_off_turn(live: &mut Live) {
    if let Err(error) = live.take().await {
        tracing::info!(session = %live.id, %error, "a turn that was cut off is shown as it is");
    }
}
