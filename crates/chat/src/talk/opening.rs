//! How the chat gets into a session.

use serde_json::{Value, json};

use super::Tag;
use super::chat::{Chat, MenuValue, Stage};
use super::history::History;
use super::menu::{Menu, MenuRow};
use super::session::Session;
use crate::look::item::Item;
use crate::options::Start;
use crate::protocol::{Choices, Failure, Page, Row};
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
        let mut params = json!({ "cwd": self.options.cwd });
        if let Some(cursor) = cursor {
            params["cursor"] = json!(cursor);
        }
        self.request("session/list", params, Tag::List);
    }

    pub(super) fn listed(&mut self, page: Page) {
        self.next_page = page.next;
        let rows = page.rows.iter().map(|row| self.menu_row(row)).collect::<Vec<_>>();
        if let (Stage::Picking, Some(menu)) = (self.stage, &mut self.menu) {
            return menu.rows.extend(rows);
        }
        if rows.is_empty() && self.session.is_none() {
            return self.open_new();
        }
        let new = MenuRow { label: "+ new session".to_owned(), note: String::new(), value: MenuValue::NewSession };
        let rows = [new].into_iter().chain(rows).collect();
        self.menu = Some(Menu::new("Sessions of this folder", rows, 0));
        self.stage = Stage::Picking;
    }

    pub(super) fn menu_row(&self, row: &Row) -> MenuRow<MenuValue> {
        let age = row.updated_at.as_deref().map(|at| (self.options.age)(at));
        let messages = row.messages.map(|count| format!("{count} {}", if count == 1 { "message" } else { "messages" }));
        let note: Vec<String> = [age, messages, row.agent.clone()].into_iter().flatten().collect();
        MenuRow {
            label: one_line(row.title.as_deref().unwrap_or("(no title)")),
            note: one_line(&note.join(" · ")),
            value: MenuValue::Session { id: row.session_id.clone(), cwd: row.cwd.clone(), title: row.title.clone() },
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
        if let Some(left) = self.session.replace(session) {
            self.request("session/close", json!({ "sessionId": left.id }), Tag::Close);
        }
        self.stage = Stage::Open;
        self.menu = None;
    }

    pub(super) fn greeting(&self, session: &Session) -> Item {
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

    pub(super) fn ask_for_login(&mut self, failure: &Failure) {
        let row = |(id, name): &(String, String)| MenuRow {
            label: one_line(name),
            note: String::new(),
            value: MenuValue::Login(id.clone()),
        };
        let rows = self.logins.iter().map(row).collect();
        self.menu = Some(Menu::new(format!("{}: log in by", one_line(&failure.message)), rows, 0));
        self.stage = Stage::Picking;
    }
}

fn short_id(id: &str) -> String {
    id.chars().take(SHORT_ID).collect()
}
