//! The state of the chat: events in, effects out.
//!
//! Nothing here waits, reads or writes. What there is to see of it is in `view.rs`.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossterm::event::KeyEventKind;
use rejoin_wire::{Outcome, Received, RequestId, RpcError};
use serde_json::Value;

use super::commands;
use super::completion::Completion;
use super::history::History;
use super::input::Input;
use super::menu::Menu;
use super::pager::Pager;
use super::question::Question;
use super::session::Session;
use super::{Effect, End, Event, Tag};
use crate::client::{Interaction, initialize_params};
use crate::options::ChatOptions;
use crate::protocol::{Answer, Ask, Command, Failure, FailureKind, Page, StopReason, Update, value_of};
use crate::render::item::Item;
use crate::render::screen::Size;
use crate::render::{Detail, RenderContext};

/// Keys typed within this time of each other are not taken as an answer to a question that just appeared.
const TYPING: Duration = Duration::from_millis(700);

/// The chat.
pub(crate) struct Chat {
    pub(super) options: ChatOptions,
    pub(super) size: Size,
    /// When it began.
    pub(super) begun: Instant,
    pub(super) now: Instant,
    pub(super) stage: Stage,
    pub(super) session: Option<Session>,
    /// The session that is being loaded.
    pub(super) loading: Option<Session>,
    pub(super) input: Input,
    pub(super) completion: Completion,
    pub(super) menu: Option<Menu<MenuValue>>,
    /// The first of them is asked.
    pub(super) questions: VecDeque<Question>,
    pub(super) details: Option<Pager>,
    /// Until when a second Ctrl-C quits.
    pub(super) quits_until: Option<Instant>,
    pub(super) history: History,
    /// How many prompts were sent, in whatever session.
    pub(super) n_prompts: u64,
    /// Where the list of sessions goes on.
    pub(super) next_page: Option<String>,
    pub(super) agent: String,
    pub(super) logins: Vec<(String, String)>,
    pub(super) last_key: Option<Instant>,
    /// Whether the user was typing when a question came.
    pub(super) is_typing: bool,
    pub(super) end: Option<End>,
    pub(super) effects: Vec<Effect>,
}

/// How far the chat is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The agent is being started.
    Starting,
    /// The user chooses a session.
    Picking,
    /// A session is being opened.
    Opening,
    /// Ready for prompts.
    Open,
}

/// What a row of a menu stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum MenuValue {
    NewSession,
    Session {
        id: String,
        cwd: String,
        title: Option<String>,
        agent: Option<String>,
    },
    /// The values of this choice are to be shown.
    Choice(String),
    Value {
        choice: String,
        value: Value,
    },
    Login(String),
}

impl Chat {
    /// A chat, and what to do first.
    pub(crate) fn new(options: ChatOptions, size: Size, now: Instant) -> (Self, Vec<Effect>) {
        let chat = Self {
            options,
            size,
            begun: now,
            now,
            stage: Stage::Starting,
            session: None,
            loading: None,
            input: Input::default(),
            completion: Completion::default(),
            menu: None,
            questions: VecDeque::new(),
            details: None,
            quits_until: None,
            history: History::default(),
            n_prompts: 0,
            next_page: None,
            agent: String::new(),
            logins: Vec::new(),
            last_key: None,
            is_typing: false,
            end: None,
            effects: Vec::new(),
        };
        let params = initialize_params(Interaction::Asked);
        (chat, vec![Effect::Request { method: "initialize", params, tag: Tag::Initialize }])
    }

    /// Takes what happened at `now`, and says what to do.
    pub(crate) fn handle(&mut self, event: Event, now: Instant) -> Vec<Effect> {
        self.now = now;
        self.quits_until = self.quits_until.filter(|until| *until > now);
        self.is_typing &= self.last_key.is_some_and(|last| now.saturating_duration_since(last) < TYPING);
        match event {
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) => self.key(key),
            Event::Paste(text) => self.paste(&text),
            Event::Resized(size) => {
                self.size = size;
                if let Some(details) = self.details.take() {
                    self.open(details.about());
                }
            }
            Event::Received(received) => self.received(received),
            Event::LayerGone => self.end = self.end.take().or(Some(End::LayerGone)),
            Event::Tick => {}
        }
        std::mem::take(&mut self.effects)
    }

    /// Why the chat is over, if it is.
    pub(crate) fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// The session that can be rejoined, if there is anything in it.
    pub(crate) fn session_to_rejoin(&self) -> Option<String> {
        self.session.as_ref().filter(|session| session.has_turns).map(|session| session.id.clone())
    }

    /// What is on the terminal stays there as it is.
    pub(crate) fn begin_below(&mut self) {
        if let Some(session) = &mut self.session {
            session.transcript.begin_below();
        }
    }

    pub(crate) fn close_details(&mut self) {
        self.details = None;
    }

    /// When something is to be seen that nobody has told of.
    pub(crate) fn next_tick(&self) -> Option<Duration> {
        let is_opening = matches!(self.stage, Stage::Starting | Stage::Opening);
        let is_busy = is_opening || self.is_running() || self.is_typing;
        let quits = self.quits_until.map(|until| until.saturating_duration_since(self.now));
        if is_busy { Some(Duration::from_millis(100)) } else { quits }
    }

    /// How everything is shown.
    pub(super) fn look(&self, detail: Detail) -> RenderContext<'_> {
        let cwd = self.session.as_ref().map_or(self.options.cwd.as_str(), |session| session.cwd.as_str());
        RenderContext { width: self.size.width, detail, cwd }
    }

    /// The commands that `input` may become.
    pub(super) fn commands(&self) -> Vec<Command> {
        commands::all(self.session.as_ref().map_or(&[], |session| &session.commands))
    }

    pub(super) fn is_running(&self) -> bool {
        self.session.as_ref().is_some_and(Session::is_running)
    }

    pub(super) fn request(&mut self, method: &'static str, params: Value, tag: Tag) {
        self.effects.push(Effect::Request { method, params, tag });
    }

    fn received(&mut self, received: Received<Tag>) {
        match received {
            Received::Request { id, method, params } => self.asked(id, &method, &value_of(params)),
            Received::Notification { method, params } => {
                let params = value_of(params);
                match method.as_str() {
                    "session/update" => self.update(&params),
                    "$/cancel_request" => self.took_back(&params["requestId"]),
                    _ => {}
                }
            }
            Received::Response { tag, outcome } => self.answered(tag, outcome),
            Received::Abandoned { .. } => self.end = self.end.take().or(Some(End::LayerGone)),
            Received::Unreadable { error, .. } => tracing::warn!(%error, "the layer sent what is no message"),
        }
    }

    fn update(&mut self, params: &Value) {
        let id = params["sessionId"].as_str().unwrap_or_default();
        let session = [&mut self.loading, &mut self.session].into_iter().flatten().find(|session| session.id == id);
        if let (Some(session), Some(update)) = (session, Update::read(&params["update"])) {
            session.update(update);
        }
    }

    fn asked(&mut self, id: RequestId, method: &str, params: &Value) {
        let Some(mut ask) = Ask::read(method, params) else {
            let error = RpcError::new(RpcError::METHOD_NOT_FOUND, format!("the chat can't do `{method}`"));
            return self.effects.push(Effect::Respond { id, outcome: Err(error) });
        };
        if let Ask::Permission { call, .. } = &mut ask {
            // What was told of the call before is part of the question.
            let known = self.session.as_ref().and_then(|session| session.transcript.open_call(&call.id)).cloned();
            if let Some(mut known) = known {
                known.merge(call.clone());
                *call = known;
            }
        }
        self.is_typing = !self.input.is_empty();
        self.questions.push_back(Question::new(id, ask));
    }

    /// The agent does not want an answer any more.
    fn took_back(&mut self, id: &Value) {
        let id = id.to_string();
        if let Some(at) = self.questions.iter().position(|question| question.id.as_json() == id)
            && let Some(question) = self.questions.remove(at)
        {
            self.answer(question, &Answer::Cancel);
        }
    }

    fn answered(&mut self, tag: Tag, outcome: Outcome) {
        let outcome = outcome.map(|result| value_of(Some(result))).map_err(|error| Failure::of(&error));
        match (tag, outcome) {
            (Tag::Initialize, Ok(result)) => self.initialized(&result),
            (Tag::List, Ok(result)) => self.listed(Page::read(&result)),
            (Tag::ListMore, Ok(result)) => self.more_listed(Page::read(&result)),
            (Tag::New, Ok(result)) => {
                let id = result["sessionId"].as_str().unwrap_or_default().to_owned();
                self.opened(Session::new(id, self.options.cwd.clone(), None), &result);
            }
            (Tag::Load, Ok(result)) => {
                if let Some(mut session) = self.loading.take() {
                    session.has_turns = true;
                    let heading = self.heading(&session);
                    session.transcript.head_history(heading);
                    self.opened(session, &result);
                }
            }
            (Tag::Authenticate, Ok(_)) => self.logged_in(),
            (Tag::Prompt(number), outcome) => {
                let outcome = outcome.map(|result| StopReason::read(&result));
                let wants_login = outcome.as_ref().is_err_and(|failure| failure.kind == FailureKind::Login);
                if let Some(session) = &mut self.session {
                    session.answered(number, outcome, self.now);
                }
                if wants_login {
                    self.ask_for_login("The agent wants a login");
                }
            }
            (Tag::Choose(id, value), Ok(result)) => {
                if let Some(session) = &mut self.session {
                    session.choices.set(&id, &value);
                    if result["configOptions"].is_array() {
                        session.choices.set_options(&result["configOptions"]);
                    }
                }
            }
            (Tag::Choose(..), Err(failure)) => self.show(Item::Failure(failure)),
            (Tag::Close, _) => {}
            (Tag::New, Err(failure)) if failure.kind == FailureKind::Login && !self.logins.is_empty() => {
                self.ask_for_login(&failure.message);
            }
            (Tag::Initialize | Tag::List | Tag::ListMore | Tag::New | Tag::Load | Tag::Authenticate, Err(failure)) => {
                self.failed(failure);
            }
        }
    }

    /// No session could be opened: that is the end, unless there is one already.
    fn failed(&mut self, failure: Failure) {
        self.loading = None;
        if self.session.is_some() {
            self.stage = Stage::Open;
            self.show(Item::Failure(failure));
        } else {
            self.end = Some(End::Failed(failure));
        }
    }

    pub(super) fn show(&mut self, item: Item) {
        if let Some(session) = &mut self.session {
            session.transcript.push(item);
        }
    }
}
