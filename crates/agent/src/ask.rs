//! One request to a model, until its answer is over: shown as it comes, and made again while nothing was shown.

use futures::StreamExt;
use rejoin::schema::{CompactionId, CompactionSummaryChunk, ContentBlock, SessionUpdate};
use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::cancellation::unless_cancelled;
use crate::models::{End, Event, ModelError, ModelInfo, Provider, Request, ToolUse, Usage, retry};
use crate::session::OpenSession;

/// What an answer is to the user.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    /// The agent's words and thoughts.
    AsAnswer,
    /// The summary of this compaction.
    AsSummary(CompactionId),
    /// Nothing.
    Not,
}

/// An answer that is over.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) calls: Vec<Wanted>,
    /// What the provider wants back.
    pub(crate) thoughts: Option<Value>,
    pub(crate) usage: Option<Usage>,
    pub(crate) end: Option<End>,
    is_shown: bool,
}

impl Answer {
    /// What it cost, in US dollars: as the provider says, or by the price of `model`; nothing if neither is known.
    pub(crate) fn cost(&self, model: &ModelInfo) -> Option<f64> {
        let usage = self.usage?;
        usage.cost.or_else(|| Some(model.price?.of(&usage)))
    }
}

/// A call that the model wants.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) call: ToolUse,
    /// Why it can't be made.
    pub(crate) problem: Option<String>,
}

/// Asks `provider`, and waits for the whole answer.
pub(crate) async fn ask(
    turn: &Turn<OpenSession>,
    provider: &dyn Provider,
    request: &Request,
    shown: &Shown,
) -> Result<Answer, ModelError> {
    let mut n_before = 0;
    loop {
        let mut answer = Answer::default();
        let error = match hear(turn, provider, request, shown, &mut answer).await {
            Ok(()) => return Ok(answer),
            Err(error) => error,
        };
        let Some(wait) = retry::wait(&error, n_before).filter(|_| !answer.is_shown) else { return Err(error) };
        tracing::info!(%error, ?wait, "the model is asked again");
        if n_before == 0 {
            turn.remark("The model does not answer yet", format!("{error}. It is asked again.")).await?;
        }
        unless_cancelled(turn, tokio::time::sleep(wait)).await?;
        n_before += 1;
    }
}

/// Asks once. What was heard when it failed is in `answer`.
async fn hear(
    turn: &Turn<OpenSession>,
    provider: &dyn Provider,
    request: &Request,
    shown: &Shown,
    answer: &mut Answer,
) -> Result<(), ModelError> {
    // What is dropped here ends the request.
    let mut events = unless_cancelled(turn, provider.ask(request)).await??;
    while let Some(event) = unless_cancelled(turn, events.next()).await? {
        match event? {
            Event::Text(text) => {
                answer.is_shown |= show(turn, shown, &text).await?;
                answer.text.push_str(&text);
            }
            Event::Thought(text) => {
                if let Shown::AsAnswer = shown {
                    answer.is_shown = true;
                    turn.think(text).await?;
                }
            }
            Event::Call(call) => answer.calls.push(Wanted { call, problem: None }),
            Event::BrokenCall { call, problem } => answer.calls.push(Wanted { call, problem: Some(problem) }),
            Event::Kept(thoughts) => answer.thoughts = Some(thoughts),
            Event::Usage(usage) => answer.usage = Some(usage),
            Event::End(end) => answer.end = Some(end),
        }
    }
    Ok(())
}

/// Shows `text`, and says whether it did.
async fn show(turn: &Turn<OpenSession>, shown: &Shown, text: &str) -> Result<bool, AgentError> {
    match shown {
        Shown::AsAnswer => turn.say(text).await?,
        Shown::AsSummary(id) => {
            let chunk = CompactionSummaryChunk::new(id.clone(), ContentBlock::from(text.to_owned()));
            turn.send(SessionUpdate::CompactionSummaryChunk(chunk)).await?;
        }
        Shown::Not => return Ok(false),
    }
    Ok(true)
}
