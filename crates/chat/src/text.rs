//! Text that is safe to show, and that fits.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a tab becomes where columns are counted.
const TAB: &str = "    ";

/// `text` with control characters made visible, and those that change the direction of what follows, so that what others
/// wrote can't command the terminal, nor look like something else. Line breaks and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t') || turns_around(c);
    if !text.contains(is_harmful) {
        return text.into();
    }
    let show = |c: char| match c {
        '\r' => None,
        '\0'..='\x1f' if is_harmful(c) => char::from_u32(0x2400 + u32::from(c)),
        _ if is_harmful(c) => Some(char::REPLACEMENT_CHARACTER),
        _ => Some(c),
    };
    text.chars().filter_map(show).collect()
}

/// `text` on one line, [`printable`].
pub fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    printable(&words.join(" ")).into_owned()
}

/// Whether `c` changes the direction of what follows, which [a name can pretend another name with][trojan].
///
/// [trojan]: https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
fn turns_around(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The columns that `text` takes on a terminal, where a tab is shown as blanks.
pub fn columns(text: &str) -> usize {
    // What has no width by itself may have one in a sequence, and the other way round.
    if text.is_ascii() && !text.contains('\t') { text.len() } else { text.graphemes(true).map(grapheme_columns).sum() }
}

/// As much of the beginning of `text` as fits in `width` columns.
pub fn cut_end(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return text.into();
    }
    let kept = fitting(text.graphemes(true), width.saturating_sub(1));
    format!("{}…", text[..kept].trim_end()).into()
}

/// As much of the end of `text` as fits in `width` columns.
pub fn cut_start(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return text.into();
    }
    let kept = fitting(text.graphemes(true).rev(), width.saturating_sub(1));
    format!("…{}", &text[text.len() - kept..]).into()
}

/// How many bytes at the beginning of `text` fit in `width` columns.
pub(crate) fn fitting_bytes(text: &str, width: usize) -> usize {
    fitting(text.graphemes(true), width)
}

/// `text` as it is shown over several lines: safe, and without tabs.
pub(crate) fn shown(text: &str) -> String {
    printable(text).replace('\t', TAB)
}

/// The end of the first `limit` bytes of `text`, or a little before, where a character ends.
pub(crate) fn boundary(text: &str, limit: usize) -> usize {
    let limit = limit.min(text.len());
    (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn grapheme_columns(grapheme: &str) -> usize {
    if grapheme == "\t" { TAB.len() } else { grapheme.width() }
}

fn fitting<'a>(graphemes: impl Iterator<Item = &'a str>, mut room: usize) -> usize {
    let fits = |grapheme: &&str| {
        let columns = grapheme_columns(grapheme);
        let fits = columns <= room;
        room = room.saturating_sub(columns);
        fits
    };
    graphemes.take_while(fits).map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_can_not_command_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\r\n\tc\u{9b}d"), "a␛[31mb\n\tc\u{fffd}d");
        assert_eq!(printable("photo_\u{202e}gpj.exe"), "photo_\u{fffd}gpj.exe");
        assert_eq!(one_line("a\n\u{2066}b\u{2069}\x1b"), "a \u{fffd}b\u{fffd}␛");
        assert_eq!(printable("\u{627}\u{200f}!"), "\u{627}\u{200f}!", "a mark moves nothing but itself");
    }

    #[test]
    fn text_is_cut_by_the_columns_it_takes() {
        assert_eq!(cut_end("abcdef", 6), "abcdef");
        assert_eq!(cut_end("abc def", 5), "abc…");
        assert_eq!(cut_end("東京都庁", 6), "東京…");
        assert_eq!(cut_end("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5), "👨‍👩‍👧👨‍👩‍👧…");
        assert_eq!(cut_start("/home/anna/src", 8), "…nna/src");
        assert_eq!(cut_start("東京都庁", 6), "…都庁");
    }

    #[test]
    fn what_is_counted_is_what_is_shown() {
        for text in ["", "plain", "\ta\tb", "\x1b[2J\u{7f}", "東\t京", "👨‍👩‍👧\u{9b}"] {
            assert_eq!(columns(text), columns(&shown(text)), "{text:?}");
        }
        assert_eq!(cut_end("\ta\tb", 8), "\ta…");
    }

    #[test]
    fn bytes_are_cut_where_a_character_ends() {
        assert_eq!([boundary("aé", 1), boundary("aé", 2), boundary("aé", 9)], [1, 1, 3]);
    }
}
