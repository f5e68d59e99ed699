//! What messages and tool calls hold: text, images, diffs, and what else there is.

use rejoin_transcript::json::Members;
use rejoin_transcript::{Json, Message, Part, Role, ToolCall};

/// A content block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Block {
    Text(String),
    /// Data in Base64.
    Image {
        mime: String,
        data: String,
    },
    /// Data in Base64.
    Audio {
        mime: String,
        data: String,
    },
    Link {
        name: String,
        uri: String,
    },
    /// A resource, with its text if it is one.
    Resource {
        uri: String,
        text: Option<String>,
    },
    /// Of a kind that we do not know.
    Other {
        kind: String,
    },
}

/// Something that a tool call shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Block(Block),
    Diff {
        path: String,
        /// Nothing, if the file is new.
        old: Option<String>,
        new: String,
    },
    /// Of a kind that we do not know, or that is gone, such as a terminal.
    Other {
        kind: String,
    },
}

/// The blocks of `message`. Pieces of text that belong together are one.
pub(super) fn blocks(message: &Message) -> Vec<Block> {
    // The blocks of a prompt are apart; the chunks of an answer are not.
    let between = if message.role == Role::User { "\n" } else { "" };
    let mut blocks: Vec<Block> = Vec::new();
    for part in &message.parts {
        let block = match (part, part.content()) {
            (Part::Block(_), Some(content)) => read_block(content.as_str()),
            (Part::Block(_), None) | (Part::Text(_), _) => Block::Text(part.text().unwrap_or_default()),
        };
        match (blocks.last_mut(), block) {
            (Some(Block::Text(text)), Block::Text(more)) => {
                text.push_str(between);
                text.push_str(&more);
            }
            (_, block) => blocks.push(block),
        }
    }
    blocks
}

/// What `call` shows.
pub(super) fn contents(call: &ToolCall) -> Vec<Shown> {
    let contents = call.members.get("content").and_then(Json::elements).unwrap_or_default();
    contents.into_iter().map(read_shown).collect()
}

fn read_shown(json: &str) -> Shown {
    let Some(members) = Members::read(json) else { return Shown::Other { kind: "?".to_owned() } };
    let string = |name| members.get_string(name).map(std::borrow::Cow::into_owned);
    match string("type").unwrap_or_default().as_str() {
        "content" => Shown::Block(read_block(members.get("content").unwrap_or_default())),
        "diff" => {
            let (path, new) = (string("path").unwrap_or_default(), string("newText").unwrap_or_default());
            Shown::Diff { path, old: string("oldText"), new }
        }
        kind => Shown::Other { kind: kind.to_owned() },
    }
}

fn read_block(json: &str) -> Block {
    let Some(members) = Members::read(json) else { return Block::Other { kind: "?".to_owned() } };
    let string = |name| members.get_string(name).unwrap_or_default().into_owned();
    match string("type").as_str() {
        "text" => Block::Text(string("text")),
        "image" => Block::Image { mime: string("mimeType"), data: string("data") },
        "audio" => Block::Audio { mime: string("mimeType"), data: string("data") },
        "resource_link" => Block::Link { name: string("name"), uri: string("uri") },
        "resource" => {
            let resource = members.get("resource").and_then(Members::read);
            let string = |name| Some(resource.as_ref()?.get_string(name)?.into_owned());
            Block::Resource { uri: string("uri").unwrap_or_default(), text: string("text") }
        }
        kind => Block::Other { kind: kind.to_owned() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_block_is_read_and_what_is_no_block_is_no_harm() {
        let check = |json: &str, expected: Block| assert_eq!(read_block(json), expected, "{json}");
        let text = |text: &str| text.to_owned();
        check(r#"{"type":"text","text":"a\nb"}"#, Block::Text(text("a\nb")));
        let image = Block::Image { mime: text("image/png"), data: text("QUJD") };
        check(r#"{"type":"image","mimeType":"image/png","data":"QUJD"}"#, image);
        check(r#"{"type":"resource_link","name":"n","uri":"u"}"#, Block::Link { name: text("n"), uri: text("u") });
        let resource = Block::Resource { uri: text("u"), text: Some(text("t")) };
        check(r#"{"type":"resource","resource":{"uri":"u","text":"t"}}"#, resource);
        check(r#"{"type":"smell"}"#, Block::Other { kind: text("smell") });
        check("12", Block::Other { kind: text("?") });
    }
}
