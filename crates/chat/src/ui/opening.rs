//! How the chat gets into a session.

use serde_json::{Value, json};

use super::chat::{Chat, MenuValue, Stage};
use super::history::History;
use super::menu::{Menu, MenuRow};
use super::session::Session;
use super::{Effect, Tag};
use crate::options::Start;
use crate::protocol::{Choices, Page, Row};
use crate::render::item::Item;
use crate::text::one_line;

/// How much of an id is shown.
const SHORT_ID: usize = 8;

impl Chat {
    pub(super) fn initialized(&mut self, result: &Value) {
        let info = &result["agentInfo"];
        let name = info["title"].as_str().or(info["name"].as_str()).unwrap_or("an agent");
        self.agent = one_line(name);
        let methods = result["authMethods"].as_array().into_iter().flatten();
        let login = |method: &Value| Some((method["id"].as_str()?.to_owned(), method["name"].as_str()?.to_owned()));
        self.logins = methods.filter_map(login).collect();
        match self.options.start.clone() {
            Start::New => self.open_new(),
            Start::Pick => self.list(None),
            Start::Load { session_id, cwd, title } => self.load(session_id, cwd, title),
        }
    }

    pub(super) fn list(&mut self, cursor: Option<String>) {
        match cursor {
            None => self.request("session/list", json!({ "cwd": self.options.cwd }), Tag::List),
            Some(cursor) => {
                let params = json!({ "cwd": self.options.cwd, "cursor": cursor });
                self.request("session/list", params, Tag::ListMore);
            }
        }
    }

    pub(super) fn listed(&mut self, page: Page) {
        self.next_page = page.next;
        let rows: Vec<_> = page.rows.iter().map(|row| self.menu_row(row)).collect();
        if rows.is_empty() && self.session.is_none() {
            return self.open_new();
        }
        let new = MenuRow { label: "+ new session".to_owned(), note: String::new(), value: MenuValue::NewSession };
        let rows = [new].into_iter().chain(rows).collect();
        self.menu = Some(Menu::new("Sessions of this folder", rows, 0));
        self.stage = Stage::Picking;
    }

    pub(super) fn more_listed(&mut self, page: Page) {
        let rows: Vec<_> = page.rows.iter().map(|row| self.menu_row(row)).collect();
        // The list may have been left meanwhile.
        if let (Stage::Picking, Some(menu)) = (self.stage, &mut self.menu) {
            menu.rows.extend(rows);
            self.next_page = page.next;
        }
    }

    fn menu_row(&self, row: &Row) -> MenuRow<MenuValue> {
        let age = row.updated_at.as_deref().map(|at| (self.options.age)(at));
        let messages = row.messages.map(|count| format!("{count} {}", if count == 1 { "message" } else { "messages" }));
        let note: Vec<String> = [age, messages, row.agent.clone()].into_iter().flatten().collect();
        MenuRow {
            label: one_line(row.title.as_deref().unwrap_or("(no title)")),
            note: one_line(&note.join(" · ")),
            value: MenuValue::Session {
                id: row.session_id.clone(),
                cwd: row.cwd.clone(),
                title: row.title.clone(),
                agent: row.agent.clone(),
            },
        }
    }

    pub(super) fn open_new(&mut self) {
        self.stage = Stage::Opening;
        self.request("session/new", json!({ "cwd": self.options.cwd, "mcpServers": [] }), Tag::New);
    }

    pub(super) fn load(&mut self, id: String, cwd: String, title: Option<String>) {
        self.stage = Stage::Opening;
        self.request("session/load", json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] }), Tag::Load);
        self.loading = Some(Session::new(id, cwd, title));
    }

    /// Goes over to `session`, which `result` has told of.
    pub(super) fn opened(&mut self, mut session: Session, result: &Value) {
        session.choices = Choices::read(result);
        if !session.has_turns {
            session.transcript.push(self.greeting(&session));
            let remark = format!("new session {} · ? shows the keys", short_id(&session.id));
            session.transcript.push(Item::Remark(remark));
        }
        self.history = History::default();
        for prompt in session.transcript.said_by_user() {
            self.history.add(prompt);
        }
        if let Some(mut left) = self.session.take() {
            session.transcript.put_before(left.transcript.take_unseen());
            self.request("session/close", json!({ "sessionId": left.id }), Tag::Close);
            self.effects.push(Effect::BeginBelow);
        }
        self.session = Some(session);
        self.stage = Stage::Open;
        self.menu = None;
    }

    fn greeting(&self, session: &Session) -> Item {
        let about = format!("{} · {} · {}", self.options.version, self.agent, (self.options.path)(&session.cwd));
        Item::Greeting { name: "rejoin".to_owned(), about }
    }

    /// What is said above the history of `session`, given how much of it is not shown.
    pub(super) fn heading(&self, session: &Session) -> impl FnOnce(usize) -> Vec<Item> + use<> {
        let (greeting, id) = (self.greeting(session), short_id(&session.id));
        let title = session.title.as_deref().map_or_else(String::new, |title| format!(" · {}", one_line(title)));
        move |n_hidden| {
            let hidden = (n_hidden > 0).then(|| format!("what came before is not shown: `rejoin show {id}`"));
            let remarks = [Some(format!("session {id}{title} · ? shows the keys")), hidden].into_iter().flatten();
            [greeting].into_iter().chain(remarks.map(Item::Remark)).collect()
        }
    }

    /// Lets the user choose how to log in, and says `why`.
    pub(super) fn ask_for_login(&mut self, why: &str) {
        let row = |(id, name): &(String, String)| MenuRow {
            label: one_line(name),
            note: String::new(),
            value: MenuValue::Login(id.clone()),
        };
        let rows: Vec<_> = self.logins.iter().map(row).collect();
        if !rows.is_empty() {
            self.menu = Some(Menu::new(format!("{}: log in by", one_line(why)), rows, 0));
            (self.stage, self.next_page) = (Stage::Picking, None);
        }
    }

    pub(super) fn logged_in(&mut self) {
        if self.session.is_none() {
            return self.open_new();
        }
        self.stage = Stage::Open;
        self.show(Item::Remark("logged in: say it again".to_owned()));
    }
}

fn short_id(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}
