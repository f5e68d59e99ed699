//! The clients that follow a session.

use std::sync::Arc;

use rejoin_store::SessionStore;
use rejoin_transcript::{EntryNumber, Json, SessionId};

use crate::client::Client;
use crate::feed::{Feed, Source};
use crate::shown::{UpdateLines, shown};

/// The clients that follow a session, each with its feed.
#[derive(Default)]
pub(crate) struct Subscribers(Vec<Subscriber>);

struct Subscriber {
    client: Arc<Client>,
    feed: Feed,
}

impl Subscribers {
    /// The feed of `client`, which follows from now on.
    pub(crate) fn add(&mut self, client: &Arc<Client>, store: &Arc<dyn SessionStore>, session: &SessionId) -> Feed {
        if let Some(feed) = self.feed_of(client) {
            return feed.clone();
        }
        let source = Source { store: Arc::clone(store), session: session.clone() };
        let feed = client.follow(source);
        self.0.push(Subscriber { client: Arc::clone(client), feed: feed.clone() });
        feed
    }

    /// The feed of `client`, if it follows.
    pub(crate) fn feed_of(&self, client: &Client) -> Option<&Feed> {
        self.0.iter().find(|one| *one.client == *client).map(|one| &one.feed)
    }

    /// Somebody to ask: `wanted` if it follows, else whoever came first.
    pub(crate) fn anyone(&self, wanted: Option<&Arc<Client>>) -> Option<(&Arc<Client>, &Feed)> {
        let found = wanted.and_then(|wanted| self.0.iter().find(|one| one.client == *wanted));
        found.or(self.0.first()).map(|one| (&one.client, &one.feed))
    }

    /// Whether nobody follows.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether somebody follows that can't show notices.
    pub(crate) fn is_any_without_notices(&self) -> bool {
        self.0.iter().any(|one| !one.client.shows().notices)
    }

    /// `client` does not follow any more.
    pub(crate) fn remove(&mut self, client: &Client) {
        self.0.retain(|one| {
            let is_meant = *one.client == *client;
            if is_meant {
                one.feed.end();
            }
            !is_meant
        });
    }

    /// Nobody follows any more.
    pub(crate) fn end(&mut self) {
        self.0.drain(..).for_each(|one| one.feed.end());
    }

    /// Shows the stored entry `number`, whose params lack the session id, to those who are meant.
    pub(crate) fn show_entry(
        &self,
        session: &SessionId,
        number: EntryNumber,
        params: &[Json],
        is_meant: impl Fn(&Client) -> bool,
    ) {
        let updates = UpdateLines::of(session);
        for one in self.0.iter().filter(|one| is_meant(&one.client)) {
            let mut lines = String::new();
            for params in params.iter().filter_map(|params| shown(params.as_str(), one.client.shows())) {
                updates.push(&mut lines, &params);
            }
            if !lines.is_empty() {
                one.feed.push_entry(number, lines);
            }
        }
    }

    /// Shows an update that is not part of the record to all.
    pub(crate) fn show(&self, session: &SessionId, update: &str) {
        let params = format!("{{\"update\":{update}}}");
        for one in &self.0 {
            if let Some(params) = shown(&params, one.client.shows()) {
                one.feed.push_lines(UpdateLines::of(session).line(&params));
            }
        }
    }

    /// Sends a line to all.
    pub(crate) fn send(&self, line: &str) {
        self.0.iter().for_each(|one| one.feed.push_lines(line.to_owned()));
    }
}
