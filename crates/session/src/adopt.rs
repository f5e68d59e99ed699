//! Sessions that an agent made without us, brought in: its list says which there are, and its replay what was said.
//!
//! Nothing comes in twice: what was made through us, was imported, or was adopted before is known. What went on in the
//! agent since goes on here, unless it went on here too.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, stream};
use rejoin_store::{Likeness, StoreError, Taken, agent_sessions, now, resolve_cwd, take_in};
use rejoin_transcript::json::{Members, Object};
use rejoin_transcript::{AgentSession, Json, Retelling, Session, SessionId, Step, Timestamp, Told, UpdateKind};
use rejoin_wire::{RawValue, RpcError};
use tokio::sync::oneshot;

use crate::agent::{AgentEvent, Events, Link, Opening};
use crate::layer::Shared;
use crate::mcp_servers::McpServers;
use crate::{Error, SessionLayer};

/// How many sessions an agent that can't close them is made to open before it starts anew.
const OPEN_AT_ONCE: u32 = 20;

/// How many pages of an agent's list in a row may hold nothing new before it has told all it knows.
const PAGES_WITHOUT_NEWS: u32 = 20;

/// How long an agent must have been silent after it answered a load, for its replay to be over.
const SILENCE: Duration = Duration::from_millis(30);
/// The same, if nothing came of it yet: some answer first and replay afterwards.
const LONG_SILENCE: Duration = Duration::from_millis(500);

/// What we are to an agent whose sessions we adopt: a client that shows, and does nothing.
const CLIENT: &str = concat!(
    r#"{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"#,
    r#""session":{"compaction":{}}},"clientInfo":{"name":"rejoin","version":""#,
    env!("CARGO_PKG_VERSION"),
    "\"}}"
);

/// What became of a session of the agent.
#[derive(Debug)]
pub enum Adopted {
    /// It is here.
    Here {
        /// Its id here.
        session_id: SessionId,
        /// What of it came in now.
        taken: Taken,
    },
    /// It could not be brought in.
    Failed {
        /// The agent's id of it.
        id: String,
        /// Why.
        error: Error,
    },
}

/// The sessions of an agent that are being brought in.
pub struct Adoption {
    layer: Arc<Shared>,
    link: Arc<Link>,
    /// Those that the agent listed.
    rows: VecDeque<Row>,
    /// The sessions here, by the agent's ids.
    known: HashMap<String, SessionId>,
    /// How many sessions the process has open.
    open: u32,
    id_of: IdOf,
}

/// The id that a session of an agent gets here, by the names of the agent and its own id of the session.
type IdOf = fn(&[String], &str) -> SessionId;

/// A session, as the agent's list tells it.
struct Row {
    id: String,
    /// Without it no session can be loaded.
    cwd: Option<String>,
    title: Option<String>,
    updated_at: Option<Timestamp>,
}

impl SessionLayer {
    /// Starts the agent and asks which sessions it has. `id_of` gives the id that one gets here, by the names of the
    /// agent and its own id of the session; always the same.
    pub async fn adoption(&self, id_of: IdOf) -> Result<Adoption, Error> {
        let layer = Arc::clone(self.shared());
        let link = layer.agents.start_alone(&Json::from_stored(CLIENT.to_owned())).await?;
        let rows = list(&link, layer.options.restore_limit).await?;
        let names = link.names();
        let is_its = |agent: &String| names.first() == Some(agent) || layer.options.are_kin(agent, &names);
        let owned = agent_sessions(&*layer.store, "").await?;
        let known = owned.into_iter().filter(|owned| is_its(&owned.agent)).map(|owned| (owned.id, owned.session_id));
        let known = known.collect();
        Ok(Adoption { layer, link, rows, known, open: 0, id_of })
    }
}

impl Adoption {
    /// How many sessions are left.
    pub fn n_left(&self) -> usize {
        self.rows.len()
    }

    /// Brings in the next session; `None` when there is none. Fails only if the agent is gone, or the store is.
    pub async fn next(&mut self) -> Result<Option<Adopted>, Error> {
        let Some(row) = self.rows.pop_front() else { return Ok(None) };
        let session_id = (self.id_of)(&self.link.names(), &row.id);
        // One that was made through us has its own record.
        if let Some(known) = self.known.get(&row.id).filter(|known| **known != session_id) {
            return Ok(Some(Adopted::Here { session_id: known.clone(), taken: Taken::Nothing }));
        }
        if self.is_up_to_date(&session_id, &row).await? {
            return Ok(Some(Adopted::Here { session_id, taken: Taken::Nothing }));
        }
        if self.link.is_gone() || (self.open >= OPEN_AT_ONCE && !self.link.capabilities().close) {
            self.link.end().await;
            self.link = self.layer.agents.start_alone(&Json::from_stored(CLIENT.to_owned())).await?;
            self.open = 0;
        }
        let id = row.id.clone();
        Ok(Some(match self.take(session_id.clone(), row).await {
            Ok(taken) => Adopted::Here { session_id, taken },
            Err(error @ Error::Store(_)) => return Err(error),
            Err(error) => Adopted::Failed { id, error },
        }))
    }

    /// Whether what is here of the session is as new as what the agent has, as far as its list tells.
    async fn is_up_to_date(&self, session_id: &SessionId, row: &Row) -> Result<bool, Error> {
        match self.layer.store.session(session_id).await {
            Ok(session) => Ok(row.updated_at.is_some_and(|at| at <= session.facts.updated_at)),
            Err(StoreError::SessionNotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn take(&mut self, session_id: SessionId, row: Row) -> Result<Taken, Error> {
        let can = self.link.capabilities();
        if !can.load {
            return Err(self.failed("can list its sessions, but not load them"));
        }
        let Some(cwd) = row.cwd else {
            return Err(self.failed("lists a session without the folder it is about"));
        };
        let at = row.updated_at.unwrap_or_else(now);
        let mut session = Session::new(session_id, resolve_cwd(&cwd), self.link.info(), at);
        session.facts.agent_session = Some(AgentSession { id: row.id.clone(), generation: 1, lacks: 0 });
        let Some(events) = self.link.follow(&row.id) else {
            return Err(self.failed("lists a session twice"));
        };
        self.open += 1;
        let mcp = McpServers::default();
        let opening = Opening { cwd, directories: Vec::new(), mcp, extra: None, made_with: None };
        let load = self.load(opening.params(&can, Some(&row.id)));
        let telling = Telling::new(Arc::clone(&self.link), events, load, at, row.title);
        let taken = take_in(&*self.layer.store, &session, Likeness::Retold, telling.steps()).await;
        if can.close {
            self.link.close(&row.id, self.layer.options.restore_limit).await;
            self.open -= 1;
        }
        self.link.leave(&row.id);
        let session_id = &session.facts.session_id;
        if taken.as_ref().is_ok_and(|taken| *taken == Taken::All)
            && self.layer.store.session(session_id).await?.facts.turns == 0
        {
            self.layer.store.delete(session_id).await?;
            return Err(self.failed("has a session in which nothing was said"));
        }
        taken
    }

    /// Asks the agent to load a session, beside everything else.
    fn load(&self, params: String) -> oneshot::Receiver<Result<Box<RawValue>, Error>> {
        let (sender, answer) = oneshot::channel();
        let (link, limit) = (Arc::clone(&self.link), self.layer.options.restore_limit);
        tokio::spawn(async move { sender.send(link.call("session/load", &params, limit).await) });
        answer
    }

    fn failed(&self, what: &str) -> Error {
        let agent = self.link.program().to_owned();
        Error::AgentFailed { agent, what: what.to_owned(), stderr: String::new() }
    }
}

/// All pages of the agent's list.
async fn list(link: &Link, limit: Duration) -> Result<VecDeque<Row>, Error> {
    if !link.capabilities().list {
        let (agent, what) = (link.program().to_owned(), "can't list its sessions".to_owned());
        return Err(Error::AgentFailed { agent, what, stderr: String::new() });
    }
    let (mut rows, mut ids, mut cursors) = (VecDeque::new(), HashSet::new(), HashSet::new());
    let (mut cursor, mut n_without_news): (Option<String>, u32) = (None, 0);
    loop {
        let params = cursor.iter().fold(Object::default(), |params, cursor| params.with_string("cursor", cursor));
        let result = link.call("session/list", &params.finish(), limit).await?;
        let page = Members::read(result.get());
        let member = |name| page.as_ref().and_then(|page| page.get_some(name));
        let sessions: Vec<Members<'_>> =
            member("sessions").and_then(|all| serde_json::from_str(all).ok()).unwrap_or_default();
        let n_known = rows.len();
        rows.extend(sessions.iter().filter_map(read_row).filter(|row| ids.insert(row.id.clone())));
        cursor = member("nextCursor").and_then(rejoin_transcript::json::read_string).map(std::borrow::Cow::into_owned);
        // An agent that goes round in circles has told all it knows.
        let is_last = cursor.as_ref().is_none_or(|cursor| !cursors.insert(cursor.clone()));
        n_without_news = if rows.len() == n_known { n_without_news + 1 } else { 0 };
        if is_last || n_without_news == PAGES_WITHOUT_NEWS {
            return Ok(rows);
        }
    }
}

fn read_row(row: &Members<'_>) -> Option<Row> {
    let text = |name| row.get_some(name).and_then(rejoin_transcript::json::read_string);
    Some(Row {
        id: text("sessionId")?.into_owned(),
        cwd: text("cwd").filter(|cwd| cwd.starts_with('/')).map(std::borrow::Cow::into_owned),
        title: text("title").map(std::borrow::Cow::into_owned),
        updated_at: text("updatedAt").and_then(|at| at.parse().ok()),
    })
}

/// What an agent retells of one session while it loads it.
struct Telling {
    link: Arc<Link>,
    events: Events,
    load: oneshot::Receiver<Result<Box<RawValue>, Error>>,
    /// When all of it happened, as far as anybody knows.
    at: Timestamp,
    title: Option<String>,
    retelling: Option<Retelling>,
    ready: VecDeque<Step>,
    is_loaded: bool,
    is_heard: bool,
}

impl Telling {
    fn new(
        link: Arc<Link>,
        events: Events,
        load: oneshot::Receiver<Result<Box<RawValue>, Error>>,
        at: Timestamp,
        title: Option<String>,
    ) -> Self {
        let (retelling, ready) = (Some(Retelling::default()), VecDeque::new());
        Self { link, events, load, at, title, retelling, ready, is_loaded: false, is_heard: false }
    }

    /// The steps, as they come.
    fn steps(self) -> impl Stream<Item = Result<Step, Error>> {
        stream::try_unfold(self, |mut telling| async move {
            loop {
                if let Some(step) = telling.ready.pop_front() {
                    return Ok(Some((step, telling)));
                }
                if telling.retelling.is_none() {
                    return Ok(None);
                }
                telling.listen().await?;
            }
        })
    }

    /// Waits for the next thing that is told, or for the end.
    async fn listen(&mut self) -> Result<(), Error> {
        let event = if self.is_loaded {
            let silence = if self.is_heard { SILENCE } else { LONG_SILENCE };
            tokio::time::timeout(silence, self.events.recv()).await.ok().flatten()
        } else {
            tokio::select! {
                biased;
                event = self.events.recv() => event,
                loaded = &mut self.load => {
                    loaded.unwrap_or(Err(Error::Ended))?;
                    self.is_loaded = true;
                    return Ok(());
                }
            }
        };
        match event {
            Some(AgentEvent::Update(update)) => self.hear(update.update),
            Some(AgentEvent::Asked { id, .. }) => {
                let error = RpcError::new(RpcError::INTERNAL, "no client is there to ask");
                self.link.respond(&id, Err(&error));
            }
            // What was said can't be told whole.
            Some(AgentEvent::LeftOut { reason }) => {
                return Err(Error::Agent(RpcError::new(RpcError::LINE_TOO_LONG, reason)));
            }
            Some(AgentEvent::Gone(error)) => return Err(error),
            Some(_) => {}
            None => self.finish(),
        }
        Ok(())
    }

    fn hear(&mut self, update: Json) {
        self.is_heard |= UpdateKind::of(&update) == Some(UpdateKind::UserMessageChunk);
        let Some(retelling) = &mut self.retelling else { return };
        match retelling.tell(Told::Update { at: self.at, update }) {
            Ok(steps) => self.ready.extend(steps),
            Err(error) => tracing::warn!(agent = self.link.program(), %error, "an update that is not one was dropped"),
        }
    }

    /// It was all told. What the list calls it, is the agent's title.
    fn finish(&mut self) {
        if let Some(title) = self.title.take() {
            let update = Object::default().with_string("sessionUpdate", "session_info_update");
            self.hear(Json::from_stored(update.with_string("title", &title).finish()));
        }
        let last = self.retelling.take().map(Retelling::finish);
        self.ready.extend(last.and_then(Result::ok).unwrap_or_default());
    }
}
