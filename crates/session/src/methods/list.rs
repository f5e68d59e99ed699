//! `session/list`: a page of sessions, from the store alone.

use std::sync::Arc;

use rejoin_store::{ArchivedFilter, Cursor, ListFilter, PAGE_SIZE, Page, resolve_cwd};
use rejoin_transcript::{SessionFacts, SessionId, Timestamp};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::Error;
use crate::client::Responder;
use crate::layer::Shared;
use crate::params::Params;

/// Answers with a page of sessions.
pub(super) fn run(layer: &Arc<Shared>, params: Option<&str>, responder: Responder) {
    let (filter, cursor) = match Params::read(params).and_then(|params| read(&params)) {
        Ok(read) => read,
        Err(error) => return responder.answer(Err(error)),
    };
    let layer = Arc::clone(layer);
    tokio::spawn(async move {
        let page = layer.store.list(&filter, cursor.as_ref(), PAGE_SIZE).await;
        responder.answer(page.map(|page| result(&page)).map_err(Error::from));
    });
}

fn read(params: &Params<'_>) -> Result<(ListFilter, Option<Cursor>), Error> {
    let cwd = params.optional_absolute_path("cwd")?.map(|cwd| resolve_cwd(&cwd).canonical);
    let cursor = params.optional_string("cursor", "the `nextCursor` of the page before")?;
    let archived = match params.optional_string("archived", "`exclude`, `include` or `only`")?.as_deref() {
        None | Some("exclude") => ArchivedFilter::Exclude,
        Some("include") => ArchivedFilter::Include,
        Some("only") => ArchivedFilter::Only,
        Some(other) => {
            let problem = format!("`archived` must be `exclude`, `include` or `only`, and {other:?} is none of them");
            return Err(Error::invalid("archived", problem));
        }
    };
    let filter = ListFilter { owner: String::new(), cwd, agent: None, archived };
    Ok((filter, cursor.map(Cursor::from_text)))
}

#[expect(clippy::expect_used, reason = "facts hold text, numbers, and values that were JSON when they were read")]
fn result(page: &Page) -> String {
    let sessions = page.sessions.iter().map(Row::of).collect();
    let answer = Answer { sessions, next_cursor: page.next.as_ref().map(Cursor::as_str) };
    serde_json::to_string(&answer).expect("a page should have a JSON form")
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    sessions: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<&'a str>,
}

/// What is told of one session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    session_id: &'a SessionId,
    cwd: &'a str,
    updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    additional_directories: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<bool>,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

impl<'a> Row<'a> {
    fn of(facts: &'a SessionFacts) -> Self {
        Self {
            session_id: &facts.session_id,
            cwd: &facts.cwd.raw,
            updated_at: facts.updated_at,
            title: facts.title(),
            additional_directories: &facts.additional_directories,
            archived: facts.archived.then_some(true),
            meta: Meta(facts),
        }
    }
}

/// The agent's own keys, then ours, which it can't take.
struct Meta<'a>(&'a SessionFacts);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ours<'a> {
    agent: &'a str,
    messages: u32,
    has_errors: bool,
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(facts) = self;
        let ours = Ours { agent: &facts.agent.name, messages: facts.messages, has_errors: facts.has_errors };
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in facts.meta.iter().filter(|(key, _)| *key != "rejoin") {
            map.serialize_entry(key, value)?;
        }
        map.serialize_entry("rejoin", &ours)?;
        map.end()
    }
}
