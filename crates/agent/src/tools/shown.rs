//! How texts are shown to people: as they are, whatever marks they hold.

use rejoin::schema::ToolCallContent;

/// `text` as content that is not read as Markdown.
pub(super) fn fenced(text: &str) -> ToolCallContent {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    ToolCallContent::from(format!("{fence}\n{text}{end}{fence}"))
}

/// The first line of `text`, and not too much of it.
pub(super) fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    let line = text.trim().lines().next().unwrap_or_default();
    let is_whole = line.len() == text.trim().len() && line.chars().count() <= LONGEST;
    if is_whole { line.to_owned() } else { line.chars().take(LONGEST - 1).chain(['…']).collect() }
}

/// The first of `lines`, at most `most`; then `more` in brackets, with how many are left for `{}`.
pub(super) fn listing(lines: &[String], most: usize, more: &str) -> String {
    let mut listed: Vec<&str> = lines.iter().take(most).map(String::as_str).collect();
    let left = lines.len().saturating_sub(most);
    let note = format!("[{}]", more.replace("{}", &left.to_string()));
    listed.push(if left > 0 { &note } else { "" });
    listed.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        assert_eq!(fenced("a"), ToolCallContent::from("```\na\n```"));
        assert_eq!(fenced("````\n"), ToolCallContent::from("`````\n````\n`````"));
    }

    #[test]
    fn a_listing_says_how_much_is_left() {
        let lines = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(listing(&lines, 3, "{} more"), "a\nb\nc\n");
        assert_eq!(listing(&lines, 1, "{} more"), "a\n[2 more]");
    }

    #[test]
    fn what_is_short_is_one_line() {
        assert_eq!(short(" ls -l\n"), "ls -l");
        assert_eq!(short("cat <<E\nx\nE"), "cat <<E…");
        assert_eq!(short(&"ä".repeat(100)), format!("{}…", "ä".repeat(79)));
    }
}
