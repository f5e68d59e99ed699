//! `session/list` through `rejoin acp`, beside the same pages read from the store in this process.

use futures::{StreamExt, TryStreamExt, stream};
use rejoin_store::{Cursor, ListFilter, PAGE_SIZE, SessionStore, SqliteStore};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::Result;
use crate::bench::Bench;
use crate::data::prompted_session;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};
use crate::peer::Peer;

/// How many sessions there are.
const SESSIONS: u32 = 10_000;

/// How often the first page is asked for in one round.
const LISTS: u32 = 100;

/// How many times more rounds there are than elsewhere.
const ROUNDS: u32 = 10;

/// How many sessions are being made at once.
const AT_ONCE: usize = 256;

const STORE: &str = "sessions.db";

/// The answer to `session/list`, as far as a client must look into it.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Page<'a>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    sessions: Vec<&'a RawValue>,
    #[serde(rename = "nextCursor")]
    next: Option<String>,
}

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let count = bench.size(SESSIONS);
    let store = bench.store(STORE)?;
    let create = |number| store.create(prompted_session(number, 0));
    bench.wait(stream::iter(0..count).map(create).buffer_unordered(AT_ONCE).try_collect::<()>())?;
    let mut peer = Peer::start(&mut bench.rejoin(STORE, &bench.child(&["stub-agent", "0"])?)?)?;
    peer.initialize()?;

    let mut first_ours = || time(|| expect(LISTS * PAGE_SIZE, read_first(|cursor| ask_page(&mut peer, cursor))?));
    let mut first_theirs =
        || time(|| expect(LISTS * PAGE_SIZE, read_first(|cursor| read_page(bench, &store, cursor))?));
    // What it takes to wake a thread goes up and down between rounds, so there are many.
    let rounds = bench.rounds() * ROUNDS;
    let first = medians(rounds, [&mut first_ours, &mut first_theirs])?.map(|time| Amount::Time(time / LISTS));
    let mut all_ours = || time(|| expect(count, read_all(|cursor| ask_page(&mut peer, cursor))?));
    let mut all_theirs = || time(|| expect(count, read_all(|cursor| read_page(bench, &store, cursor))?));
    let all = medians(rounds, [&mut all_ours, &mut all_theirs])?.map(Amount::Time);
    peer.end()?;

    let figure = |what, [ours, theirs]: [Amount; 2]| {
        let what = format!("`session/list`, {what}, {count} sessions in all");
        Figure::new(what, ours).against("the store alone", theirs, Wanted::Within(2.0))
    };
    Ok(vec![figure("the first page", first), figure("page by page to the end", all)])
}

/// How many sessions a page has, and where the next begins.
type PageRead = (u32, Option<String>);

/// Reads the first page again and again.
fn read_first(mut page: impl FnMut(Option<String>) -> Result<PageRead>) -> Result<u32> {
    (0..LISTS).map(|_| Ok(page(None)?.0)).sum()
}

/// Reads page by page to the end.
fn read_all(mut page: impl FnMut(Option<String>) -> Result<PageRead>) -> Result<u32> {
    let (mut count, mut next) = page(None)?;
    while next.is_some() {
        let (more, then) = page(next)?;
        (count, next) = (count + more, then);
    }
    Ok(count)
}

fn ask_page(peer: &mut Peer, cursor: Option<String>) -> Result<PageRead> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    peer.call_once("session/list", &params, |line| {
        let Answer { result: page } = serde_json::from_slice(line)?;
        Ok((u32::try_from(page.sessions.len())?, page.next))
    })
}

fn read_page(bench: &Bench, store: &SqliteStore, cursor: Option<String>) -> Result<PageRead> {
    let cursor = cursor.map(Cursor::from_text);
    let page = bench.wait(store.list(&ListFilter::default(), cursor.as_ref(), PAGE_SIZE))?;
    Ok((u32::try_from(page.sessions.len())?, page.next.map(|next| next.as_str().to_owned())))
}

fn expect(expected: u32, found: u32) -> Result<()> {
    if found == expected { Ok(()) } else { Err(format!("{found} sessions were listed, not {expected}").into()) }
}
