//! `session/archive`, `session/unarchive`: a session leaves the list, or comes back.

use rejoin_transcript::Fact;

use crate::Error;
use crate::client::Responder;
use crate::live::Live;

pub(super) async fn run(live: &mut Live, archived: bool, responder: Responder) {
    let told = match live.recorder() {
        Ok(recorder) => recorder.tell(vec![Fact::Archived(archived)]).await.map_err(Error::from),
        Err(error) => Err(error),
    };
    live.respond(responder, told.map(|()| "{}".to_owned()));
}
