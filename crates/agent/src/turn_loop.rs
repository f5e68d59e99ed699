//! A turn with a model: asked, heard, its calls made, and asked again until it has nothing more to call.

use futures::StreamExt;
use rejoin::schema::StopReason;
use rejoin::{AgentError, Past, Turn};
use serde_json::json;

use crate::BuiltInAgent;
use crate::calls;
use crate::mode::Mode;
use crate::models::{End, Event, Message, ModelId, Part, Request, Said};
use crate::offer::MODEL;
use crate::session::OpenSession;
use crate::tools::{ToolSpec, tools_of};

/// Runs the turn of a user who says `parts`.
pub(crate) async fn run(
    agent: &BuiltInAgent,
    turn: &Turn<OpenSession>,
    parts: Vec<Part>,
) -> Result<StopReason, AgentError> {
    let chosen = turn.chosen();
    let model: ModelId = match chosen.get(MODEL) {
        Some(model) => model.parse().map_err(AgentError::failed)?,
        None => agent.default_model(),
    };
    if model == ModelId::offline() && agent.config.model.is_none() {
        say_that_no_model_is_configured(turn).await?;
    }
    let provider = agent.providers.of(&model)?;
    let mut messages = vec![Message::User(parts)];
    loop {
        let mode = Mode::of(&turn.chosen());
        let tools = tools_of(turn.session(), &turn.chosen());
        let specs: Vec<ToolSpec> = tools.iter().map(|tool| tool.spec()).collect();
        let system = mode.instructions().to_owned();
        let request = Request { model: model.clone(), system, messages: messages.clone(), tools: specs };
        let mut answer = provider.ask(request).await?;
        let (mut said, mut wanted, mut end) = (Vec::new(), Vec::new(), End::Complete);
        while let Some(event) = next(turn, &mut answer).await? {
            match event {
                Event::Text(text) => {
                    turn.say(text.clone()).await?;
                    said.push(Said::Text(text));
                }
                Event::Thought(text) => turn.think(text).await?,
                Event::Call(call) => {
                    said.push(Said::Call(call.clone()));
                    wanted.push(call);
                }
                Event::Kept(value) => {
                    turn.keep(value.clone()).await?;
                    said.push(Said::Kept(value));
                }
                Event::Usage(_) => {}
                Event::End(how) => end = how,
            }
        }
        match end {
            End::MaxTokens => return Ok(StopReason::MaxTokens),
            End::Refused => return Ok(StopReason::Refusal),
            End::Complete if wanted.is_empty() => return Ok(StopReason::EndTurn),
            End::Complete => {}
        }
        messages.push(Message::Assistant(said));
        for call in wanted {
            let result = calls::make(turn, &tools, &call).await?;
            let (parts, is_error) = (result.parts, result.is_error);
            messages.push(Message::ToolResult { call: call.id, name: call.name, parts, is_error });
        }
    }
}

/// What the model answers next; an error as soon as the turn is cancelled.
async fn next(
    turn: &Turn<OpenSession>,
    answer: &mut futures::stream::BoxStream<'static, Result<Event, AgentError>>,
) -> Result<Option<Event>, AgentError> {
    tokio::select! {
        event = answer.next() => event.transpose(),
        () = turn.cancellation().cancelled() => Err(AgentError::Cancelled),
    }
}

/// Tells the user once in a session that nothing thinks here, and what to do about it.
async fn say_that_no_model_is_configured(turn: &Turn<OpenSession>) -> Result<(), AgentError> {
    let marker = json!({ "toldOffline": true });
    if turn.history().contains(&Past::Kept(marker.clone())) {
        return Ok(());
    }
    let how = "I repeat what you say, so that you can try sessions, tools and permissions: /help lists what there is. \
               For a model that thinks, set REJOIN_MODEL, or `model` in the configuration, to provider/name.";
    turn.remark("No model is configured", how).await?;
    turn.keep(marker).await
}
