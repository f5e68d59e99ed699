//! `session/set_title`: a person names the session, and nobody renames it after that.

use rejoin_transcript::json::write_string;
use rejoin_transcript::{Fact, manual_title};

use crate::Error;
use crate::client::Responder;
use crate::live::Live;
use crate::params::Params;

/// The request.
pub(crate) struct SetTitle {
    title: String,
}

impl SetTitle {
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Error> {
        params.session_id()?;
        let title = manual_title(&params.string("title", "the new title")?);
        let empty = || Error::invalid("title", "`title` is empty; send at least one character that can be seen");
        Ok(Self { title: title.ok_or_else(empty)? })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let result = self.set(live).await;
        live.respond(responder, result);
    }

    /// Names the session; gives the result.
    pub(crate) async fn set(self, live: &mut Live) -> Result<String, Error> {
        live.recorder()?.tell(vec![Fact::ManualTitle(Some(self.title.clone()))]).await?;
        live.show_title(&self.title);
        Ok(format!("{{\"title\":{}}}", write_string(&self.title)))
    }
}
