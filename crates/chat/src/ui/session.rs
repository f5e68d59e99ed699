//! A session that is open: what can be chosen and called in it, its turns, and the conversation.

use std::collections::VecDeque;
use std::time::Instant;

use super::transcript::Transcript;
use crate::protocol::{Choices, Command, Failure, Severity, StopReason, Update, Usage};
use crate::render::item::Item;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) cwd: String,
    pub(crate) title: Option<String>,
    pub(crate) choices: Choices,
    pub(crate) commands: Vec<Command>,
    pub(crate) usage: Option<Usage>,
    pub(crate) transcript: Transcript,
    /// How many updates have come.
    pub(crate) n_updates: usize,
    /// Whether there is anything in it to come back to.
    pub(crate) has_turns: bool,
    running: Option<Running>,
    queued: VecDeque<Prompt>,
}

#[derive(Debug)]
struct Running {
    number: u64,
    since: Instant,
    is_cancelled: bool,
}

#[derive(Debug)]
struct Prompt {
    number: u64,
    text: String,
}

impl Session {
    pub(crate) fn new(id: String, cwd: String, title: Option<String>) -> Self {
        Self {
            id,
            cwd,
            title,
            choices: Choices::default(),
            commands: Vec::new(),
            usage: None,
            transcript: Transcript::default(),
            n_updates: 0,
            has_turns: false,
            running: None,
            queued: VecDeque::new(),
        }
    }

    pub(crate) fn update(&mut self, update: Update) {
        self.n_updates += 1;
        match update {
            Update::Commands(commands) => self.commands = commands,
            Update::Mode(id) => self.choices.set_mode(&id),
            Update::Options(options) => self.choices.set_options(&options),
            Update::Title(title) => self.title = title,
            Update::Usage(usage) => self.usage = Some(usage),
            other => self.transcript.update(other),
        }
    }

    /// Notes the prompt `number`, which is sent. It is shown when its turn begins.
    pub(crate) fn prompt(&mut self, number: u64, text: String, now: Instant) {
        self.has_turns = true;
        self.queued.push_back(Prompt { number, text });
        self.begin_next(now);
    }

    /// The prompt `number` was answered.
    pub(crate) fn answered(&mut self, number: u64, outcome: Result<StopReason, Failure>, now: Instant) {
        if self.running.as_ref().is_some_and(|running| running.number == number) {
            self.running = None;
            self.transcript.end_turn();
        } else if let Some(at) = self.queued.iter().position(|prompt| prompt.number == number) {
            self.queued.remove(at);
        } else {
            // It was taken back.
            return;
        }
        match outcome {
            Ok(reason) => {
                let severity = if reason == StopReason::Cancelled { Severity::Info } else { Severity::Warning };
                if let Some(title) = reason.remark() {
                    self.transcript.push(Item::Notice { severity, title, description: None });
                }
            }
            Err(failure) => self.transcript.push(Item::Failure(failure)),
        }
        self.begin_next(now);
    }

    /// The turn is to be cancelled: gives back the texts of the prompts that wait, which will not run.
    pub(crate) fn cancel(&mut self) -> Vec<String> {
        if let Some(running) = &mut self.running {
            running.is_cancelled = true;
        }
        self.queued.drain(..).map(|prompt| prompt.text).collect()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Since when a turn runs, and whether it is being cancelled.
    pub(crate) fn running(&self) -> Option<(Instant, bool)> {
        self.running.as_ref().map(|running| (running.since, running.is_cancelled))
    }

    /// The prompts that wait.
    pub(crate) fn queued(&self) -> impl ExactSizeIterator<Item = &str> {
        self.queued.iter().map(|prompt| prompt.text.as_str())
    }

    fn begin_next(&mut self, now: Instant) {
        if self.running.is_some() {
            return;
        }
        if let Some(Prompt { number, text }) = self.queued.pop_front() {
            self.transcript.push(Item::User(text));
            self.running = Some(Running { number, since: now, is_cancelled: false });
        }
    }
}
