//! A turn with a model: asked, heard, its calls made, and asked again until it has nothing more to call.

use std::sync::Arc;

use rejoin::schema::{Cost, SessionUpdate, StopReason, UsageUpdate};
use rejoin::{AgentError, Past, Turn};
use serde_json::json;

use crate::BuiltInAgent;
use crate::ask::{Answer, Shown, Wanted, ask};
use crate::calls::{self, CallResult};
use crate::commands::parts_of;
use crate::compaction::{self, Compactions, Step, compact};
use crate::context::{Context, parts_shown};
use crate::instructions::instructions;
use crate::kept::{Kept, KeptAnswer};
use crate::mode::Mode;
use crate::models::{End, ModelError, ModelId, ModelInfo, Part, Request, Temperature, Thinking, info_of};
use crate::repeats::Repeats;
use crate::session::OpenSession;
use crate::tools::{Tool, tools_of};

/// The most requests to a model in one turn.
const MAX_REQUESTS: usize = 200;

/// Runs the turn of a user who says `parts`.
pub(crate) async fn run(
    agent: &BuiltInAgent,
    turn: &Turn<OpenSession>,
    parts: Vec<Part>,
) -> Result<StopReason, AgentError> {
    let model = agent.model(&turn.chosen())?;
    if model == ModelId::offline() && agent.config.model.is_none() {
        say_that_no_model_is_configured(turn).await?;
    }
    let provider = agent.providers.of(&model)?.as_ref();
    let info = info_of(&model, &turn.session().models);
    let mut context = Context::of(turn.history());
    if parts != parts_of(turn.prompt()) {
        Kept::Prompt(parts.clone()).keep(turn).await?;
    }
    context.prompt(parts);
    // An answer with thoughts can't be gone on with without them, nor the other way round.
    let thinking = Thinking::of(&turn.chosen());
    let (mut compactions, mut repeats) = (Compactions::default(), Repeats::default());
    for _ in 0..MAX_REQUESTS {
        if compactions.is_due(&context, info.window) {
            compaction::shorten_results(turn, &info, &mut context).await?;
        }
        match compactions.before_request(&context, info.window) {
            Step::Ask => {}
            Step::GiveUp => return Err(compaction::window_is_too_small(&info)),
            Step::Compact(remainder) => match compact(turn, provider, &info, &mut context, remainder).await {
                Ok(()) => {
                    repeats.forget();
                    say_that_it_was_compacted(turn).await?;
                }
                Err(ModelError::Turn(error)) => return Err(error),
                // It may still fit.
                Err(error) => {
                    compactions.failed();
                    turn.remark("The conversation could not be summarised", error.to_string()).await?;
                }
            },
        }
        let chosen = turn.chosen();
        let mode = Mode::of(&chosen);
        let tools = tools_of(turn.session(), &turn.chosen());
        let request = Request {
            model: model.clone(),
            system: instructions(turn.session().roots.as_of_now(), mode).await,
            messages: context.messages(),
            tools: tools.iter().map(|tool| tool.spec()).collect(),
            temperature: Temperature::of(&chosen),
            thinking,
        };
        let answer = match ask(turn, provider, &request, &Shown::AsAnswer).await {
            Err(error @ ModelError::TooLong(_)) => match compactions.too_long(&context) {
                None | Some(Step::Ask) => return Err(error.into()),
                Some(Step::GiveUp) => return Err(compaction::window_is_too_small(&info)),
                Some(Step::Compact(remainder)) => {
                    compact(turn, provider, &info, &mut context, remainder).await?;
                    repeats.forget();
                    say_that_it_was_compacted(turn).await?;
                    continue;
                }
            },
            answered => answered?,
        };
        compactions.answered(answer.usage.map(|usage| usage.input), info.window);
        match end_answer(turn, &mut context, answer, &info).await? {
            Next::Stop(reason) => return Ok(reason),
            Next::Calls(wanted) => make_calls(turn, &mut context, &tools, wanted, &mut repeats).await?,
        }
        if repeats.are_too_many() {
            turn.remark("The turn was ended, because the model repeats itself", repeats.told_to_users(&model)).await?;
            return Ok(StopReason::MaxTurnRequests);
        }
    }
    Ok(StopReason::MaxTurnRequests)
}

/// What follows an answer.
enum Next {
    Stop(StopReason),
    Calls(Vec<Wanted>),
}

/// Keeps what later requests need of `answer`, and says what it used.
async fn end_answer(
    turn: &Turn<OpenSession>,
    context: &mut Context,
    answer: Answer,
    model: &ModelInfo,
) -> Result<Next, AgentError> {
    let cost = answer.cost(model);
    let Answer { text, mut calls, thoughts, usage, end, .. } = answer;
    let end = end.unwrap_or(End::Complete);
    if end != End::Complete {
        // The last of them may be cut off.
        calls.clear();
    }
    for wanted in &mut calls {
        wanted.call.id = context.unused_id(&wanted.call.id);
    }
    let used = usage.map(|usage| usage.input + usage.output);
    let wanted = calls.iter().map(|wanted| wanted.call.clone()).collect();
    let kept = KeptAnswer { calls: wanted, thoughts, used, cost, model: Some(model.id.to_string()) };
    Kept::Answer(kept.clone()).keep(turn).await?;
    context.say(&text);
    context.end_answer(&kept);
    if let Some(used) = used {
        let spent = context.cost().map(|amount| Cost::new(amount, "USD"));
        turn.send(SessionUpdate::UsageUpdate(UsageUpdate::new(used, model.window.max(used)).cost(spent))).await?;
    }
    Ok(match end {
        End::Refused => {
            Kept::Refused.keep(turn).await?;
            Next::Stop(StopReason::Refusal)
        }
        End::MaxTokens => Next::Stop(StopReason::MaxTokens),
        End::Complete if calls.is_empty() => Next::Stop(StopReason::EndTurn),
        End::Complete => Next::Calls(calls),
    })
}

/// Makes the calls, one after the other.
async fn make_calls(
    turn: &Turn<OpenSession>,
    context: &mut Context,
    tools: &[Arc<dyn Tool>],
    wanted: Vec<Wanted>,
    repeats: &mut Repeats,
) -> Result<(), AgentError> {
    let n_calls = wanted.len();
    for (n, Wanted { call, problem }) in wanted.into_iter().enumerate() {
        let mut result = match problem {
            Some(problem) => calls::refuse(turn, &call, problem).await?,
            None => calls::make(turn, tools, &call).await?,
        };
        repeats.see(&call, &result);
        if n + 1 == n_calls {
            result.parts.extend(repeats.end_step().map(Part::Text));
        }
        if !is_in_record(&result) {
            Kept::Result { call: call.id.clone(), parts: result.parts.clone() }.keep(turn).await?;
        }
        context.end_call(&call.id, result.parts, result.is_error);
    }
    Ok(())
}

/// Whether what a call gave the model can be read from what people were shown.
fn is_in_record(result: &CallResult) -> bool {
    // Without content of its own, a call keeps what was shown of it before.
    let content = result.shown.content.as_deref();
    content
        .is_some_and(|content| parts_shown(content, result.shown.raw_output.as_ref(), result.is_error) == result.parts)
}

/// Tells the user of a client that does not show compactions.
async fn say_that_it_was_compacted(turn: &Turn<OpenSession>) -> Result<(), AgentError> {
    if turn.client().session.as_ref().is_some_and(|session| session.compaction.is_some()) {
        return Ok(());
    }
    let what = "It came near the model's window. You still see all of it; the model goes on from a summary.";
    turn.remark("The conversation was summarised for the model", what).await
}

/// Tells the user once in a session that nothing thinks here, and what to do about it.
async fn say_that_no_model_is_configured(turn: &Turn<OpenSession>) -> Result<(), AgentError> {
    let marker = json!({ "toldOffline": true });
    if turn.history().contains(&Past::Kept(marker.clone())) {
        return Ok(());
    }
    let how = "I repeat what you say, so that you can try sessions, tools and permissions: /help lists what there is. \
               For a model that thinks, set REJOIN_MODEL, or `model` in the configuration, to provider/name, and the \
               provider's key, such as OPENAI_API_KEY.";
    turn.remark("No model is configured", how).await?;
    turn.keep(marker).await
}
