//! `session/prompt`: a turn begins, or waits for the one that runs.

use rejoin_transcript::Json;
use rejoin_transcript::json::Members;

use crate::Error;
use crate::client::Responder;
use crate::live::{self, Live};
use crate::params::{Params, missing, wrong_type};

/// The request.
pub(crate) struct Prompt {
    blocks: Json,
    params: Json,
}

impl Prompt {
    pub(super) fn read(params: &Params<'_>, text: &str) -> Result<Self, Error> {
        params.session_id()?;
        params.refuse_older("messages", "prompt")?;
        let blocks = params.array("prompt", "an array of content blocks")?;
        for (index, block) in blocks.iter().enumerate() {
            let at = format!("prompt[{index}]");
            let members = Members::read(block).ok_or_else(|| wrong_type(&at, "a content block, an object", block))?;
            let kind = format!("{at}.type");
            let value = members.get_some("type").ok_or_else(|| missing(&kind, "the kind of the content block"))?;
            rejoin_transcript::json::read_string(value)
                .ok_or_else(|| wrong_type(&kind, "a string: the kind of the content block", value))?;
        }
        let blocks = params.get("prompt").unwrap_or("[]").to_owned();
        Ok(Self { blocks: Json::from_stored(blocks), params: Json::from_stored(text.to_owned()) })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let ready = match live.adopt(responder.client()) {
            // A turn that runs holds the right to write already.
            Ok(()) if live.machine.is_in_turn() => Ok(()),
            Ok(()) => live.take().await,
            Err(error) => Err(error),
        };
        match ready {
            Ok(()) => live.prompt(live::Prompt { blocks: self.blocks, params: self.params, responder }).await,
            Err(error) => live.respond(responder, Err(error)),
        }
    }
}
