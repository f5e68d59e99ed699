//! A call from its beginning to its end: shown, asked for, made, and shown again.

use std::sync::Arc;

use rejoin::schema::{
    ContentBlock, SessionUpdate, TextContent, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::mode::{Mode, Policy};
use crate::models::{Part, ToolUse};
use crate::permission;
use crate::session::OpenSession;
use crate::tools::{Arguments, Output, Tool, ToolError};

/// A call that runs.
pub(crate) struct Call<'a> {
    pub(crate) turn: &'a Turn<OpenSession>,
    pub(crate) id: ToolCallId,
}

impl Call<'_> {
    /// Shows what is new of it.
    pub(crate) async fn show(&self, fields: ToolCallUpdateFields) -> Result<(), AgentError> {
        let update = ToolCallUpdate::new(self.id.clone(), fields);
        self.turn.send(SessionUpdate::ToolCallUpdate(update)).await
    }
}

/// What came of a call, as the model is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult {
    pub(crate) parts: Vec<Part>,
    pub(crate) is_error: bool,
}

/// Makes the call `wanted` with one of `tools`. What goes wrong with it is its result.
pub(crate) async fn make(
    turn: &Turn<OpenSession>,
    tools: &[Arc<dyn Tool>],
    wanted: &ToolUse,
) -> Result<CallResult, AgentError> {
    let id = ToolCallId::new(wanted.id.clone());
    let tool = tools.iter().find(|tool| tool.spec().name == wanted.name);
    let call = Call { turn, id };
    let planned = match tool {
        Some(tool) => tool.plan(&wanted.arguments, turn).await.map(|plan| (tool, plan)),
        None => Err(ToolError::Failed(format!("there is no tool {:?} here", wanted.name))),
    };
    let (tool, plan) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            call.begin(ToolCall::new(call.id.clone(), wanted.name.clone()), &wanted.arguments).await?;
            return call.fail(error).await;
        }
    };
    let shown = ToolCall::new(call.id.clone(), plan.title.clone()).kind(plan.kind);
    call.begin(shown.locations(plan.locations).content(plan.content), &wanted.arguments).await?;
    let may = match Mode::of(&turn.chosen()).policy(tool.effect()) {
        Policy::Allowed => true,
        Policy::Asked => permission::ask(turn, &call.id, &wanted.name, &plan.title).await?,
        Policy::Never => return call.fail(ToolError::failed("this mode does not allow it")).await,
    };
    if !may {
        return call.fail(ToolError::failed("the user did not allow it")).await;
    }
    call.show(ToolCallUpdateFields::new().status(ToolCallStatus::InProgress)).await?;
    let done = tokio::select! {
        done = tool.run(&wanted.arguments, &call) => done,
        () = turn.cancellation().cancelled() => Err(AgentError::Cancelled.into()),
    };
    match done {
        Ok(output) => call.complete(output).await,
        Err(error) => call.fail(error).await,
    }
}

impl Call<'_> {
    async fn begin(&self, call: ToolCall, arguments: &Arguments) -> Result<(), AgentError> {
        let call = call.status(ToolCallStatus::Pending).raw_input(Value::Object(arguments.clone()));
        self.turn.send(SessionUpdate::ToolCall(call)).await
    }

    async fn complete(&self, Output { parts, content, raw }: Output) -> Result<CallResult, AgentError> {
        let mut fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed).raw_output(raw);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        self.show(fields).await?;
        Ok(CallResult { parts, is_error: false })
    }

    async fn fail(&self, error: ToolError) -> Result<CallResult, AgentError> {
        let text = match error {
            ToolError::Failed(text) => text,
            ToolError::Turn(error) => return Err(error),
        };
        let content = ToolCallContent::from(ContentBlock::Text(TextContent::new(text.clone())));
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(vec![content]);
        self.show(fields.raw_output(Value::String(text.clone()))).await?;
        Ok(CallResult { parts: vec![Part::Text(text)], is_error: true })
    }
}
