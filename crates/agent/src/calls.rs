//! A call from its beginning to its end: shown, asked for, made, and shown again.

use std::sync::Arc;

use rejoin::schema::{
    SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use rejoin::{AgentError, Turn};
use serde_json::Value;

use crate::cancellation::unless_cancelled;
use crate::mode::{Mode, Policy};
use crate::models::{Part, ToolUse};
use crate::permission;
use crate::session::OpenSession;
use crate::tools::option::Toolset;
use crate::tools::{self, Arguments, Output, Plan, Tool, ToolError};

/// A call that runs.
pub(crate) struct Call<'a> {
    pub(crate) turn: &'a Turn<OpenSession>,
    pub(crate) id: ToolCallId,
    /// What the user was shown that it would do.
    pub(crate) planned: Vec<ToolCallContent>,
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
    /// How it is in the record.
    pub(crate) shown: ToolCallUpdateFields,
}

/// Shows the call `wanted`, which can't be made because of `problem`.
pub(crate) async fn refuse(
    turn: &Turn<OpenSession>,
    wanted: &ToolUse,
    problem: String,
) -> Result<CallResult, AgentError> {
    let call = Call { turn, id: ToolCallId::new(wanted.id.clone()), planned: Vec::new() };
    call.begin(&call.shown(wanted, title_of(wanted))).await?;
    call.fail(ToolError::Failed(problem)).await
}

/// Makes the call `wanted` with one of `tools`. What goes wrong with it is its result.
pub(crate) async fn make(
    turn: &Turn<OpenSession>,
    tools: &[Arc<dyn Tool>],
    wanted: &ToolUse,
) -> Result<CallResult, AgentError> {
    let tool = tools.iter().find(|tool| tool.spec().name == wanted.name).cloned();
    let tool = tool.or_else(|| tools::find(turn.session(), &wanted.name));
    let mut call = Call { turn, id: ToolCallId::new(wanted.id.clone()), planned: Vec::new() };
    let planned = match &tool {
        Some(tool) => {
            let plan = unless_cancelled(turn, plan(&**tool, turn, &wanted.arguments)).await?;
            plan.map(|plan| (tool, plan))
        }
        None => Err(ToolError::Failed(format!("there is no tool {:?} here", wanted.name))),
    };
    let (tool, Plan { title, locations, content, always, is_always_asked }) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            let kind = tool.map_or(ToolKind::Other, |tool| tool.kind());
            call.begin(&call.shown(wanted, title_of(wanted)).kind(kind)).await?;
            return call.fail(error).await;
        }
    };
    call.planned.clone_from(&content);
    let shown = call.shown(wanted, title).kind(tool.kind()).locations(locations).content(content);
    call.begin(&shown).await?;
    let (chosen, effect) = (turn.chosen(), tool.effect());
    let is_asked = Mode::of(&chosen).policy(effect) == Policy::Asked || Toolset::of(&chosen).asks_for(effect);
    if is_always_asked || is_asked {
        let refusal = match permission::ask(turn, &shown, wanted, &always).await {
            Ok(true) => None,
            Ok(false) => Some("the user did not allow it".to_owned()),
            Err(error @ (AgentError::Client(_) | AgentError::Failed(_))) => {
                Some(format!("the user could not be asked for permission: {error}"))
            }
            Err(error) => return Err(error),
        };
        if let Some(refusal) = refusal {
            return call.fail(ToolError::Failed(refusal)).await;
        }
    }
    // The user may have chosen otherwise while they were asked.
    if let Some(refusal) = tools::refusal(&**tool, turn.session(), &turn.chosen()) {
        return call.fail(ToolError::Failed(refusal)).await;
    }
    call.show(ToolCallUpdateFields::new().status(ToolCallStatus::InProgress)).await?;
    match unless_cancelled(turn, tool.run(&wanted.arguments, &call)).await? {
        Ok(output) => call.end(output).await,
        Err(error) => call.fail(error).await,
    }
}

/// What a call of `tool` would do, if it may be made.
async fn plan(tool: &dyn Tool, turn: &Turn<OpenSession>, arguments: &Arguments) -> Result<Plan, ToolError> {
    let session = turn.session();
    if let Some(refusal) = tools::refusal(tool, session, &turn.chosen()) {
        return Err(ToolError::Failed(refusal));
    }
    let plan = tool.plan(arguments, turn).await?;
    // The tools of servers name files and commands too.
    match session.deny.input(&Value::Object(arguments.clone()), turn.cwd()) {
        Some(denial) => Err(ToolError::Failed(format!("{} can't be called so: {denial}", tool.spec().name))),
        None => Ok(plan),
    }
}

/// What a call is called that has no plan.
fn title_of(wanted: &ToolUse) -> String {
    match wanted.arguments.get("path").and_then(Value::as_str) {
        Some(path) => format!("{} {path}", wanted.name),
        None => wanted.name.clone(),
    }
}

impl Call<'_> {
    /// The call before it is made.
    fn shown(&self, wanted: &ToolUse, title: String) -> ToolCall {
        let call = ToolCall::new(self.id.clone(), title).name(wanted.name.clone()).status(ToolCallStatus::Pending);
        call.raw_input(Value::Object(wanted.arguments.clone()))
    }

    async fn begin(&self, call: &ToolCall) -> Result<(), AgentError> {
        self.turn.send(SessionUpdate::ToolCall(call.clone())).await
    }

    async fn end(&self, Output { parts, content, raw, is_error }: Output) -> Result<CallResult, AgentError> {
        let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let mut fields = ToolCallUpdateFields::new().status(status).raw_output(raw);
        if !content.is_empty() {
            fields = fields.content(content);
        }
        self.show(fields.clone()).await?;
        Ok(CallResult { parts, is_error, shown: fields })
    }

    async fn fail(&self, error: ToolError) -> Result<CallResult, AgentError> {
        let text = match error {
            ToolError::Failed(text) => text,
            ToolError::Turn(error) => return Err(error),
        };
        let mut content = self.planned.clone();
        content.push(ToolCallContent::from(text.clone()));
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(content);
        let fields = fields.raw_output(Value::String(text.clone()));
        self.show(fields.clone()).await?;
        Ok(CallResult { parts: vec![Part::Text(text)], is_error: true, shown: fields })
    }
}
