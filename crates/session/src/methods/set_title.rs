//! `session/set_title`: a person names the session, and nobody renames it after that.

use rejoin_transcript::Fact;
use rejoin_transcript::json::write_string;

use crate::Error;
use crate::client::Responder;
use crate::live::Live;
use crate::params::Params;

/// A title has at most this many characters.
const LONGEST: usize = 200;

/// The request.
pub(crate) struct SetTitle {
    title: String,
}

impl SetTitle {
    pub(crate) fn read(params: &Params<'_>) -> Result<Self, Error> {
        params.session_id()?;
        let title = params.string("title", "the new title")?;
        let title: String = title.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect();
        if title.is_empty() {
            return Err(Error::invalid("title", "`title` is empty; send at least one character that can be seen"));
        }
        Ok(Self { title })
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
