//! What one client gets of one session, in its order: history, live updates, answers, questions.
//!
//! Whoever pushes never waits. A client that reads slowly costs [`ROOM`]: updates beyond that are not kept here but read
//! again from the store when their turn comes, since everything that is pushed as an entry is stored already.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use futures::{StreamExt, TryStreamExt, pin_mut};
use rejoin_store::{ReplayPlace, SessionStore, StoreError, entries, replay_pages};
use rejoin_transcript::{EntryNumber, SessionId, live};
use rejoin_wire::{Closed, Connection, RequestId, response_line};
use tokio::sync::{Notify, watch};

use crate::Error;
use crate::capabilities::Shows;
use crate::client::ClientReply;
use crate::lock::lock;
use crate::shown::{UpdateLines, may_hide, shown};

/// How many bytes of live updates wait for a client before they are left in the store.
const ROOM: usize = 1024 * 1024;

/// As many bytes are sent at once.
const PIECE: usize = 64 * 1024;

/// The way to one client.
#[derive(Clone)]
pub(crate) struct Feed(Arc<Inner>);

struct Inner {
    queue: Mutex<Queue>,
    wake: Notify,
    /// Whether everything was sent and nothing more will be.
    done: watch::Sender<bool>,
}

#[derive(Default)]
struct Queue {
    items: VecDeque<Item>,
    /// The bytes of the entries among them.
    bytes: usize,
    is_ended: bool,
}

enum Item {
    /// Whole lines that are nowhere else.
    Lines(String),
    /// The lines of a stored entry.
    Entry(String),
    /// Entries that were left in the store.
    Stored { first: EntryNumber, last: EntryNumber },
    /// The history up to an entry, and the answer to the request for it.
    Load { upto: EntryNumber, id: RequestId, result: String },
}

/// Where a feed finds what was stored.
pub(crate) struct Source {
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) session: SessionId,
}

impl Feed {
    /// Starts a feed to the client behind `connection`.
    pub(crate) fn start(connection: Connection<ClientReply>, shows: Shows, source: Option<Source>) -> Self {
        let feed =
            Self(Arc::new(Inner { queue: Mutex::default(), wake: Notify::new(), done: watch::Sender::new(false) }));
        let runner = Runner { feed: feed.clone(), connection, shows, source };
        tokio::spawn(async move {
            runner.run().await;
            runner.feed.0.done.send_replace(true);
        });
        feed
    }

    /// Sends whole lines, each with its line break.
    pub(crate) fn push_lines(&self, lines: String) {
        self.push(Item::Lines(lines));
    }

    /// Sends the lines of the stored entry `number`.
    pub(crate) fn push_entry(&self, number: EntryNumber, lines: String) {
        let mut queue = self.lock();
        if queue.bytes + lines.len() <= ROOM {
            queue.bytes += lines.len();
            queue.items.push_back(Item::Entry(lines));
        } else if let Some(Item::Stored { last, .. }) = queue.items.back_mut()
            && last.next() == number
        {
            *last = number;
        } else {
            queue.items.push_back(Item::Stored { first: number, last: number });
        }
        drop(queue);
        self.0.wake.notify_one();
    }

    /// Sends the history up to `upto`, then `result` as the answer to the request `id`.
    pub(crate) fn push_load(&self, upto: EntryNumber, id: RequestId, result: String) {
        self.push(Item::Load { upto, id, result });
    }

    /// Ends the feed when everything pushed so far is sent.
    pub(crate) fn end(&self) {
        self.lock().is_ended = true;
        self.0.wake.notify_one();
    }

    /// Whether nothing more will be sent.
    pub(crate) fn is_done(&self) -> bool {
        *self.0.done.borrow()
    }

    /// Ends the feed, and waits until everything that was pushed is sent.
    pub(crate) async fn finish(&self) {
        self.end();
        // It can't be closed: it is in here.
        let _ = self.0.done.subscribe().wait_for(|is_done| *is_done).await;
    }

    fn push(&self, item: Item) {
        self.lock().items.push_back(item);
        self.0.wake.notify_one();
    }

    /// What is to be sent next: one item, or, of lines, as many as make a piece; `None` at the end.
    async fn next(&self) -> Option<Item> {
        loop {
            if let Some(item) = self.lock().take() {
                return Some(item);
            }
            if self.lock().is_ended {
                return None;
            }
            self.0.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        lock(&self.0.queue)
    }
}

impl Queue {
    fn take(&mut self) -> Option<Item> {
        let mut piece = match self.pop()? {
            Item::Lines(lines) | Item::Entry(lines) => lines,
            item @ (Item::Stored { .. } | Item::Load { .. }) => return Some(item),
        };
        while piece.len() < PIECE
            && let Some(Item::Lines(_) | Item::Entry(_)) = self.items.front()
            && let Some(Item::Lines(lines) | Item::Entry(lines)) = self.pop()
        {
            piece.push_str(&lines);
        }
        Some(Item::Lines(piece))
    }

    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        if let Item::Entry(lines) = &item {
            self.bytes -= lines.len();
        }
        Some(item)
    }
}

struct Runner {
    feed: Feed,
    connection: Connection<ClientReply>,
    shows: Shows,
    source: Option<Source>,
}

impl Runner {
    async fn run(&self) {
        while let Some(item) = self.feed.next().await {
            let sent = match item {
                Item::Lines(lines) | Item::Entry(lines) => self.connection.send_lines(lines).await,
                Item::Stored { first, last } => self.send_stored(first, last).await,
                Item::Load { upto, id, result } => self.send_load(upto, &id, &result).await,
            };
            if sent.is_err() {
                // The client is gone; what is pushed from now on is for nobody.
                self.feed.lock().items.clear();
                return;
            }
        }
    }

    async fn send_load(&self, upto: EntryNumber, id: &RequestId, result: &str) -> Result<(), Closed> {
        let line = match self.send_history(upto).await? {
            Ok(()) => response_line(id, Ok(result)),
            Err(error) => response_line(id, Err(&Error::from(error).to_rpc())),
        };
        self.connection.send_lines(line).await
    }

    async fn send_history(&self, upto: EntryNumber) -> Result<Result<(), StoreError>, Closed> {
        let Some(Source { store, session }) = &self.source else { return Ok(Ok(())) };
        let updates = UpdateLines::of(session);
        let pages = replay_pages(&**store, session, ReplayPlace::up_to(upto));
        pin_mut!(pages);
        while let Some(page) = pages.next().await {
            let page = match page {
                Ok(page) => page,
                Err(error) => return Ok(Err(error)),
            };
            let is_all_shown = !may_hide(&page, self.shows);
            let mut lines = String::with_capacity(PIECE + PIECE / 8);
            for params in lines_of(&page) {
                if is_all_shown {
                    updates.push(&mut lines, params);
                } else if let Some(params) = shown(params, self.shows) {
                    updates.push(&mut lines, &params);
                }
                if lines.len() >= PIECE {
                    let next = String::with_capacity(PIECE + PIECE / 8);
                    self.connection.send_lines(std::mem::replace(&mut lines, next)).await?;
                }
            }
            self.connection.send_lines(lines).await?;
        }
        Ok(Ok(()))
    }

    /// Sends entries that had no room. Should the store fail now, the client has to load the session again; it was
    /// told nothing that is not stored.
    async fn send_stored(&self, first: EntryNumber, last: EntryNumber) -> Result<(), Closed> {
        let Some(Source { store, session }) = &self.source else { return Ok(()) };
        let before = EntryNumber::new(first.get().saturating_sub(1));
        let left = entries(&**store, session, before).try_take_while(|entry| {
            let is_meant = entry.number <= last;
            async move { Ok(is_meant) }
        });
        pin_mut!(left);
        let updates = UpdateLines::of(session);
        while let Some(entry) = left.next().await {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    tracing::error!(%session, %error, "updates that a slow client has not read yet can't be read again");
                    return Ok(());
                }
            };
            let lines: String = live(&entry)
                .iter()
                .filter_map(|params| Some(updates.line(&shown(params.as_str(), self.shows)?)))
                .collect();
            self.connection.send_lines(lines).await?;
        }
        Ok(())
    }
}

/// The lines of a page, each of which ends with a line break. (`str::lines` looks at one byte after the other.)
fn lines_of(page: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    memchr::memchr_iter(b'\n', page.as_bytes()).map(move |to| &page[std::mem::replace(&mut from, to + 1)..to])
}
