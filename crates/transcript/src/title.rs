//! Titles: who gives one, and what becomes of it so that it fits in a line.

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::json::Members;
use crate::update::content_text;

/// A title that nobody typed has at most this many characters.
const LONGEST_DERIVED: usize = 80;

/// A title that a person gave has at most this many characters.
const LONGEST_MANUAL: usize = 200;

/// A session's titles, by who gave them. A person's wins, then the agent's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Titles {
    /// From the first prompt.
    #[serde(default)]
    pub derived: Option<String>,
    /// The agent's.
    #[serde(default)]
    pub agent: Option<String>,
    /// A person's.
    #[serde(default)]
    pub manual: Option<String>,
}

impl Titles {
    /// The one to show.
    pub fn current(&self) -> Option<&str> {
        self.manual.as_deref().or(self.agent.as_deref()).or(self.derived.as_deref())
    }
}

/// The title that a person means by `text`: on one line, and not too long. `None`, if nothing of it can be seen.
pub fn manual_title(text: &str) -> Option<String> {
    let text = without_controls(text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let title: String = words.join(" ").chars().take(LONGEST_MANUAL).collect();
    (!title.is_empty()).then_some(title)
}

/// The title that an agent means by `text`.
pub(crate) fn agents_title(text: &str) -> Option<String> {
    Some(first_line(text)).filter(|title| !title.is_empty())
}

/// A title made of a prompt: its first line of text, shortened.
pub(crate) fn derive_title(blocks: &Json) -> Option<String> {
    let blocks = blocks.elements()?;
    let texts = blocks.iter().filter_map(|block| {
        let members = Members::read(block)?;
        (members.get("type") == Some("\"text\"")).then(|| content_text(block)).flatten()
    });
    texts.map(|text| first_line(&text)).find(|title| !title.is_empty())
}

/// The first line of `text` that says something, shortened.
fn first_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = without_controls(line);
    let line = line.trim();
    match line.char_indices().nth(LONGEST_DERIVED) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

fn without_controls(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_are_shortened_at_a_character() {
        let title = first_line(&"é".repeat(200));
        assert_eq!(title.chars().count(), 81);
        assert!(title.ends_with('…'));
    }

    #[test]
    fn a_persons_title_is_one_line_that_can_be_seen() {
        assert_eq!(manual_title("  Fix \u{1b}[31m the\n login  ").as_deref(), Some("Fix [31m the login"));
        assert_eq!(manual_title(&"é".repeat(300)).map(|title| title.chars().count()), Some(200));
        assert_eq!(manual_title(" \n\t\u{0} "), None);
    }
}
