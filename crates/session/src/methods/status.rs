//! `session/status`: whether a session is open here. Opens nothing.

use crate::client::Responder;
use crate::live::Live;

pub(super) fn run(live: &Live, responder: Responder) {
    let status = if live.is_open() { "open" } else { "saved" };
    live.respond(responder, Ok(format!("{{\"status\":\"{status}\"}}")));
}
