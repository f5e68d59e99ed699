//! `session/delete`: what runs is cancelled, then the session is gone from the store, and from the agent if it can.

use std::sync::Arc;

use crate::client::Responder;
use crate::live::{AfterClose, Live};

pub(super) async fn run(live: &mut Live, responder: Responder) {
    let client = Arc::clone(responder.client());
    // To tell the agent, one must know how to reach it.
    if let Err(error) = live.know_opening(&client) {
        return live.respond(responder, Err(error));
    }
    live.begin_close(responder, AfterClose::Delete).await;
}
