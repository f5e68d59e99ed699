//! Finding sessions by the words in them.
//!
//! Scripts written without blanks between words have none that an index could hold, so runs of Chinese, Japanese and
//! Korean characters are indexed as overlapping pairs, and asked for as such.

use rejoin_transcript::{EntryNumber, SessionId};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::StoreError;

/// How many of the newest matches are looked at.
pub const MATCHES: u32 = 1_000;

/// What to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words, all of which must be there; `"several words"` together; `wor*` for a beginning.
    pub text: String,
    /// Whose sessions; empty where all belong to the person at the machine.
    pub owner: String,
    /// What comes first.
    pub order: SearchOrder,
    /// How many sessions at most.
    pub limit: u32,
}

/// What comes first among the sessions found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SearchOrder {
    /// What fits best.
    #[default]
    Best,
    /// What was said last.
    Newest,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The session.
    pub session_id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The words around the best match.
    pub snippet: String,
    /// The entry that began the message with the best match; [`EntryNumber::START`] for the title.
    pub entry: EntryNumber,
    /// How many matches the session has among those looked at.
    pub hits: u32,
}

/// A query as it is understood.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Terms(Vec<Term>);

/// Words that stand together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// As in the index, between blanks.
    pub(crate) words: String,
    /// Whether the last word may go on.
    pub(crate) is_prefix: bool,
    /// As the user wrote it.
    written: String,
}

impl Terms {
    /// Reads what a user wrote. Anything is taken; only a query without a word in it is refused.
    pub(crate) fn read(query: &str) -> Result<Self, StoreError> {
        let mut terms = Vec::new();
        for (index, quoted) in query.split('"').enumerate() {
            if index % 2 == 1 {
                add_terms(&mut terms, quoted, false);
                continue;
            }
            for word in quoted.split_whitespace() {
                add_terms(&mut terms, word.trim_end_matches('*'), word.ends_with('*'));
            }
        }
        if terms.is_empty() {
            return Err(StoreError::EmptyQuery { query: query.to_owned() });
        }
        Ok(Self(terms))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Term> {
        self.0.iter()
    }

    /// The query in the language of SQLite's FTS5.
    pub(crate) fn to_fts5(&self) -> String {
        let term = |term: &Term| {
            let star = if term.is_prefix { "*" } else { "" };
            format!("\"{}\"{star}", term.words)
        };
        self.0.iter().map(term).collect::<Vec<_>>().join(" AND ")
    }

    /// The part of `text` around the first of the terms in it.
    pub(crate) fn snippet(&self, text: &str) -> String {
        const BEFORE: usize = 40;
        const LENGTH: usize = 160;
        let found = self.find(text).unwrap_or(0);
        let start = text[..found].char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
        let end = text[start..].char_indices().nth(LENGTH).map_or(text.len(), |(at, _)| start + at);
        let words: Vec<&str> = text[start..end].split_whitespace().collect();
        let (left, right) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
        format!("{left}{}{right}", words.join(" "))
    }
}

impl Terms {
    /// Where the first of the terms in `text` begins. Looks at a window at a time, since a text may be long.
    fn find(&self, text: &str) -> Option<usize> {
        const WINDOW: usize = 64 * 1024;
        let needles: Vec<Vec<char>> = self.0.iter().map(|term| term.written.chars().flat_map(fold).collect()).collect();
        let overlap = needles.iter().map(Vec::len).max().unwrap_or(0) * 4;
        let boundary = |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        (0..=text.len() / WINDOW).find_map(|window| {
            let (start, end) = (boundary(window * WINDOW), boundary(((window + 1) * WINDOW + overlap).min(text.len())));
            let folded: Vec<(char, usize)> =
                text[start..end].char_indices().flat_map(|(at, c)| fold(c).map(move |c| (c, start + at))).collect();
            let find = |needle: &Vec<char>| {
                folded.windows(needle.len().max(1)).position(|part| part.iter().map(|(c, _)| c).eq(needle))
            };
            needles.iter().filter_map(find).min().and_then(|index| folded.get(index)).map(|(_, at)| *at)
        })
    }
}

/// `text` as it is indexed.
pub(crate) fn index_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (is_cjk, run) in runs(text) {
        if !is_cjk {
            out.push_str(run);
            continue;
        }
        push_pairs(&mut out, run);
        // The last character begins no pair, and must be found alone.
        out.extend([' ', run.chars().next_back().unwrap_or(' '), ' ']);
    }
    out
}

fn add_terms(terms: &mut Vec<Term>, text: &str, is_prefix: bool) {
    let parts: Vec<(bool, &str)> = runs(text).filter(|(_, run)| run.chars().any(char::is_alphanumeric)).collect();
    let last = parts.len().saturating_sub(1);
    for (index, (is_cjk, run)) in parts.into_iter().enumerate() {
        let mut words = String::new();
        if is_cjk {
            push_pairs(&mut words, run);
        } else {
            // Anything but letters and digits parts words, in the index too.
            words.extend(run.chars().map(|c| if c.is_alphanumeric() || is_combining_mark(c) { c } else { ' ' }));
        }
        let is_alone = is_cjk && run.chars().nth(1).is_none();
        let words = words.trim().to_owned();
        terms.push(Term { words, is_prefix: is_alone || (is_prefix && index == last), written: run.trim().to_owned() });
    }
}

/// The overlapping pairs of a run of characters, or the only character, between blanks.
fn push_pairs(out: &mut String, run: &str) {
    let mut previous = None;
    let mut pairs = 0;
    for c in run.chars() {
        if let Some(previous) = previous {
            out.extend([' ', previous, c]);
            pairs += 1;
        }
        previous = Some(c);
    }
    if let (Some(only), 0) = (previous, pairs) {
        out.extend([' ', only]);
    }
    out.push(' ');
}

/// The stretches of `text`, each all CJK or all other.
fn runs(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_cjk = is_cjk(rest.chars().next()?);
        let end = rest.find(|c| self::is_cjk(c) != is_cjk).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        rest = behind;
        Some((is_cjk, run))
    })
}

fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3038}'..='\u{303b}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}' | '\u{3105}'..='\u{318e}' | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

/// `c` without case and accents.
fn fold(c: char) -> impl Iterator<Item = char> {
    std::iter::once(c).nfd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase)
}

/// Whether `text` holds all of `terms`, for a backend without an index.
pub(crate) fn holds(text: &str, terms: &Terms) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c))
            .filter(|word| !word.is_empty())
            .map(|word| word.chars().flat_map(fold).collect())
            .collect()
    };
    let there = words(&index_text(text));
    terms.iter().all(|term| {
        let wanted = words(&term.words);
        there.windows(wanted.len().max(1)).any(|window| {
            let last = window.len() - 1;
            window.iter().zip(&wanted).enumerate().all(|(index, (there, wanted))| {
                if index == last && term.is_prefix { there.starts_with(wanted) } else { there == wanted }
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cjk_is_indexed_as_pairs() {
        let words = |text: &str| index_text(text).split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words("in 東京都 now"), ["in", "東京", "京都", "都", "now"]);
        assert_eq!(words("東"), ["東", "東"]);
        assert_eq!(words("plain"), ["plain"]);
    }

    #[test]
    fn queries_are_understood_and_never_a_syntax_error() {
        let fts5 = |query: &str| Terms::read(query).unwrap().to_fts5();
        assert_eq!(fts5("zebra otter"), r#""zebra" AND "otter""#);
        assert_eq!(fts5(r#""two words" pre*"#), r#""two words" AND "pre"*"#);
        assert_eq!(fts5("東京都 京"), r#""東京 京都" AND "京"*"#);
        assert_eq!(fts5("foo-bar AND (NEAR"), r#""foo bar" AND "AND" AND "NEAR""#);
        assert_eq!(fts5(r#"open "quote"#), r#""open" AND "quote""#);
        for nothing in ["", "  ", "!!!", "\"\"", "*"] {
            assert!(matches!(Terms::read(nothing), Err(StoreError::EmptyQuery { .. })), "{nothing:?}");
        }
    }

    #[test]
    fn a_snippet_is_the_text_around_the_word() {
        let text = format!("{} the Zürich zebra\nsleeps {}", "before ".repeat(40), "after ".repeat(40));
        let snippet = |query: &str| Terms::read(query).unwrap().snippet(&text);
        for query in ["zebra", "zurich", "ZEBRA"] {
            let snippet = snippet(query);
            assert!(
                snippet.contains("Zürich zebra sleeps") && snippet.starts_with('…') && snippet.ends_with('…'),
                "{snippet}"
            );
            assert!(snippet.chars().count() < 200);
        }
        assert!(snippet("elsewhere").starts_with("before"));
        assert_eq!(Terms::read("x").unwrap().snippet(""), "");
        let long = format!("{}needle{}", "é ".repeat(43_690), "é ".repeat(90_000));
        assert!(Terms::read("needle").unwrap().snippet(&long).contains("needle"));
    }

    #[test]
    fn without_an_index_the_same_words_are_found() {
        let holds = |text: &str, query: &str| holds(text, &Terms::read(query).unwrap());
        assert!(holds("tell me about Zürich 東京", "zurich"));
        assert!(holds("tell me about Zürich 東京都", "東京"));
        assert!(holds("tell me about Zürich 東京都", "都"));
        assert!(!holds("東と京", "東京"));
        assert!(holds("a foo-bar b", "\"foo bar\""));
        assert!(!holds("bar foo", "\"foo bar\""));
        assert!(holds("prefixed", "pre*"));
        assert!(!holds("prefixed", "pre"));
    }
}
