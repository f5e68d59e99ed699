//! Texts that are too long for a model: their beginning and their end are kept.

use std::borrow::Cow;

use crate::models::Part;

/// `text`, or about `most` bytes of it, with a word about what was left out.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let start = beginning(text, most / 2);
    let end = (text.len() - most / 2..text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len());
    format!("{start}\n[… {} bytes are left out …]\n{}", end - start.len(), &text[end..]).into()
}

/// As much of the beginning of `text` as fits into `most` bytes.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|index| text.is_char_boundary(*index));
    &text[..end.unwrap_or_default()]
}

/// `parts` with about `most` bytes of text in all.
pub(crate) fn shortened_parts(parts: Vec<Part>, most: usize) -> Vec<Part> {
    let mut left = most;
    let short = |part: Part| match part {
        Part::Text(text) => {
            let text = shortened(&text, left).into_owned();
            left = left.saturating_sub(text.len());
            Part::Text(text)
        }
        image @ Part::Image { .. } => image,
    };
    parts.into_iter().map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        assert_eq!(shortened("short", 5), "short");
        assert_eq!(shortened("abcdefghij", 4), "ab\n[… 6 bytes are left out …]\nij");
        assert_eq!(shortened("ääääää", 6), "ä\n[… 8 bytes are left out …]\nä");
    }

    #[test]
    fn all_texts_share_the_room() {
        let image = Part::Image { mime_type: "image/png".to_owned(), data: "A".repeat(100) };
        let text = |text: &str| Part::Text(text.to_owned());
        let parts = vec![text("abcd"), image.clone(), text("efghij"), text("k")];
        let gone = "\n[… 1 bytes are left out …]\n";
        let expected = vec![text("abcd"), image, text("ef\n[… 2 bytes are left out …]\nij"), text(gone)];
        assert_eq!(shortened_parts(parts, 8), expected);
    }
}
