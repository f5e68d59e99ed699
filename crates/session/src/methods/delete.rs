//! `session/delete`: what runs is cancelled, then the session is gone from the store, and from the agent if it can.

use crate::client::Responder;
use crate::live::{AfterClose, Live};

pub(super) async fn run(live: &mut Live, responder: Responder) {
    live.begin_close(responder, AfterClose::Delete).await;
}
