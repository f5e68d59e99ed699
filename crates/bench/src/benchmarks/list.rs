//! The first page of a folder's sessions, in ever bigger stores.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use rejoin_store::{ListFilter, PAGE_SIZE, SessionStore, SqliteStore};

use crate::Result;
use crate::bench::Bench;
use crate::data::prompted_session;
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};

/// How often a list is asked for in one round.
const LISTS: u32 = 100;

/// A folder has this many sessions at least, more than a page.
const SESSIONS_OF_FOLDER: u32 = 100;

/// There are this many folders at most.
const MOST_FOLDERS: u32 = 1_000;

/// How many sessions are being made at once.
const AT_ONCE: usize = 256;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let counts = [1_000, 100_000, 1_000_000].map(|full| bench.size(full));
    let [small, middle, big] = counts.map(|count| Store::make(bench, count));
    let (small, middle, big) = (small?, middle?, big?);

    let mut list_same = [&small, &middle, &big].map(|store| || time(|| store.list(bench, |_| 0)));
    let [one, two, three] = &mut list_same;
    let same = medians(bench.rounds(), [one, two, three])?.map(per_list);

    let mut list_others =
        [&small, &middle, &big].map(|store| || time(|| store.list(bench, |call| call % store.folders)));
    let [one, two, three] = &mut list_others;
    let others = medians(bench.rounds(), [one, two, three])?.map(per_list);

    let figure = |how, count, ours, theirs, wanted| {
        let what = format!("list the first {PAGE_SIZE} sessions of {how}, {count} sessions in all");
        Figure::new(what, ours).against(format!("{} sessions", counts[0]), theirs, wanted)
    };
    Ok(vec![
        figure("a folder", counts[1], same[1], same[0], Wanted::SayTimes),
        figure("a folder", counts[2], same[2], same[0], Wanted::Within(1.5)),
        figure("another folder each time", counts[1], others[1], others[0], Wanted::SayTimes),
        figure("another folder each time", counts[2], others[2], others[0], Wanted::SayTimes),
    ])
}

fn per_list(time: Duration) -> Amount {
    Amount::Time(time / LISTS)
}

struct Store {
    store: SqliteStore,
    folders: u32,
}

impl Store {
    /// A store with `count` sessions.
    fn make(bench: &Bench, count: u32) -> Result<Self> {
        let folders = (count / SESSIONS_OF_FOLDER).clamp(1, MOST_FOLDERS);
        let store = bench.store(&format!("{count}.db"))?;
        let create = |number| store.create(prompted_session(number, number % folders));
        let all = stream::iter(0..count).map(create).buffer_unordered(AT_ONCE);
        bench.wait(all.try_collect::<()>())?;
        Ok(Self { store, folders })
    }

    /// Lists the first page, again and again, each time of the folder that `folder` says.
    fn list(&self, bench: &Bench, folder: impl Fn(u32) -> u32) -> Result<()> {
        for call in 0..LISTS {
            let cwd = prompted_session(0, folder(call)).facts.cwd.canonical;
            let filter = ListFilter { cwd: Some(cwd), ..ListFilter::default() };
            let page = bench.wait(self.store.list(&filter, None, PAGE_SIZE))?;
            if page.sessions.len() != PAGE_SIZE as usize {
                return Err(format!("a page has {} sessions, not {PAGE_SIZE}", page.sessions.len()).into());
            }
        }
        Ok(())
    }
}
