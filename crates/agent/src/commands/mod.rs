//! Slash commands: one file each, and the prompts of MCP servers.

mod call;
mod choose;
mod fork;
mod help;
mod mcp;
mod prompts;
mod rename;

use rejoin::schema::{
    AvailableCommand, AvailableCommandInput, ContentBlock, EmbeddedResourceResource, UnstructuredCommandInput,
};
use rejoin::{AgentError, Turn};

use crate::kept::Kept;
use crate::models::Part;
use crate::session::OpenSession;

/// What is left to do after a command.
pub(crate) enum Done {
    /// Nothing: the user has an answer.
    Answered,
    /// The conversation is to be summarised.
    Compact,
    /// The model is to answer this.
    Prompt(Vec<Part>),
}

/// A command of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Help,
    Mcp,
    Call,
    Rename,
    Fork,
    Mode,
    Model,
    Compact,
}

impl Command {
    const ALL: [Self; 8] =
        [Self::Help, Self::Mcp, Self::Call, Self::Rename, Self::Fork, Self::Mode, Self::Model, Self::Compact];

    fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Mcp => "mcp",
            Self::Call => "call",
            Self::Rename => "rename",
            Self::Fork => "fork",
            Self::Mode => "mode",
            Self::Model => "model",
            Self::Compact => "compact",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Help => "What can be called here",
            Self::Mcp => "The MCP servers of this session, and how they are",
            Self::Call => "Call a tool",
            Self::Rename => "Name this session",
            Self::Fork => "Begin another session with this conversation",
            Self::Mode => "Show or switch the mode",
            Self::Model => "Show or switch the model",
            Self::Compact => "Go on from a summary of the conversation",
        }
    }

    /// What is to be written behind it.
    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Help | Self::Fork | Self::Compact => None,
            Self::Mcp => Some("a server, to connect to it again"),
            Self::Call => Some("tool {\"argument\": 1}"),
            Self::Rename => Some("the new title"),
            Self::Mode => Some("ask, code or architect"),
            Self::Model => Some("provider/name"),
        }
    }
}

/// All that can be called in `session`.
pub(crate) fn available(session: &OpenSession) -> Vec<AvailableCommand> {
    let ours = Command::ALL.into_iter().map(|command| {
        let available = AvailableCommand::new(command.name(), command.description());
        match command.hint() {
            Some(hint) => available.input(AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint))),
            None => available,
        }
    });
    ours.chain(prompts::available(session)).collect()
}

/// Runs the command that the user typed, if it is one.
pub(crate) async fn run(turn: &Turn<OpenSession>) -> Result<Done, AgentError> {
    let text = turn.prompt_text();
    let Some((name, rest)) = parse(&text) else { return Ok(Done::Prompt(parts_of(turn.prompt()))) };
    let Some(command) = Command::ALL.into_iter().find(|command| command.name() == name) else {
        // It may well be a path.
        let parts = prompts::run(turn, name, rest).await?.unwrap_or_else(|| parts_of(turn.prompt()));
        return Ok(Done::Prompt(parts));
    };
    // Before all else, so that no model hears of it also if it is cut short.
    Kept::Aside.keep(turn).await?;
    match command {
        Command::Help => help::run(turn).await?,
        Command::Mcp => mcp::run(turn, rest).await?,
        Command::Call => call::run(turn, rest).await?,
        Command::Rename => rename::run(turn, rest).await?,
        Command::Fork => fork::run(turn).await?,
        Command::Mode => choose::run(turn, crate::mode::OPTION, rest).await?,
        Command::Model => choose::run(turn, crate::offer::MODEL, rest).await?,
        Command::Compact => return Ok(Done::Compact),
    }
    Ok(Done::Answered)
}

/// The name of a command, and what is behind it.
fn parse(text: &str) -> Option<(&str, &str)> {
    let line = text.trim_start().strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    (!name.is_empty()).then_some((name, rest.trim()))
}

/// What a user's message says to a model.
pub(crate) fn parts_of(blocks: &[ContentBlock]) -> Vec<Part> {
    let part = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => Some(Part::Text(text.text.clone())),
        ContentBlock::Image(image) => {
            Some(Part::Image { mime_type: image.mime_type.clone(), data: image.data.clone() })
        }
        ContentBlock::Audio(_) => Some(Part::Text("[audio, which can't be heard here]".to_owned())),
        ContentBlock::ResourceLink(link) => Some(Part::Text(format!("[{}]({})", link.name, link.uri))),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                Some(Part::Text(format!("<file uri=\"{}\">\n{}\n</file>", text.uri, text.text)))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => Some(match &blob.mime_type {
                Some(mime_type) if mime_type.starts_with("image/") => {
                    Part::Image { mime_type: mime_type.clone(), data: blob.blob.clone() }
                }
                _ => Part::Text(format!("[file {}]", blob.uri)),
            }),
            _ => None,
        },
        _ => None,
    };
    blocks.iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_slash_a_name_and_the_rest() {
        assert_eq!(parse("/call a.b {\"x\": 1}"), Some(("call", "a.b {\"x\": 1}")));
        assert_eq!(parse("  /help\n"), Some(("help", "")));
        for text in ["", "/", "/ help", "say /help"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
