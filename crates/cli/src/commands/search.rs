//! `rejoin search`: sessions by the words in them.

use std::io::Write;

use rejoin_store::{Hit, SearchOrder, SearchQuery};
use rejoin_transcript::{EntryNumber, SessionId};
use serde::Serialize;

use super::list::{limit, write_more};
use super::{Context, OWNER, Outcome, count, short_ids};
use crate::error::Error;
use crate::output::{BOLD, DIM, MATCH, Output, columns, cut_end, one_line};
use crate::report;

/// How many sessions a person is shown.
const LIMIT: u32 = 20;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HitRow<'a> {
    session_id: &'a SessionId,
    title: Option<&'a str>,
    snippet: &'a str,
    entry: EntryNumber,
    hits: u32,
}

impl<'a> From<&'a Hit> for HitRow<'a> {
    fn from(hit: &'a Hit) -> Self {
        let Hit { session_id, title, snippet, entry, hits } = hit;
        Self { session_id, title: title.as_deref(), snippet, entry: *entry, hits: *hits }
    }
}

/// Find sessions by the words in them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
All words must be there, in any order, in what was said or in the title. Of what fits, the newest thousand passages count.

Examples:
  rejoin search time zone             both words
  rejoin search '\"time zone\"'         the words together
  rejoin search 'migrat*'             a beginning of a word")]
pub(crate) struct SearchArgs {
    /// What to search for
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Vec<String>,

    /// Show what was said last first, instead of what fits best
    #[arg(long)]
    pub(crate) newest: bool,

    /// Show at most N sessions; 0 for all [default: 20, or all with --json]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,

    /// Write a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) async fn run(args: SearchArgs, context: &mut Context) -> Result<Outcome, Error> {
    let text = args.text.join(" ");
    let order = if args.newest { SearchOrder::Newest } else { SearchOrder::Best };
    let limit = limit(args.limit, LIMIT, args.json);
    // One more says whether there are more.
    let query = SearchQuery { text, owner: OWNER.to_owned(), order, limit: limit.saturating_add(1) };
    let store = context.settings.open_store_to_read()?;
    let mut hits = store.search(&query).await?;
    let has_more = hits.len() > limit as usize;
    hits.truncate(limit as usize);
    if args.json {
        let rows: Vec<HitRow<'_>> = hits.iter().map(HitRow::from).collect();
        context.out.write_json(&rows)?;
    } else if hits.is_empty() {
        let remark = format!("nothing found for `{}`", query.text);
        report::write_remark(&mut context.err, &remark, "a beginning of a word is found with `wor*`")?;
    } else {
        let ids: Vec<&str> = hits.iter().map(|hit| hit.session_id.as_str()).collect();
        let ids = short_ids(store.as_ref(), &ids).await?;
        write_hits(&mut context.out, &hits, &ids, &words(&query.text))?;
        if has_more {
            write_more(context, limit)?;
        }
    }
    Ok(Outcome::Done)
}

/// Writes `hits`, whose sessions have the short `ids`.
fn write_hits(out: &mut Output, hits: &[Hit], ids: &[&str], words: &[String]) -> Result<(), Error> {
    for (index, (hit, id)) in hits.iter().zip(ids).enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let matches = format!("({})", count(hit.hits.into(), "match", "matches"));
        let title = one_line(hit.title.as_deref().unwrap_or("(no title)"));
        let title = cut_beside(out, &title, columns(id) + columns(&matches) + 4);
        writeln!(out, "{id}  {}  {}", out.paint(BOLD, &title), out.paint(DIM, &matches))?;
        // The match is near the snippet's beginning.
        let snippet = cut_beside(out, &one_line(&hit.snippet), 4);
        writeln!(out, "    {}", emphasise(&snippet, words, |found| out.paint(MATCH, found)))?;
    }
    Ok(())
}

/// `text`, cut so that it fits in a line with `others` columns beside it.
fn cut_beside(out: &Output, text: &str, others: usize) -> String {
    match out.width() {
        Some(width) => cut_end(text, width.saturating_sub(others).max(10)).into_owned(),
        None => text.to_owned(),
    }
}

/// The words of a query, without what tells how they are meant.
fn words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| c.is_whitespace() || matches!(c, '"' | '*'));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// `text` with each of `words` in it, in whatever case, painted.
fn emphasise(text: &str, words: &[String], paint: impl Fn(&str) -> String) -> String {
    let (mut painted, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let found = words.iter().filter_map(|word| match_len(rest, word)).max();
        let length = found.unwrap_or(first.len_utf8());
        let (piece, further) = rest.split_at(length);
        painted.push_str(&found.map_or_else(|| piece.to_owned(), |_| paint(piece)));
        rest = further;
    }
    painted
}

/// How many bytes of `text` are `word`, if it begins with it; `word` is in lower case.
fn match_len(text: &str, word: &str) -> Option<usize> {
    let mut wanted = word.chars();
    for (at, c) in text.char_indices() {
        if wanted.as_str().is_empty() {
            return Some(at);
        }
        for lower in c.to_lowercase() {
            if wanted.next() != Some(lower) {
                return None;
            }
        }
    }
    wanted.as_str().is_empty().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, query: &str, expected: &str) {
        assert_eq!(emphasise(text, &words(query), |found| format!("<{found}>")), expected);
    }

    #[test]
    fn every_match_is_emphasised_whatever_its_case() {
        check("Zones: a time zone.", "zone", "<Zone>s: a time <zone>.");
        check("Über die Straße", "über stra*", "<Über> die <Stra>ße");
        check("in 東京 today", "東京", "in <東京> today");
        check("nothing here", "zone", "nothing here");
    }
}
