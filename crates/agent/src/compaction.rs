//! Compaction: a conversation that comes near the model's window goes on from a summary.
//!
//! The record keeps everything, and so does what people see. Only the model is told the summary instead, with the newest
//! results, which it has not seen yet.

use std::fmt::Write as _;

use rejoin::schema::{CompactionId, CompactionStatus, CompactionUpdate, SessionUpdate};
use rejoin::store::new_session_id;
use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::ask::{Answer, Shown, ask};
use crate::context::Context;
use crate::kept::{Kept, Remainder};
use crate::models::{
    End, Message, ModelError, ModelId, ModelInfo, Part, Provider, Request, Said, Temperature, Thinking,
};
use crate::session::OpenSession;
use crate::shorten::shortened;

/// So much of the window may be in use, in tenths.
const TENTHS: u64 = 8;

/// So many requests in a row may need a compaction. If the next one does too, the turn ends.
const MAX_COMPACTIONS_IN_A_ROW: usize = 2;

/// The newest results may take one part in so many of the window.
const RESULTS_SHARE: u64 = 3;

/// A summary may take one part in so many of the window. A longer one is shortened.
const SUMMARY_SHARE: u64 = 4;

/// A summary may have this many bytes, however small the window is.
const MIN_SUMMARY_BYTES: usize = 1 << 10;

/// As much of one message goes into the summary, so that one long file does not crowd out the rest.
const MOST_OF_A_MESSAGE: usize = 16 << 10;

/// About as many bytes of a conversation fit into a window of one token.
const BYTES_OF_A_TOKEN: u64 = 3;

const TASK: &str = "You write the summary from which another assistant goes on with this conversation, without having seen it. \
    Keep what it needs: what the user wants, in the user's own words where they matter; what was decided and why; which files, \
    commands and results matter, with their names and exact values; what was tried and failed; what is done, and what is next. \
    Leave out greetings and repetition. Answer with the summary only.";

/// What is done before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The conversation is sent as it is.
    Ask,
    /// It is compacted first, and this is left.
    Compact(Remainder),
    /// It was compacted too often. The turn ends.
    GiveUp,
}

/// The rules of when a turn's conversation is compacted.
///
/// A compaction leaves the newest results, so the model sees each result at least once. It makes sense only if a few requests
/// fit behind it: if each needs another one, the window is too small for this turn.
#[derive(Debug, Default)]
pub(crate) struct Compactions {
    /// How many requests in a row needed one.
    n_in_a_row: usize,
    /// What the one for the next request left.
    newest: Option<Remainder>,
    has_failed: bool,
    /// The model has taken more than its window.
    window_is_wrong: bool,
}

impl Compactions {
    /// Whether `context` comes near `window`.
    pub(crate) fn is_due(&self, context: &Context, window: u64) -> bool {
        !self.window_is_wrong && is_due(context.tokens(), window)
    }

    /// What to do before a request with `context`.
    pub(crate) fn before_request(&mut self, context: &Context, window: u64) -> Step {
        let is_due = self.newest.is_none() && !self.has_failed && self.is_due(context, window);
        match context.remainder() {
            Some(remainder) if is_due => self.compact(remainder),
            _ => Step::Ask,
        }
    }

    /// What to do if the provider says that `context` is too long. It is sent again once with all that can be left, and once
    /// with the prompt alone; then nothing can be done.
    pub(crate) fn too_long(&mut self, context: &Context) -> Option<Step> {
        match self.newest {
            None if context.has_more_than_a_prompt() => {
                Some(self.compact(context.remainder().unwrap_or(Remainder::Prompt)))
            }
            Some(Remainder::PromptAndResults) => {
                self.newest = Some(Remainder::Prompt);
                Some(Step::Compact(Remainder::Prompt))
            }
            None | Some(Remainder::Prompt) => None,
        }
    }

    /// A compaction failed. In this turn, no other is made unless the provider insists.
    pub(crate) fn failed(&mut self) {
        self.has_failed = true;
        self.newest = None;
    }

    /// The request, of which the provider counted so many tokens, was answered. If `window` has fewer, it is wrong, and the
    /// provider decides what is too long.
    pub(crate) fn answered(&mut self, n_tokens: Option<u64>, window: u64) {
        self.window_is_wrong |= n_tokens.is_some_and(|n_tokens| n_tokens > window);
        if self.newest.take().is_none() {
            self.n_in_a_row = 0;
        }
    }

    fn compact(&mut self, remainder: Remainder) -> Step {
        if self.n_in_a_row == MAX_COMPACTIONS_IN_A_ROW {
            return Step::GiveUp;
        }
        self.n_in_a_row += 1;
        self.newest = Some(remainder);
        Step::Compact(remainder)
    }
}

/// Tells that compactions of a conversation with `model` lead nowhere.
pub(crate) fn window_is_too_small(model: &ModelInfo) -> AgentError {
    let ModelInfo { id, window, .. } = model;
    AgentError::Failed(format!(
        "this turn does not fit into the window of {id}, which has {window} tokens: {MAX_COMPACTIONS_IN_A_ROW} requests in \
         a row needed a summary first, and the next one does too; choose a model with a larger window, or ask for less at once"
    ))
}

/// Whether a conversation of so many tokens is too near to `window`.
fn is_due(tokens: u64, window: u64) -> bool {
    tokens.saturating_mul(10) > window.saturating_mul(TENTHS)
}

/// Shortens the newest results if they take more of the window of `model` than they may.
pub(crate) async fn shorten_results(
    turn: &Turn<OpenSession>,
    model: &ModelInfo,
    context: &mut Context,
) -> Result<(), AgentError> {
    for (call, parts) in context.shorten_results(model.window / RESULTS_SHARE) {
        Kept::Result { call, parts }.keep(turn).await?;
    }
    Ok(())
}

/// Has `model` summarise all of `context` but `remainder`, keeps the summary, and goes on from it.
pub(crate) async fn compact(
    turn: &Turn<OpenSession>,
    provider: &dyn Provider,
    model: &ModelInfo,
    context: &mut Context,
    remainder: Remainder,
) -> Result<(), ModelError> {
    let is_taken = turn.client().session.as_ref().is_some_and(|session| session.compaction.is_some());
    let id = CompactionId::new(new_session_id().as_str());
    let shown = if is_taken { Shown::AsSummary(id.clone()) } else { Shown::Not };
    let tell = async |update: CompactionUpdate| {
        if is_taken { turn.send(SessionUpdate::CompactionUpdate(update)).await } else { Ok(()) }
    };
    tell(CompactionUpdate::new(id.clone(), CompactionStatus::InProgress)).await?;
    let messages = context.messages_before(remainder);
    match summarise(turn, provider, model, &messages, &shown).await {
        Ok(answer) => {
            let most = usize::try_from(model.window / SUMMARY_SHARE * BYTES_OF_A_TOKEN).unwrap_or(usize::MAX);
            let summary = shortened(answer.text.trim(), most.max(MIN_SUMMARY_BYTES)).into_owned();
            let cost = answer.cost(model);
            Kept::Compacted { summary: summary.clone(), remainder, cost }.keep(turn).await?;
            context.compact(summary, remainder, cost);
            tell(CompactionUpdate::new(id, CompactionStatus::Completed)).await?;
            Ok(())
        }
        Err(error) => {
            let status = match &error {
                ModelError::Turn(AgentError::Cancelled) => CompactionStatus::Cancelled,
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
    messages: &[Message],
    shown: &Shown,
) -> Result<Answer, ModelError> {
    let most = usize::try_from(model.window * BYTES_OF_A_TOKEN / 10 * TENTHS).unwrap_or(usize::MAX);
    let mut told = transcript(messages, most);
    loop {
        let error = match ask(turn, provider, &request(&model.id, &told), shown).await {
            Ok(answer) => return usable(answer),
            Err(error) => error,
        };
        let less = transcript(messages, told.len() / 2);
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
    use crate::kept::KeptAnswer;
    use crate::models::ToolUse;

    fn user(text: &str) -> Message {
        Message::User(vec![Part::Text(text.to_owned())])
    }

    #[test]
    fn compaction_is_due_near_the_window() {
        let due = [0, 80_000, 80_001, u64::MAX].map(|tokens| is_due(tokens, 100_000));
        assert_eq!(due, [false, false, true, true]);
    }

    /// A context of this many steps with calls, after a prompt.
    fn context(n_steps: usize) -> Context {
        let mut context = Context::default();
        context.prompt(vec![Part::Text("go".to_owned())]);
        for n in 0..n_steps {
            let call = ToolUse { id: n.to_string(), name: "look".to_owned(), arguments: serde_json::Map::new() };
            context.end_answer(&KeptAnswer { calls: vec![call], used: Some(90), ..KeptAnswer::default() });
            context.end_call(&n.to_string(), vec![Part::Text("x".to_owned())], false);
        }
        context
    }

    #[test]
    fn a_turn_that_needs_a_compaction_for_each_request_is_given_up() {
        let mut compactions = Compactions::default();
        let mut steps = Vec::new();
        for n_steps in [0, 1, 2, 2, 2] {
            steps.push(compactions.before_request(&context(n_steps), 100));
            compactions.answered(None, 100);
        }
        let compact = Step::Compact(Remainder::PromptAndResults);
        assert_eq!(steps, [Step::Ask, Step::Ask, compact, compact, Step::GiveUp]);
    }

    #[test]
    fn a_request_that_fits_shows_that_compactions_help() {
        let mut compactions = Compactions::default();
        for n in 0..10 {
            let window = if n % 3 == 2 { 1000 } else { 100 };
            assert_ne!(compactions.before_request(&context(2), window), Step::GiveUp, "{n}");
            compactions.answered(None, window);
        }
    }

    #[test]
    fn a_model_that_takes_more_than_its_window_is_asked_until_the_provider_refuses() {
        let mut compactions = Compactions::default();
        compactions.answered(Some(100), 100);
        assert_ne!(compactions.before_request(&context(2), 100), Step::Ask);
        compactions.answered(Some(101), 100);
        assert_eq!(compactions.before_request(&context(2), 100), Step::Ask);
        assert_ne!(compactions.too_long(&context(2)), None);
    }

    #[test]
    fn what_is_too_long_is_sent_with_less_and_less() {
        let mut compactions = Compactions::default();
        let steps = [(); 3].map(|()| compactions.too_long(&context(2)));
        let [first, last] = [Remainder::PromptAndResults, Remainder::Prompt].map(|left| Some(Step::Compact(left)));
        assert_eq!(steps, [first, last, None]);
        assert_eq!(Compactions::default().too_long(&context(1)), last);
        assert_eq!(Compactions::default().too_long(&context(0)), None);
    }

    #[test]
    fn a_compaction_that_failed_is_not_tried_before_each_request() {
        let mut compactions = Compactions::default();
        compactions.before_request(&context(2), 100);
        compactions.failed();
        compactions.answered(None, 100);
        assert_eq!(compactions.before_request(&context(2), 100), Step::Ask);
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
