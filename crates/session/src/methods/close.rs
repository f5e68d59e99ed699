//! `session/close`: what runs is cancelled, the agent lets go of the session, and it stays in the store.

use crate::client::Responder;
use crate::live::{AfterClose, Live};

pub(super) async fn run(live: &mut Live, responder: Responder) {
    live.begin_close(responder, AfterClose::Answer).await;
}
