//! What the user types, and whom it is for.

use std::time::Duration;

use crossterm::event::KeyEvent;
use serde_json::json;

use super::chat::{Chat, MenuValue, Stage};
use super::input::{Motion, Vertical};
use super::keys::{Action, action, letter};
use super::menu::Picked;
use super::pager::{PagerContent, PagerState};
use super::question::{Answering, Question};
use super::{Effect, End, Tag};
use crate::protocol::{Answer, Command};

/// How long a second Ctrl-C quits.
const QUITS_WITHIN: Duration = Duration::from_secs(2);

impl Chat {
    pub(super) fn key(&mut self, key: KeyEvent) {
        self.last_key = Some(self.now);
        let action = action(key);
        if action == Some(Action::Suspend) {
            return self.effects.push(Effect::Suspend);
        }
        if action == Some(Action::Redraw) {
            return self.effects.push(Effect::Redraw);
        }
        if let Some(details) = &mut self.details {
            if details.key(key, self.size) == PagerState::Closed {
                self.details = None;
            }
            return;
        }
        if action == Some(Action::Interrupt) {
            return self.interrupt();
        }
        self.quits_until = None;
        if action == Some(Action::Details) && self.session.is_some() {
            return self.open(PagerContent::Conversation);
        }
        if !self.questions.is_empty() && !self.is_typing {
            self.key_of_question(key);
        } else if self.menu.is_some() {
            self.key_of_menu(key);
        } else {
            self.key_of_input(key);
        }
    }

    /// Ctrl-C: clears or cancels, and the second time quits.
    fn interrupt(&mut self) {
        if self.quits_until.is_some() || self.session.is_none() {
            self.end = Some(End::Quit);
            return;
        }
        self.quits_until = Some(self.now + QUITS_WITHIN);
        if self.menu.take().is_some() {
            self.stage = Stage::Open;
        } else if !self.input.is_empty() {
            let draft = self.input.take();
            self.history.add(&draft);
            self.completion.reset();
        } else if self.is_running() {
            self.cancel();
        }
    }

    fn cancel(&mut self) {
        let questions = std::mem::take(&mut self.questions);
        for question in questions {
            self.answer(question, &Answer::Cancel);
        }
        let Some(session) = self.session.as_mut().filter(|session| session.is_running()) else { return };
        let taken_back = session.cancel();
        let params = json!({ "sessionId": session.id });
        self.effects.push(Effect::Notify { method: "session/cancel", params });
        // What was typed is not lost.
        let texts: Vec<String> =
            taken_back.into_iter().chain([self.input.take()]).filter(|it| !it.is_empty()).collect();
        self.input.set(texts.join("\n\n"));
    }

    fn key_of_question(&mut self, key: KeyEvent) {
        let Some(question) = self.questions.front_mut() else { return };
        if let Answering::Answered(answer) = question.key(key)
            && let Some(question) = self.questions.pop_front()
        {
            let cancels = answer == Answer::Cancel;
            self.answer(question, &answer);
            if cancels {
                self.cancel();
            }
        }
    }

    pub(super) fn answer(&mut self, question: Question, answer: &Answer) {
        let result = question.ask.result(answer);
        self.effects.push(Effect::Respond { id: question.id, outcome: Ok(result) });
    }

    fn key_of_menu(&mut self, key: KeyEvent) {
        let Some(menu) = &mut self.menu else { return };
        match menu.key(key) {
            Picked::Chosen(value) => {
                self.menu = None;
                self.chosen(value);
            }
            Picked::Closed => {
                self.menu = None;
                if self.session.is_none() {
                    self.end = Some(End::Quit);
                } else {
                    self.stage = Stage::Open;
                }
            }
            Picked::Open => {
                if menu.is_at_end()
                    && self.stage == Stage::Picking
                    && let Some(cursor) = self.next_page.take()
                {
                    self.list(Some(cursor));
                }
            }
        }
    }

    fn chosen(&mut self, value: MenuValue) {
        match value {
            MenuValue::NewSession => self.open_new(),
            MenuValue::Session { id, .. } if self.session.as_ref().is_some_and(|session| session.id == id) => {
                self.stage = Stage::Open;
            }
            MenuValue::Session { id, agent: Some(agent), .. } if (self.options.is_of_another)(&agent) => {
                self.end = Some(End::Elsewhere(id));
            }
            MenuValue::Session { id, cwd, title, .. } => self.load(id, cwd, title),
            MenuValue::Choice(id) => self.open_values(|choice| choice.id == id),
            MenuValue::Value { choice, value } => self.choose(&choice, &value),
            MenuValue::Login(id) => {
                self.stage = Stage::Opening;
                self.request("authenticate", json!({ "methodId": id }), Tag::Authenticate);
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let (Some(question), false) = (self.questions.front_mut(), self.is_typing) {
            question.paste(text);
        } else if self.menu.is_none() && self.details.is_none() {
            self.input.insert(text);
            self.edited();
        }
    }

    fn key_of_input(&mut self, key: KeyEvent) {
        let action = action(key);
        let commands = self.commands();
        let fitting = self.completion.fitting(&self.input, &commands);
        if !fitting.is_empty() {
            match action {
                Some(Action::Up) => return self.completion.go(Vertical::Up, fitting.len()),
                Some(Action::Down) => return self.completion.go(Vertical::Down, fitting.len()),
                Some(Action::Cancel) => return self.completion.close(),
                Some(Action::Complete) => {
                    let marked = self.completion.marked(&fitting).cloned();
                    return self.complete(marked.as_ref());
                }
                Some(Action::Send) => {
                    let typed = self.input.text().trim_start_matches('/').to_owned();
                    let marked = self.completion.marked(&fitting).cloned();
                    let marked = marked.filter(|command| command.name != typed);
                    self.complete(marked.as_ref());
                    // What wants something behind it waits for that.
                    if marked.is_none_or(|command| command.input.is_none()) {
                        self.send();
                    }
                    return;
                }
                _ => {}
            }
        }
        let Some(action) = action else {
            return match letter(key) {
                Some('?') if self.input.is_empty() => self.open(PagerContent::Keys),
                Some(letter) => {
                    self.input.insert(letter.encode_utf8(&mut [0; 4]));
                    self.edited();
                }
                None => {}
            };
        };
        self.act(action);
    }

    fn act(&mut self, action: Action) {
        let width = self.input_width();
        match action {
            Action::Send if self.input.before_cursor().ends_with('\\') => {
                self.input.delete(Motion::Left);
                self.input.insert("\n");
            }
            Action::Send => self.send(),
            Action::NewLine => self.input.insert("\n"),
            Action::Cancel if self.is_running() => self.cancel(),
            Action::Leave if self.input.is_empty() => self.end = Some(End::Quit),
            Action::Leave | Action::DeleteForward => self.input.delete(Motion::Right),
            Action::NextMode => self.next_mode(),
            Action::Options => self.open_options(),
            Action::Up => {
                if !self.input.go_to_row(Vertical::Up, width)
                    && let Some(prompt) = self.history.back(self.input.text())
                {
                    self.input.set(prompt);
                }
                return;
            }
            Action::Down => {
                if !self.input.go_to_row(Vertical::Down, width)
                    && let Some(prompt) = self.history.forward()
                {
                    self.input.set(prompt);
                }
                return;
            }
            Action::Left => return self.input.go(Motion::Left),
            Action::Right => return self.input.go(Motion::Right),
            Action::WordLeft => return self.input.go(Motion::WordLeft),
            Action::WordRight => return self.input.go(Motion::WordRight),
            Action::LineStart => return self.input.go(Motion::LineStart),
            Action::LineEnd => return self.input.go(Motion::LineEnd),
            Action::DeleteBack => self.input.delete(Motion::Left),
            Action::DeleteWord => self.input.delete(Motion::WordLeft),
            Action::DeleteToStart => self.input.delete(Motion::LineStart),
            Action::DeleteToEnd => self.input.delete(Motion::LineEnd),
            Action::Cancel
            | Action::Complete
            | Action::Interrupt
            | Action::PageUp
            | Action::PageDown
            | Action::Details
            | Action::Redraw
            | Action::Suspend => return,
        }
        self.edited();
    }

    /// The input is another than before.
    fn edited(&mut self) {
        self.completion.reset();
        self.history.leave();
    }

    fn complete(&mut self, command: Option<&Command>) {
        if let Some(command) = command {
            let blank = if command.input.is_some() { " " } else { "" };
            self.input.set(format!("/{}{blank}", command.name));
            self.completion.reset();
        }
    }

    /// How wide the text of the input may be: the mark stands before it, and the cursor behind.
    pub(super) fn input_width(&self) -> usize {
        self.size.width.saturating_sub(3).max(1)
    }
}
