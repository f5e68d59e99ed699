//! Finding words in many messages: a rare one, and one that a third of them hold.

use std::time::Duration;

use rejoin_store::{SearchOrder, SearchQuery, SessionStore, SqliteStore};

use crate::Result;
use crate::bare::BareSqlite;
use crate::bench::Bench;
use crate::data::{Script, session};
use crate::figure::{Amount, Figure, Wanted};
use crate::measure::{medians, time};
use crate::recording::{Recording, wait_until_indexed};
use crate::texts::Texts;

// Letters in an order that no made-up word has.
const RARE: &str = "xylograph";
const COMMON: &str = "strength";

/// How many messages hold the rare word.
const RARE_MESSAGES: usize = 10;

const MESSAGES_OF_SESSION: usize = 100;

const PROMPT_BYTES: usize = 200;
const ANSWER_BYTES: usize = 600;

/// How often is searched in one round.
const SEARCHES: u32 = 5;

pub(super) fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let count = bench.size(100_000);
    let messages = make_messages(count as usize);
    let bare = BareSqlite::create(&bench.path("bare.db"))?;
    bare.insert_messages(&messages)?;
    let open = bench.store("open.db")?;
    let recording = time(|| bench.wait(record(&open, &messages, Turns::LeftOpen)))?;
    let store = bench.store("store.db")?;
    let recording_and_indexing = time(|| {
        bench.wait(record(&store, &messages, Turns::Ended))?;
        bench.wait(wait_until_indexed(&store))
    })?;

    let mut rare = || time(|| search(bench, &store, RARE, SearchOrder::Newest));
    let mut rare_best = || time(|| search(bench, &store, RARE, SearchOrder::Best));
    let mut rare_scan = || time(|| bare.count_messages_with(RARE));
    let rare = medians(bench.rounds(), [&mut rare, &mut rare_best, &mut rare_scan])?;
    let mut common = || time(|| search(bench, &store, COMMON, SearchOrder::Newest));
    let mut common_best = || time(|| search(bench, &store, COMMON, SearchOrder::Best));
    let mut common_scan = || time(|| bare.count_messages_with(COMMON));
    let common = medians(bench.rounds(), [&mut common, &mut common_best, &mut common_scan])?;

    let [(rare, rare_best, rare_scan), (common, common_best, common_scan)] =
        [rare, common].map(|[newest, best, scan]| (per_search(newest), per_search(best), Amount::Time(scan)));
    let figure = |what: &str, ours, scan, wanted| {
        Figure::new(format!("{what}, {count} messages"), ours).against("LIKE over a table of texts", scan, wanted)
    };
    Ok(vec![
        figure("find a rare word, newest first", rare, rare_scan, Wanted::Faster(50.0)),
        figure("find a rare word, best first", rare_best, rare_scan, Wanted::SayFaster),
        figure("find a common word, newest first", common, common_scan, Wanted::Faster(20.0)),
        figure("find a common word, best first", common_best, common_scan, Wanted::SayFaster),
        Figure::new("record a message, seal its turn and index it", Amount::Time(recording_and_indexing / count))
            .against("recording alone", Amount::Time(recording / count), Wanted::SayTimes),
    ])
}

fn per_search(time: Duration) -> Amount {
    Amount::Time(time / SEARCHES)
}

/// Prompts and answers in turn.
fn make_messages(count: usize) -> Vec<String> {
    let mut texts = Texts::new(1);
    let mut message = |number: usize| {
        let mut text = texts.text(if number.is_multiple_of(2) { PROMPT_BYTES } else { ANSWER_BYTES });
        if texts.once_in(3) {
            text.push_str(COMMON);
        }
        if number.is_multiple_of(count / RARE_MESSAGES) {
            text.push_str(RARE);
        }
        text
    };
    (0..count).map(&mut message).collect()
}

/// What becomes of the turns that are recorded. Only those that ended are sealed and indexed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    LeftOpen,
    Ended,
}

/// Records `messages` as sessions whose turns have one prompt and one answer each.
async fn record(store: &SqliteStore, messages: &[String], turns: Turns) -> Result<()> {
    for (number, messages) in (0..).zip(messages.chunks(MESSAGES_OF_SESSION)) {
        let mut recording = Recording::begin(store, session(number, 0)).await?;
        let mut script = Script::default();
        let mut steps = Vec::new();
        for turn in messages.chunks(2) {
            let [prompt, answer] = turn else { continue };
            steps.extend([script.prompt(prompt)?, script.chunk(answer)?]);
            if turns == Turns::Ended {
                steps.push(script.turn_end());
            }
        }
        recording.append(store, steps).await?;
    }
    Ok(())
}

/// Searches for `word`, several times.
fn search(bench: &Bench, store: &SqliteStore, word: &str, order: SearchOrder) -> Result<()> {
    let query = SearchQuery { text: word.to_owned(), owner: String::new(), order, limit: 20 };
    for _ in 0..SEARCHES {
        if bench.wait(store.search(&query))?.is_empty() {
            return Err(format!("`{word}` was not found").into());
        }
    }
    Ok(())
}
