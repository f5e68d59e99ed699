//! One process on the course, and what is seen of it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::Folders;
use crate::answers::ClientAbilities;
use crate::log::Log;
use crate::run::{Exchange, Opened, Proc, Reply, Run, Step, Turn, Who};
use crate::subject::{Open, Subject};
use crate::{Check, CheckError, Prompts};

/// After so many questions without an answer nothing more is asked.
const MOST_SILENCES: u32 = 3;

/// So long after its last words a turn may take to end.
const LAST_WORD: Duration = Duration::from_millis(200);

/// A process on the course.
pub(super) struct Stage<'a> {
    pub(super) check: &'a Check,
    pub(super) folders: &'a Folders,
    pub(super) id: Proc,
    pub(super) subject: Subject,
    pub(super) run: Run,
    silences: u32,
}

/// Why a part of the course ends early.
#[derive(Debug)]
pub(super) struct Stop(pub(super) String);

/// How a stretch of the course ends.
pub(super) type Went<T = ()> = Result<T, Stop>;

impl<'a> Stage<'a> {
    /// Starts the agent, to go on with what was seen in `run`.
    pub(super) fn start(
        check: &'a Check,
        folders: &'a Folders,
        id: Proc,
        abilities: ClientAbilities,
        mut run: Run,
    ) -> Result<Self, CheckError> {
        let patience = check.limits.answer;
        let subject = Subject::start(id, &check.command, abilities, &folders.root(), patience, check.tap.clone())?;
        run.logs.insert(id, subject.log().clone());
        Ok(Self { check, folders, id, subject, run, silences: 0 })
    }

    /// Tells what is being done.
    pub(super) fn say(&self, what: &str) {
        if let Some(progress) = &self.check.progress {
            progress(what);
        }
    }

    /// Says hello as a client with `abilities`.
    pub(super) async fn initialize(&mut self, step: Step, abilities: ClientAbilities) -> Went<Exchange> {
        let params = initialize_params(1, abilities);
        self.ask(step, "initialize", params).await
    }

    /// Says hello in a process whose answer no rule looks at, and gives it; stops if it does not get through that.
    pub(super) async fn greet(&mut self) -> Went<Value> {
        let hello = initialize_params(1, ClientAbilities::Bare);
        let exchange = self.subject.ask("initialize", hello, self.check.limits.answer).await;
        let result = exchange.result().cloned();
        result.ok_or_else(|| Stop(format!("initialize in a further process: {}", exchange.came())))
    }

    /// Asks for something that may take a while.
    pub(super) async fn ask(&mut self, step: Step, method: &str, params: Value) -> Went<Exchange> {
        self.ask_within(step, method, params, self.check.limits.answer).await
    }

    /// Asks for something that is refused.
    pub(super) async fn provoke(&mut self, step: Step, method: &str, params: Value) -> Went<Exchange> {
        self.ask_within(step, method, params, self.check.limits.refusal).await
    }

    pub(super) async fn ask_within(
        &mut self,
        step: Step,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Went<Exchange> {
        let exchange = self.subject.ask(method, params, limit).await;
        self.note(step, exchange)
    }

    /// Notes what was seen at `step`; stops if the agent is gone, or has been silent too often.
    pub(super) fn note(&mut self, step: Step, exchange: Exchange) -> Went<Exchange> {
        self.run.add(step, exchange.clone());
        match &exchange.reply {
            Reply::Gone { how, .. } => return Err(Stop(format!("at {}: {how}", exchange.method))),
            Reply::Silence { .. } => self.silences += 1,
            Reply::Result { .. } | Reply::Error { .. } => {}
        }
        if self.silences >= MOST_SILENCES {
            return Err(Stop(format!(
                "the agent did not answer {MOST_SILENCES} times, the last time {}",
                exchange.method
            )));
        }
        Ok(exchange)
    }

    /// Opens the session `who` in the folder `cwd`; stops if that can't be had.
    pub(super) async fn open(&mut self, who: Who, cwd: &Path) -> Went<Opened> {
        let exchange = self.ask(Step::New(who), "session/new", json!({ "cwd": cwd, "mcpServers": [] })).await?;
        let id = exchange.result().and_then(|result| result["sessionId"].as_str());
        let Some(id) = id else { return Err(Stop(format!("session/new failed: {}", exchange.came()))) };
        let opened = Opened { id: id.to_owned(), cwd: cwd.to_owned(), word: word_of(who) };
        self.run.sessions.insert(who, opened.clone());
        Ok(opened)
    }

    /// Says `text` in the session `who`, and waits until the turn has ended.
    pub(super) async fn prompt(&mut self, step: Step, who: Who, text: &str) -> Went<Exchange> {
        let open = self.begin_prompt(who, text).await?;
        let exchange = self.subject.finish(open, self.check.limits.answer).await;
        self.note_turn(step, who, text, exchange)
    }

    /// Begins a turn.
    pub(super) async fn begin_prompt(&self, who: Who, text: &str) -> Went<Open> {
        let params = json!({ "sessionId": self.session(who)?.id, "prompt": [text_block(text)] });
        Ok(self.subject.begin("session/prompt", params).await)
    }

    /// Notes a turn with a prompt of nothing but `text`.
    pub(super) fn note_turn(&mut self, step: Step, who: Who, text: &str, exchange: Exchange) -> Went<Exchange> {
        let turn = Turn { who, text: text.to_owned(), is_plain: true, exchange: exchange.clone() };
        self.run.turns.push(turn);
        self.note(step, exchange)
    }

    /// Waits until the agent says something in the session `who`, or the turn has ended, or it takes too long.
    pub(super) async fn until_it_speaks(&self, open: &Open, who: Who, n_updates: usize) -> Went {
        let (id, from) = (self.session(who)?.id, self.subject.log().end());
        let speaks = |log: &Log| {
            let said = log.updates(from..usize::MAX, Some(&id));
            !Subject::is_open(open) || said.iter().filter(|update| update.is_conversation()).count() >= n_updates
        };
        self.subject.until(self.check.limits.cancel, speaks).await;
        // One that had no more to say has ended by then.
        tokio::time::sleep(LAST_WORD.min(self.check.limits.listen)).await;
        Ok(())
    }

    /// Waits for what comes late.
    pub(super) async fn listen(&self) {
        tokio::time::sleep(self.check.limits.listen).await;
    }

    pub(super) fn session(&self, who: Who) -> Went<Opened> {
        self.run.sessions.get(&who).cloned().ok_or_else(|| Stop("there is no session to go on with".to_owned()))
    }

    /// The prompt that asks to remember the word of `who`.
    pub(super) fn remember(&self, who: Who) -> String {
        Prompts::about(&self.check.prompts.remember, &word_of(who))
    }

    /// All pages of the list with `params`, but not more than `most`.
    pub(super) async fn list(&mut self, step: Step, params: Value, most: usize) -> Went {
        let mut cursor = Value::Null;
        for _ in 0..most {
            let mut params = params.clone();
            if !cursor.is_null() {
                params["cursor"] = cursor;
            }
            let page = self.ask(step, "session/list", params).await?;
            cursor = page.result().map(|result| result["nextCursor"].clone()).unwrap_or_default();
            if cursor.is_null() {
                break;
            }
        }
        Ok(())
    }

    /// Notes why the part ended before its end, if it did.
    pub(super) fn conclude(&mut self, went: Went) {
        if let Err(Stop(reason)) = went {
            self.run.stopped.insert(self.id, reason);
        }
    }
}

/// The params of `initialize`.
pub(super) fn initialize_params(version: u32, abilities: ClientAbilities) -> Value {
    let info = json!({ "name": "rejoin-check", "title": "rejoin check", "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": version, "clientCapabilities": abilities.to_json(), "clientInfo": info })
}

/// A block of text.
pub(super) fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// An id that no session has.
pub(super) const UNKNOWN: &str = "7d3f0c52-9b1e-4a6c-8f21-5e0c9ad4b7e3";

/// The word that the session `who` is told: one that nobody would guess.
fn word_of(who: Who) -> String {
    let syllables = ["za", "ko", "rin", "tel", "mu", "dra", "vis", "po"];
    let number = match who {
        Who::Main => 1,
        Who::Never => 2,
        Who::Tool => 3,
        Who::Cancel => 4,
        Who::Killed => 5,
        Who::Linked => 6,
        Who::Spare(number) => 7 + usize::from(number),
        Who::Last => 14,
    };
    let syllable = |place: usize| syllables[(number * (place + 3) + place) % syllables.len()];
    format!("{}{}{}{number}", syllable(0), syllable(1), syllable(2))
}
