//! `session/resume`: like load, without the history.

use std::sync::Arc;

use super::load::Entry;
use crate::Error;
use crate::client::Responder;
use crate::live::Live;
use crate::mcp_servers::McpServers;
use crate::params::Params;
use crate::shown::UpdateLines;

/// The request.
pub(crate) struct Resume {
    entry: Entry,
}

impl Resume {
    pub(super) fn read(params: &Params<'_>, text: &str) -> Result<Self, Error> {
        params.session_id()?;
        Ok(Self { entry: Entry::read(params, text, McpServers::optional(params)?)? })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let client = Arc::clone(responder.client());
        match self.entry.enter(live, &client).await {
            Ok(result) => welcome(live, responder, result),
            Err(error) => live.respond(responder, Err(error)),
        }
    }
}

/// Has the client follow from now on, and answers; then tells what a client knows only from updates.
pub(super) fn welcome(live: &mut Live, responder: Responder, result: String) {
    let client = Arc::clone(responder.client());
    let feed = live.subscribers.add(&client, &live.layer.store, &live.id);
    responder.answer_in(&feed, Ok(result));
    let commands = live.session().ok().and_then(|session| session.settings.available_commands.clone());
    if let Some(commands) = commands {
        let update =
            format!(r#"{{"update":{{"sessionUpdate":"available_commands_update","availableCommands":{commands}}}}}"#);
        feed.push_lines(UpdateLines::of(&live.id).line(&update));
    }
    live.ask_anew(&client, &feed);
}
