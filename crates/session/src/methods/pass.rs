//! Every method that is not ours: `authenticate`, `logout`, extensions. The agent answers.

use std::sync::Arc;

use rejoin_transcript::Json;

use crate::client::{InFlight, Responder};
use crate::layer::Shared;
use crate::live::{Live, Passed};

/// A request about a session that is none of ours.
pub(crate) struct Pass {
    method: String,
    params: Json,
}

impl Pass {
    pub(super) fn read(method: &str, text: &str) -> Self {
        Self { method: method.to_owned(), params: Json::from_stored(text.to_owned()) }
    }

    pub(super) fn run(self, live: &mut Live, responder: Responder) {
        match live.know_opening() {
            Ok(()) => live.pass(Passed { method: self.method, params: self.params, responder }),
            Err(error) => live.respond(responder, Err(error)),
        }
    }
}

/// Passes on a request that is about no session.
pub(super) fn run(layer: &Arc<Shared>, method: &str, params: Option<&str>, responder: Responder) {
    let (layer, method) = (Arc::clone(layer), method.to_owned());
    let params = params.unwrap_or("{}").to_owned();
    tokio::spawn(async move {
        let outcome = match layer.agents.link().await {
            Ok(link) => {
                let note = |id| responder.waits_for(InFlight::Agent(Arc::downgrade(&link), id));
                link.pass(&method, &params, note).await
            }
            Err(error) => Err(error),
        };
        responder.answer(outcome.map(|result| result.get().to_owned()));
    });
}

/// Passes on a notification that is about no session.
pub(crate) fn notify_agent(layer: &Arc<Shared>, method: String, params: Json) {
    let layer = Arc::clone(layer);
    tokio::spawn(async move {
        if let Ok(link) = layer.agents.link().await {
            link.notify(&method, params.as_str());
        }
    });
}
