//! A session that a hosted agent has open: what is chosen there, and the turn that runs.

use std::sync::{Arc, Mutex};

use agent_client_protocol_schema::v1::{
    AvailableCommandsUpdate, ConfigOptionUpdate, CurrentModeUpdate, SessionConfigOption, SessionConfigOptionCategory,
    SessionConfigOptionValue, SessionMode, SessionModeState, SessionUpdate,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::chosen::of_category;
use super::{Agent, AgentError, Chosen, Offer, SessionContext};
use crate::lock::lock;

/// What a turn can choose, whatever agent it is of.
pub(super) trait Choosing: Send + Sync {
    fn chosen(&self) -> Chosen;
    fn choose<'a>(&'a self, option: &'a str, value: SessionConfigOptionValue) -> BoxFuture<'a, Result<(), AgentError>>;
}

pub(super) struct HostedSession<A: Agent> {
    agent: Arc<A>,
    pub(super) context: SessionContext,
    pub(super) state: Arc<A::Session>,
    offer: Mutex<Offer>,
    /// Cancels the turn that runs, or the last one.
    turn: Mutex<CancellationToken>,
    /// Comes when the session is closed.
    end: CancellationToken,
}

impl<A: Agent> HostedSession<A> {
    pub(super) fn new(agent: Arc<A>, context: SessionContext, state: A::Session) -> Self {
        let offer = agent.offer(&state, &Chosen::default());
        let state = Arc::new(state);
        Self { agent, context, state, offer: Mutex::new(offer), turn: Mutex::default(), end: CancellationToken::new() }
    }

    /// The answer to `session/new`.
    pub(super) fn setup(&self) -> Value {
        let offer = lock(&self.offer).clone();
        let mut setup = json!({ "sessionId": self.context.id() });
        if let Some(modes) = modes(&offer.options) {
            setup["modes"] = json!(modes);
        }
        if let Some(models) = models(&offer.options) {
            setup["models"] = models;
        }
        if !offer.options.is_empty() {
            setup["configOptions"] = json!(offer.options);
        }
        setup
    }

    /// Tells the client the commands.
    pub(super) async fn announce(&self) -> Result<(), AgentError> {
        let commands = lock(&self.offer).commands.clone();
        if commands.is_empty() {
            return Ok(());
        }
        self.context.send(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))).await
    }

    /// Asks the agent again for what it offers, and tells the client what is new.
    pub(super) async fn refresh(&self) -> Result<(), AgentError> {
        let chosen = self.chosen();
        self.take(self.agent.offer(&self.state, &chosen)).await
    }

    /// Asks for a refresh wherever one is due, for ever.
    pub(super) async fn refresh_when_asked(&self) -> Result<(), AgentError> {
        loop {
            self.context.0.refresh.notified().await;
            self.refresh().await?;
        }
    }

    /// Puts `value` in force; gives all options as they are then.
    pub(super) fn set(
        &self,
        option: &str,
        value: &SessionConfigOptionValue,
    ) -> Result<Vec<SessionConfigOption>, AgentError> {
        let mut offer = lock(&self.offer);
        let chosen = Chosen::of(&offer.options).with(&offer.options, option, value)?;
        *offer = self.agent.offer(&self.state, &chosen);
        Ok(offer.options.clone())
    }

    /// The same for the option of a category, by the field that older clients name its value in. They are told all
    /// options in an update.
    pub(super) async fn set_category(
        &self,
        category: &SessionConfigOptionCategory,
        (field, value): (&'static str, &str),
    ) -> Result<(), AgentError> {
        let options = lock(&self.offer).options.clone();
        let known = of_category(&options, category);
        let option = known.filter(|(_, _, values)| values.iter().any(|known| &*known.value.0 == value));
        let (option, ..) = option.ok_or_else(|| AgentError::invalid(field, format!("there is no {value:?}")))?;
        let options = self.set(&option.id.0, &SessionConfigOptionValue::from(value))?;
        self.context.send(SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))).await
    }

    /// Begins a turn; what this gives says when it is cancelled.
    pub(super) fn begin_turn(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *lock(&self.turn) = token.clone();
        token
    }

    /// Cancels the turn that runs.
    pub(super) fn cancel(&self) {
        lock(&self.turn).cancel();
    }

    /// The session is closed: its turn is cancelled, and nothing more is told of it.
    pub(super) fn end(&self) {
        self.cancel();
        self.end.cancel();
    }

    /// Comes when the session is closed.
    pub(super) async fn closed(&self) {
        self.end.cancelled().await;
    }

    /// Takes over what is offered now, and tells the client what is new in it.
    async fn take(&self, new: Offer) -> Result<(), AgentError> {
        let old = std::mem::replace(&mut *lock(&self.offer), new.clone());
        let mode = |offer: &Offer| Some(modes(&offer.options)?.current_mode_id);
        if let Some(mode_id) = mode(&new).filter(|_| mode(&new) != mode(&old)) {
            self.context.send(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode_id))).await?;
        }
        if old.options != new.options {
            let update = ConfigOptionUpdate::new(new.options.clone());
            self.context.send(SessionUpdate::ConfigOptionUpdate(update)).await?;
        }
        if old.commands != new.commands {
            let update = AvailableCommandsUpdate::new(new.commands);
            self.context.send(SessionUpdate::AvailableCommandsUpdate(update)).await?;
        }
        Ok(())
    }
}

impl<A: Agent> Choosing for HostedSession<A> {
    fn chosen(&self) -> Chosen {
        Chosen::of(&lock(&self.offer).options)
    }

    fn choose<'a>(&'a self, option: &'a str, value: SessionConfigOptionValue) -> BoxFuture<'a, Result<(), AgentError>> {
        async move {
            let options = lock(&self.offer).options.clone();
            let chosen = Chosen::of(&options).with(&options, option, &value)?;
            self.take(self.agent.offer(&self.state, &chosen)).await
        }
        .boxed()
    }
}

/// The option of the category `mode`, as older clients want it.
fn modes(options: &[SessionConfigOption]) -> Option<SessionModeState> {
    let (_, current, values) = of_category(options, &SessionConfigOptionCategory::Mode)?;
    let mode = |value: &&agent_client_protocol_schema::v1::SessionConfigSelectOption| {
        SessionMode::new(value.value.to_string(), value.name.clone()).description(value.description.clone())
    };
    Some(SessionModeState::new(current.to_owned(), values.iter().map(mode).collect()))
}

/// The option of the category `model`, as older clients want it. The schema no longer has it.
fn models(options: &[SessionConfigOption]) -> Option<Value> {
    let (_, current, values) = of_category(options, &SessionConfigOptionCategory::Model)?;
    let model = |value: &&agent_client_protocol_schema::v1::SessionConfigSelectOption| {
        let mut model = json!({ "modelId": value.value, "name": value.name });
        if let Some(description) = &value.description {
            model["description"] = json!(description);
        }
        model
    };
    let models: Vec<Value> = values.iter().map(model).collect();
    Some(json!({ "currentModelId": current, "availableModels": models }))
}
