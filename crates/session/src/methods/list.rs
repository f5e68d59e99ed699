//! `session/list`: a page of sessions, from the store alone.

use std::sync::Arc;

use rejoin_store::{ArchivedFilter, Cursor, ListFilter, PAGE_SIZE, Page, resolve_cwd};
use rejoin_transcript::SessionFacts;
use rejoin_transcript::json::Object;
use serde_json::json;

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

fn result(page: &Page) -> String {
    let rows: Vec<String> = page.sessions.iter().map(row).collect();
    let result = Object::default().with("sessions", &format!("[{}]", rows.join(",")));
    match &page.next {
        Some(next) => result.with_string("nextCursor", next.as_str()).finish(),
        None => result.finish(),
    }
}

fn row(facts: &SessionFacts) -> String {
    let mut row = Object::default()
        .with_string("sessionId", facts.session_id.as_str())
        .with_string("cwd", &facts.cwd.raw)
        .with_string("updatedAt", &facts.updated_at.to_string());
    if let Some(title) = facts.title() {
        row = row.with_string("title", title);
    }
    if !facts.additional_directories.is_empty() {
        row = row.with("additionalDirectories", &json!(facts.additional_directories).to_string());
    }
    if facts.archived {
        row = row.with("archived", "true");
    }
    let theirs = facts.meta.iter().filter(|(key, _)| *key != "rejoin");
    let meta = theirs.fold(Object::default(), |meta, (key, value)| meta.with(key, value.as_str()));
    let ours = Object::default()
        .with_string("agent", &facts.agent.name)
        .with("messages", &facts.messages.to_string())
        .with("hasErrors", if facts.has_errors { "true" } else { "false" });
    row.with("_meta", &meta.with("rejoin", &ours.finish()).finish()).finish()
}
