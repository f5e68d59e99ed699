//! `session/new`: the agent makes a session, and we keep it.

use std::sync::Arc;

use rejoin_store::{now, resolve_cwd};
use rejoin_transcript::json::{other_members, replace_member, set_member, write_string};
use rejoin_transcript::{AgentSession, LayerKind, MadeWith, Session, Step, Turn};

use crate::Error;
use crate::agent::{Opened, Opening};
use crate::choices::without_booleans;
use crate::client::{Client, Responder};
use crate::live::Live;
use crate::mcp_servers::McpServers;
use crate::params::Params;
use crate::recorder::Recorder;

/// The request.
pub(crate) struct New {
    opening: Opening,
}

impl New {
    pub(super) fn read(params: &Params<'_>, text: &str) -> Result<Self, Error> {
        let mcp = McpServers::required(params)?;
        let opening = read_opening(params, text, mcp)?;
        Ok(Self { opening: Opening { made_with: opening.extra.clone(), ..opening } })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let client = Arc::clone(responder.client());
        let layer = Arc::clone(&live.layer);
        let outcome = tokio::select! {
            made = self.make(live) => made,
            () = layer.ended() => Err(Error::Ended),
        };
        match outcome {
            Ok(mut opened) => {
                let result = Self::result(&opened, live, &client);
                let feed = live.subscribers.add(&client, &live.layer.store, &live.id);
                responder.answer_in(&feed, Ok(result));
                live.set_opening(self.opening);
                let remarks = std::mem::take(&mut opened.remarks);
                live.has_open(opened);
                for remark in remarks {
                    live.say(remark);
                }
            }
            Err(error) => responder.answer(Err(error)),
        }
    }

    async fn make(&self, live: &mut Live) -> Result<Opened, Error> {
        let seat = live.layer.agents.seat().await?;
        let opened = live.opener(self.opening.clone()).open_new(seat).await?;
        let mut session = Session::new(live.id.clone(), resolve_cwd(&self.opening.cwd), opened.link.info(), now());
        session.facts.additional_directories.clone_from(&self.opening.directories);
        session.facts.agent_session = Some(AgentSession { id: opened.id.clone(), generation: 1, lacks: 0 });
        session.settings.mcp_servers = self.opening.mcp.names();
        session.settings.made_with = self.opening.made_with.as_ref().and_then(MadeWith::of);
        session.settings.modes.clone_from(&opened.setup.modes);
        session.settings.models.clone_from(&opened.setup.models);
        session.settings.config_options.clone_from(&opened.setup.config_options);
        let first = Step::of_layer(now(), Turn::After(0), LayerKind::StateSet, opened.in_force.to_json());
        let (store, owner) = (Arc::clone(&live.layer.store), live.layer.owner.clone());
        live.recorder = Some(Recorder::create(store, owner, session, first).await?);
        Ok(opened)
    }

    /// The agent's own result, with our id.
    fn result(opened: &Opened, live: &Live, client: &Client) -> String {
        let id = write_string(live.id.as_str());
        let result = opened.result.get();
        let mut result = replace_member(result, "sessionId", &id).unwrap_or_else(|| format!("{{\"sessionId\":{id}}}"));
        let options = opened.setup.config_options.as_ref();
        if let Some(options) = options.filter(|_| !client.shows().boolean_options)
            && let Some(shown) = without_booleans(options.as_str())
        {
            result = set_member(&result, "configOptions", &shown).unwrap_or(result);
        }
        result
    }
}

/// What a client sent to open a session, besides its MCP servers.
pub(super) fn read_opening(params: &Params<'_>, text: &str, mcp: McpServers) -> Result<Opening, Error> {
    Ok(Opening {
        cwd: params.absolute_path("cwd")?,
        directories: params.absolute_paths("additionalDirectories")?,
        mcp,
        extra: other_members(text, &["sessionId", "cwd", "mcpServers", "additionalDirectories"]),
        made_with: None,
    })
}
