//! `rejoin stats`: how much there is, by agent and by day.

use std::collections::BTreeMap;
use std::io::Write;

use rejoin_store::{Share, Stats};
use rejoin_transcript::{Cost, Timestamp};
use serde::Serialize;

use super::{Context, Outcome};
use crate::error::Error;
use crate::money;
use crate::output::{DIM, one_line};
use crate::report;
use crate::sizes;
use crate::table::{Column, Fit, Side, write_table};
use crate::times;

const AGENTS: [Column; 4] = [
    Column { name: "AGENT", fit: Fit::CutEnd(12), side: Side::Left },
    Column { name: "SESSIONS", fit: Fit::Whole, side: Side::Right },
    Column { name: "MESSAGES", fit: Fit::Whole, side: Side::Right },
    Column { name: "COST", fit: Fit::Whole, side: Side::Right },
];

const DAYS: [Column; 5] = [
    Column { name: "DAY", fit: Fit::Whole, side: Side::Left },
    Column { name: "SESSIONS", fit: Fit::Whole, side: Side::Right },
    Column { name: "MESSAGES", fit: Fit::Whole, side: Side::Right },
    Column { name: "COST", fit: Fit::Whole, side: Side::Right },
    Column { name: " ", fit: Fit::OrLeft(1, &Fit::Whole), side: Side::Left },
];

/// How many columns the longest bar of the chart takes.
const BAR: u64 = 24;

/// The parts of a column of a bar, from an eighth to all of it.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

#[derive(Serialize)]
struct StatsRow<'a> {
    #[serde(flatten)]
    all: ShareRow<'a>,
    archived: u64,
    bytes: u64,
    agents: Vec<AgentRow<'a>>,
    days: Vec<DayRow<'a>>,
}

#[derive(Serialize)]
struct ShareRow<'a> {
    sessions: u64,
    messages: u64,
    /// Amounts by currency.
    cost: &'a BTreeMap<String, f64>,
}

impl<'a> From<&'a Share> for ShareRow<'a> {
    fn from(share: &'a Share) -> Self {
        Self { sessions: share.sessions, messages: share.messages, cost: &share.cost }
    }
}

#[derive(Serialize)]
struct AgentRow<'a> {
    agent: &'a str,
    #[serde(flatten)]
    share: ShareRow<'a>,
}

#[derive(Serialize)]
struct DayRow<'a> {
    day: &'a str,
    #[serde(flatten)]
    share: ShareRow<'a>,
}

/// Show how much there is, by agent and by day
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A session counts, with all its messages and what it cost, for the day on which it was last used; a fork with what it has of \
its source. Sessions that were never prompted do not count.

Examples:
  rejoin stats
  rejoin stats --days 30
  rejoin stats --json                 all days, for a program")]
pub(crate) struct StatsArgs {
    /// Show the last N days
    #[arg(long, value_name = "N", default_value_t = 14)]
    pub(crate) days: u16,

    /// Write a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: StatsArgs, context: &mut Context) -> Result<Outcome, Error> {
    let store = context.settings.open_store_to_read()?;
    let stats = store.stats(times::day).await?;
    if args.json {
        context.out.write_json(&row(&stats))?;
    } else if stats.all.sessions == 0 {
        report::write_remark(&mut context.err, "no sessions yet", super::list::FIRST_SESSION)?;
    } else {
        write_stats(context, &stats, args.days)?;
    }
    Ok(Outcome::Done)
}

fn row(stats: &Stats) -> StatsRow<'_> {
    StatsRow {
        all: ShareRow::from(&stats.all),
        archived: stats.archived,
        bytes: stats.bytes,
        agents: stats.agents.iter().map(|(agent, it)| AgentRow { agent, share: it.into() }).collect(),
        days: stats.days.iter().map(|(day, it)| DayRow { day, share: it.into() }).collect(),
    }
}

fn write_stats(context: &mut Context, stats: &Stats, n_days: u16) -> Result<(), Error> {
    let out = &mut context.out;
    let archived = if stats.archived > 0 { format!(" ({} archived)", stats.archived) } else { String::new() };
    let mut lines = vec![
        ("sessions", format!("{}{archived}", stats.all.sessions)),
        ("messages", stats.all.messages.to_string()),
        ("size", sizes::show(stats.bytes)),
    ];
    let cost = cost_of(&stats.all);
    if !cost.is_empty() {
        lines.push(("cost", cost));
    }
    for (name, value) in lines {
        let name = out.paint(DIM, &format!("{name:<8}"));
        writeln!(out, "{name}  {value}")?;
    }

    let cells = |share: &Share| [share.sessions.to_string(), share.messages.to_string(), cost_of(share)];
    let mut agents: Vec<(&String, &Share)> = stats.agents.iter().collect();
    agents.sort_by_key(|(_, share)| std::cmp::Reverse((share.messages, share.sessions)));
    let agents = agents.into_iter().map(|(agent, share)| {
        let [sessions, messages, cost] = cells(share);
        [one_line(agent), sessions, messages, cost]
    });
    writeln!(out)?;
    write_table(out, &AGENTS, &agents.collect::<Vec<_>>())?;

    let nothing = Share::default();
    let days: Vec<(String, &Share)> = last_days(stats, n_days, rejoin_store::now())
        .into_iter()
        .map(|day| {
            let share = stats.days.get(&day).unwrap_or(&nothing);
            (day, share)
        })
        .collect();
    let most = days.iter().map(|(_, share)| share.messages).max().unwrap_or(0);
    let days = days.into_iter().map(|(day, share)| {
        let [sessions, messages, cost] = cells(share);
        [day, sessions, messages, cost, bar(share.messages, most)]
    });
    let days: Vec<[String; 5]> = days.collect();
    if !days.is_empty() {
        writeln!(out)?;
        write_table(out, &DAYS, &days)?;
    }
    Ok(())
}

/// The last `n_days` days, up to today or, if it is longer ago, to the day on which something was last used.
fn last_days(stats: &Stats, n_days: u16, now: Timestamp) -> Vec<String> {
    let days = (0..i64::from(n_days)).rev().map(|ago| times::day(now.plus_millis(-ago * DAY_MILLIS)));
    let mut days: Vec<String> = days.collect();
    // Where the clock was changed, two of these points in time may be on one day.
    days.dedup();
    let is_used = days.iter().any(|day| stats.days.contains_key(day));
    if is_used {
        let first = days.iter().position(|day| stats.days.contains_key(day)).unwrap_or(0);
        return days.split_off(first);
    }
    let used = stats.days.keys().rev().take(n_days.into()).cloned();
    let mut used: Vec<String> = used.collect();
    used.reverse();
    used
}

/// What `share` cost, in each currency.
fn cost_of(share: &Share) -> String {
    let cost = |(currency, amount): (&String, &f64)| money::show(&Cost { amount: *amount, currency: currency.clone() });
    share.cost.iter().map(cost).collect::<Vec<_>>().join(" + ")
}

/// A bar for `count`, given that the longest is for `most`.
fn bar(count: u64, most: u64) -> String {
    if count == 0 || most == 0 {
        return String::new();
    }
    // What is not nothing can be seen.
    let eighths = (u128::from(count) * u128::from(BAR) * 8 / u128::from(most)).max(1);
    let (whole, part) = (eighths / 8, eighths % 8);
    let mut bar: String = (0..whole).map(|_| EIGHTHS[7]).collect();
    bar.extend(usize::try_from(part).ok().filter(|part| *part > 0).map(|part| EIGHTHS[part - 1]));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_count_and_never_invisible() {
        assert_eq!(bar(0, 10), "");
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(10, 10).chars().count(), 24);
        assert_eq!(bar(5, 10), "█".repeat(12));
        assert_eq!(bar(1, 10), "██▍");
        assert_eq!(bar(u64::MAX, u64::MAX).chars().count(), 24);
    }
}
