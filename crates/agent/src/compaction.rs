//! Compaction: a conversation that comes near the model's window goes on from a summary.
//!
//! The record keeps everything, and so does what people see. Only the model is told the summary instead.

use std::fmt::Write as _;

use rejoin::Turn;
use rejoin::schema::{CompactionId, CompactionStatus, CompactionUpdate, SessionUpdate};
use rejoin::store::new_session_id;
use serde_json::Value;

use crate::ask::{Answer, Shown, ask};
use crate::context::Context;
use crate::kept::Kept;
use crate::models::{
    End, Message, ModelError, ModelId, ModelInfo, Part, Provider, Request, Said, Temperature, Thinking,
};
use crate::session::OpenSession;
use crate::shorten::shortened;

/// So much of the window may be in use, in tenths.
const TENTHS: u64 = 8;

/// As much of one message goes into the summary, so that one long file does not crowd out the rest.
const MOST_OF_A_MESSAGE: usize = 16 << 10;

/// About as many bytes of a conversation fit into a window of one token.
const BYTES_OF_A_TOKEN: u64 = 3;

const TASK: &str = "You write the summary from which another assistant goes on with this conversation, without having seen it. \
    Keep what it needs: what the user wants, in the user's own words where they matter; what was decided and why; which files, \
    commands and results matter, with their names and exact values; what was tried and failed; what is done, and what is next. \
    Leave out greetings and repetition. Answer with the summary only.";

/// Whether a conversation of so many tokens is too near to `window`.
pub(crate) fn is_due(tokens: u64, window: u64) -> bool {
    tokens * 10 > window * TENTHS
}

/// Has `model` summarise `context`, keeps the summary, and goes on from it.
pub(crate) async fn compact(
    turn: &Turn<OpenSession>,
    provider: &dyn Provider,
    model: &ModelInfo,
    context: &mut Context,
) -> Result<(), ModelError> {
    let is_taken = turn.client().session.as_ref().is_some_and(|session| session.compaction.is_some());
    let id = CompactionId::new(new_session_id().as_str());
    let shown = if is_taken { Shown::AsSummary(id.clone()) } else { Shown::Not };
    let tell = async |update: CompactionUpdate| {
        if is_taken { turn.send(SessionUpdate::CompactionUpdate(update)).await } else { Ok(()) }
    };
    tell(CompactionUpdate::new(id.clone(), CompactionStatus::InProgress)).await?;
    match summarise(turn, provider, model, context, &shown).await {
        Ok(answer) => {
            let (summary, cost) = (answer.text.trim().to_owned(), answer.cost(model));
            Kept::Compacted { summary: summary.clone(), cost }.keep(turn).await?;
            context.compact(summary, cost);
            tell(CompactionUpdate::new(id, CompactionStatus::Completed)).await?;
            Ok(())
        }
        Err(error) => {
            let status = match &error {
                ModelError::Turn(rejoin::AgentError::Cancelled) => CompactionStatus::Cancelled,
                _ => CompactionStatus::Failed,
            };
            tell(CompactionUpdate::new(id, status).error(error.to_string())).await?;
            Err(error)
        }
    }
}

/// Asks for the summary. Where the window is smaller than it is thought to be, less and less of the conversation is told.
async fn summarise(
    turn: &Turn<OpenSession>,
    provider: &dyn Provider,
    model: &ModelInfo,
    context: &Context,
    shown: &Shown,
) -> Result<Answer, ModelError> {
    let mut messages = context.messages();
    // What the user says now is not part of what happened.
    if messages.len() > 1 && matches!(messages.last(), Some(Message::User(_))) {
        messages.pop();
    }
    let most = usize::try_from(model.window * BYTES_OF_A_TOKEN / 10 * TENTHS).unwrap_or(usize::MAX);
    let mut told = transcript(&messages, most);
    loop {
        let error = match ask(turn, provider, &request(&model.id, &told), shown).await {
            Ok(answer) => return usable(answer),
            Err(error) => error,
        };
        let less = transcript(&messages, told.len() / 2);
        if !matches!(error, ModelError::TooLong(_)) || less.len() >= told.len() {
            return Err(error);
        }
        told = less;
    }
}

/// `answer`, if it is a summary to go on from.
fn usable(answer: Answer) -> Result<Answer, ModelError> {
    if answer.end == Some(End::Refused) {
        return Err(ModelError::Failed("the model refused to summarise the conversation".to_owned()));
    }
    if answer.text.trim().is_empty() {
        return Err(ModelError::Failed("the summary is empty".to_owned()));
    }
    Ok(answer)
}

fn request(model: &ModelId, told: &str) -> Request {
    let text = format!("The conversation:\n\n{told}");
    Request {
        model: model.clone(),
        system: TASK.to_owned(),
        messages: vec![Message::User(vec![Part::Text(text)])],
        tools: Vec::new(),
        temperature: Temperature::Low,
        thinking: Thinking::Default,
    }
}

/// `messages` as text of at most about `most` bytes. If there is more, the oldest goes.
fn transcript(messages: &[Message], most: usize) -> String {
    let mut texts = Vec::new();
    let mut n_bytes = 0;
    for message in messages.iter().rev() {
        let text = as_text(message);
        n_bytes += text.len();
        if n_bytes > most && !texts.is_empty() {
            texts.push("[what came before is left out]\n".to_owned());
            break;
        }
        texts.push(text);
    }
    texts.reverse();
    texts.join("\n")
}

fn as_text(message: &Message) -> String {
    let mut text = String::new();
    match message {
        Message::User(parts) => write_parts(&mut text, "user", parts),
        Message::Assistant(said) => {
            for said in said {
                let _ = match said {
                    Said::Text(said) => writeln!(text, "assistant: {}", shortened(said, MOST_OF_A_MESSAGE)),
                    Said::Call(call) => {
                        let arguments = Value::Object(call.arguments.clone()).to_string();
                        writeln!(text, "assistant calls {}: {}", call.name, shortened(&arguments, MOST_OF_A_MESSAGE))
                    }
                    Said::Kept(_) => Ok(()),
                };
            }
        }
        Message::ToolResult { name, parts, is_error, .. } => {
            let who = if *is_error { format!("error of {name}") } else { format!("result of {name}") };
            write_parts(&mut text, &who, parts);
        }
    }
    text
}

fn write_parts(text: &mut String, who: &str, parts: &[Part]) {
    for part in parts {
        let said = part.text().map_or("[an image]".into(), |text| shortened(text, MOST_OF_A_MESSAGE));
        let _ = writeln!(text, "{who}: {said}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User(vec![Part::Text(text.to_owned())])
    }

    #[test]
    fn compaction_is_due_near_the_window() {
        let due = [0, 80_000, 80_001, 200_000].map(|tokens| is_due(tokens, 100_000));
        assert_eq!(due, [false, false, true, true]);
    }

    #[test]
    fn a_transcript_leaves_out_the_oldest() {
        let said = Message::Assistant(vec![Said::Text("two".to_owned()), Said::Kept(Value::Null)]);
        let result = Message::ToolResult {
            call: "1".to_owned(),
            name: "look".to_owned(),
            parts: vec![Part::Text("three".to_owned())],
            is_error: true,
        };
        let messages = [user("one"), said, result];
        assert_eq!(transcript(&messages, 1000), "user: one\n\nassistant: two\n\nerror of look: three\n");
        let short = transcript(&messages, 40);
        assert_eq!(short, "[what came before is left out]\n\nassistant: two\n\nerror of look: three\n");
        assert_eq!(transcript(&[user("long")], 1), "user: long\n");
    }

    #[test]
    fn one_long_message_does_not_crowd_out_the_rest() {
        let text = as_text(&user(&"ä".repeat(MOST_OF_A_MESSAGE)));
        assert!(text.len() < MOST_OF_A_MESSAGE + 100 && text.contains("bytes are left out"), "{}", text.len());
    }
}
