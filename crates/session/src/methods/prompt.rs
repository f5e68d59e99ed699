//! `session/prompt`: a turn begins, or waits for the one that runs.

use rejoin_transcript::Json;
use rejoin_transcript::json::{Members, read_string};

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
            check_block(&format!("prompt[{index}]"), block)?;
        }
        let blocks = params.get("prompt").unwrap_or("[]").to_owned();
        Ok(Self { blocks: Json::from_stored(blocks), params: Json::from_stored(text.to_owned()) })
    }

    pub(super) async fn run(self, live: &mut Live, responder: Responder) {
        let ready = match live.adopt(responder.client()) {
            // A turn that runs holds the right to write already.
            Ok(()) if live.machine.is_in_turn() => Ok(()),
            Ok(()) => live.take_for_turn().await,
            Err(error) => Err(error),
        };
        match ready {
            Ok(()) => live.prompt(live::Prompt { blocks: self.blocks, params: self.params, responder }).await,
            Err(error) => live.respond(responder, Err(error)),
        }
    }
}

/// Checks what every agent relies on in a content block; of kinds that we do not know, only that it has one.
fn check_block(at: &str, block: &str) -> Result<(), Error> {
    let members = Members::read(block).ok_or_else(|| wrong_type(at, "a content block, an object", block))?;
    let text = |members: &Members<'_>, at: &str, name: &str| {
        let field = format!("{at}.{name}");
        let value = members.get_some(name).ok_or_else(|| missing(&field, "a string"))?;
        read_string(value).map(std::borrow::Cow::into_owned).ok_or_else(|| wrong_type(&field, "a string", value))
    };
    let needed: &[&str] = match text(&members, at, "type")?.as_str() {
        "text" => &["text"],
        "image" | "audio" => &["data", "mimeType"],
        "resource_link" => &["name", "uri"],
        "resource" => {
            let at = format!("{at}.resource");
            let value = members.get_some("resource").ok_or_else(|| missing(&at, "the resource, an object"))?;
            let resource = Members::read(value).ok_or_else(|| wrong_type(&at, "the resource, an object", value))?;
            text(&resource, &at, "uri")?;
            let content = if resource.get_some("blob").is_some() { "blob" } else { "text" };
            return text(&resource, &at, content).map(|_| ());
        }
        _ => &[],
    };
    needed.iter().try_for_each(|name| text(&members, at, name).map(|_| ()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(block: &str, expected: &str) {
        let told = check_block("prompt[0]", block).map_err(|error| error.to_string());
        assert_eq!(told, Err(expected.to_owned()), "{block}");
    }

    #[test]
    fn what_a_block_lacks_is_named() {
        check("7", "`prompt[0]` must be a content block, an object; a number was sent");
        check("{}", "`prompt[0].type` is missing; send a string");
        check(r#"{"type":"text","text":5}"#, "`prompt[0].text` must be a string; a number was sent");
        check(r#"{"type":"image","data":""}"#, "`prompt[0].mimeType` is missing; send a string");
        check(r#"{"type":"resource_link","uri":"u"}"#, "`prompt[0].name` is missing; send a string");
        check(r#"{"type":"resource","resource":{"uri":"u"}}"#, "`prompt[0].resource.text` is missing; send a string");
    }

    #[test]
    fn kinds_that_nobody_knows_are_taken() {
        assert!(check_block("prompt[0]", r#"{"type":"weather","sky":null}"#).is_ok());
    }
}
