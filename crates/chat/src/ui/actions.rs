//! User actions: sending a prompt, running a chat command, changing an option, opening the pager.

use serde_json::{Value, json};

use super::chat::{Chat, MenuValue, Stage};
use super::commands::{self, ChatCommand};
use super::menu::{Menu, MenuRow};
use super::pager::{Pager, PagerContent};
use super::question::Question;
use super::view::key_lines;
use super::{End, Tag};
use crate::protocol::Choice;
use crate::render::Detail;
use crate::render::item::Item;
use crate::render::line::Line;
use crate::text::one_line;

impl Chat {
    pub(super) fn send(&mut self) {
        // What is typed before there is a session waits in the input.
        let Some(session) = self.session.as_mut().filter(|_| self.stage == Stage::Open) else { return };
        let text = self.input.text().trim_end().to_owned();
        if text.trim().is_empty() {
            return;
        }
        self.input.take();
        self.history.add(&text);
        self.completion.reset();
        if let Some(own) = commands::own(&text, &session.commands) {
            return self.run(own);
        }
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": session.id, "prompt": prompt });
        session.prompt(self.n_prompts, text, self.now);
        self.request("session/prompt", params, Tag::Prompt(self.n_prompts));
        self.n_prompts += 1;
    }

    fn run(&mut self, own: ChatCommand) {
        match own {
            ChatCommand::Mode => {
                let mode = self.session.as_ref().and_then(|session| session.choices.mode()).map(|it| it.id.clone());
                self.open_values(|choice| Some(&choice.id) == mode.as_ref());
            }
            ChatCommand::Model => {
                let model = self.session.as_ref().and_then(|session| session.choices.model()).map(|it| it.id.clone());
                self.open_values(|choice| Some(&choice.id) == model.as_ref());
            }
            ChatCommand::Options => self.open_options(),
            ChatCommand::New | ChatCommand::Sessions if self.is_running() => {
                self.show(Item::Remark("a turn is running: Esc cancels it".to_owned()));
            }
            ChatCommand::New => self.open_new(),
            ChatCommand::Sessions => self.list(None),
            ChatCommand::Details => self.open(PagerContent::Conversation),
            ChatCommand::Keys => self.open(PagerContent::Keys),
            ChatCommand::Quit => self.end = Some(End::Quit),
        }
    }

    pub(super) fn next_mode(&mut self) {
        let mode = self.session.as_ref().and_then(|session| session.choices.mode());
        let next = mode.and_then(|mode| Some((mode.id.clone(), mode.next()?.value.clone())));
        match next {
            Some((id, value)) => self.choose(&id, &value),
            None => self.show(Item::Remark("the agent has no modes".to_owned())),
        }
    }

    pub(super) fn choose(&mut self, id: &str, value: &Value) {
        let Some(session) = &self.session else { return };
        let Some(choice) = session.choices.list.iter().find(|choice| choice.id == id) else { return };
        let (method, params) = choice.request(&session.id, value);
        self.request(method, params, Tag::Choose(id.to_owned(), value.clone()));
    }

    pub(super) fn open_options(&mut self) {
        let Some(session) = &self.session else { return };
        let row = |choice: &Choice| MenuRow {
            label: one_line(&choice.name),
            note: one_line(&choice.current_name()),
            value: MenuValue::Choice(choice.id.clone()),
        };
        let rows: Vec<_> = session.choices.list.iter().map(row).collect();
        if rows.is_empty() {
            return self.show(Item::Remark("the agent has nothing to choose".to_owned()));
        }
        self.menu = Some(Menu::new("Options", rows, 0));
    }

    /// Shows the values of the choice that `is_wanted`.
    pub(super) fn open_values(&mut self, is_wanted: impl Fn(&Choice) -> bool) {
        let Some(session) = &self.session else { return };
        let Some(choice) = session.choices.list.iter().find(|choice| is_wanted(choice)) else {
            return self.show(Item::Remark("the agent has nothing to choose from there".to_owned()));
        };
        let current = choice.values.iter().position(|value| value.value == choice.current).unwrap_or(0);
        let rows = choice.values.iter().map(|value| {
            let note: Vec<&str> =
                [&value.group, &value.description].into_iter().flatten().map(String::as_str).collect();
            MenuRow {
                label: one_line(&value.name),
                note: one_line(&note.join(" · ")),
                value: MenuValue::Value { choice: choice.id.clone(), value: value.value.clone() },
            }
        });
        self.menu = Some(Menu::new(one_line(&choice.name), rows.collect(), current));
    }

    /// Shows something on a screen of its own.
    pub(super) fn open(&mut self, about: PagerContent) {
        let lines = match about {
            PagerContent::Conversation => self.whole_conversation(),
            PagerContent::Keys => key_lines(self.size.width),
        };
        self.details = Some(Pager::new(about, lines, self.size));
    }

    fn whole_conversation(&self) -> Vec<Line> {
        let look = self.look(Detail::Full);
        let mut lines = self.session.as_ref().map(|session| session.transcript.all_lines(look)).unwrap_or_default();
        if let Some(call) = self.questions.front().and_then(Question::call) {
            lines.push(Line::blank());
            lines.extend(Item::ToolCall(call.clone()).lines(look));
        }
        lines
    }
}
